import assert from "node:assert/strict";
import test from "node:test";
import * as generator from "../dist/generator.js";
import { decompose, maxId, minId } from "../dist/layout.js";
import { cases, parts, ranges, runCase } from "./conformance.mjs";

for (const c of cases) test(`${c.rule} ${c.name}`, () => runCase(generator, c));

test(`${cases.length} cases, ${parts.length} parts, ${ranges.length} ranges`, () => {
  assert.ok(cases.length >= 64 && parts.length >= 9 && ranges.length >= 21);
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
