// Random requests, sensible and not: bodies in every format, patches of every type, field sets, selectors. Whatever a
// client sends, the answer is a success or a refusal of the client's mistake, never a fault of ours, and never slow.
// ORCH_SEED repeats a run, ORCH_FUZZ_REQUESTS lengthens it.
import t from "tap";
import { messageOf } from "../../src/api/messages.ts";
import type { ApiObject } from "../../src/api/object.ts";
import { Fault } from "../../src/codec/engine/json.ts";
import { decodeProto, type Envelope, openEnvelope } from "../../src/codec/proto/protobuf.ts";
import { protoDocument } from "../../src/request/answer/protoanswer.ts";
import { kinds } from "../support/bodies.ts";
import { Slowest, threadCpuMs } from "../support/cost.ts";
import { type InProcess, openInProcess } from "../support/inprocess.ts";
import { random } from "../support/random.ts";

const seed = Number(process.env["ORCH_SEED"] ?? Date.now() % 1_000_000);
const requests = Number(process.env["ORCH_FUZZ_REQUESTS"] ?? 1500);
const pick = random(seed);
/** Requests before schemas are read and code is compiled. */
const warmUp = 300;

const odd: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  1.5,
  1e300,
  2 ** 53,
  "",
  "x",
  "-",
  "__proto__",
  "\u0000",
  "\ud800",
  "é".repeat(300),
  "2001-01-01T00:00:00Z",
  [],
  [null],
  [[]],
  {},
  { a: null },
  { __proto__: 1 },
  ["a", "a"],
  { name: "n" },
];
const words = [
  "metadata",
  "name",
  "namespace",
  "labels",
  "annotations",
  "finalizers",
  "ownerReferences",
  "uid",
  "spec",
  "status",
  "containers",
  "0",
  "1",
  "-",
  "-1",
  "a",
  "data",
  "template",
  "generateName",
  "resourceVersion",
  "managedFields",
];

function one<T>(of: readonly T[]): T {
  return of[pick(of.length)] as T;
}

const protobuf = "application/vnd.kubernetes.protobuf";

const directives: readonly (readonly [key: string, value: unknown])[] = [
  ["$patch", "delete"],
  ["$patch", "replace"],
  ["$patch", "merge"],
  ["$patch", "fly"],
  ["$retainKeys", ["name", "image"]],
  ["$retainKeys", 1],
  ["$setElementOrder/containers", [{ name: "c" }, { name: "d" }]],
  ["$setElementOrder/ports", [{ containerPort: 80 }, {}]],
  ["$setElementOrder/finalizers", ["x.example/y", null]],
  ["$deleteFromPrimitiveList/finalizers", ["x.example/y"]],
  ["$deleteFromPrimitiveList/containers", "c"],
  ["$unknown/x", null],
];

/** A strategic merge patch: an object with directives in odd places. */
function strategic(value: unknown): unknown {
  if (Array.isArray(value)) {
    const list = value.map(strategic);
    return pick(6) === 0 ? [...list, Object.fromEntries([one(directives)])] : list;
  }
  if (value === null || typeof value !== "object") return value;
  const entries = Object.entries(value).map(([key, item]) => [key, strategic(item)] as const);
  if (pick(5) === 0) entries.push(one(directives));
  return Object.fromEntries(entries);
}

const elements = [
  ".",
  "f:metadata",
  "f:labels",
  "f:a",
  "f:spec",
  "f:containers",
  'k:{"name":"c"}',
  'k:{"containerPort":80,"protocol":"TCP"}',
  "k:{",
  'k:{"name":[]}',
  'v:"x.example/y"',
  "v:",
  "i:0",
  "i:-1",
  "i:99999999999999999999",
  "f:",
  "",
  "x",
  "f:__proto__",
  "f:]},",
];

/** FieldsV1, and what is none. */
function fieldsV1(depth = 0): unknown {
  if (pick(15) === 0) return one(odd);
  const count = depth > 5 ? 0 : pick(4);
  return Object.fromEntries(Array.from({ length: count }, () => [one(elements), fieldsV1(depth + 1)]));
}

function managers(): unknown {
  return Array.from({ length: pick(4) }, () =>
    mutate({
      manager: one(["f", "g", "x".repeat(200)]),
      operation: one(["Apply", "Update", "Fly"]),
      apiVersion: one(["v1", "apps/v1", "x/y/z"]),
      time: "2026-01-01T00:00:00Z",
      fieldsType: one(["FieldsV1", "FieldsV2"]),
      fieldsV1: fieldsV1(),
    }),
  );
}

const selectorPieces = [
  "a",
  "a=b",
  "a==b",
  "a!=b",
  "a in (b,c)",
  "a notin ()",
  "!a",
  "a>1",
  "a<x",
  "x.example/y",
  "metadata.name=o1",
  "metadata.namespace!=default",
  "status.phase=Running",
  "spec.unknown=1",
  ",",
  "(",
  ")",
  "=",
  "!",
  "\\",
  " ",
  "é",
  "__proto__",
  "x".repeat(300),
  "\u0000",
];

