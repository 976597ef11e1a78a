// Definitions of operators, mutated: other types where one belongs, huge and odd texts, deep and wide schemas, prototype
// names, many versions. Whatever is posted is accepted or refused with a Status that says why; what is accepted can be
// established, and is served.
import t from "tap";
import { definitions } from "../support/definitions.ts";
import type { Json } from "../support/ecosystem/parts.ts";
import { ecosystem, type Published } from "../support/ecosystem.ts";
import { type InProcess, openInProcess } from "../support/inprocess.ts";
import { established } from "../support/published.ts";
import { type Draws, draws, fuzzRun } from "../support/random.ts";

t.setTimeout(300_000);

const oddTexts = [
  "",
  " ",
  "__proto__",
  "constructor",
  "a".repeat(300),
  "é",
  "\u0000",
  "\ud800",
  "\u202e\u{1f600}",
  "../..",
  "(((((",
  "(a+)+$",
  "[\\p{L}]{1,999}",
  "x".repeat(100_000),
  "-1",
  "null",
];
const oddNumbers = [0, -1, 1.5, 1e308, -1e308, 2 ** 53, 2 ** 63, 5e-324];
const marks = [
  ...[
    "type",
    "format",
    "pattern",
    "default",
    "enum",
    "items",
    "properties",
    "additionalProperties",
    "nullable",
    "$ref",
  ],
  ...[
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "required",
    "maxItems",
    "minimum",
    "multipleOf",
    "uniqueItems",
    "example",
    "id",
  ],
  ...["x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource", "x-kubernetes-int-or-string"],
  ...["x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type", "x-kubernetes-validations"],
  ...["exclusiveMinimum", "maxLength", "maxProperties", "definitions", "patternProperties", "externalDocs", "title"],
];

/** A schema that is as deep as it says. */
function deep(depth: number, by: "properties" | "items" | "not" | "additionalProperties"): Json {
  let schema: Json = { type: "string" };
  for (let level = 0; level < depth; level += 1) {
    if (by === "properties") schema = { type: "object", properties: { a: schema } };
    else if (by === "items") schema = { type: "array", items: schema };
    else if (by === "not") schema = { not: schema };
    else schema = { type: "object", additionalProperties: schema };
  }
  return schema;
}

/** Anything but what belongs there. */
function odd({ next, pick, chance }: Draws): unknown {
  switch (next(9)) {
    case 0:
      return pick(oddTexts);
    case 1:
      return pick(oddNumbers);
    case 2:
      return pick([null, true, false, {}, [], [null], [[]], { "": null }]);
    case 3:
      return deep(pick([3, 60, 400, 900]), pick(["properties", "items", "not", "additionalProperties"] as const));
    case 4:
      return Object.fromEntries(
        Array.from({ length: next(30) }, (_, at) => [`${pick(oddTexts).slice(0, 20)}${at}`, {}]),
      );
    case 5:
      return Array.from({ length: next(2000) }, (_, at) => (chance(50) ? at : pick(oddTexts.slice(0, 8))));
    case 6:
      return { [pick(marks)]: pick(oddTexts), [pick(marks)]: pick(oddNumbers), type: "object" };
    case 7:
      return JSON.parse('{"__proto__":{"type":"string"},"constructor":{"type":"object"}}') as unknown;
    default:
      return {
        type: pick(["array", "string", "object", "integer", "x"]),
        default: pick<unknown>(["a", 1, {}, [], null]),
      };
  }
}

/** Something else of the same type: what is not refused for its type alone. */
function alike(value: unknown, drawn: Draws): unknown {
  const { next, pick } = drawn;
  if (typeof value === "string")
    return pick([...oddTexts, "object", "array", "string", "integer", "map", "set", "v1", "date"]);
  if (typeof value === "number") return pick(oddNumbers);
  if (typeof value === "boolean") return !value;
  if (Array.isArray(value)) return value.length === 0 ? ["a"] : pick([[], [...value, ...value], value.toReversed()]);
  if (typeof value !== "object" || value === null) return odd(drawn);
  const isSchema = "type" in value || "properties" in value;
  const wrapped = [
    deep(pick([3, 60, 400]), "properties"),
    { type: "array", items: value },
    { not: value },
    { allOf: [value] },
  ];
  return isSchema ? pick<unknown>([...wrapped, { ...value, [pick(marks)]: {} }]) : { ...value, [`odd${next(9)}`]: {} };
}

/** A copy of what may be too deep for a structured one. */
function copyOf(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value)) as unknown;
}

/** Every object and list within a value. */
function within(value: unknown, found: (Json | unknown[])[] = []): (Json | unknown[])[] {
  if (typeof value !== "object" || value === null) return found;
  found.push(value as Json);
  for (const inner of Object.values(value)) within(inner, found);
  return found;
}

