import assert from "node:assert/strict";
import test from "node:test";
import * as generator from "../dist/generator.js";
import * as http from "../dist/http.js";
import { decompose, maxId, minId } from "../dist/layout.js";
import {
  cases, parts, ranges, releases, requests, runCase, runRelease, runRequest,
} from "./conformance.mjs";

for (const c of cases) test(`${c.rule} ${c.name}`, () => runCase(generator, c));

for (const r of requests) test(`body of ${r.about}`, () => runRequest(http, r));

for (const r of releases) test(`body of ${r.about}`, () => runRelease(http, r));

const counts = [cases, requests, releases, parts, ranges].map((list) => list.length);

test(`${counts} cases, requests, releases, parts and ranges`, () => {
  assert.ok([65, 12, 4, 9, 21].every((least, i) => counts[i] >= least));
});

test("parts", () => {
  for (const { id, time, node, counter, ...layout } of parts) {
    assert.deepEqual(decompose(layout, BigInt(id)), { time, node, counter });
  }
});

test("ranges", () => {
  for (const { time, min, max, ...layout } of ranges) {
    assert.equal(String(minId(layout, time)), min);
    assert.equal(String(maxId(layout, new Date(time))), max);
  }
});
