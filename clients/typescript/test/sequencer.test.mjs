import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { Members } from "../dist/http.js";
import * as snowgrid from "../dist/index.js";
import { deadAddress, endless, gate, long, member, sleep, until } from "./member.mjs";

const { Sequencer } = snowgrid;

/** Starts a member and a client of it, which end with the test. */
async function start(t, answer, options = {}, about = {}) {
  const m = await member(answer, about);
  t.after(m.close);
  const times = { timeout: long, wait: long };
  const ids = new Sequencer({ addresses: [m.url], name: "orders", ...times, ...options });
  t.after(() => ids.close(100));
  return { m, ids, posts: () => m.requests.filter((r) => r.method === "POST") };
}

/** Repeats a short call until the text of its error matches. Returns the text. */
async function failsWith(pattern, ids, wait = 100) {
  let text;
  await until(async () => {
    const began = performance.now();
    const error = await ids.next(wait).then(() => undefined, (e) => e);
    const took = performance.now() - began;
    assert.ok(error instanceof snowgrid.DeadlineError, `no deadline: ${error}`);
    assert.ok(took >= wait - 2 && took < wait + long / 2, `${took} ms`);
    text = error.message;
    return pattern.test(text);
  }, `${pattern}`).catch((e) => assert.fail(`${e.message}; the last error: ${text ?? e.stack}`));
  return text;
}

/** Calls until one fails, and returns its error. */
async function failure(ids) {
  let error;
  await until(async () => (error = await ids.next().then(() => undefined, (e) => e)), "an error");
  return error;
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
  assert.ok(before - 1000 < time && time < Date.now() + 1000);
  assert.deepEqual([node, counter], [0, 0]);
  assert.ok(ids.minId(time) <= made[0] && made[0] <= ids.maxId(new Date(time)));
  assert.equal("grant" in ids.layout, false);
  const { used, ...first } = m.requests[0];
  assert.deepEqual(first, { method: "POST", path: "/v1/grants", token: "Bearer secret",
    name: "orders", create, labels: { host: "a" } });
});

// Even to those that run again only after their deadline.
test("callers that use up every millisecond leave IDs to one another", async (t) => {
  const { ids } = await start(t, undefined, {}, { window: 120_000, renew: 60_000 });
  await ids.next();
  const end = performance.now() + 2000;
  const caller = async (_, i) => {
    const wait = [10 * long, 600, 1, 1][i % 4];
    while (performance.now() < end) await (i % 8 ? ids.next(wait) : ids.nextMany(3000, wait));
  };
  const pause = () => {
    for (const end = performance.now() + 3; performance.now() < end; );
  };
  const pauses = setInterval(pause, 20); // of a busy machine
  await Promise.all(Array.from({ length: 200 }, caller)).finally(() => clearInterval(pauses));
});

test("calls at the same time get IDs of their own", async (t) => {
  const { ids } = await start(t);
  const made = await Promise.all(Array.from({ length: 20_000 }, () => ids.next()));
  assert.equal(new Set(made).size, made.length);
});

test("a timer renews the grant, and requests have used", async (t) => {
  const { ids, posts } = await start(t, (_, n, usual) =>
    n === 1 ? { ...usual(), until: Date.now() + 400 } : undefined);
  await ids.nextMany(10);
  await until(() => posts().length >= 6);
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
  await ids.next();
  assert.equal(posts().length, 2);
});

test("the second address is used after a failure of the first", async (t) => {
  const dead = await deadAddress();
  const m = await member();
  t.after(m.close);
  const ids = new Sequencer({ addresses: [dead, m.url], name: "orders", timeout: long });
  t.after(() => ids.close());
  await ids.next(long);
});

test("destroyed ends the client", async (t) => {
  const { ids, posts } = await start(t, (r) =>
    r.grant ? { status: 410, code: "destroyed", message: "gone" } : undefined);
  await ids.next();
  assert.ok((await failure(ids)) instanceof snowgrid.DestroyedError);
  await assert.rejects(ids.next(), snowgrid.DestroyedError);
  assert.throws(() => ids.tryNext(), { code: "destroyed" });
  await sleep(700);
  assert.equal(posts().length, 2);
});

