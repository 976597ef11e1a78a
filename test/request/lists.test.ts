// Lists as answers: what leaves, in which form, and what is reported of it.
import { gunzipSync } from "node:zlib";
import t from "tap";
import { type InProcess, openInProcess } from "../support/inprocess.ts";

const maps = "/api/v1/namespaces/default/configmaps";

async function fill(server: InProcess, count: number, bytes: number): Promise<void> {
  const data = { text: "x".repeat(bytes) };
  for (let i = 0; i < count; i++) await server.call("POST", maps, { metadata: { name: `map-${i}` }, data });
}

t.test("a gzipped list is reported with the code and the bytes of its answer", async (t) => {
  const server = await openInProcess();
  t.teardown(() => server.close());
  await fill(server, 60, 4_000);
  const answer = await server.call("GET", maps, undefined, { "accept-encoding": "gzip" });
  t.ok(answer.headers.some(([name, value]) => name === "Content-Encoding" && value === "gzip"));
  t.equal(JSON.parse(gunzipSync(answer.bytes).toString()).items.length, 60);
  // The report follows the answer.
  await new Promise((resolve) => setImmediate(resolve));
  t.match(server.lastRecord, { code: 200, bytes: answer.bytes.length });
});
