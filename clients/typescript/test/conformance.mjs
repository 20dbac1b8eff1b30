// Runs the cases and requests of ../conformance.json.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

const file = new URL("../../conformance.json", import.meta.url);
export const { cases, requests, releases, parts, ranges } = JSON.parse(readFileSync(file, "utf8"));

function runStep(g, step) {
  const { at } = step;
  const make = () => {
    assert.ok(g.next(at), "an ID");
    const id = g.id();
    if (id < 2n ** 53n) assert.equal(BigInt(g.idNumber()), id);
    return String(id);
  };
  const [field] = Object.keys(step).filter((key) => key !== "at");
  const value = step[field];
  switch (field) {
    case "request":
      assert.ok(g.ready, "no request is in progress");
      return assert.equal(g.request(at), value);
    case "reply":
      return g.replied(at, value);
    case "refused":
      return g.refused(at, value);
    case "ids":
      return value.forEach((id) => assert.equal(make(), id));
    case "many":
      for (let i = 0; i < value.count; i++) {
        const id = make();
        if (i === 0) assert.equal(id, value.first);
        if (i === value.count - 1) assert.equal(id, value.last);
      }
      return;
    case "wait":
      assert.ok(!g.next(at), "no ID");
      return assert.equal(g.wait, value);
    case "error":
      return assert.throws(() => g.next(at), { code: value });
    case "due":
      return assert.ok(value[0] <= g.due && g.due <= value[1], `due at ${g.due}`);
    case "fork":
      return g.forked();
    case "release":
      return assert.deepEqual(g.release(), value);
    default:
      throw new Error(`unknown field ${field}`);
  }
}

/** Runs one case with the least and the largest jitter. */
export function runCase({ GrantGenerator }, { steps }) {
  for (const jitter of [() => 0, (below) => below - 1]) {
    const g = new GrantGenerator(jitter);
    steps.forEach((step, i) => {
      try {
        runStep(g, step);
      } catch (error) {
        throw new Error(`step ${i} ${JSON.stringify(step)}: ${error.message}`, { cause: error });
      }
    });
  }
}

/** Compares the body of one release. */
export function runRelease({ releaseRequest }, { given, body }) {
  const { grant, last, ids, waits } = given;
  const sent = JSON.stringify(releaseRequest(grant, last, { ids, waits }));
  assert.deepEqual(JSON.parse(sent), body);
}

/** Compares the body of one request. */
export function runRequest({ grantRequest }, { given, body }) {
  const { grant, ids, waits, ...options } = given;
  const sent = JSON.stringify(grantRequest(options, grant, { ids, waits }));
  assert.deepEqual(JSON.parse(sent), body);
}
