// Custom resources whose versions a webhook converts: what clients see of it at each version, what the webhook is asked,
// and what it cannot do, however it answers.
import type { Test } from "tap";
import { limits } from "../../src/config/limits.ts";
import {
  at,
  type Converter,
  closedGate,
  defineWidgets,
  openConverter,
  redefine,
  type Said,
  type Sent,
  watch,
  widget,
  widgets,
} from "../support/converter.ts";
import { runDefinitions } from "../support/definitions.ts";
import { type InProcess, until } from "../support/inprocess.ts";
import { openPeer, sayJson } from "../support/peer.ts";
import { scenario } from "../support/scenario.ts";

const merge = { "content-type": "application/merge-patch+json" };
const apply = { "content-type": "application/apply-patch+yaml" };
const table = { accept: "application/json;as=Table;g=meta.k8s.io;v=v1" };
const metadataOnly = { accept: "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1" };

/** A server with widgets and their webhook. */
function converting(
  title: string,
  check: (t: Test, server: InProcess, converter: Converter) => Promise<void>,
  more: object = {},
): void {
  scenario(title, async (t, server) => {
    const reports: string[] = [];
    const work = runDefinitions(server, reports);
    const converter = await openConverter();
    try {
      await defineWidgets(server, converter, more);
      await check(t, server, converter);
      t.strictSame(reports, []);
      t.strictSame(server.faults, []);
    } finally {
      converter.peer.close();
      await work.stop();
    }
  });
}

converting("objects are read, listed and written at each version", async (t, server, converter) => {
  const made = await server.call("POST", at("v1"), widget("v1", "a", "one"));
  t.equal(made.code, 201, made.text);
  t.equal(converter.asked.length, 0, "at the stored version the webhook is not called");
  const read = await server.call("GET", at("v2", "a"));
  t.strictSame(read.json.spec, { address: "one" }, "no default of the version that is not stored");
  t.equal(read.json.apiVersion, "example.com/v2");
  t.strictSame(read.json.metadata, made.json.metadata);
  const [asked] = converter.asked;
  t.equal(asked?.desiredAPIVersion, "example.com/v2");
  const { resourceVersion: _, ...sent } = made.json.metadata;
  t.strictSame(asked?.objects[0], { ...made.json, metadata: sent });

  const second = await server.call("POST", at("v2"), widget("v2", "b", "two"));
  t.equal(second.code, 201, second.text);
  t.strictSame(second.json.spec, { address: "two" });
  t.strictSame((await server.call("GET", at("v1", "b"))).json.spec, { host: "two", d1: "set" });
  const list = await server.call("GET", at("v2"));
  t.strictSame(
    list.json.items.map(({ apiVersion, spec }: Sent) => [apiVersion, spec]),
    [
      ["example.com/v2", { address: "one" }],
      ["example.com/v2", { address: "two" }],
    ],
  );
  const patched = await server.call("PATCH", at("v2", "a"), { spec: { address: "three", n: 1 } }, merge);
  t.strictSame([patched.code, patched.json.metadata.generation], [200, 2], patched.text);
  t.strictSame((await server.call("GET", at("v1", "a"))).json.spec, { host: "three", n: 1, d1: "set" });
  const stale = { ...read.json, spec: { address: "late" } };
  t.equal((await server.call("PUT", at("v2", "a"), stale)).code, 409);
  const fresh = (await server.call("GET", at("v2", "a"))).json;
  const put = await server.call("PUT", at("v2", "a"), { ...fresh, spec: { address: "four" } });
  t.equal(put.code, 200, put.text);
  const status = await server.call("PATCH", at("v2", "a/status"), { status: { ready: true } }, merge);
  t.strictSame([status.code, status.json.status], [200, { ready: true }], status.text);
  const dry = await server.call("PATCH", `${at("v2", "a")}?dryRun=All`, { spec: { address: "dry" } }, merge);
  t.strictSame(dry.json.spec, { address: "dry" });
  t.equal((await server.call("GET", at("v1", "a"))).json.spec.host, "four");

  const config = { apiVersion: "example.com/v2", kind: "Widget", metadata: { name: "a" }, spec: { n: 7 } };
  const conflict = await server.call(
    "PATCH",
    `${at("v2", "a")}?fieldManager=m`,
    { ...config, spec: { address: "x" } },
    apply,
  );
  t.equal(conflict.code, 409, conflict.text);
  const applied = await server.call("PATCH", `${at("v2", "a")}?fieldManager=m&force=true`, config, apply);
  t.strictSame([applied.code, applied.json.spec], [200, { address: "four", n: 7 }], applied.text);
  const atV1 = { ...config, apiVersion: "example.com/v1", spec: { host: "five" } };
  const other = await server.call("PATCH", `${at("v1", "a")}?fieldManager=m&force=true`, atV1, apply);
  t.equal(other.code, 200, other.text);
  t.strictSame(other.json.spec, { host: "five", d1: "set" }, "what was applied at the other version is known here");

  const gone = await server.call("DELETE", at("v2", "b"));
  t.equal(gone.code, 200, gone.text);
  const rest = await server.call("DELETE", at("v2"));
  t.strictSame(
    rest.json.items.map(({ apiVersion }: Sent) => apiVersion),
    ["example.com/v2"],
    rest.text,
  );
});

