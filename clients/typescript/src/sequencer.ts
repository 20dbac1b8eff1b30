import process from "node:process";
import { clearTimeout, setImmediate, setTimeout } from "node:timers";
import { DeadlineError, SnowgridError } from "./errors.js";
import { GrantGenerator } from "./generator.js";
import {
  Members, checkedAddress, checkedReply, grantRequest, releaseRequest, type Access,
} from "./http.js";
import * as layouts from "./layout.js";

/** The definition of a sequencer that is created if it does not exist. */
export interface Create {
  /** Unix milliseconds. */
  epoch?: number;
  nodes?: number;
  layout?: string | { bits: number; low_bits: number; nodes: number };
  /** The nodes of holders, if another generator has the others. */
  node_range?: { lo: number; hi: number };
}

export interface Options extends Access {
  /** Base addresses of members: "https://host:7948"; http:// for this host. */
  addresses: readonly string[];
  /** The sequencer. */
  name: string;
  /** Creates the sequencer if it does not exist. */
  create?: Create;
  /** Up to 16 texts for the list of holders. */
  labels?: Readonly<Record<string, string>>;
  /** Time limit of a request, in milliseconds; 2,000 by default. */
  timeout?: number;
  /** How long a call for an ID waits at most, in milliseconds; 10,000 by default. */
  wait?: number;
  /** Whether a timer renews the grant; true by default. If not, calls for an ID renew it. */
  background?: boolean;
  /** Allows http:// to other hosts. A token can be read on the way. */
  insecure?: boolean;
}

/** Errors that need a correction: a call without a usable grant throws them immediately. */
const immediate = new Set([
  "not_found", "conflict", "bad_request", "invalid_config", "unauthenticated", "denied",
]);

const timerMax = 2 ** 31 - 1;

const monotonic = performance.now.bind(performance);

/** Whole milliseconds, rounded down (G2). */
const clock = (): number => Math.floor(monotonic());

/** Makes unique IDs of one sequencer. Each process and each worker makes its own. */
export class Sequencer {
  readonly name: string;
  readonly addresses: readonly string[];
  readonly #options: Options;
  readonly #members: Members;
  readonly #timeout: number;
  #generator = new GrantGenerator((below) => Math.floor(Math.random() * below));
  #layout: layouts.Layout | undefined;

  #pid = process.pid;
  #read = 0; // the newest reading of the clock for an ID
  #due = 0; // when to send the next request; Infinity while one is in progress
  #timer: ReturnType<typeof setTimeout> | undefined;
  #turn = 0; // the address of the next request
  #request: { stop: AbortController; grant: Promise<string> } | undefined; // in progress
  #failure: SnowgridError | undefined; // of the last request
  #sleepers = new Set<() => void>();
  #closing: Promise<boolean> | undefined;
  #overdue = 0; // calls that wait since an eighth of their time; others let them pass
  #ids = 0; // since the last request (used)
  #waits = 0;

  constructor(options: Options) {
    if (!options.name || !options.addresses?.length) {
      throw new SnowgridError("invalid_option", "snowgrid: give a name and one address or more");
    }
    this.name = options.name;
    this.addresses = options.addresses.map((a) => checkedAddress(a, options.insecure));
    this.#options = options;
    this.#members = new Members(options);
    this.#timeout = options.timeout ?? 2000;
  }

  /** Returns an ID if one can be made now. It never waits. */
  tryNext(): bigint | undefined {
    return this.#make() ? this.#generator.id() : undefined;
  }

