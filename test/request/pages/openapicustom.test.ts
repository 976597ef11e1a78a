// Custom resources in the OpenAPI documents: as recorded, at once, and made anew only where something changed.
import { existsSync, readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import t, { type Test } from "tap";
import { ProtoReader } from "../../../src/codec/proto/protoreader.ts";
import { definedIn } from "../../../src/request/pages/openapi.ts";
import { documentsOf, made } from "../../../src/request/pages/openapidocuments.ts";
import {
  DocumentChunks,
  documentOf,
  makePart,
  type Part,
  plainPart,
  Room,
  wholeOf,
} from "../../../src/request/pages/openapiparts.ts";
import { type InProcess, openInProcess } from "../../support/inprocess.ts";
import { header, references } from "../../support/openapi.ts";
import { change, definition, drawSchema, establish, version } from "../../support/published.ts";

type Json = Record<string, unknown>;

const protobufV2 = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
const withV3 = { gates: new Set(["OpenAPIV3"]) };

async function open(t: Test, ...options: Parameters<typeof openInProcess>): Promise<InProcess> {
  const server = await openInProcess(...options);
  t.teardown(() => server.close());
  return server;
}

const recording = "../shared/transcripts/scenarios/271-crd-discovery.json";

interface Step {
  readonly title: string;
  readonly method?: string;
  readonly path: string;
  readonly body?: Json & Json[];
  readonly pick?: readonly string[];
  readonly expect: { readonly status: number; readonly json?: Json };
}

/** What a path of the recordings finds; dots inside a name are escaped. */
function pick(document: unknown, path: string): unknown {
  const names = path.split(/(?<!\\)\./).map((name) => name.replaceAll("\\.", "."));
  return names.reduce<unknown>((value, name) => (value as Json | undefined)?.[name], document) ?? null;
}

/** Compared without the order in which parameters and required names stand. */
function unordered(value: unknown): unknown {
  if (Array.isArray(value)) {
    const items = value.map(unordered);
    const isNamed = items.every((item) => typeof item === "string" || (item as Json | null)?.["name"] !== undefined);
    const keyOf = (item: unknown): string => (typeof item === "string" ? item : String((item as Json)["name"]));
    return isNamed ? items.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1)) : items;
  }
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, unordered(item)]));
}

for (const identity of ["kubernetes", "orch"] as const) {
  t.test(`OpenAPI of definitions is as recorded, identity ${identity}`, async (t) => {
    if (!existsSync(recording)) return t.comment("the recordings are not here");
    const server = await open(t, identity);
    const texts = readFileSync(recording, "utf8").replaceAll("${suffix}", "zabcde").replaceAll("<Suffix>", "Zabcde");
    const named = identity === "orch" ? texts.replaceAll("io.k8s.", "io.orch.") : texts;
    const { steps } = JSON.parse(server.scheme.identity.spell(named)) as { steps: Step[] };
    let picks = 0;
    for (const { title, method = "GET", path, body, pick: picked = [], expect } of steps) {
      if (path.includes("customresourcedefinitions")) {
        if (method === "POST" && body !== undefined) await establish(server, body);
        if (method === "PATCH" && body !== undefined) await change(server, path.split("/").at(-1) ?? "", body);
        if (method === "DELETE") break;
      } else if (path === "/openapi/v2") {
        const document: unknown = (await server.call("GET", path)).json;
        for (const one of picked) {
          picks += 1;
          t.same(unordered(pick(document, one)), unordered(expect.json?.[one] ?? null), `${title}: ${one}`);
        }
      } else if (path.startsWith("/openapi/v3")) {
        t.equal((await server.call("GET", path)).code, expect.status, title);
      }
    }
    t.ok(picks > 50, `${picks} picks`);
  });
}

