// Calls of a member's API, and the checks of its answers.

import { readFile } from "node:fs/promises";
import type { Agent } from "node:https";
import { clearTimeout, setTimeout } from "node:timers";
import { SnowgridError } from "./errors.js";
import type { Reply } from "./generator.js";
import type { Options } from "./sequencer.js";

/** Paths of PEM files and a name. The files are read again for each request. */
export interface TLSFiles {
  /** Certificates of the authority that signed the members' certificates. */
  ca?: string;
  /** The client's certificate and its key. */
  cert?: string;
  key?: string;
  /**
   * The name in the server's certificate: with `ca` by default that of each member,
   * "member.snowgrid", else the host of the address. "" stands for that host too.
   */
  serverName?: string;
}

export interface Access {
  /** A bearer token, or a function that returns the present one. */
  token?: string | (() => string | Promise<string>);
  /** A file with the bearer token. It is read again for each request. */
  tokenFile?: string;
  /** With it, requests are sent by node:https, else by fetch. */
  tls?: TLSFiles;
}

const MEMBER = "member.snowgrid"; // the name in each certificate that a grid made
const REPLY_MAX = 1 << 16; // bytes
const RETRY_MAX = 3_600_000; // ms

interface Answer {
  status: number;
  text: string;
}

/** Returns a base address without a slash at its end, or throws an error about it. */
export function checkedAddress(address: string, insecure = false): string {
  const refuse = (why: string) =>
    new SnowgridError("invalid_option", `snowgrid: address ${address}: ${why}`);
  let url: URL;
  try {
    url = new URL(address);
  } catch {
    throw refuse("give it as https://host:7948");
  }
  const loopback = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname);
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    throw refuse("give https://host:7948");
  }
  if (url.protocol === "http:" && !loopback && !insecure) {
    throw refuse("it is in clear text and not of this host; give https://, or insecure: true");
  }
  return address.replace(/\/+$/, "");
}

/** Returns the body of a request with this grant, "" for none (G11). */
export function grantRequest(
  options: Pick<Options, "name" | "create" | "labels">,
  grant: string,
  used: { ids: number; waits: number },
): object {
  const { name, create } = options;
  const labels = Object.keys(options.labels ?? {}).length > 0 ? options.labels : undefined;
  return grant ? { grant, labels, used } : { name, create, labels, used };
}

/** Returns the body of the release of a grant (G10). last is a timestamp, 0 for none. */
export function releaseRequest(
  grant: string,
  last: number,
  used: { ids: number; waits: number },
): object {
  return { grant, last, used };
}

/** Sends requests about grants. */
export class Members {
  private agent: Agent | undefined; // of node:https

  constructor(private readonly access: Access) {}