function selectors(): string {
  const text = () =>
    encodeURIComponent(Array.from({ length: pick(5) }, () => one(selectorPieces)).join(one([",", "", ", "])));
  const options = [
    ["labelSelector", text],
    ["fieldSelector", text],
    ["limit", () => one(["0", "1", "-1", "x", "9".repeat(30)])],
    ["continue", () => one(["", "x", "eyJ2IjoibWV0YS5rOHMuaW8vdjEifQ", "%00"])],
    ["resourceVersion", () => one(["0", "1", "x", "-1"])],
    ["resourceVersionMatch", () => one(["Exact", "NotOlderThan", "Fly"])],
  ] as const;
  const used = options.filter(() => pick(3) === 0);
  return used.map(([key, value]) => `${key}=${value()}`).join("&");
}

/** A document in protobuf with some bytes changed. */
function damaged(bytes: Uint8Array): Uint8Array {
  const copy = Uint8Array.from(bytes.subarray(0, pick(4) === 0 ? pick(bytes.length + 1) : bytes.length));
  for (let flips = pick(4); flips > 0 && copy.length > 4; flips -= 1) copy[4 + pick(copy.length - 4)] = pick(256);
  return copy;
}

/** An object in protobuf as the server would send it, or what is there instead; damaged. */
async function protobufOf(server: InProcess, target: string): Promise<Uint8Array> {
  return damaged((await server.call("GET", target, undefined, { accept: protobuf })).bytes);
}

/** The value with some of its parts replaced, dropped or added. */
function mutate(value: unknown, depth = 0): unknown {
  if (pick(12) === 0) return one(odd);
  if (Array.isArray(value)) {
    const list = value.map((item) => mutate(item, depth + 1));
    return pick(8) === 0 ? [...list, one(odd)] : list;
  }
  if (value === null || typeof value !== "object") return value;
  const entries = Object.entries(value).filter(() => pick(15) !== 0);
  const changed = entries.map(([key, item]) => [key, mutate(item, depth + 1)] as const);
  if (pick(8) === 0) changed.push([one(words), one(odd)]);
  return Object.fromEntries(changed);
}

function metadata(name: string): object {
  const all = { name, labels: { a: "b" }, annotations: { n: "1" }, finalizers: ["x.example/y"], generateName: "g-" };
  return Object.fromEntries(Object.entries(all).filter(([key]) => key === "name" || pick(3) === 0));
}

function pointer(): string {
  return Array.from({ length: pick(5) }, () => `/${one(words)}`).join("");
}

function jsonPatch(): unknown {
  const operations = ["add", "remove", "replace", "move", "copy", "test", "fly"];
  return Array.from({ length: pick(5) }, () => ({
    op: one(operations),
    path: pick(20) === 0 ? one(odd) : pointer(),
    from: pointer(),
    value: one(odd),
  }));
}

/** In JSON and in protobuf. */
const reasons = /InternalError|Timeout|ServiceUnavailable/;

interface Step {
  readonly sent: string;
  readonly code: number;
  readonly isOurs: boolean;
  /** What a write answered in protobuf was compared with what is read; undefined: it was no such write. */
  readonly isSame?: boolean | undefined;
}

async function step(server: InProcess): Promise<Step> {
  const [path, body] = one(kinds);
  const name = `o${pick(4)}`;
  const object = { metadata: metadata(name), ...body };
  if (pick(6) === 0) Object.assign(object.metadata, { managedFields: managers() });
  const sent = pick(2) === 0 ? object : mutate(object);
  const query = one(["", "", "", "?dryRun=All", "?fieldManager=f", "?gracePeriodSeconds=0", "?pretty=1"]);
  const sub = one(["", "", "", "", "/status", "/finalize", "/scale"]);
  const applied = `fieldManager=${one(["f", "g", "", "x".repeat(200)])}&force=${one(["true", "false", "1", ""])}`;
  const named = { apiVersion: apiVersionOf(path), kind: one([...words, "Pod", "ConfigMap"]), ...object };
  const [method, target, type, payload]: [string, string, string, unknown] = one([
    ["POST", `${path}${query}`, "application/json", sent],
    ["POST", `${path}${query}`, "application/yaml", sent],
    ["PUT", `${path}/${name}${sub}${query}`, "application/json", sent],
    ["PATCH", `${path}/${name}${sub}${query}`, "application/merge-patch+json", mutate(object)],
    ["PATCH", `${path}/${name}${sub}${query}`, "application/json-patch+json", jsonPatch()],
    ["PATCH", `${path}/${name}${sub}${query}`, "application/strategic-merge-patch+json", strategic(sent)],
    ["PATCH", `${path}/${name}${sub}?${applied}`, "application/apply-patch+yaml", applyBody(server, path, named)],
    ["PATCH", `${path}/${name}?${applied}`, "application/apply-patch+yaml", mutate(named)],
    ["POST", path, protobuf, await protobufOf(server, `${path}/${name}`)],
    ["PUT", `${path}/${name}`, protobuf, await protobufOf(server, `${path}/${name}`)],
    ["GET", `${path}?${selectors()}`, "application/json", undefined],
    ["GET", `${path}?${selectors()}`, "application/json", undefined],
    [
      "DELETE",
      `${path}/${name}${query}`,
      "application/json",
      mutate({ propagationPolicy: "Orphan", preconditions: {} }),
    ],
    ["DELETE", `${path}${query}`, "application/json", undefined],
    ["GET", `${path}/${name}`, "application/json", undefined],
  ]);
  const text = payload === undefined || payload instanceof Uint8Array ? payload : JSON.stringify(payload);
  const accept = one([{}, { accept: protobuf }]);
  const answer = await server.call(method, target, text, text === undefined ? {} : { "content-type": type, ...accept });
  const shown = text instanceof Uint8Array ? Buffer.from(text).toString("hex") : text;
  const { code } = answer;
  // To patches it cannot apply upstream answers 500 in words of its own, without a reason.
  const isOurs = code >= 500 && (method !== "PATCH" || reasons.test(answer.text));
  const isDry = target.includes("dryRun");
  const isChange = (code === 200 || code === 201) && method !== "GET" && method !== "DELETE" && !isDry;
  const isSame = isChange && "accept" in accept ? await isRead(server, path, answer.bytes) : undefined;
  return { sent: `${method} ${target} ${type} ${shown}`, code, isOurs, isSame };
}