  /** Returns an ID. It waits for so many milliseconds at most. */
  async next(wait?: number): Promise<bigint> {
    if (this.#overdue === 0 && this.#make()) return this.#generator.id();
    return (await this.#collect(1, () => this.#generator.id(), wait))[0]!;
  }

  /** Returns n IDs in ascending order. It waits for so many milliseconds in all at most. */
  async nextMany(n: number, wait?: number): Promise<bigint[]> {
    if (!Number.isSafeInteger(n) || n < 0) {
      throw new SnowgridError("invalid_option", `snowgrid: nextMany(${n}): give 0 or more`);
    }
    return this.#collect(n, () => this.#generator.id(), wait);
  }

  /** Returns an ID as a number. It throws an error if the layout has IDs above 2^53. */
  async nextNumber(wait?: number): Promise<number> {
    if (this.#layout) this.#checkNumber(this.#layout);
    const make = () => {
      this.#checkNumber(this.layout);
      return this.#generator.idNumber();
    };
    return (await this.#collect(1, make, wait))[0]!;
  }

  /** The layout of the newest reply. It throws an error before the first one. */
  get layout(): layouts.Layout {
    if (this.#layout) return this.#layout;
    throw new SnowgridError(
      "layout",
      `snowgrid: sequencer "${this.name}" has sent no layout yet; call next first`,
    );
  }

  /** Returns the parts of an ID of this sequencer. */
  decompose(id: bigint | string): layouts.Parts {
    return layouts.decompose(this.layout, id);
  }

  /** Returns the smallest ID that a time can have. */
  minId(time: number | Date): bigint {
    return layouts.minId(this.layout, time);
  }

  /** Returns the largest ID that a time can have. */
  maxId(time: number | Date): bigint {
    return layouts.maxId(this.layout, time);
  }

  /**
   * Ends the client and releases its grant. It takes so many milliseconds at most. Returns whether
   * a member has released the grant, or there was none; otherwise the node is free after a window.
   */
  close(wait = 2000): Promise<boolean> {
    return (this.#closing ??= this.#close(wait));
  }

  #checkNumber(layout: layouts.Layout): void {
    if (layouts.fitsNumber(layout)) return;
    throw new SnowgridError(
      "layout",
      `snowgrid: sequencer "${this.name}" has layout ${layouts.layoutText(layout)}, whose IDs ` +
        "exceed 2^53; call next, or use a sequencer with layout jssafe",
    );
  }

  /** Makes an ID, which the generator returns until the next one is made. */
  #make(): boolean {
    if (process.pid !== this.#pid) this.#forked();
    const at = (this.#read = clock());
    if (at >= this.#due) this.#send(at);
    if (!this.#generator.next(at)) return false;
    this.#ids++;
    return true;
  }

  /** Returns n results of `compose`, each for an ID of its own. */
  async #collect<T>(n: number, compose: () => T, wait?: number): Promise<T[]> {
    const results: T[] = [];
    const limit = wait ?? this.#options.wait ?? 10_000;
    let since = monotonic(); // its last ID
    let deadline = since + limit;
    let pid = process.pid;
    let late = false; // it counts in #overdue
    let turn = false; // a timestamp was left to it
    try {
      for (let waited = false; results.length < n; ) {
        const at = monotonic();
        if (!late && limit > 0 && at - since > limit / 8) {
          late = true;
          this.#overdue++;
        }
        const passes = late || this.#overdue === 0;
        const made = passes && this.#make();
        if (this.#pid !== pid) { // of the process of which this one is a copy
          pid = this.#pid;
          results.length = 0;
        }
        if (made) {
          results.push(compose());
          while (results.length < n && this.#generator.next(this.#read)) { // without the clock
            this.#ids++;
            results.push(compose());
          }
          if (late) this.#overdue--;
          late = false;
          since = monotonic();
          continue;
        }
        if (!waited) this.#waits++;
        waited = true;
        const pause = passes ? this.#generator.wait : 1;
        if (pause === 0 && !this.#request && this.#failure && immediate.has(this.#failure.code)) {
          throw this.#failure;
        }
        if (late && !turn && pause === 1) {
          turn = true; // even if the call runs again only after the deadline
          deadline = Math.max(deadline, this.#read + 1);
        }
        if (at >= deadline) throw this.#late(limit);
        await this.#sleep(Math.min(deadline - at, this.#due - at, pause || Infinity));
      }
    } finally {
      if (late) this.#overdue--;
    }
    return results;
  }

  /** Waits for a result of a request, at most for a time. The process stays alive meanwhile. */
  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      if (ms <= 1) {
        setImmediate(resolve); // timers take longer than a millisecond
        return;
      }
      const wake = () => {
        clearTimeout(timer);
        this.#sleepers.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, Math.min(ms, timerMax));
      this.#sleepers.add(wake);
    });
  }

  #wake(): void {
    for (const wake of [...this.#sleepers]) wake();
  }

  #late(limit: number): DeadlineError {
    const failure = this.#failure
      ? `the last request failed: ${this.#failure.message}`
      : this.#generator.wait > 0
        ? "the IDs of this time are used up, or the grant begins later"
        : "no request has a reply yet";
    return new DeadlineError(
      `no ID of sequencer "${this.name}" within ${limit} ms; addresses ` +
        `${this.addresses.join(", ")}; ${failure}; correct this, check that these members run ` +
        "(snowgrid status), or let the call wait longer",
    );
  }

  #schedule(): void {
    clearTimeout(this.#timer);
    this.#due = this.#generator.ready ? this.#generator.due : Infinity;
    if (this.#options.background === false || this.#due === Infinity) return;
    const renew = () => {
      if (process.pid !== this.#pid) return this.#forked();
      const at = clock();
      if (at >= this.#due) this.#send(at);
      else this.#schedule();
    };
    const ms = Math.max(0, this.#due - monotonic());
    this.#timer = setTimeout(renew, Math.min(Math.ceil(ms), timerMax)).unref();
  }

  #send(at: number): void {
    clearTimeout(this.#timer);
    this.#due = Infinity;
    const stop = new AbortController();
    this.#request = { stop, grant: Promise.resolve("") };
    this.#request.grant = this.#ask(this.#generator.request(at), stop);
  }

  /** Sends a request and applies its result. Returns the grant in the reply, or "". */
  async #ask(grant: string, stop: AbortController): Promise<string> {
    const used = { ids: this.#ids, waits: this.#waits };
    const request = grantRequest(this.#options, grant, used);
    const address = this.addresses[this.#turn % this.addresses.length]!;
    const current = () => this.#request?.stop === stop;
    let received = "";
    try {
      const answer = await this.#members.call(address, "POST", request, this.#timeout, stop);
      const reply = checkedReply(answer);
      if (!current()) return "";
      received = reply.grant;
      this.#ids -= used.ids;
      this.#waits -= used.waits;
      this.#failure = undefined;
      const { epoch, time_shift, node_shift, counters, ends } = reply; // without the secret grant
      this.#layout = { epoch, time_shift, node_shift, counters, ends };
      this.#generator.replied(clock(), reply);
    } catch (error) {
      if (!current()) return "";
      const e = error as SnowgridError;
      this.#turn++;
      this.#failure = new SnowgridError(e.code, `${address}: ${e.message}`, e.retryAfter);
      this.#generator.refused(clock(), { code: e.code, retry_after_ms: e.retryAfter });
    }
    this.#request = undefined;
    this.#schedule();
    this.#wake();
    return received;
  }

  /** Forgets the grant and the request of the process of which this one is a copy (G9). */
  #forked(): void {
    clearTimeout(this.#timer);
    this.#pid = process.pid;
    this.#request?.stop.abort();
    this.#request = undefined;
    this.#failure = undefined;
    this.#due = 0;
    this.#ids = this.#waits = 0;
    this.#generator.forked();
  }

  async #close(wait: number): Promise<boolean> {
    if (process.pid !== this.#pid) this.#forked();
    const deadline = monotonic() + wait;
    clearTimeout(this.#timer);
    this.#due = Infinity;
    let { grant, last } = this.#generator.release();
    this.#wake();
    const request = this.#request;
    if (request) { // its reply has the newest grant
      const timer = setTimeout(() => request.stop.abort(), wait / 2);
      grant = (await request.grant) || grant;
      clearTimeout(timer);
    }
    if (!grant) return true;
    const release = releaseRequest(grant, last, { ids: this.#ids, waits: this.#waits });
    for (let left = this.addresses.length; left > 0; left--, this.#turn++) {
      const address = this.addresses[this.#turn % this.addresses.length]!;
      const limit = Math.max(1, (deadline - monotonic()) / left);
      const stop = new AbortController();
      try {
        await this.#members.call(address, "DELETE", release, limit, stop);
        return true;
      } catch (error) {
        const { code } = error as SnowgridError;
        if (code === "detached" || code === "destroyed") return true;
      }
    }
    return false;
  }
}