test("detached: the client takes another grant", async (t) => {
  const third = gate();
  const { ids, posts } = await start(t, async (_, n) => {
    if (n === 2) return { status: 409, code: "detached", message: "released" };
    if (n === 3) await third.opened;
  });
  const first = await ids.next();
  await until(() => posts().length === 3);
  assert.equal(ids.tryNext(), undefined);
  third.open();
  const second = await ids.next();
  assert.equal(posts()[2].grant, undefined);
  assert.ok(second > first);
  assert.deepEqual([first, second].map((id) => ids.decompose(id).node), [0, 1]);
});

test("close releases the grant with the last timestamp", async (t) => {
  const { ids, m } = await start(t, undefined, {}, { renew: 60_000 });
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
  const reply = gate();
  const { ids, m } = await start(t, async ({ method }) => {
    if (method === "POST") await reply.opened;
  });
  const call = ids.next();
  await until(() => m.requests.length === 1);
  const closed = ids.close(long);
  await assert.rejects(call, snowgrid.EndedError);
  await sleep(50); // for a release that does not wait
  reply.open();
  assert.equal(await closed, true);
  assert.deepEqual([m.requests[1].grant, m.requests[1].last], ["g1.0.1", 0]);
});

test("close takes a bounded time", async (t) => {
  const { ids } = await start(t, ({ method }) => (method === "DELETE" ? null : undefined));
  await ids.next();
  const began = performance.now();
  assert.equal(await ids.close(300), false);
  assert.ok(performance.now() - began < long / 2);
});

test("overloaded: the next request is not before retry_after_ms", async (t) => {
  const times = [];
  const { ids } = await start(t, (_, n) => {
    times.push(performance.now());
    if (n === 1) return { status: 503, code: "overloaded", message: "x", retry_after_ms: 700 };
  });
  await ids.next();
  assert.ok(times[1] - times[0] >= 699, `${times[1] - times[0]} ms`);
  const error = { status: 503, code: "overloaded", message: "x", retry_after_ms: 60_000 };
  const other = await start(t, () => error);
  await failsWith(/overloaded: x/, other.ids);
  await sleep(600);
  assert.equal(other.posts().length, 1);
});

test("the error after the deadline names what is needed", async () => {
  const dead = await deadAddress();
  const ids = new Sequencer({ addresses: [dead, `${dead}/b/`], name: "orders" });
  const message = await failsWith(/refused/i, ids, 300);
  for (const text of ['"orders"', "300 ms", `${dead}, ${dead}/b;`, "check"]) {
    assert.ok(message.includes(text), `${text} in ${message}`);
  }
  assert.equal(await ids.close(), true);
});

test("a request without a reply is repeated with the same grant", async (t) => {
  const renewals = [];
  const { ids } = await start(t, ({ grant }) => {
    if (grant) renewals.push(grant);
    return grant && renewals.length === 1 ? null : undefined;
  }, { timeout: 200 });
  const { node } = ids.decompose(await ids.next());
  await until(() => renewals.length >= 2);
  assert.equal(renewals[1], renewals[0]);
  assert.equal(ids.decompose(await ids.next()).node, node);
});

test("a request without a reply takes its whole time", async (t) => {
  const m = await member(() => null);
  t.after(m.close);
  const began = performance.now();
  const stop = new AbortController();
  const call = new Members({}).call(m.url, "POST", { name: "orders" }, 300, stop);
  await assert.rejects(call, /no reply within 300 ms/);
  const took = performance.now() - began;
  assert.ok(took >= 299 && took < long / 2, `${took} ms`); // timers count whole milliseconds
});

test("a lost reply, when the sequencer has no grant yet", async (t) => {
  const { ids } = await start(t, (_, n) => (n === 1 ? null : undefined), { timeout: 200 });
  await ids.next();
});

test("errors that need a correction are thrown immediately", async (t) => {
  for (const code of ["not_found", "conflict", "bad_request", "invalid_config", "unauthenticated",
    "denied"]) {
    const { ids } = await start(t, () => ({ status: 400, code, message: "correct it" }));
    const began = performance.now();
    await assert.rejects(ids.next(), { code, message: /correct it/ });
    assert.ok(performance.now() - began < long / 2);
  }
});

