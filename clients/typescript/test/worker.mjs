// Makes IDs in a process or worker thread, and sends them to its parent.

import { parentPort } from "node:worker_threads";
import { Sequencer } from "../dist/index.js";

const [url, n, open] = process.argv.slice(2);
const sequencer = new Sequencer({ addresses: [url], name: "orders", timeout: 20_000,
  wait: 60_000 });
const ids = BigInt64Array.from(await sequencer.nextMany(Number(n)));
if (parentPort) {
  parentPort.postMessage(ids);
} else if (process.send) {
  await new Promise((resolve) => process.send(ids, resolve));
}
if (!open) await sequencer.close(20_000);
if (!parentPort && process.connected) process.disconnect(); // ends a worker of a cluster