t.test("custom resources are in OpenAPI from the moment they are served, in every form", async (t) => {
  const server = await open(t, "kubernetes", withV3);
  const before = await server.call("GET", "/openapi/v2");
  const size = Object.keys(before.json.definitions).length;
  await establish(server, definition("Widget", { schema: drawSchema(1, 2_000), subresources: { status: {} } }));
  await establish(server, definition("Apple", { scope: "Cluster", schema: { type: "object" } }));
  const v2 = await server.call("GET", "/openapi/v2");
  t.not(header(v2, "ETag"), header(before, "ETag"));
  const { definitions, paths } = v2.json as { definitions: Json; paths: Json };
  t.equal(Object.keys(definitions).length, size + 4);
  t.same(
    [...references(v2.json)].filter((ref) => !(ref.replace("#/definitions/", "") in definitions)),
    [],
  );
  t.ok("/apis/example.com/v1/namespaces/{namespace}/widgets/{name}/status" in paths);
  t.ok("/apis/example.com/v1/apples/{name}" in paths);
  const packed = await server.call("GET", "/openapi/v2", undefined, { "accept-encoding": "gzip" });
  t.equal(header(packed, "Content-Encoding"), "gzip");
  t.ok(gunzipSync(packed.bytes).equals(v2.bytes), "packed is the same");
  const etag = header(v2, "ETag") ?? "";
  t.equal((await server.call("GET", "/openapi/v2", undefined, { "if-none-match": etag })).code, 304);
  const names = namesIn((await server.call("GET", "/openapi/v2", undefined, { accept: protobufV2 })).bytes);
  t.same(names, { paths: Object.keys(paths), definitions: Object.keys(definitions) }, "protobuf has the same");

  const index = (await server.call("GET", "/openapi/v3")).json.paths as Record<string, { serverRelativeURL: string }>;
  const url = index["apis/example.com/v1"]?.serverRelativeURL ?? "";
  const v3 = await server.call("GET", url);
  t.equal(v3.code, 200, "found by its hash");
  const { schemas } = v3.json.components as { schemas: Json };
  t.ok("com.example.v1.Widget" in schemas && "com.example.v1.AppleList" in schemas);
  t.same(
    [...references(v3.json)].filter((ref) => !(ref.replace("#/components/schemas/", "") in schemas)),
    [],
  );
});

/** Names of the paths and definitions of a document in protobuf. */
function namesIn(bytes: Uint8Array): { paths: string[]; definitions: string[] } {
  const names = new Map<number, string[]>([
    [8, []],
    [9, []],
  ]);
  const reader = new ProtoReader(Buffer.from(bytes));
  while (reader.at < bytes.length) {
    const field = reader.varint(bytes.length) >> 3;
    const end = reader.span(bytes.length);
    const list = names.get(field);
    while (list !== undefined && reader.at < end) {
      reader.varint(end);
      const entryEnd = reader.span(end);
      reader.varint(entryEnd);
      list.push(reader.text(reader.span(entryEnd)));
      reader.at = entryEnd;
    }
    reader.at = end;
  }
  return { paths: names.get(8) ?? [], definitions: names.get(9) ?? [] };
}

t.test(
  "version 3 of custom resources is found by the index; by its name alone with the gate only, as recorded",
  async (t) => {
    for (const gates of [[], ["OpenAPIV3"]]) {
      const server = await open(t, "kubernetes", { gates: new Set(gates) });
      await establish(server, definition("Widget"));
      const bare = await server.call("GET", "/openapi/v3/apis/example.com/v1");
      t.equal(bare.code, gates.length === 0 ? 404 : 200);
      const { paths } = (await server.call("GET", "/openapi/v3")).json as { paths: Record<string, Json> };
      t.ok("apis/apps/v1" in paths);
      const named = await server.call("GET", String(paths["apis/example.com/v1"]?.["serverRelativeURL"]));
      t.equal(named.code, 200);
      t.match(header(named, "Cache-Control"), /immutable/);
      t.equal((await server.call("GET", "/openapi/v3/apis/example.com/v1?hash=0")).code, 301);
      t.equal((await server.call("GET", "/openapi/v3/apis/example.com/v2?hash=0")).code, 404);
    }
  },
);

t.test("version 3 documents of other group versions stay when one changes", async (t) => {
  const server = await open(t, "kubernetes", withV3);
  for (const [kind, group] of [
    ["Ant", "a.example.com"],
    ["Bee", "b.example.com"],
    ["Cat", "b.example.com"],
  ] as const) {
    await establish(server, definition(kind, { group }));
  }
  const hashes = async (): Promise<string[]> => {
    const { paths } = (await server.call("GET", "/openapi/v3")).json as { paths: Record<string, Json> };
    return ["a", "b"].map((group) => String(paths[`apis/${group}.example.com/v1`]?.["serverRelativeURL"]));
  };
  const first = await hashes();
  const base = { ...made };
  const title = { op: "add", path: "/spec/versions/0/schema/openAPIV3Schema/title", value: "t" };
  await change(server, "cats.b.example.com", [title]);
  const second = await hashes();
  t.equal(second[0], first[0]);
  t.not(second[1], first[1]);
  t.same(made, { builtIn: base.builtIn, custom: base.custom + 1 });
});

t.test("only what changed is made again", async (t) => {
  const server = await open(t);
  const get = async (): Promise<string> => header(await server.call("GET", "/openapi/v2"), "ETag") ?? "";
  for (const kind of ["Ant", "Bee", "Cat"]) await establish(server, definition(kind, { schema: drawSchema(1, 500) }));
  const first = await get();
  const base = { ...made };
  t.equal(await get(), first, "the same again");
  t.same(made, base, "nothing is made");
  const late = {
    op: "add",
    path: "/spec/versions/0/schema/openAPIV3Schema/properties/late",
    value: { type: "string" },
  };
  await change(server, "bees.example.com", [late]);
  const second = await get();
  t.not(second, first);
  t.same(made, { builtIn: base.builtIn, custom: base.custom + 1 }, "one part");
  await change(server, "cats.example.com", [{ op: "add", path: "/metadata/labels", value: { a: "b" } }]);
  t.equal(await get(), second, "what is not published changes nothing");
  await change(server, "bees.example.com", [{ op: "remove", path: late.path }]);
  t.equal(await get(), first, "as it was, the same ETag");
  await establish(server, definition("Dog"));
  const more = { ...made };
  await Promise.all([get(), get(), get()]);
  t.same(made, { builtIn: more.builtIn, custom: more.custom + 1 }, "requests that come together wait for one part");
});