function mutate(definition: Json, drawn: Draws): void {
  const { next, pick, chance } = drawn;
  const spec = definition["spec"] as Json;
  // Half of what is changed is near the root, where a definition says what it is.
  const all = chance(50) ? within(spec).slice(0, 12) : within(spec);
  const target = pick(all) as Json;
  const keys = Object.keys(target);
  const key = chance(90) && keys.length > 0 ? pick(keys) : pick(marks);
  switch (next(9)) {
    case 0:
      delete target[key];
      break;
    case 1:
      target[key] = copyOf(pick(all));
      break;
    case 2:
      spec["versions"] = many(definition, pick([2, 10, 60]));
      break;
    case 3:
      (definition["metadata"] as Json)[pick(["name", "annotations", "labels", "finalizers", "generateName"])] =
        odd(drawn);
      break;
    default: {
      const value = chance(80) ? alike(target[key], drawn) : odd(drawn);
      Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
    }
  }
}

/** The first version under many names. */
function many({ spec }: Json, count: number): unknown[] {
  const versions = (spec as Json)["versions"];
  const [first] = Array.isArray(versions) ? (versions as Json[]) : [];
  return Array.from({ length: count }, (_, at) => ({ ...first, name: `v${at + 1}`, storage: at === 0 }));
}

/** What the text of a mutated definition weighs at most: beyond, it is refused for its size alone. */
const bytesMax = 3 * 1024 * 1024;

/** Takes an accepted definition through its life: established, written, read, told of, and gone. */
async function lives(server: InProcess, stored: Json): Promise<string[]> {
  const faults: string[] = [];
  const { name } = stored["metadata"] as { name: string };
  const { group, names, versions } = stored["spec"] as {
    group: string;
    names: { plural: string; kind: string };
    versions: { name: string; served: boolean }[];
  };
  const expect = async (wanted: (code: number) => boolean, method: string, path: string, body?: unknown) => {
    const { code, text } = await server.call(method, path, body);
    if (!wanted(code)) faults.push(`${method} ${path}: ${code} ${text.slice(0, 300)}`);
  };
  const isNo500 = (code: number): boolean => code < 500;
  const prefix = `/registry/${group}/${names.plural}`;
  await server.views.register(prefix);
  await expect((code) => code === 200, "PUT", `${definitions}/${name}/status`, established(stored));
  for (const version of versions.slice(0, 2)) {
    const path = `/apis/${group}/${version.name}/${names.plural}`;
    await expect((code) => code === (version.served ? 200 : 404), "GET", path);
    const object = { apiVersion: `${group}/${version.name}`, kind: names.kind, metadata: { name: "a" }, spec: {} };
    const isNamespaced = (stored["spec"] as Json)["scope"] === "Namespaced";
    const collection = isNamespaced ? path.replace(/\/([^/]+)$/, "/namespaces/default/$1") : path;
    await expect(isNo500, "POST", collection, object);
    await expect(isNo500, "GET", path);
  }
  await expect((code) => code === 200, "DELETE", `${definitions}/${name}`);
  const free = [{ op: "replace", path: "/metadata/finalizers", value: [] }];
  await server.call("PATCH", `${definitions}/${name}`, free, { "content-type": "application/json-patch+json" });
  await expect((code) => code === 404, "GET", `${definitions}/${name}`);
  await server.views.giveUp(prefix);
  return faults;
}

t.test("mutated definitions are accepted or refused, and served when they are accepted", async (t) => {
  const { seed, rounds } = fuzzRun(250);
  const drawn = draws(seed);
  const server = await openInProcess();
  t.teardown(() => server.close());
  const small = ecosystem().filter(({ plural }) => plural !== "prometheuses" && plural !== "workloads");
  const codes = new Map<number, number>();
  for (let round = 0; round < rounds; round += 1) {
    const { definition } = (drawn.chance(90) ? drawn.pick(small) : drawn.pick(ecosystem())) as Published;
    const mutated = structuredClone(definition);
    for (let times = 1 + drawn.next(3); times > 0; times -= 1) mutate(mutated, drawn);
    const text = JSON.stringify(mutated);
    if (text.length > bytesMax) continue;
    const { code, json } = await server.call("POST", definitions, text, { "content-type": "application/json" });
    codes.set(code, (codes.get(code) ?? 0) + 1);
    if (code === 201) t.same(await lives(server, json), [], `seed ${seed}, round ${round}`);
    else if (json?.kind !== "Status" || code >= 500 || code < 400 || json.message === "") {
      t.fail(`seed ${seed}, round ${round}: ${code} ${JSON.stringify(json).slice(0, 500)}`);
    }
  }
  t.same(server.faults, []);
  t.ok((codes.get(201) ?? 0) > rounds / 10 && (codes.get(422) ?? 0) > rounds / 5, JSON.stringify([...codes]));
});
