// A small member for tests: it grants the real time, to each first request a node of its own.

import { once } from "node:events";
import * as http from "node:http";
import * as https from "node:https";

export const layouts = {
  default: { epoch: 1767225600000, time_shift: 23, node_shift: 10, counters: 1024,
    ends: 2866737227776 },
  jssafe: { epoch: 1767225600000, time_shift: 12, node_shift: 6, counters: 64,
    ends: 3966248855552 },
};

/**
 * @param answer returns the answer to a request as {status, ...body}, undefined for the usual one,
 *   and null for none at all
 */
export async function member(answer = () => undefined, { layout = "default", window = 60_000,
  renew = 100, tlsOptions } = {}) {
  const requests = [];
  let nodes = 0;
  const usual = ({ method, grant }) => {
    if (method === "DELETE") return {};
    const node = grant ? Number(grant.split(".")[1]) : nodes++;
    const now = Date.now();
    return { grant: `g1.${node}.${requests.length}`, replaced: false, node, ...layouts[layout],
      from: now, until: now + window, now, renew_in_ms: renew };
  };
  const handle = async (req, res) => {
    let text = "";
    for await (const part of req) text += part;
    const request = { method: req.method, path: req.url, token: req.headers.authorization,
      ...JSON.parse(text) };
    requests.push(request);
    const given = await answer(request, requests.length, () => usual(request));
    if (given === null) return;
    const { status = 200, ...body } = given ?? usual(request);
    res.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));
  };
  const server = tlsOptions ? https.createServer(tlsOptions, handle) : http.createServer(handle);
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    requests,
    url: `${tlsOptions ? "https" : "http"}://127.0.0.1:${server.address().port}`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** A server whose replies do not end. sent returns the bytes that it has written. */
export async function endless(tlsOptions) {
  const part = Buffer.alloc(1 << 16, " ");
  let sent = 0;
  const handle = (req, res) => {
    req.resume();
    const write = () => {
      do sent += part.length;
      while (res.write(part));
    };
    res.on("drain", write);
    write();
  };
  const server = tlsOptions ? https.createServer(tlsOptions, handle) : http.createServer(handle);
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    sent: () => sent,
    url: `${tlsOptions ? "https" : "http"}://127.0.0.1:${server.address().port}`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Returns an address where no process listens. */
export async function deadAddress() {
  const m = await member();
  m.close();
  return m.url;
}

/** The longest wait for what is to happen, in ms, however busy the machine is. */
export const long = 20_000;

/** Waits until a condition holds. */
export async function until(condition, what = condition.toString()) {
  for (const end = performance.now() + long; !(await condition()); await sleep(5)) {
    if (performance.now() > end) throw new Error(`not within ${long} ms: ${what}`);
  }
}

/** A promise, and the function that fulfills it. */
export function gate() {
  let open;
  return { opened: new Promise((resolve) => (open = resolve)), open };
}

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
