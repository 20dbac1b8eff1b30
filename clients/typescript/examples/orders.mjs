// Prints ten IDs and their parts: node examples/orders.mjs http://127.0.0.1:7948
// (npm run build makes the library first.)

import { Sequencer } from "snowgrid";

const addresses = process.argv.slice(2);
if (addresses.length === 0) addresses.push("http://127.0.0.1:7948");

const orders = new Sequencer({ addresses, name: "orders", create: {} });
try {
  for (const id of await orders.nextMany(10)) {
    const { time, node, counter } = orders.decompose(id);
    console.log(`${id}  ${new Date(time).toISOString()}  node ${node}  counter ${counter}`);
  }
} finally {
  await orders.close();
}
