// The rules G1 to G12 of docs/grants.md as a state machine, without I/O, clock and timers. Times
// are whole milliseconds: `at` is a reading of a monotonic clock, and a timestamp is Unix time.

import { DestroyedError, EndedError, ExhaustedError } from "./errors.js";
import type { Layout } from "./layout.js";

/** The reply to POST /v1/grants. */
export interface Reply extends Layout {
  readonly grant: string;
  readonly node: number;
  readonly from: number;
  readonly until: number;
  readonly now: number;
  readonly renew_in_ms: number;
}

/** A request without a grant in its reply. The code is absent without a reply. */
export interface Refusal {
  readonly code?: string;
  readonly retry_after_ms?: number;
}

/** A range of timestamps of one node: from <= t < until. */
interface Span {
  node: number;
  from: number;
  until: number;
}

const TIMES_MAX = 10; // replies whose times count (G2)
const TIMES_FOR = 60_000; // ms for which the time of a reply counts after it (G2)
const FIRST_PAUSE = 300; // ms, after a failure (G8)
const LAST_PAUSE = 3000; // ms

// An ID is composed in two words of 32 bits and read as one bigint.
const words = new Uint32Array(2);
const whole = new BigInt64Array(words.buffer);
const LOW = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1 ? 0 : 1;
const HIGH = 1 - LOW;

/** Makes the IDs of one process under one grant. */
export class GrantGenerator {
  /** When to send the next request, if `ready`. */
  due = 0;
  /** After `next` returned false: the time to wait, 0 to wait for a reply. */
  wait = 0;

  private grant = "";
  private layout: Layout = { epoch: 0, time_shift: 1, node_shift: 0, counters: 0, ends: 0 };
  private split = 1; // 2 to the power of 32 - time_shift
  private spans: Span[] = []; // in the order of their use
  private times: { at: number; offset: number }[] = []; // of the last replies
  private ahead = 0; // the grid's time is `at` and this (G2)
  private pause = FIRST_PAUSE; // after the next failure
  private asked = false; // a request has no result yet
  private error: Error | undefined; // ends the generator
  private last = -1; // timestamp of the last ID
  private node = -1; // of the last ID
  private counter = 0; // the next one

  /** @param jitter returns a random integer from 0 to below-1 */
  constructor(private readonly jitter: (below: number) => number) {}

  /** Whether no request is in progress and one may be sent (G8). */
  get ready(): boolean {
    return !this.asked && !this.error;
  }

  /** Returns the grant to send, "" to take one. */
  request(at: number): string {
    this.asked = true;
    this.due = at;
    return this.grant;
  }

  /** Applies a reply that was received at a time. */
  replied(at: number, r: Reply): void {
    this.asked = false;
    this.pause = FIRST_PAUSE;
    if (this.error) return;
    this.grant = r.grant;
    this.layout = r;
    this.split = 2 ** (32 - r.time_shift);
    this.due = at + r.renew_in_ms;
    this.times = this.times.filter((t) => t.at >= at - TIMES_FOR);
    this.times.push({ at, offset: r.now - at });
    this.times = this.times.slice(-TIMES_MAX);
    this.ahead = Math.max(...this.times.map((t) => t.offset));
    const now = at + this.ahead;
    this.spans = this.spans.filter((s) => s.until > now || s.until > r.from);
    const present = this.spans.at(-1);
    if (present && present.node === r.node && r.from <= present.until) { // no gap (G7)
      present.until = Math.max(present.until, r.until); // G5
    } else if (r.from < r.until) {
      this.spans.push({ node: r.node, from: r.from, until: r.until }); // G6
    }
  }

  /** Applies a request that got no grant (G8, G12). */
  refused(at: number, r: Refusal): void {
    this.asked = false;
    if (r.code === "destroyed") {
      this.error = new DestroyedError();
    } else if (r.code === "detached") { // it was released (G10)
      this.grant = "";
      this.spans = [];
    }
    const pause = this.pause - this.jitter(Math.floor(this.pause / 2));
    this.due = at + Math.max(r.retry_after_ms ?? 0, pause);
    this.pause = Math.min(2 * this.pause, LAST_PAUSE);
  }

  /** Makes an ID, which `id` returns. Returns false if `wait` has to pass before the next try. */
  next(at: number): boolean {
    if (this.error) throw this.error;
    const now = at + this.ahead;
    for (let s = this.spans[0]; s; s = this.spans[0]) {
      let t = Math.max(now, s.from);
      let counter = 0;
      if (t <= this.last) {
        if (s.node === this.node && this.counter < this.layout.counters) {
          t = this.last; // G3
          counter = this.counter; // G4
        } else {
          t = this.last + 1;
        }
      }
      if (t >= s.until) {
        this.spans.shift(); // G1
        continue;
      }
      if (t >= this.layout.ends) throw new ExhaustedError();
      if (t > now && t !== this.last) {
        this.wait = t - now; // G3
        return false;
      }
      this.last = t;
      this.node = s.node;
      this.counter = counter + 1;
      return true;
    }
    this.wait = 0;
    return false;
  }

  /** Returns the ID that `next` made. */
  id(): bigint {
    const { epoch, time_shift, node_shift } = this.layout;
    const t = this.last - epoch;
    const high = Math.floor(t / this.split);
    const low = (this.node << node_shift) | (this.counter - 1);
    words[HIGH] = high;
    words[LOW] = ((t - high * this.split) << time_shift) | low;
    return whole[0]!;
  }

  /** Returns the ID that `next` made, which is exact below 2^53. */
  idNumber(): number {
    const { epoch, time_shift, node_shift } = this.layout;
    const low = (this.node << node_shift) | (this.counter - 1);
    return (this.last - epoch) * 2 ** time_shift + low;
  }

  /** Forgets the grant: it is the parent's (G9). */
  forked(): void {
    const fresh = new GrantGenerator(this.jitter);
    fresh.last = this.last;
    fresh.error = this.error;
    Object.assign(this, fresh);
  }

  /**
   * Ends the generator. Returns the grant to release and the timestamp of its last ID, 0 for none;
   * "" without a grant (G10).
   */
  release(): { grant: string; last: number } {
    const released = { grant: this.grant, last: Math.max(this.last, 0) };
    this.grant = "";
    this.spans = [];
    this.error = new EndedError();
    return released;
  }
}
