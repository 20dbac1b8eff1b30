import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import * as snowgrid from "../dist/index.js";
import { deadAddress, endless, member, sleep } from "./member.mjs";

const { Sequencer } = snowgrid;

/** Starts a member and a client of it, which end with the test. */
async function start(t, answer, options = {}, about = {}) {
  const m = await member(answer, about);
  t.after(m.close);
  const ids = new Sequencer({ addresses: [m.url], name: "orders", ...options });
  t.after(() => ids.close(100));
  return { m, ids, posts: () => m.requests.filter((r) => r.method === "POST") };
}

test("IDs ascend, and their parts are those of the grant", async (t) => {
  const create = { layout: "jssafe" };
  const { ids, m } = await start(t, undefined, { create, labels: { host: "a" }, token: "secret" });
  assert.equal(ids.tryNext(), undefined);
  const before = Date.now();
  const made = [await ids.next(), ...(await ids.nextMany(5000))];
  made.push(ids.tryNext() ?? (await ids.next()));
  for (let i = 1; i < made.length; i++) assert.ok(made[i] > made[i - 1]);
  const { time, node, counter } = ids.decompose(made[0]);
  assert.ok(Math.abs(time - before) < 1000);
  assert.deepEqual([node, counter], [0, 0]);
  assert.ok(ids.minId(time) <= made[0] && made[0] <= ids.maxId(new Date(time)));
  assert.equal("grant" in ids.layout, false);
  const { used, ...first } = m.requests[0];
  assert.deepEqual(first, { method: "POST", path: "/v1/grants", token: "Bearer secret",
    name: "orders", create, labels: { host: "a" } });
});

test("callers that use up every millisecond leave IDs to one another", async (t) => {
  const { ids } = await start(t, undefined, { wait: 1000 });
  await ids.next();
  const end = performance.now() + 2000;
  const caller = async () => {
    while (performance.now() < end) await ids.next();
  };
  await Promise.all(Array.from({ length: 400 }, caller));
});

test("calls at the same time get IDs of their own", async (t) => {
  const { ids } = await start(t);
  const made = await Promise.all(Array.from({ length: 20_000 }, () => ids.next()));
  assert.equal(new Set(made).size, made.length);
});

test("a timer renews the grant, and requests have used", async (t) => {
  const { ids, posts } = await start(t, undefined, {}, { window: 400 });
  await ids.nextMany(10);
  await sleep(1000);
  assert.ok(posts().length >= 5, `${posts().length} requests`);
  assert.equal(posts()[1].grant, "g1.0.1");
  assert.equal(posts()[1].name, undefined);
  assert.deepEqual(posts()[1].used, { ids: 10, waits: 1 });
  assert.deepEqual(posts()[2].used, { ids: 0, waits: 0 });
  assert.notEqual(ids.tryNext(), undefined);
});

test("without background, calls for IDs renew the grant", async (t) => {
  const { ids, posts } = await start(t, undefined, { background: false }, { window: 400 });
  await ids.next();
  await sleep(600);
  assert.equal(posts().length, 1);
  await ids.next(1000);
  assert.equal(posts().length, 2);
});

test("the second address is used after a failure of the first", async (t) => {
  const dead = await deadAddress();
  const m = await member();
  t.after(m.close);
  const ids = new Sequencer({ addresses: [dead, m.url], name: "orders" });
  t.after(() => ids.close());
  await ids.next(2000);
});

test("destroyed ends the client", async (t) => {
  const { ids, posts } = await start(t, (r) =>
    r.grant ? { status: 410, code: "destroyed", message: "gone" } : undefined);
  await ids.next();
  await sleep(300);
  await assert.rejects(ids.next(), snowgrid.DestroyedError);
  assert.throws(() => ids.tryNext(), { code: "destroyed" });
  await sleep(700);
  assert.equal(posts().length, 2);
});

test("detached: the client takes another grant", async (t) => {
  const { ids, posts } = await start(t, (_, n) =>
    n === 2 ? { status: 409, code: "detached", message: "released" } : undefined);
  const first = await ids.next();
  await sleep(200);
  assert.equal(ids.tryNext(), undefined);
  const second = await ids.next();
  assert.equal(posts()[2].grant, undefined);
  assert.ok(second > first);
  assert.deepEqual([first, second].map((id) => ids.decompose(id).node), [0, 1]);
});

test("close releases the grant with the last timestamp", async (t) => {
  const { ids, m } = await start(t, undefined, {}, { renew: 10_000 });
  const { time } = ids.decompose((await ids.nextMany(3))[2]);
  assert.equal(await ids.close(), true);
  const { method, grant, last, used } = m.requests.at(-1);
  assert.deepEqual({ method, grant, last }, { method: "DELETE", grant: "g1.0.1", last: time });
  assert.deepEqual(used, { ids: 3, waits: 1 });
  await assert.rejects(ids.next(), { code: "ended" });
  assert.equal(await ids.close(), true);
  assert.equal(m.requests.length, 2);
});

