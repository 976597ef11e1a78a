// Lists of many objects: whole, in pages, by selectors, as Tables, in protobuf, compressed; by several readers at once.
import { gunzipSync } from "node:zlib";
import { podBody } from "../corpus/pod.ts";
import { fieldsIn, lengthDelimited, type Span } from "../harness/fields.ts";
import type { Case, LoadSource, Options, Scenario, Session } from "../harness/scenario.ts";
import { Scope } from "../harness/scope.ts";
import type { Target } from "../harness/target.ts";
import { faultsOf, protobufType, type Work } from "../harness/work.ts";
import { rowOf } from "./write.ts";

const table = "application/json;as=Table;v=v1;g=meta.k8s.io";
const prepareSeconds = 600;
const pageSize = 500;

/** A way to ask for the list. */
interface Form {
  readonly query: string;
  readonly accept: string;
  readonly gzip?: boolean;
  /** How many of the objects it has. */
  readonly items: (objects: number) => number;
}

const all = (objects: number): number => objects;

const forms: ReadonlyMap<string, Form> = new Map([
  ["json", { query: "", accept: "application/json", items: all }],
  ["protobuf", { query: "", accept: protobufType, items: all }],
  ["table", { query: "", accept: table, items: all }],
  ["gzip", { query: "", accept: "application/json", gzip: true, items: all }],
  ["page", { query: `?limit=${pageSize}`, accept: "application/json", items: (n) => Math.min(n, pageSize) }],
  ["cached", { query: "?resourceVersion=0", accept: "application/json", items: all }],
  // One object of fifty has the label, one of a thousand is on the node.
  ["label", { query: "?labelSelector=part%3Dp7", accept: "application/json", items: (n) => matching(n, 50) }],
  [
    "field",
    { query: "?fieldSelector=spec.nodeName%3Dnode-7", accept: "application/json", items: (n) => matching(n, 1000) },
  ],
  ["none", { query: "?labelSelector=none%3Dset", accept: "application/json", items: () => 0 }],
]);

/** Numbers below `n` whose remainder is 7. */
function matching(n: number, modulus: number): number {
  return Math.floor(n / modulus) + (n % modulus > 7 ? 1 : 0);
}

/** `npm run perf -- list`. */
export const list: Scenario = {
  name: "list",
  summary: "lists of many pods, in every form",
  detail:
    "Pods of 2 KiB spec (5 KiB stored) in a namespace of their own, listed again and again by --readers connections. " +
    "Before each round a list is read whole, decoded, and its items counted; each list of the round must then have as " +
    "many bytes (compressed lists and Tables, which tell ages, about as many). A run is void when a length is another one, or an answer is no 200.",
  flags: {
    cases: ["json,protobuf,table,gzip,page,label,field", `of ${[...forms.keys()].join(", ")}`],
    objects: ["10000", "pods in the list"],
    readers: ["1", "connections that read"],
    rate: ["0", "lists per second, whatever the answers take; 0: as fast as answers come"],
  },
  examples: [
    "npm run perf -- list --objects=1000 --cases=json,protobuf --duration=4",
    "npm run perf -- list --server=https://127.0.0.1:6443 --token=$TOKEN --cases=table --readers=4",
  ],
  async open(target: Target, options: Options, load: LoadSource): Promise<Session> {
    const scope = await Scope.open(target);
    const process = await load.start();
    const pods = `${scope.path}/pods`;
    const objects = options.number("objects", 1);
    const body = podBody(0, "p<n:6>", { part: "p<n%50>" }).replace('"nodeName":"node-0"', '"nodeName":"node-<n%1000>"');
    const seed: Work = {
      ...{ name: "prepare", method: "POST", path: pods, body, wanted: 201, connections: 16, rate: 0 },
      ...{ from: 0, countMax: objects },
    };
    await process.prepare(seed, prepareSeconds);
    const shape = { connections: options.number("readers", 1), rate: options.number("rate") };
    const cases = options.list("cases").map((name): Case => {
      const form = forms.get(name);
      if (form === undefined) throw new Error(`--cases: ${name} is none of ${[...forms.keys()].join(", ")}`);
      const path = `${pods}${form.query}`;
      const work: Work = {
        ...{ name, method: "GET", path, accept: form.accept, wanted: 200, ...shape, from: 0 },
        ...(form.gzip === true ? { more: "Accept-Encoding: gzip\r\n" } : {}),
      };
      let bodyBytes = 0;
      let bodySlackBytes = 0;
      return {
        name,
        prepare: async () => {
          bodyBytes = await verifiedBytes(target, work, form.items(objects), form.gzip === true);
          // Compressed bytes depend on where the stream was flushed; rows of Tables tell ages, which get longer.
          if (form.gzip === true) bodySlackBytes = Math.ceil(bodyBytes / 50);
          if (form.accept === table) bodySlackBytes = 6 * objects;
        },
        run: async (seconds) => {
          const results = await process.run([{ ...work, bodyBytes, bodySlackBytes }], seconds);
          return { rows: results.map(rowOf), faults: faultsOf(results) };
        },
      };
    });
    return { cases, close: () => scope.close() };
  },
};

/** Reads a list, and throws unless it has so many items; returns its bytes as they came. */
async function verifiedBytes(target: Target, work: Work, items: number, isGzip: boolean): Promise<number> {
  const { code, bytes } = await target.connection.ask({ ...work, body: undefined });
  if (code !== 200) throw new Error(`A list was answered ${code}: ${bytes.toString("utf8", 0, 300)}`);
  const isCompressed = isGzip && bytes[0] === 0x1f && bytes[1] === 0x8b;
  if (isGzip && !isCompressed) throw new Error("A list was not compressed");
  const found = itemsIn(isCompressed ? gunzipSync(bytes) : bytes);
  if (found !== items) throw new Error(`A list has ${found} items, and should have ${items}`);
  return bytes.length;
}

/** Items of a list in JSON or protobuf, rows of a Table. */
export function itemsIn(bytes: Buffer): number {
  if (bytes.toString("latin1", 0, 4) === "k8s\0") return protobufItems(bytes.subarray(4));
  const parsed = JSON.parse(bytes.toString()) as { items?: unknown[] | null; rows?: unknown[] | null };
  return (parsed.items ?? parsed.rows ?? []).length;
}

/** Of an envelope (Unknown): its raw bytes are field 2, and so is each item in them. */
function protobufItems(envelope: Buffer): number {
  let count = 0;
  for (const [number, content] of parts(envelope, [0, envelope.length])) {
    if (number !== 2) continue;
    for (const [inner] of parts(envelope, content)) if (inner === 2) count += 1;
  }
  return count;
}

/** Fields with a length; lists and envelopes have no others. */
function* parts(bytes: Buffer, message: Span): Generator<[number: number, content: Span]> {
  for (const [number, type, content] of fieldsIn(bytes, message)) {
    if (type !== lengthDelimited) throw new Error(`Field ${number} of a list has another wire type: ${type}`);
    yield [number, content];
  }
}
