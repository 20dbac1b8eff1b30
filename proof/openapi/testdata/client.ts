// Calls each path of a member's API by openapi-fetch, with the types that openapi-typescript generates.
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

const [base, token, host, port] = process.argv.slice(2) as [string, string, string, string];
const client = createClient<paths>({ baseUrl: base, headers: { Authorization: `Bearer ${token}` } });

/** Returns the reply of a call that has to succeed. */
async function must<T>(call: Promise<{ data?: T; error?: unknown; response: Response }>): Promise<T> {
  const { data, error, response } = await call;
  if (data === undefined || error !== undefined) {
    throw new Error(`${response.url}: ${response.status} ${JSON.stringify(error)}`);
  }
  return data;
}

function check(holds: boolean, about: unknown): void {
  if (!holds) throw new Error(JSON.stringify(about));
}

const { ids } = await must(client.POST("/v1/ids", {
  params: { header: { "Snowgrid-Timeout-Ms": 9000 } },
  body: { name: "ts", n: 3, create: { layout: { bits: 53, low_bits: 12, nodes: 64 } } },
}));
check(ids.length === 3 && BigInt(ids[0]!) < BigInt(ids[2]!), ids);
const refused = await client.POST("/v1/ids", { body: { name: "none" } });
const error: components["schemas"]["Error"] | undefined = refused.error;
check(refused.response.status === 404 && error?.code === "not_found" && error.message !== "", error);
let { grant } = await must(client.POST("/v1/grants", { body: { name: "ts", labels: { host: "a" } } }));
({ grant } = await must(client.POST("/v1/grants", { body: { grant, used: { ids: 1 } } })));
await must(client.DELETE("/v1/grants", { body: { grant, last: 0 } }));

const accept = { headers: { Accept: "application/json" } };
const index = await must(client.GET("/", accept));
check(typeof index !== "string" && index.paths.length > 20, index);
await must(client.GET("/v1/openapi.json"));
check(await must(client.GET("/livez", { parseAs: "text" })) === "alive\n", "/livez");
const ready = await must(client.GET("/readyz", { ...accept, params: { query: { verbose: true } } }));
check(typeof ready !== "string" && ready.ready, ready);
check(await must(client.GET("/readyz", { parseAs: "text" })) === "ready\n", "/readyz");
check((await must(client.GET("/v1/settled"))).settled, "settled");
const status = await must(client.GET("/v1/status"));
check((status.members ?? []).length > 0 && (status.sequencers ?? []).length > 0, status);
await must(client.POST("/v1/status", { body: { local: true } }));
const settings = await must(client.POST("/v1/settings", { body: { quotas: [{ pattern: "ts*", names: 9 }] } }));
check(settings.quotas.some((row) => row.pattern === "ts*" && row.names === 9), settings);

const page = await must(client.GET("/v1/sequencers", { params: { query: { prefix: "ts", limit: 5 } } }));
check(page.sequencers.length === 1 && page.sequencers[0]!.layout.bits === 53, page);
await must(client.POST("/v1/sequencers", { body: { busiest: true } }));
await must(client.GET("/v1/holders", { params: { query: { name: "ts" } } }));
await must(client.POST("/v1/holders", { body: { name: "ts", after: 0 } }));
await must(client.POST("/v1/destroy", { body: { name: "ts" } }));

const set = { cluster: "shop", name: "ts" };
const { next: id } = await must(client.POST("/v1/identity/next", { body: set }));
const own = { ...set, id, code: crypto.randomUUID().replaceAll("-", "") };
await must(client.POST("/v1/identity/apply", { body: own }));
const { members } = await must(client.POST("/v1/identity/register", { body: { ...own, addr: "10.0.0.3:80" } }));
check(members?.length === 1 && members[0]!.id === id, members);
const { sets } = await must(client.GET("/v1/identity", { params: { query: set } }));
check(sets?.[0]?.members?.[0]?.alive === true, sets);
await must(client.POST("/v1/identity", { body: {} }));
await must(client.POST("/v1/identity/clean", { body: { ...set, ids: [id], force: true } }));
await must(client.POST("/v1/identity/import", { body: { ...set, next: 12 } }));
await must(client.POST("/v1/identity/drop", { body: set }));

check((await must(client.GET("/membership/nodes"))).length === (await must(client.GET("/membership/size"))), "size");
await must(client.POST("/membership/subscribe", { body: { address: host, protocolPort: Number(port) } }));
check(await must(client.POST("/membership/unsubscribe", { body: {} })), "unsubscribe");
console.log("every call succeeded");