converting("other forms of objects are made of the version asked for", async (t, server, converter) => {
  await server.call("POST", at("v1"), widget("v1", "a", "one"));
  converter.lie = (said, { objects }) => {
    const list = said.response?.convertedObjects as Sent[];
    for (const [index, object] of list.entries()) {
      object.metadata = { ...objects[index]?.metadata, labels: { converted: "yes" } };
    }
    return said;
  };
  const rows = (await server.call("GET", at("v2"), undefined, table)).json;
  t.strictSame(rows.rows[0].cells, ["a", "one"]);
  t.strictSame(rows.rows[0].object.metadata.labels, { converted: "yes" });
  const alone = (await server.call("GET", at("v2"), undefined, metadataOnly)).json;
  t.strictSame(alone.items[0].metadata.labels, { converted: "yes" });
  const yaml = await server.call("GET", at("v2"), undefined, { accept: "application/yaml" });
  t.match(yaml.text, /address: one/);
  const binary = { accept: metadataOnly.accept.replace("json", "vnd.kubernetes.protobuf") };
  const protobuf = await server.call("GET", at("v2"), undefined, binary);
  t.equal(protobuf.code, 200);
  t.match(protobuf.text, /converted/);
  t.equal((await server.call("GET", at("v1", "a"))).json.metadata.labels, undefined);
});

converting(
  "a list of metadata in protobuf is converted once, also of more than is kept",
  async (t, server, converter) => {
    const host = "x".repeat(1_400_000);
    const count = Math.ceil(limits.conversionKeptBytesMax / host.length) + 2;
    for (let n = 0; n < count; n += 1) {
      const made = await server.call("POST", at("v1"), widget("v1", `w${n}`, host));
      t.equal(made.code, 201, made.text.slice(0, 200));
    }
    const before = converter.asked.length;
    const binary = { accept: metadataOnly.accept.replace("json", "vnd.kubernetes.protobuf") };
    const list = await server.call("GET", at("v2"), undefined, binary);
    t.equal(list.code, 200, list.text.slice(0, 200));
    for (let n = 0; n < count; n += 1) t.ok(list.text.includes(`w${n}`), `w${n} is in the list`);
    t.ok(converter.asked.length > before, "the webhook is asked");
  },
);

converting(
  "the old review is spoken where the webhook asks for it",
  async (t, server, converter) => {
    await server.call("POST", at("v1"), widget("v1", "a", "one"));
    // It did not have to say which request it answers, nor what it is.
    converter.lie = ({ response }) => ({ response: { ...response, uid: "" } });
    const read = await server.call("GET", at("v2", "a"));
    t.strictSame([read.code, read.json.spec], [200, { address: "one" }], read.text);
  },
  { conversionReviewVersions: ["v9", "v1beta1", "v1"] },
);

