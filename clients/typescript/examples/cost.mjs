// Measures an ID of a generator beside a plain Snowflake generator and POST /v1/ids:
//
//	node examples/cost.mjs http://127.0.0.1:7948
//
// Each line is a way to get an ID, and the nanoseconds for one. The lowest of five rounds counts.

import { Agent, request } from "node:http";
import { Sequencer } from "snowgrid";

// plain returns a generator without a grid: the wall clock and a fixed node.
function plain() {
  let last = 0;
  let counter = 0;
  return () => {
    let now = Date.now();
    counter = now <= last ? counter + 1 : 0;
    while (counter === 4096 || now < last) {
      now = Date.now();
      counter = 0;
    }
    last = now;
    return (BigInt(now - 1_767_225_600_000) << 22n) | BigInt((7 << 12) | counter);
  };
}

async function measure(name, perCall, calls, call) {
  let best = Infinity;
  for (let round = 0; round < 5; round++) {
    const began = process.hrtime.bigint();
    for (let i = 0; i < calls; i++) {
      const result = call();
      if (result instanceof Promise) await result;
    }
    best = Math.min(best, Number(process.hrtime.bigint() - began) / (calls * perCall));
  }
  console.log(name, Math.round(best));
}

const [address] = process.argv.slice(2);
const agent = new Agent({ keepAlive: true });

function post(count) {
  return new Promise((resolve, reject) => {
    const headers = { "Content-Type": "application/json" };
    const call = request(`${address}/v1/ids`, { method: "POST", agent, headers }, (response) => {
      let body = "";
      response.on("data", (part) => (body += part));
      response.on("end", () => {
        if (response.statusCode === 200 && JSON.parse(body).ids.length === count) resolve();
        else reject(new Error(`POST /v1/ids: ${body}`));
      });
    });
    call.on("error", reject);
    call.end(JSON.stringify({ name: "cost", n: count }));
  });
}

// Of 128 nodes each has 65,536 IDs in a millisecond: the ID space bounds nothing here.
const ids = new Sequencer({ addresses: [address], name: "cost", create: { nodes: 128 } });
await ids.next();
await measure("next, awaited", 1, 200_000, () => ids.next());
await measure("next without a promise", 1, 200_000, () => ids.tryNext());
await measure("next in batches of 1000", 1000, 300, () => ids.nextMany(1000));
await ids.close();
await measure("plain Snowflake", 1, 200_000, plain());
await measure("POST /v1/ids", 1, 200, () => post(1));
await measure("POST /v1/ids in batches of 1000", 1000, 20, () => post(1000));
agent.destroy();
