// Lists as answers: what leaves, in which form, and what is reported of it.
import { gunzipSync } from "node:zlib";
import t from "tap";
import { Fault, parseText } from "../../src/codec/json.ts";
import { prettyJson, yamlText } from "../../src/codec/print.ts";
import { type InProcess, openInProcess } from "../support/inprocess.ts";

const maps = "/api/v1/namespaces/default/configmaps";

async function fill(server: InProcess, count: number, bytes: number): Promise<void> {
  const data = { text: "x".repeat(bytes) };
  for (let i = 0; i < count; i++) await server.call("POST", maps, { metadata: { name: `map-${i}` }, data });
}

/** The report follows the answer. */
function reported(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

t.test("a gzipped list is reported with the code and the bytes of its answer", async (t) => {
  const server = await openInProcess();
  t.teardown(() => server.close());
  await fill(server, 60, 4_000);
  const answer = await server.call("GET", maps, undefined, { "accept-encoding": "gzip" });
  t.ok(answer.headers.some(([name, value]) => name === "Content-Encoding" && value === "gzip"));
  t.equal(JSON.parse(gunzipSync(answer.bytes).toString()).items.length, 60);
  await reported();
  t.match(server.lastRecord, { code: 200, bytes: answer.bytes.length });
});

/** Kinds of lists that print differently: empty ones, short ones, and texts that YAML folds, quotes or writes as blocks. */
const printed: readonly { readonly name: string; readonly data: readonly Record<string, string>[] }[] = [
  { name: "empty", data: [] },
  { name: "one", data: [{ a: "b" }] },
  { name: "without data", data: [{}, {}] },
  {
    name: "texts of all kinds",
    data: [
      { text: `${"word ".repeat(60)}end` },
      { yes: "yes", number: "12", empty: "", "key.with-signs": "a: b # c" },
      { lines: "first\n  second\n\nthird\n", quote: 'it\'s "so"', emoji: "\u{1f600} \u2028" },
    ],
  },
];

for (const { name, data } of printed) {
  t.test(`lists are printed as one document is: ${name}`, async (t) => {
    const server = await openInProcess();
    t.teardown(() => server.close());
    for (const [i, one] of data.entries())
      await server.call("POST", maps, { metadata: { name: `map-${i}` }, data: one });
    for (const as of ["", ";as=Table;g=meta.k8s.io;v=v1", ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"]) {
      const get = (type: string, more = "") =>
        server.call("GET", `${maps}${more}`, undefined, { accept: `application/${type}${as}` });
      const plain = parseText((await get("json")).text);
      if (plain instanceof Fault) throw new Error(plain.message);
      t.equal((await get("json", "?pretty=1")).text, prettyJson(plain), `json${as}`);
      const yaml = await get("yaml");
      t.equal(yaml.text, yamlText(plain), `yaml${as}`);
      t.ok(yaml.headers.some(([key, value]) => key === "Content-Type" && value.startsWith("application/yaml")));
    }
  });
}

t.test("a long list in a dear form leaves in pieces", async (t) => {
  const server = await openInProcess();
  t.teardown(() => server.close());
  await fill(server, 300, 3_000);
  for (const accept of ["application/yaml", "application/json;pretty=1"]) {
    const answer = await server.call("GET", maps, undefined, { accept });
    t.equal(answer.text.split("name: map-").length + answer.text.split('"name": "map-').length, 302, accept);
    await reported();
    t.equal(server.lastRecord?.bytes, -1, "streamed");
  }
});