/** What a webhook may say, and what the client hears of it. */
const lies: readonly (readonly [what: string, lie: (said: Said) => Said, heard: string])[] = [
  [
    "another kind of answer",
    (said) => ({ ...said, kind: "Review" }),
    " failed: expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got apiextensions.k8s.io/v1, Kind=Review",
  ],
  ["nothing", ({ kind, apiVersion }) => ({ kind, apiVersion }) as Said, " failed: no response provided"],
  [
    "another uid",
    (said) => ({ ...said, response: { ...said.response, uid: "x" } }),
    / failed: expected response\.uid="[-0-9a-f]{36}", got "x"$/.source,
  ],
  [
    "a failure",
    (said) => ({ ...said, response: { ...said.response, result: { status: "Failure", message: "no way" } } }),
    " failed: no way",
  ],
  [
    "no result",
    (said) => ({ ...said, response: { ...said.response, result: {} } }),
    " failed: response.result.status was '', not 'Success'",
  ],
  [
    "no objects",
    (said) => ({ ...said, response: { ...said.response, convertedObjects: [] } }),
    " returned 0 objects, expected 1",
  ],
  [
    "no list",
    (said) => ({ ...said, response: { ...said.response, convertedObjects: {} } }),
    " failed: response.convertedObjects must be a list",
  ],
  [
    "the old version",
    changing((object) => ({ ...object, apiVersion: "example.com/v1" })),
    " returned invalid object at index 0: invalid groupVersion (expected example.com/v2, received example.com/v1)",
  ],
  [
    "another type",
    changing((object) => ({ ...object, kind: "Gadget" })),
    " returned invalid object at index 0: invalid kind (expected Widget, received Gadget)",
  ],
  [
    "null",
    changing(() => null),
    " returned invalid object at index 0: invalid groupVersion (expected example.com/v2, received )",
  ],
  [
    "another name",
    changing((object) => ({ ...object, metadata: { ...object.metadata, name: "b" } })),
    " returned invalid object: must have the same name: a != b",
  ],
  [
    "another namespace",
    changing((object) => ({ ...object, metadata: { ...object.metadata, namespace: "b" } })),
    " returned invalid object: must have the same namespace: default != b",
  ],
  [
    "another uid of the object",
    changing((object) => ({ ...object, metadata: { ...object.metadata, uid: "b" } })),
    / returned invalid object: must have the same UID: [-0-9a-f]{36} != b$/.source,
  ],
  [
    "no metadata",
    changing(({ metadata: _, ...object }) => object),
    / returned invalid object: must have the same name: a != $/.source,
  ],
  [
    "labels that are none",
    changing((object) => ({ ...object, metadata: { ...object.metadata, labels: { a: 1 } } })),
    " returned invalid metadata: metadata.labels[a] must be a string, but is int64 in converted object",
  ],
  [
    "labels that are a list",
    changing((object) => ({ ...object, metadata: { ...object.metadata, labels: [] } })),
    " returned invalid metadata: invalid metadata.labels of type []interface {} in converted object",
  ],
];

function changing(change: (object: Sent) => unknown): (said: Said) => Said {
  return (said) => {
    const objects = said.response?.convertedObjects as Sent[];
    return { ...said, response: { ...said.response, convertedObjects: objects.map(change) } };
  };
}

converting("answers that lie are refused in upstream's words", async (t, server, converter) => {
  await server.call("POST", at("v1"), widget("v1", "a", "one"));
  const before = (await server.call("GET", at("v1", "a"))).text;
  const prefix = "conversion webhook for example.com/v1, Kind=Widget";
  for (const [what, lie, heard] of lies) {
    converter.lie = lie;
    const { code, json } = await server.call("GET", at("v2", "a"));
    t.strictSame([code, json.status, json.reason], [500, "Failure", undefined], what);
    const isPattern = heard.endsWith("$");
    if (isPattern) t.match(json.message, new RegExp(`^${prefix}${heard}`), what);
    else t.equal(json.message, prefix + heard, what);
    t.equal((await server.call("GET", at("v2"))).code, 500, `${what}, of a list`);
    t.equal((await server.call("PATCH", at("v2", "a"), { spec: { n: 1 } }, merge)).code, 500, `${what}, of a patch`);
  }
  converter.lie = undefined;
  t.equal((await server.call("GET", at("v1", "a"))).text, before, "nothing was written");
  t.equal((await server.call("GET", at("v2", "a"))).code, 200, "what failed is asked again");
});