test("denied: IDs go on to the end of the grant", async (t) => {
  const deny = (r) => (r.grant ? { status: 403, code: "denied", message: "no" } : undefined);
  const { ids, posts } = await start(t, deny);
  await ids.next();
  await until(() => posts().length >= 3); // the first of two errors is applied
  assert.notEqual(ids.tryNext(), undefined);
  const short = await start(t, deny, {}, { window: 500 });
  assert.equal((await failure(short.ids)).code, "denied");
});

test("answers that are not of a member are failures", async (t) => {
  const { ids, posts } = await start(t, (_, n, usual) =>
    n === 1 ? { status: 404 } : n === 2 ? { ...usual(), until: "x" } : undefined);
  await ids.next();
  assert.equal(posts().length, 3);
});

test("a member with TLS does not answer in clear text", async (t) => {
  const { ids } = await start(t, () => ({ status: 400 }));
  await failsWith(/status 400 .*; give https:\/\/ if it speaks TLS/, ids);
});

test("a reply without an end is a failure", async (t) => {
  const server = await endless();
  t.after(server.close);
  const ids = new Sequencer({ addresses: [server.url], name: "orders" });
  await failsWith(/more than 65536 bytes/, ids);
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
  await until(() => byFile.m.requests.at(-1).token === "Bearer two");
  assert.equal(byFile.m.requests[0].token, "Bearer one");
  let calls = 0;
  for (const token of [() => `t${calls++}`, async () => `t${calls++}`]) {
    const from = calls;
    const byFunction = await start(t, undefined, { token });
    await byFunction.ids.next();
    await until(() => byFunction.posts().length >= 2);
    const sent = byFunction.posts().slice(0, 2).map((r) => r.token);
    assert.deepEqual(sent, [`Bearer t${from}`, `Bearer t${from + 1}`]);
    await byFunction.ids.close();
  }
  const never = await start(t, undefined, { token: () => new Promise(() => {}), timeout: 200 });
  await failsWith(/no reply within 200 ms/, never.ids);
});

test("a copy of the process forgets the grant", async (t) => {
  const { ids, m, posts } = await start(t, undefined, {}, { renew: 60_000, layout: "jssafe" });
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
  wrong({ addresses: ["http://ids.internal:7948"], name: "orders" }, /insecure: true/);
  new Sequencer({ addresses: ["http://ids.internal:7948"], name: "orders", insecure: true });
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
    writeFileSync(file("san"), "subjectAltName=DNS:member.snowgrid,DNS:member.test");
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
  const times = { timeout: long, wait: long };
  const options = { addresses: [m.url], name: "orders", token: "secret", ...times };
  const tls = { ca: file("ca.crt"), cert: file("client.crt"), key: file("client.key") };
  const ids = new Sequencer({ ...options, tls });
  await ids.next();
  await until(() => m.requests.length >= 3);
  assert.equal(await ids.close(long), true);
  assert.ok(m.requests.length >= 4 && m.requests.every((r) => r.token === "Bearer secret"));
  const named = new Sequencer({ ...options, tls: { ...tls, serverName: "member.test" } });
  await named.next();
  await named.close();
  const other = new Sequencer({ ...options, tls: { ...tls, serverName: "other.test" } });
  await failsWith(/other\.test/i, other);
  const ofHost = new Sequencer({ ...options, tls: { ...tls, serverName: "" } });
  await failsWith(/IP: 127\.0\.0\.1/, ofHost);
  const stranger = new Sequencer({ ...options, tls: { ca: tls.ca } });
  await failsWith(/the last request failed/, stranger);
  const trusting = new Sequencer(options);
  await failsWith(/certificate/, trusting);
  const lost = new Sequencer({ ...options, tls: { ca: file("none.crt") } });
  await failsWith(/none\.crt/, lost);
  const wrong = new Sequencer({ ...options, tls: { ca: file("san") } });
  await failsWith(/has no certificate or key in PEM/, wrong);
  const server = await endless(tlsOptions);
  t.after(server.close);
  const full = new Sequencer({ ...options, addresses: [server.url], tls });
  await failsWith(/more than 65536 bytes/, full);
  await full.close();
  const slow = await member(() => null, { tlsOptions });
  t.after(slow.close);
  const hung = new Sequencer({ ...options, addresses: [slow.url], tls, timeout: 200 });
  await failsWith(/no reply within 200 ms/, hung);
});
