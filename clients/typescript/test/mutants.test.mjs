// Breaks one rule at a time in a copy of the compiled modules. A case or a request has to fail for
// each.

import assert from "node:assert/strict";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { pathToFileURL } from "node:url";
import {
  cases, releases, requests, runCase, runRelease, runRequest,
} from "./conformance.mjs";

const mutants = [
  ["G1", "until is not checked", "if (t >= s.until) {", "if (false) {"],
  ["G1", "ends is not checked", "if (t >= this.layout.ends)", "if (false)"],
  ["G2", "the largest of all replies counts", ".slice(-TIMES_MAX)", ".slice(0)"],
  ["G2", "a reply counts for ever", "t.at >= at - TIMES_FOR", "true"],
  ["G3", "below the last timestamp", "if (t <= this.last) {", "if (t === this.last) {"],
  ["G3", "before from", "Math.max(now, s.from)", "now"],
  ["G3", "above the grid's time", "t > now && t !== this.last", "false"],
  ["G4", "a counter is used again", "this.counter = counter + 1", "this.counter = counter"],
  ["G4", "a counter too many", "this.counter < this.layout", "this.counter <= this.layout"],
  ["G5", "a reply shortens", "Math.max(present.until, r.until)", "r.until"],
  ["G6", "the former grant is dropped", "this.spans.push({", "this.spans = []; this.spans.push({"],
  ["G6", "another node in the same millisecond", "s.node === this.node && ", ""],
  ["G7", "the gap is used", " && r.from <= present.until", ""],
  ["G8", "no backoff", "Math.min(2 * this.pause, LAST_PAUSE)", "this.pause"],
  ["G8", "retry_after_ms is ignored", "r.retry_after_ms ?? 0", "0"],
  ["G9", "a fork keeps the grant", "Object.assign(this, fresh)", ""],
  ["G10", "a reply revives", "if (this.error)\n            return;", "this.error = undefined;"],
  ["G10", "detached keeps the grant", 'r.code === "detached"', "false"],
  ["G12", "destroyed goes on", "this.error = new DestroyedError()", ""],
  ["G11", "low is sent", "{ name, create, labels, used }", "{ low: 1, ...$& }", "http.js"],
  ["G11", "low is sent in a renewal", "{ grant, labels, used }", "{ low: 1, ...$& }", "http.js"],
  ["POST", "a renewal repeats name and create", "{ grant, labels, used }",
    "{ grant, name, create, labels, used }", "http.js"],
  ["G10", "the release has no timestamp", "{ grant, last, used }", "{ grant, used }", "http.js"],
  ["G10", "the release has no counts", "{ grant, last, used }", "{ grant, last }", "http.js"],
  ["POST", "a renewal has no labels", "{ grant, labels, used }", "{ grant, used }", "http.js"],
];

const dist = new URL("../dist/", import.meta.url);

for (const [rule, name, text, replacement, file = "generator.js"] of mutants) {
  test(`${rule} ${name}`, async (t) => {
    const source = await readFile(new URL(file, dist), "utf8");
    assert.equal(source.split(text).length, 2, `${file} has ${text} once`);
    const mutated = source.replace(text, replacement);
    const dir = await mkdtemp(join(tmpdir(), "snowgrid-mutant-"));
    t.after(() => rm(dir, { recursive: true }));
    await cp(dist, dir, { recursive: true });
    await writeFile(join(dir, "package.json"), '{"type":"module"}');
    await writeFile(join(dir, file), mutated);
    const mutant = await import(pathToFileURL(join(dir, file)).href);
    const fails = (run) => (c) => {
      try {
        run(mutant, c);
        return false;
      } catch {
        return true;
      }
    };
    const failed = file === "http.js"
      ? [...requests.filter(fails(runRequest)), ...releases.filter(fails(runRelease))]
      : cases.filter(fails(runCase));
    assert.ok(failed.length > 0, "a case fails");
    const some = failed.slice(0, 3).map((c) => c.about ?? `${c.rule} ${c.name}`);
    t.diagnostic(`${rule} ${name}: ${failed.length} fail: ${some.join("; ")}`);
  });
}