converting("a webhook changes nothing of what it must not", async (t, server, converter) => {
  const owned = { labels: { a: "b" }, annotations: { x: "y" }, finalizers: ["example.com/held"] };
  const made = await server.call("POST", at("v1"), widget("v1", "a", "one", owned));
  converter.lie = changing((object) => ({
    ...object,
    metadata: {
      ...object.metadata,
      resourceVersion: "1",
      generation: 99,
      creationTimestamp: "2001-01-01T00:00:00Z",
      deletionTimestamp: "2001-01-01T00:00:00Z",
      finalizers: [],
      ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "p", uid: "u" }],
      managedFields: [],
      labels: { a: "c" },
      annotations: null,
    },
    status: { ready: true, unknown: "dropped" },
    unknown: "dropped",
  }));
  const { annotations: _, ...rest } = made.json.metadata;
  const expected = { ...rest, labels: { a: "c" } };
  const read = (await server.call("GET", at("v2", "a"))).json;
  t.strictSame(read.metadata, expected);
  t.strictSame(Object.keys(read).toSorted(), ["apiVersion", "kind", "metadata", "spec", "status"]);
  const listed = (await server.call("GET", at("v2"))).json.items[0];
  t.strictSame(listed.metadata, expected);
  const put = await server.call("PUT", at("v2", "a"), { ...read, spec: { address: "two" } });
  t.equal(put.code, 200, put.text);
  const { metadata } = (await server.call("GET", at("v1", "a"))).json;
  t.equal(metadata.uid, made.json.metadata.uid);
  t.equal(metadata.name, "a");
  t.strictSame(metadata.finalizers, ["example.com/held"]);
  t.equal(metadata.deletionTimestamp, undefined);
  t.equal(metadata.ownerReferences, undefined);
  t.equal(metadata.generation, 2);
});

converting(
  "a webhook that hangs, floods or is not there fails reads of its versions alone",
  async (t, server, converter) => {
    await server.call("POST", at("v1"), widget("v1", "a", "one"));
    const held = closedGate();
    converter.gate = held.gate;
    const hanging = server.call("GET", `${at("v2", "a")}?timeout=300ms`);
    t.ok(await until(() => held.waiting === 1));
    t.equal((await server.call("GET", at("v1", "a"))).code, 200);
    t.equal((await server.call("POST", at("v1"), widget("v1", "b", "two"))).code, 201);
    t.equal((await hanging).code, 504);
    held.open();
    converter.gate = undefined;

    converter.answer = (response) => {
      response.writeHead(200);
      const more = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(1 << 20, 32)));
        if (!response.destroyed) response.once("drain", more);
      };
      more();
    };
    const flooded = await server.call("GET", at("v2", "a"));
    t.equal(flooded.code, 500);
    t.match(flooded.json.message, /larger than \d+ bytes$/);

    converter.answer = (response) => sayJson(response, { secret: "of the webhook" }, 503);
    const refused = await server.call("GET", at("v2", "a"));
    t.match(refused.json.message, /failed: the server answered 503$/);
    t.notMatch(refused.text, /secret/);

    converter.answer = (response) => void response.end("{");
    t.match((await server.call("GET", at("v2", "a"))).json.message, /failed: the answer is no JSON$/);

    converter.answer = undefined;
    converter.lie = changing((object) => ({ ...object, spec: { address: "x".repeat(limits.objectBytesMax) } }));
    t.match((await server.call("GET", at("v2", "a"))).json.message, /returned an object of more than \d+ bytes$/);
    converter.lie = undefined;

    converter.peer.close();
    const away = await server.call("GET", at("v2", "a"));
    t.match(
      away.json.message,
      /^conversion webhook for example.com\/v1, Kind=Widget failed: Post "https:[^"]+\/convert\?timeout=30s": /,
    );
    t.equal((await server.call("DELETE", at("v1", "a"))).code, 200);
    t.equal((await server.call("DELETE", at("v2", "b"))).code, 500, "plugins would be shown that version");
    t.equal((await server.call("DELETE", at("v1", "b"))).code, 200);
  },
);

