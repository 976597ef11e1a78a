// Compression of whole answers, whatever they hold (the threshold is upstream's: 128 KiB).
import { gunzipSync } from "node:zlib";
import t from "tap";
import { limits } from "../../src/config/limits.ts";
import { gatheredOf } from "../../src/observe/gathered.ts";
import { type Answer, openInProcess } from "../support/inprocess.ts";

const maps = "/api/v1/namespaces/default/configmaps";
const merge = { "content-type": "application/merge-patch+json" };

function isPacked({ headers }: Answer): boolean {
  return headers.some(([name, value]) => name === "Content-Encoding" && value === "gzip");
}

t.test("answers above 128 KiB are gzipped for clients that read it, whatever they hold", async (t) => {
  const server = await openInProcess();
  t.teardown(() => server.close());
  const text = "x".repeat(limits.gzipBytesMin);
  Object.assign(server.server, {
    gathered: (_page: string, gzips: boolean) => gatheredOf(text.padEnd(text.length + 1), gzips),
  });
  const body = (name: string, data: string): object => ({ metadata: { name }, data: { text: data } });
  const table = { accept: "application/json;as=Table;g=meta.k8s.io;v=v1" };
  const rows: [method: string, path: string, body: unknown, headers: Record<string, string>][] = [
    ["POST", maps, body("big", text), {}],
    ["GET", `${maps}/big`, undefined, {}],
    ["GET", `${maps}/big`, undefined, { accept: "application/yaml" }],
    ["GET", `${maps}/big?pretty=1`, undefined, {}],
    ["GET", `${maps}/big`, undefined, { accept: "application/vnd.kubernetes.protobuf" }],
    ["GET", `${maps}/big?includeObject=Object`, undefined, table],
    ["GET", maps, undefined, {}],
    ["GET", `${maps}?includeObject=Object`, undefined, table],
    ["PATCH", `${maps}/big`, { data: { more: "1" } }, merge],
    ["PUT", `${maps}/big`, body("big", text), {}],
    ["DELETE", `${maps}?dryRun=All`, undefined, {}],
    ["GET", "/metrics", undefined, {}],
  ];
  for (const [method, path, sent, headers] of rows) {
    const name = `${method} ${path} ${headers["accept"] ?? ""}`;
    // The second create and the like are refused: what is compared is one answer each.
    const answer = await server.call(method, path, sent, { ...headers, "accept-encoding": "gzip" });
    t.ok(isPacked(answer), name);
    t.ok(gunzipSync(answer.bytes).length > limits.gzipBytesMin, name);
    await new Promise((resolve) => setImmediate(resolve));
    t.match(server.lastRecord, { code: answer.code, bytes: answer.bytes.length }, `${name} is reported as it was sent`);
    if (method === "POST") continue;
    t.notOk(isPacked(await server.call(method, path, sent, headers)), `${name}, for a client that does not`);
  }
  t.notOk(
    isPacked(await server.call("GET", "/api/v1", undefined, { "accept-encoding": "gzip" })),
    "small ones are not",
  );
});

t.test("nothing is gzipped where the gate APIResponseCompression is off", async (t) => {
  const server = await openInProcess("kubernetes", { gates: new Set() });
  t.teardown(() => server.close());
  await server.call("POST", maps, { metadata: { name: "big" }, data: { text: "x".repeat(limits.gzipBytesMin) } });
  for (const path of [maps, `${maps}/big`]) {
    t.notOk(isPacked(await server.call("GET", path, undefined, { "accept-encoding": "gzip" })), path);
  }
});
