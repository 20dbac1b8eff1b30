// Processes and worker threads, each with a generator of its own.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import cluster from "node:cluster";
import { once } from "node:events";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { long, member } from "./member.mjs";

const exec = fileURLToPath(new URL("worker.mjs", import.meta.url));
const each = 50_000;

function check(results) {
  for (const ids of results) {
    assert.equal(ids.length, each);
    for (let i = 1; i < ids.length; i++) assert.ok(ids[i] > ids[i - 1], "IDs ascend");
  }
  assert.equal(new Set(results.flatMap((ids) => [...ids])).size, results.length * each);
}

test("a cluster of eight processes makes no ID twice", async (t) => {
  const m = await member();
  t.after(m.close);
  cluster.setupPrimary({ exec, args: [m.url, String(each)], serialization: "advanced" });
  check(await Promise.all(Array.from({ length: 8 }, async () => {
    const worker = cluster.fork();
    const [[ids], [code]] = await Promise.all([once(worker, "message"), once(worker, "exit")]);
    assert.equal(code, 0);
    return ids;
  })));
  assert.equal(m.requests.filter((r) => r.method === "DELETE").length, 8);
});

test("four worker threads make no ID twice", async (t) => {
  const m = await member();
  t.after(m.close);
  check(await Promise.all(Array.from({ length: 4 }, async () => {
    const worker = new Worker(exec, { argv: [m.url, String(each)] });
    const [[ids]] = await Promise.all([once(worker, "message"), once(worker, "exit")]);
    return ids;
  })));
});

test("a client that is not closed keeps no process alive", async (t) => {
  const m = await member();
  t.after(m.close);
  const child = spawn(process.execPath, [exec, m.url, "1", "open"], { stdio: "inherit" });
  const timer = setTimeout(() => child.kill("SIGKILL"), 2 * long);
  const [code] = await once(child, "exit");
  clearTimeout(timer);
  assert.equal(code, 0);
  assert.ok(m.requests.every((r) => r.method === "POST"));
});