converting("a list of 10,000 is converted in batches, in order", async (t, server, converter) => {
  const names = Array.from({ length: 10_000 }, (_, index) => `w${String(index).padStart(5, "0")}`);
  for (let from = 0; from < names.length; from += 100) {
    const made = names.slice(from, from + 100).map((name) => server.call("POST", at("v1"), widget("v1", name, name)));
    for (const { code, text } of await Promise.all(made)) if (code !== 201) throw new Error(text);
  }
  const list = await server.call("GET", at("v2"));
  t.equal(list.code, 200);
  const items = list.json.items as Sent[];
  t.strictSame(
    items.map(({ metadata }) => metadata["name"]),
    names,
  );
  t.ok(
    items.every(
      ({ metadata, spec, apiVersion }) => spec?.["address"] === metadata["name"] && apiVersion === "example.com/v2",
    ),
  );
  t.ok(converter.asked.length >= 20 && converter.asked.length <= 60, `${converter.asked.length} calls`);
  t.ok(converter.asked.every(({ objects }) => objects.length <= limits.conversionObjectsMax));
  const page = await server.call("GET", `${at("v2")}?limit=700&labelSelector=!none`);
  t.equal(page.json.items.length, 700);
  const rows = await server.call("GET", at("v2"), undefined, table);
  t.strictSame(
    rows.json.rows.map(({ cells }: { cells: string[] }) => cells[1]),
    names,
  );
  // A webhook that fails half-way: the client sees that the answer is not whole.
  await new Promise((resolve) => setTimeout(resolve, limits.conversionKeptMs + 100));
  let calls = 0;
  converter.lie = (said) => (++calls > 5 ? { ...said, response: undefined } : said);
  const cut = await server.call("GET", at("v2"));
  t.equal(cut.code, 0, "the connection is cut");
});

converting("watches get converted events in order, and delay no other watch", async (t, server, converter) => {
  await server.call("POST", at("v1"), widget("v1", "a", "0"));
  const held = closedGate();
  converter.gate = held.gate;
  const plain = watch(server, at("v1"));
  const other = watch(server, at("v2"));
  const rows = watch(server, at("v2"));
  const picked = watch(server, `${at("v2")}?fieldSelector=metadata.name%3Db`);
  t.ok(await until(() => held.waiting === 1), "both watches share a call");
  t.strictSame([plain.events, other.events, rows.events], [["ADDED a 0"], [], []]);
  await server.call("PATCH", at("v1", "a"), { spec: { host: "1" } }, merge);
  await server.call("POST", at("v1"), widget("v1", "b", "2"));
  await server.call("DELETE", at("v1", "a"));
  t.ok(await until(() => plain.events.length === 4));
  t.strictSame(other.events, []);
  held.open();
  const all = ["ADDED a 0", "MODIFIED a 1", "ADDED b 2", "DELETED a 1"];
  t.ok(await until(() => other.events.length === 4 && rows.events.length === 4 && picked.events.length === 1));
  t.strictSame([plain.events, other.events, rows.events, picked.events], [all, all, all, ["ADDED b 2"]]);

  // In step, then held up again.
  converter.gate = undefined;
  await server.call("PATCH", at("v1", "b"), { spec: { host: "3" } }, merge);
  t.ok(await until(() => other.events.length === 5 && picked.events.length === 2));
  const again = closedGate();
  converter.gate = again.gate;
  for (let value = 4; value < 10; value += 1) {
    await server.call("PATCH", at("v1", "b"), { spec: { host: String(value) } }, merge);
  }
  t.ok(await until(() => plain.events.length === 11));
  t.equal(other.events.length, 5);
  again.open();
  t.ok(await until(() => other.events.length === 11 && picked.events.length === 8));
  t.strictSame(other.events, plain.events);

  // What cannot be converted ends the watches of its version.
  converter.lie = (said) => ({ ...said, response: undefined });
  await server.call("PATCH", at("v1", "b"), { spec: { host: "last" } }, merge);
  t.ok(await until(() => other.ended && rows.ended && picked.ended));
  const error = "ERROR conversion webhook for example.com/v1, Kind=Widget failed: no response provided";
  t.equal(other.events.at(-1), error);
  t.equal(picked.events.at(-1), error);
  t.equal(plain.ended, false);
  await server.fanout.closeAll(1000);
});