test("close releases the grant of a request in progress", async (t) => {
  const { ids, m } = await start(t, async ({ method }) => {
    if (method === "POST") await sleep(200);
  });
  const call = ids.next();
  await sleep(50);
  const closed = ids.close();
  await assert.rejects(call, snowgrid.EndedError);
  assert.equal(await closed, true);
  assert.deepEqual([m.requests[1].grant, m.requests[1].last], ["g1.0.1", 0]);
});

test("close takes a bounded time", async (t) => {
  const { ids } = await start(t, ({ method }) => (method === "DELETE" ? null : undefined));
  await ids.next();
  const began = performance.now();
  assert.equal(await ids.close(300), false);
  assert.ok(performance.now() - began < 600);
});

test("overloaded: the next request is not before retry_after_ms", async (t) => {
  const times = [];
  const { ids } = await start(t, (_, n) => {
    times.push(performance.now());
    if (n === 1) return { status: 503, code: "overloaded", message: "x", retry_after_ms: 700 };
  });
  await ids.next();
  assert.ok(times[1] - times[0] > 650, `${times[1] - times[0]} ms`);
});

test("the error after the deadline names what is needed", async () => {
  const dead = await deadAddress();
  const ids = new Sequencer({ addresses: [dead, `${dead}/b/`], name: "orders" });
  const began = performance.now();
  await assert.rejects(ids.next(700), (error) => {
    assert.ok(error instanceof snowgrid.DeadlineError);
    for (const text of ['"orders"', "700 ms", `${dead}, ${dead}/b;`, "refused", "check"]) {
      assert.ok(error.message.toLowerCase().includes(text), `${text} in ${error.message}`);
    }
    return true;
  });
  assert.ok(performance.now() - began < 1000);
  assert.equal(await ids.close(), true);
});

test("a request without a reply is repeated with the same grant", async (t) => {
  const { ids, posts } = await start(t, (_, n) => (n === 2 ? null : undefined), { timeout: 200 });
  await ids.next();
  await sleep(900);
  assert.equal(posts()[1].grant, "g1.0.1");
  assert.equal(posts()[2].grant, "g1.0.1");
  assert.equal(ids.decompose(await ids.next()).node, 0);
});

test("a lost reply, when the sequencer has no grant yet", async (t) => {
  const { ids } = await start(t, (_, n) => (n === 1 ? null : undefined), { timeout: 200 });
  await ids.next(2000);
});

test("errors that need a correction are thrown immediately", async (t) => {
  for (const code of ["not_found", "conflict", "bad_request", "invalid_config", "unauthenticated",
    "denied"]) {
    const { ids } = await start(t, () => ({ status: 400, code, message: "correct it" }));
    const began = performance.now();
    await assert.rejects(ids.next(), { code, message: /correct it/ });
    assert.ok(performance.now() - began < 1000);
  }
});

test("denied: IDs go on to the end of the grant", async (t) => {
  const { ids } = await start(t, (r) =>
    r.grant ? { status: 403, code: "denied", message: "no" } : undefined, {}, { window: 800 });
  await ids.next();
  await sleep(300);
  await ids.next();
  await sleep(700);
  await assert.rejects(ids.next(5000), { code: "denied" });
});

test("answers that are not of a member are failures", async (t) => {
  const { ids, posts } = await start(t, (_, n, usual) =>
    n === 1 ? { status: 404 } : n === 2 ? { ...usual(), until: "x" } : undefined);
  await ids.next();
  assert.equal(posts().length, 3);
});

test("a reply without an end is a failure", async (t) => {
  const server = await endless();
  t.after(server.close);
  const ids = new Sequencer({ addresses: [server.url], name: "orders" });
  await assert.rejects(ids.next(1500), /more than 65536 bytes/);
  assert.ok(server.sent() < 1 << 26, `${server.sent()} bytes were sent`);
  await ids.close();
});

test("the pause that an error states is at most an hour", async (t) => {
  const error = { status: 403, code: "denied", message: "no", retry_after_ms: 1e300 };
  const { ids } = await start(t, () => error);
  await assert.rejects(ids.next(), { code: "denied", retryAfter: 3_600_000 });
});

test("nextNumber", async (t) => {
  const small = await start(t, undefined, {}, { layout: "jssafe" });
  const a = await small.ids.nextNumber();
  assert.ok(Number.isSafeInteger(a) && a < (await small.ids.nextNumber()));
  assert.ok((await small.ids.next()) > BigInt(a));
  const large = await start(t);
  for (let i = 0; i < 2; i++) {
    await assert.rejects(large.ids.nextNumber(), { code: "layout", message: /63\/23\/8192/ });
  }
});