  /** Returns a member's answer with status 200. Every failure is a SnowgridError. */
  async call(
    base: string,
    method: "POST" | "DELETE",
    request: object,
    limit: number,
    stop: AbortController,
  ): Promise<unknown> {
    const timer = setTimeout(
      () => stop.abort(new Error(`no reply within ${Math.ceil(limit)} ms`)),
      limit,
    ).unref();
    const { signal } = stop;
    const stopped = new Promise<never>((_, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
    try {
      const sent = this.send(new URL(`${base}/v1/grants`), method, JSON.stringify(request), signal);
      sent.catch(() => {}); // it fails after the time limit too
      return body(await Promise.race([sent, stopped]), base);
    } catch (error) {
      if (error instanceof SnowgridError) throw error;
      throw new SnowgridError("", reason(error));
    } finally {
      clearTimeout(timer);
    }
  }

  private async send(
    url: URL,
    method: string,
    text: string,
    signal: AbortSignal,
  ): Promise<Answer> {
    const { token, tokenFile, tls } = this.access;
    const headers: Record<string, string> = { "Content-Type": "application/json" };
    let bearer = typeof token === "function" ? await token() : token;
    if (bearer === undefined && tokenFile) bearer = (await readFile(tokenFile, "utf8")).trim();
    if (bearer) headers["Authorization"] = `Bearer ${bearer}`;
    if (tls && url.protocol === "https:") return this.sendTLS(url, method, headers, text, signal);
    const options: RequestInit = { method, headers, body: text, redirect: "error", signal };
    const response = await fetch(url, options);
    return { status: response.status, text: await textOf(response.body ?? []) };
  }

  private async sendTLS(
    url: URL,
    method: string,
    headers: Record<string, string>,
    text: string,
    signal: AbortSignal,
  ): Promise<Answer> {
    const https = await import("node:https");
    this.agent ??= new https.Agent({ keepAlive: true, maxSockets: 1 });
    const { ca, cert, key, serverName = ca ? MEMBER : "" } = this.access.tls ?? {};
    const files = Object.fromEntries(
      await Promise.all(
        Object.entries({ ca, cert, key })
          .filter((entry): entry is [string, string] => entry[1] !== undefined)
          .map(async ([name, file]) => [name, await readPEM(file)] as const),
      ),
    );
    const length = Buffer.byteLength(text);
    const options = {
      method,
      signal,
      agent: this.agent,
      headers: { ...headers, "Content-Length": length },
      ...(serverName ? { servername: serverName } : {}),
      ...files,
    };
    return new Promise((resolve, reject) => {
      const request = https.request(url, options, (response) => {
        const status = response.statusCode ?? 0;
        textOf(response).then((text) => resolve({ status, text }), reject);
      });
      request.on("error", reject);
      request.end(text);
    });
  }
}

/** Returns a PEM file's text. Node takes any other text for no certificate, without an error. */
async function readPEM(file: string): Promise<string> {
  const text = await readFile(file, "utf8");
  if (!text.includes("-----BEGIN ")) throw new Error(`${file} has no certificate or key in PEM`);
  return text;
}

/** Returns the text of a body, or throws an error if it has more than REPLY_MAX bytes. */
async function textOf(parts: AsyncIterable<Uint8Array> | Uint8Array[]): Promise<string> {
  const decoder = new TextDecoder();
  let [text, size] = ["", 0];
  for await (const part of parts) {
    size += part.length;
    if (size > REPLY_MAX) throw new Error(`the reply has more than ${REPLY_MAX} bytes`);
    text += decoder.decode(part, { stream: true });
  }
  return text + decoder.decode();
}

/** Returns an answer's object, or throws its error. */
function body({ status, text }: Answer, base: string): unknown {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    parsed = undefined;
  }
  const fields = (parsed ?? {}) as Record<string, unknown>;
  if (status === 200 && typeof parsed === "object") return fields;
  const { code, message, retry_after_ms: after } = fields;
  if (typeof code !== "string" || status === 200) {
    const tls = status === 400 && base.startsWith("http://");
    const hint = tls ? "; give https:// if it speaks TLS" : "";
    throw new SnowgridError("", `status ${status} without a code is not of a snowgrid member${hint}`);
  }
  const stated = typeof after === "number" && after > 0 ? Math.ceil(after) : 0;
  const retryAfter = Math.min(stated, RETRY_MAX);
  throw new SnowgridError(code, `${code}: ${String(message)}`, retryAfter);
}

/** Returns the text of an error: fetch puts the reason into its cause. */
function reason(error: unknown): string {
  const e = error as { message?: string; code?: string; cause?: unknown } | undefined;
  if (e?.cause) return reason(e.cause);
  return e?.message || e?.code || String(error);
}

const numbers = [
  "node", "epoch", "time_shift", "node_shift", "counters", "from", "until", "now", "renew_in_ms",
  "ends",
] as const;

/** Returns a reply whose fields are usable, or throws an error. */
export function checkedReply(fields: unknown): Reply {
  const r = fields as Reply;
  const low = (name: string) => (name === "epoch" ? -Infinity : 0);
  const wrong = numbers.find((name) => !Number.isSafeInteger(r[name]) || r[name] < low(name));
  const shifts = r.node_shift <= r.time_shift && 0 < r.time_shift && r.time_shift < 32;
  const within = r.node < 2 ** (r.time_shift - r.node_shift) && r.counters <= 2 ** r.node_shift;
  const bits = (r.ends - r.epoch) * 2 ** r.time_shift <= 2 ** 63;
  if (wrong || typeof r.grant !== "string" || !shifts || !within || !bits) {
    const about = wrong ?? "grant or layout";
    throw new SnowgridError("", `a reply has a wrong ${about}; update the snowgrid package`);
  }
  return r;
}