converting("a definition may change while a conversion is under way", async (t, server, converter) => {
  await server.call("POST", at("v1"), widget("v1", "a", "one"));
  const held = closedGate();
  converter.gate = held.gate;
  const reading = server.call("GET", at("v2", "a"));
  const listing = server.call("GET", at("v2"));
  const writing = server.call("PATCH", at("v2", "a"), { spec: { address: "two" } }, merge);
  const watching = watch(server, at("v2"));
  t.ok(await until(() => held.waiting > 0));
  const next = await openConverter();
  t.teardown(() => next.peer.close());
  await redefine(server, widgets(next, "v2")["spec"]);
  held.open();
  t.strictSame((await reading).json.spec, { address: "one" });
  t.equal((await listing).json.items.length, 1);
  const written = await writing;
  t.ok(written.code === 200 || written.code === 409, written.text);
  t.ok(await until(() => watching.ended), "watches of the definition before end");
  const now = await server.call("GET", at("v2", "a"));
  t.equal(now.json.apiVersion, "example.com/v2");
  t.equal(now.json.spec.address, written.code === 200 ? "two" : "one");
  t.ok(next.asked.length > 0, "by the webhook that is named now");
});

converting("what was stored in an earlier version is converted from that", async (t, server, converter) => {
  await server.call("POST", at("v1"), widget("v1", "a", "one"));
  await server.call("POST", at("v1"), widget("v1", "b", "two", { finalizers: ["example.com/held"] }));
  await redefine(server, widgets(converter, "v2")["spec"]);
  converter.asked.length = 0;
  const old = await server.call("GET", at("v1", "a"));
  t.strictSame([old.json.apiVersion, old.json.spec], ["example.com/v1", { host: "one", d1: "set" }]);
  t.equal(converter.asked.length, 0, "it is at that version");
  t.strictSame((await server.call("GET", at("v2", "a"))).json.spec, { address: "one", d2: "set" });
  t.equal(converter.asked.length, 1);
  await server.call("POST", at("v2"), widget("v2", "c", "three"));
  const both = (await server.call("GET", at("v2"))).json.items as Sent[];
  t.strictSame(
    both.map(({ apiVersion, spec }) => [apiVersion, spec?.["address"]]),
    [
      ["example.com/v2", "one"],
      ["example.com/v2", "two"],
      ["example.com/v2", "three"],
    ],
  );
  const first = (await server.call("GET", at("v1"))).json.items as Sent[];
  t.strictSame(
    first.map(({ apiVersion, spec }) => [apiVersion, spec?.["host"]]),
    [
      ["example.com/v1", "one"],
      ["example.com/v1", "two"],
      ["example.com/v1", "three"],
    ],
  );
  const watching = watch(server, at("v2"));
  t.ok(await until(() => watching.events.length === 3));
  // Marked, it is stored in the version of now.
  t.equal((await server.call("DELETE", at("v1", "b"))).code, 200);
  const marked = (await server.call("GET", at("v2", "b"))).json;
  t.type(marked.metadata.deletionTimestamp, "string");
  t.strictSame(marked.spec, { address: "two", d2: "set" });
  const freed = await server.call("PATCH", at("v2", "b"), { metadata: { finalizers: null } }, merge);
  t.equal(freed.code, 200, freed.text);
  const put = await server.call("PATCH", at("v2", "a"), { spec: { address: "four" } }, merge);
  t.strictSame([put.code, put.json.apiVersion], [200, "example.com/v2"], put.text);
  t.ok(await until(() => watching.events.length === 6));
  t.strictSame(watching.events.slice(3), ["MODIFIED b two", "DELETED b two", "MODIFIED a four"]);
  await server.fanout.closeAll(1000);
});