test("the token is read for each request", async (t) => {
  const dir = await mkdtemp(join(tmpdir(), "snowgrid-"));
  t.after(() => rm(dir, { recursive: true }));
  const tokenFile = join(dir, "token");
  await writeFile(tokenFile, "one\n");
  const byFile = await start(t, undefined, { tokenFile });
  await byFile.ids.next();
  await writeFile(tokenFile, "two\n");
  await sleep(300);
  assert.deepEqual([byFile.m.requests[0].token, byFile.m.requests.at(-1).token],
    ["Bearer one", "Bearer two"]);
  const token = async () => "three";
  const byFunction = await start(t, undefined, { token });
  await byFunction.ids.next();
  assert.equal(byFunction.m.requests[0].token, "Bearer three");
  const never = await start(t, undefined, { token: () => new Promise(() => {}), timeout: 200 });
  await assert.rejects(never.ids.next(500), { message: /no reply within 200 ms/ });
});

test("a copy of the process forgets the grant", async (t) => {
  const { ids, m, posts } = await start(t, undefined, {}, { renew: 10_000, layout: "jssafe" });
  const first = await ids.next();
  const pid = Object.getOwnPropertyDescriptor(process, "pid");
  if (!pid?.configurable) return t.skip("process.pid cannot be replaced here");
  t.after(() => Object.defineProperty(process, "pid", pid));
  const several = ids.nextMany(1500); // one millisecond has 64
  Object.defineProperty(process, "pid", { value: process.pid + 1, configurable: true });
  assert.equal(ids.tryNext(), undefined);
  const second = await ids.next();
  const copied = (await several).filter((id) => ids.decompose(id).node === 0);
  assert.deepEqual(copied, [], "the IDs before the copy are the parent's");
  assert.equal(posts()[1].grant, undefined);
  assert.deepEqual([first, second].map((id) => ids.decompose(id).node), [0, 1]);
  Object.defineProperty(process, "pid", pid);
  assert.equal(await ids.close(), true);
  assert.equal(m.requests.at(-1).method, "POST", "the grant is the parent's");
});

test("options that cannot work are refused", () => {
  const wrong = (options, message) => assert.throws(() => new Sequencer(options), { message });
  wrong({ addresses: [], name: "orders" }, /one address/);
  wrong({ addresses: ["http://localhost"], name: "" }, /name/);
  wrong({ addresses: ["host:7948"], name: "orders" }, /address host:7948: give https/);
  wrong({ addresses: ["http://ids.internal:7948"], name: "orders" }, /loopback/);
  wrong({ addresses: ["ids"], name: "orders" }, /address ids: give it as/);
});

test("node:https, with a CA and a client certificate", async (t) => {
  const dir = await mkdtemp(join(tmpdir(), "snowgrid-"));
  t.after(() => rm(dir, { recursive: true }));
  const file = (name) => join(dir, name);
  const openssl = (...args) => execFileSync("openssl", args, { cwd: dir, stdio: "ignore" });
  const sign = (name) => {
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", `${name}.key`, "-out", "csr",
      "-subj", `/CN=${name}`);
    writeFileSync(file("san"), "subjectAltName=DNS:member.test,IP:127.0.0.1");
    openssl("x509", "-req", "-in", "csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-days", "2",
      "-CAcreateserial", "-extfile", "san", "-out", `${name}.crt`);
  };
  try {
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.crt",
      "-days", "2", "-subj", "/CN=ca");
  } catch {
    return t.skip("the program openssl is missing");
  }
  sign("member");
  sign("client");
  const read = (name) => readFileSync(file(name));
  const tlsOptions = { ca: read("ca.crt"), cert: read("member.crt"), key: read("member.key"),
    requestCert: true, rejectUnauthorized: true };
  const m = await member(undefined, { tlsOptions });
  t.after(m.close);
  const options = { addresses: [m.url], name: "orders", token: "secret" };
  const tls = { ca: file("ca.crt"), cert: file("client.crt"), key: file("client.key") };
  const ids = new Sequencer({ ...options, tls });
  await ids.next();
  await sleep(300);
  assert.equal(await ids.close(), true);
  assert.ok(m.requests.length >= 4 && m.requests.every((r) => r.token === "Bearer secret"));
  const named = new Sequencer({ ...options, tls: { ...tls, serverName: "member.test" } });
  await named.next();
  await named.close();
  const other = new Sequencer({ ...options, tls: { ...tls, serverName: "other.test" } });
  await assert.rejects(other.next(700), /other\.test|host|name/i);
  const stranger = new Sequencer({ ...options, tls: { ca: tls.ca } });
  await assert.rejects(stranger.next(700), snowgrid.DeadlineError);
  const trusting = new Sequencer(options);
  await assert.rejects(trusting.next(700), /certificate/);
  const lost = new Sequencer({ ...options, tls: { ca: file("none.crt") } });
  await assert.rejects(lost.next(700), /none\.crt/);
  const server = await endless(tlsOptions);
  t.after(server.close);
  const full = new Sequencer({ ...options, addresses: [server.url], tls });
  await assert.rejects(full.next(1500), /more than 65536 bytes/);
  await full.close();
  const slow = await member(() => null, { tlsOptions });
  t.after(slow.close);
  const hung = new Sequencer({ ...options, addresses: [slow.url], tls, timeout: 200 });
  await assert.rejects(hung.next(600), /no reply within 200 ms/);
});
