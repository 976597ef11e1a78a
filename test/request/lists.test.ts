// Lists as answers: what leaves, in which form, and what is reported of it.
import { gunzipSync } from "node:zlib";
import t from "tap";
import { Fault, parseText } from "../../src/codec/engine/json.ts";
import { prettyJson } from "../../src/codec/json/print.ts";
import { yamlText } from "../../src/codec/yaml/printer.ts";
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

t.test("lists of many chunks have a length where their items are copied, in JSON and in protobuf", async (t) => {
  const server = await openInProcess("kubernetes");
  t.teardown(() => server.close());
  await fill(server, 110, 5_000);
  await server.call("PUT", `${maps}/map-7`, { metadata: { name: "map-7" }, data: { text: "y".repeat(600_000) } });
  const lengthOf = async (query: string, accept: string, more: Record<string, string> = {}) => {
    const answer = await server.call("GET", maps + query, undefined, { accept, ...more });
    t.equal(answer.code, 200, `${accept}${query}`);
    const { 1: length } = answer.headers.find(([name]) => name === "Content-Length") ?? [];
    if (length !== undefined) t.equal(answer.bytes.length, Number(length), `${accept}${query}`);
    return length !== undefined;
  };
  for (const accept of ["application/json", "application/vnd.kubernetes.protobuf"]) {
    for (const query of ["", "?limit=80", "?labelSelector=!a"]) t.ok(await lengthOf(query, accept), query);
    t.notOk(await lengthOf("", accept, { "accept-encoding": "gzip" }), "packed it is not known");
  }
  t.notOk(await lengthOf("?pretty=1", "application/json"), "nor printed");
  t.notOk(await lengthOf("", "application/json;as=Table;g=meta.k8s.io;v=v1"), "nor as rows");
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

t.test("a list that takes several turns is of one revision, whatever changes meanwhile", async (t) => {
  const server = await openInProcess();
  t.teardown(() => server.close());
  await fill(server, 40, 10);
  // 999 requirements: ten objects a turn.
  const labels = Array.from({ length: 999 }, (_, i) => `!k${i}`).join(",");
  const listing = server.call("GET", `${maps}?labelSelector=${labels}`);
  // Behind the place the list has reached, and ahead of it.
  for (const name of ["map-0", "map-9"]) await server.call("DELETE", `${maps}/${name}`);
  await server.call("POST", maps, { metadata: { name: "map-99" } });
  await server.call("PUT", `${maps}/map-8`, { metadata: { name: "map-8" }, data: { text: "later" } });
  const { json } = await listing;
  t.equal(json.items.length, 40);
  for (const { metadata, data } of json.items) {
    t.ok(Number(metadata.resourceVersion) <= Number(json.metadata.resourceVersion), metadata.name);
    t.not(data.text, "later");
  }
  t.equal((await server.call("GET", maps)).json.items.length, 39, "the list was overtaken");
});

t.test("a page that takes several turns names the next one", async (t) => {
  const server = await openInProcess();
  t.teardown(() => server.close());
  await fill(server, 40, 10);
  const labels = Array.from({ length: 999 }, (_, i) => `!k${i}`).join(",");
  const names: string[] = [];
  let query = `?labelSelector=${labels}&limit=15`;
  for (let pages = 0; pages < 3; pages++) {
    const { json } = await server.call("GET", maps + query);
    for (const { metadata } of json.items) names.push(metadata.name);
    query = `?labelSelector=${labels}&limit=15&continue=${json.metadata.continue}`;
  }
  t.same(names, [...names].sort());
  t.equal(new Set(names).size, 40);
});

t.test("selectors have a bounded number of requirements", async (t) => {
  const server = await openInProcess();
  t.teardown(() => server.close());
  const labels = Array.from({ length: 1_001 }, (_, i) => `!k${i}`).join(",");
  for (const query of ["?labelSelector=", "?watch=1&labelSelector="]) {
    const answer = await server.call("GET", maps + query + labels);
    t.equal(answer.code, 400);
    t.match(answer.json.message, "at most 1000 requirements");
  }
});

t.test("a dry run of a deletecollection gives others a turn", async (t) => {
  const server = await openInProcess();
  t.teardown(() => server.close());
  const keys = Array.from({ length: 2_000 }, (_, i) => [`key-${i}`, "value"]);
  for (let i = 0; i < 40; i++) {
    await server.call("POST", maps, { metadata: { name: `map-${i}` }, data: Object.fromEntries(keys) });
  }
  let turns = 0;
  let over = false;
  const count = (): void => {
    turns += 1;
    if (!over) setImmediate(count);
  };
  setImmediate(count);
  const answer = await server.call("DELETE", `${maps}?dryRun=All`);
  over = true;
  t.equal(answer.code, 200);
  t.ok(turns > 3, `${turns} turns`);
  t.equal((await server.call("GET", maps)).json.items.length, 40);
});