scenario("a webhook is found by its service, as it is at each call", async (t, server) => {
  const work = runDefinitions(server, []);
  const converter = await openConverter(["conv.default.svc"]);
  t.teardown(() => converter.peer.close());
  const { port, authority } = converter.peer;
  const caBundle = Buffer.from(authority).toString("base64");
  const service = { namespace: "default", name: "conv", path: "/convert", port };
  await defineWidgets(server, converter, { clientConfig: { service, caBundle } });
  await server.call("POST", at("v1"), widget("v1", "a", "one"));
  const lost = await server.call("GET", at("v2", "a"));
  t.equal(lost.json.message, 'conversion webhook for example.com/v1, Kind=Widget failed: service "conv" not found');
  const spec = { type: "ExternalName", externalName: "localhost" };
  const made = await server.call("POST", "/api/v1/namespaces/default/services", { metadata: { name: "conv" }, spec });
  t.equal(made.code, 201, made.text);
  const found = await server.call("GET", at("v2", "a"));
  t.strictSame([found.code, found.json.spec], [200, { address: "one" }], found.text);
  await work.stop();
});

converting("admission webhooks are shown the version they ask for", async (t, server, converter) => {
  const seen: unknown[] = [];
  const hook = await openPeer((body, response) => {
    const { apiVersion, kind, request } = JSON.parse(body) as {
      apiVersion: string;
      kind: string;
      request: { uid: string; operation: string; object: Sent | null; oldObject: Sent | null };
    };
    const { uid, operation, object, oldObject } = request;
    seen.push([operation, object?.apiVersion, object?.spec?.["host"], oldObject?.spec?.["host"]]);
    const patch = Buffer.from('[{"op":"add","path":"/spec/n","value":7}]').toString("base64");
    const patches = object === null ? {} : { patch, patchType: "JSONPatch" };
    sayJson(response, { apiVersion, kind, response: { uid, allowed: true, ...patches } });
  });
  t.teardown(() => hook.close());
  const rules = [
    { operations: ["*"], apiGroups: ["example.com"], apiVersions: ["v1"], resources: ["widgets"], scope: "*" },
  ];
  const webhook = {
    name: "hook.example.com",
    clientConfig: { url: hook.url, caBundle: Buffer.from(hook.authority).toString("base64") },
    rules,
    sideEffects: "None",
    admissionReviewVersions: ["v1"],
    matchPolicy: "Equivalent",
  };
  const path = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
  const made = await server.call("POST", path, { metadata: { name: "hook" }, webhooks: [webhook] });
  t.equal(made.code, 201, made.text);
  const created = await server.call("POST", at("v2"), widget("v2", "a", "one"));
  t.strictSame([created.code, created.json.spec], [201, { n: 7, address: "one" }], created.text);
  const patched = await server.call("PATCH", at("v2", "a"), { spec: { address: "two" } }, merge);
  t.strictSame([patched.code, patched.json.spec.address], [200, "two"], patched.text);
  t.equal((await server.call("DELETE", at("v2", "a"))).code, 200);
  t.strictSame(seen, [
    ["CREATE", "example.com/v1", "one", undefined],
    ["UPDATE", "example.com/v1", "two", "one"],
    ["DELETE", undefined, undefined, "two"],
  ]);
  converter.lie = (said) => ({ ...said, response: undefined });
  const refused = await server.call("POST", at("v2"), widget("v2", "b", "one"));
  t.equal(refused.code, 500, refused.text);
  t.equal((await server.call("GET", at("v1", "b"))).code, 404);
});

converting("selectors of watches see what is stored, and show what is converted", async (t, server, converter) => {
  const labels = { labels: { app: "x" } };
  await server.call("POST", at("v1"), widget("v1", "a", "0", labels));
  const some = watch(server, `${at("v2")}?labelSelector=app%3Dx&allowWatchBookmarks=true`);
  t.ok(await until(() => some.events.length === 1));
  const set = (value: string, app: string): Promise<unknown> =>
    server.call("PATCH", at("v1", "a"), { metadata: { labels: { app } }, spec: { host: value } }, merge);
  await set("1", "x");
  await set("2", "y");
  await set("3", "y");
  await set("4", "x");
  t.ok(await until(() => some.events.length === 4));
  t.strictSame(some.events, ["ADDED a 0", "MODIFIED a 1", "DELETED a 1", "ADDED a 4"]);
  t.ok(converter.asked.length <= 4, "no record is converted twice");
  // Clients that go while they wait leave nothing behind.
  const held = closedGate();
  converter.gate = held.gate;
  await set("5", "x");
  t.ok(await until(() => held.waiting === 1));
  await server.fanout.closeAll(1000);
  t.equal(server.fanout.watcherCount, 0);
  held.open();
});