t.test("documents do not depend on the order in which definitions came", async (t) => {
  const bodies = ["Ant", "Bee"].map((kind) => definition(kind, { schema: drawSchema(2, 300) }));
  const etags = [];
  for (const order of [bodies, bodies.toReversed()]) {
    const server = await open(t);
    for (const body of order) await establish(server, body);
    etags.push(header(await server.call("GET", "/openapi/v2"), "ETag"));
  }
  t.equal(etags[0], etags[1]);
});

t.test(
  "a version that is served no longer is gone from OpenAPI, and a definition of several versions has them all",
  async (t) => {
    const server = await open(t);
    const schema = { type: "object" };
    const versions = [version("v1", schema), { ...version("v2", schema), storage: false }];
    await establish(server, definition("Widget", { versions }));
    const kinds = async (): Promise<string[]> =>
      Object.keys((await server.call("GET", "/openapi/v2")).json.definitions).filter((name) => name.startsWith("com."));
    t.same(
      await kinds(),
      ["v1.Widget", "v1.WidgetList", "v2.Widget", "v2.WidgetList"].map((name) => `com.example.${name}`),
    );
    await change(server, "widgets.example.com", [{ op: "replace", path: "/spec/versions/1/served", value: false }]);
    t.same(await kinds(), ["com.example.v1.Widget", "com.example.v1.WidgetList"]);
  },
);

t.test("parts beyond the bound are written again, and come to the same", async (t) => {
  const texts = ["first ", "x".repeat(300_000), "", "last"];
  const parts: Part[] = [plainPart("head ")];
  for (const text of texts) parts.push(await makePart(() => [text.slice(0, 3), undefined, Buffer.from(text.slice(3))]));
  const document = await documentOf(parts);
  const whole = `head ${texts.join("")}`;
  const check = async (what: string): Promise<void> => {
    t.equal(Buffer.from((await wholeOf(document, false)) ?? []).toString(), whole, what);
    const packed = (await wholeOf(document, true)) ?? new Uint8Array();
    t.equal(packed.length, document.packedBytes);
    t.equal(gunzipSync(packed).toString(), whole, `${what}, gzipped`);
  };
  await check("kept");
  new Room(parts[1]?.packedBytes).keep(parts);
  t.same(
    parts.map(({ packed }) => packed !== undefined),
    [true, true, false, false, false],
  );
  await check("partly kept");
  const last = parts.at(-1) as Part;
  const gone = await documentOf([{ ...last, pieces: () => ["lost"] }]);
  t.equal(await wholeOf(gone, true), undefined, "what it was written from is another");
  const other = await documentOf([...parts.slice(0, -1), plainPart("lasT")]);
  t.not(other.etag, document.etag);
});

t.test("large documents are put together and streamed while others have turns", async (t) => {
  const server = await open(t);
  const count = 60;
  for (let index = 0; index < count; index += 1) {
    await establish(server, definition(`Widget${index}`, { schema: drawSchema(index, 40_000) }));
  }
  const documents = documentsOf(server.scheme, "", definedIn(server.objects));
  let turns = 0;
  const end = setInterval(() => (turns += 1), 0);
  const document = await documents.v2("v2");
  await documents.v2("v2 protobuf");
  clearInterval(end);
  t.ok(turns > 5, "others have turns meanwhile");
  const chunks = new DocumentChunks(document, false);
  let bytes = 0;
  let largest = 0;
  while (!chunks.done) {
    const chunk = await chunks.next();
    bytes += chunk.length;
    largest = Math.max(largest, chunk.length);
  }
  t.equal(bytes, document.bytes);
  t.ok(largest <= 256 * 1024, "in chunks");
  const answer = await server.call("GET", "/openapi/v2");
  t.equal(answer.bytes.length, document.bytes);
  t.ok(`com.example.v1.Widget${count - 1}` in answer.json.definitions);
  const head = await server.call("HEAD", "/openapi/v2");
  t.equal(head.bytes.length, 0);
  t.equal(head.code, 200);
  const packed = await server.call("GET", "/openapi/v2", undefined, { "accept-encoding": "gzip" });
  t.ok(gunzipSync(packed.bytes).equals(answer.bytes));
});
