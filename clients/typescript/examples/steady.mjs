// Makes IDs at a steady rate, and writes each as eight bytes, the highest first:
//
//	node examples/steady.mjs --addrs https://a:7948,https://b:7948 --name orders --ca ca.crt \
//	  --token-file token --ids 1000000 --seconds 60 --out ids
//
// The tests of several languages together run it.

import { createWriteStream } from "node:fs";
import { once } from "node:events";
import { parseArgs } from "node:util";
import { Sequencer } from "snowgrid";

const text = { type: "string" };
const { values } = parseArgs({
  options: {
    addrs: text, name: text, ca: text, "token-file": text, ids: text, seconds: text, out: text,
  },
});
const orders = new Sequencer({
  addresses: values.addrs.split(","),
  name: values.name,
  create: {},
  tls: { ca: values.ca },
  tokenFile: values["token-file"],
  wait: 300_000,
});
const total = Number(values.ids);
const chunk = Math.max(1, Math.floor(total / Number(values.seconds) / 20));
const out = createWriteStream(values.out);
for (let made = 0; made < total; ) {
  const ids = await orders.nextMany(Math.min(chunk, total - made));
  const bytes = Buffer.alloc(8 * ids.length);
  ids.forEach((id, i) => bytes.writeBigInt64BE(id, 8 * i));
  if (!out.write(bytes)) await once(out, "drain");
  made += ids.length;
  await new Promise((resolve) => setTimeout(resolve, 50));
}
out.end();
await once(out, "close");
await orders.close();