/** Whether a read answers what a write did; undefined where the object is gone, or the answer was another one. */
async function isRead(server: InProcess, path: string, written: Uint8Array): Promise<boolean | undefined> {
  const kindOf = server.scheme.resources.find(
    ({ resource, apiVersion }) => path.endsWith(`/${resource}`) && apiVersion === apiVersionOf(path),
  );
  const envelope = openEnvelope(written);
  if (kindOf === undefined || envelope instanceof Fault || envelope.kind !== kindOf.kind) return undefined;
  const object = decodeProto<ApiObject>(kindOf.message, envelope.raw);
  if (object instanceof Fault) return false;
  const target = `${path}/${object.metadata.name}`;
  const read = await server.call("GET", target, undefined, { accept: protobuf });
  const json = await server.call("GET", target);
  // It may be another one of that name.
  if (read.code !== 200 || !read.bytes.includes(`${object.metadata.uid}`)) return undefined;
  // Messages that are kept for reads are those that writes made: what is stored says what they should be.
  const same = [read.bytes, protoDocument(kindOf.message, json.bytes)].map((document) => sameAt(document, written));
  return same.includes(false) ? false : same.includes(undefined) ? undefined : true;
}

/** Whether two documents are the same, unless the version of the object is another one. */
function sameAt(read: Uint8Array, written: Uint8Array): boolean | undefined {
  if (Buffer.from(read).equals(written)) return true;
  const [one, other] = [read, written].map(versionOf);
  return one === other ? false : undefined;
}

function versionOf(document: Uint8Array): string | undefined {
  const { raw } = openEnvelope(document) as Envelope;
  const object = decodeProto<ApiObject>(messageOf("meta/v1.PartialObjectMetadata"), raw);
  return object instanceof Fault ? undefined : object.metadata.resourceVersion;
}

function apiVersionOf(path: string): string {
  return path
    .split("/")
    .slice(2, path.startsWith("/api/") ? 3 : 4)
    .join("/");
}

/** What a well-meant apply sends: fields of its own, with the names of the kind. */
function applyBody(server: InProcess, path: string, object: Record<string, unknown>): unknown {
  const resource = path.slice(path.lastIndexOf("/") + 1);
  const kind = server.scheme.resources.find((known) => known.resource === resource)?.kind;
  return { ...object, kind };
}

t.test(`write() never answers a client's mistake with a fault of ours (seed ${seed})`, async (t) => {
  const server = await openInProcess();
  const codes = new Map<number, number>();
  let compared = 0;
  const slowest = new Slowest(100);
  for (let i = 0; i < requests; i++) {
    const start = threadCpuMs();
    const { sent, code, isOurs, isSame } = await step(server);
    const ms = threadCpuMs() - start;
    // Deleting a collection is many steps.
    if (i > warmUp && !sent.startsWith("DELETE")) slowest.add(ms, sent);
    codes.set(code, (codes.get(code) ?? 0) + 1);
    if (isSame === false) t.fail(`a read answers something else than ${sent}`);
    if (isSame === true) compared += 1;
    if (!isOurs && server.faults.length === 0) continue;
    t.fail(`${code} for ${sent}`, { fault: String((server.faults[0] as Error | undefined)?.stack) });
    break;
  }
  t.ok(compared > requests / 50, "some are answered in protobuf, as they are read");
  t.ok((codes.get(201) ?? 0) > requests / 50, "some are created");
  t.ok((codes.get(200) ?? 0) > requests / 50, "some are changed");
  t.ok((codes.get(422) ?? 0) > requests / 50, "some are invalid");
  t.ok((codes.get(400) ?? 0) > requests / 50, "some are malformed");
  t.ok(slowest.ms <= slowest.msMax, `the slowest took ${slowest.ms.toFixed(1)} ms: ${slowest.what}`);
  server.close();
});
