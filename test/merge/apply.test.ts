import { existsSync, readFileSync } from "node:fs";
import fc from "fast-check";
import t from "tap";
import { messageOf, messages } from "../../src/api/messages.ts";
import type { Value } from "../../src/api/value.ts";
import { apply, Conflicts, type Kind, type Owned, ownUpdate } from "../../src/merge/apply.ts";
import { pathText } from "../../src/merge/fieldset.ts";
import { type MapType, type Type, typeOfMessage } from "../../src/merge/schema.ts";
import { checkType, compare, fieldSetOf, mergeTyped, removeItems, TypeFault } from "../../src/merge/typed.ts";
import { fromJson, toJson } from "../support/values.ts";

const deployment = typeOfMessage(messageOf("apps/v1.Deployment"));

t.test("typeOfMessage() says what the facts say", (t) => {
  const file = "../shared/facts/ssa.json";
  if (!existsSync(file)) {
    t.end();
    return;
  }
  interface Fact {
    readonly name: string;
    readonly list?: unknown;
    readonly map?: unknown;
    readonly scalar?: string;
    readonly rel?: string;
    readonly keys?: readonly string[];
  }
  const facts = JSON.parse(readFileSync(file, "utf8")) as {
    types: { type: string; rel?: string; served?: false; fields?: Fact[] }[];
  };
  let compared = 0;
  for (const { type, rel, fields, served } of facts.types) {
    const match = /^io\.k8s\.api\.([a-z]+)\.(v\w+)\.(\w+)$/.exec(type);
    const message = match === null ? undefined : messages.get(`${match[1]}/${match[2]}.${match[3]}`);
    if (message === undefined || fields === undefined || served === false) continue;
    const found = typeOfMessage(message);
    t.equal(found.atomic, rel === "atomic", type);
    for (const fact of fields) {
      const field = found.fields.get(fact.name);
      const expected =
        fact.list !== undefined
          ? `list ${fact.rel === "associative" ? (fact.keys ? `keyed ${[...fact.keys].sort().join()}` : "set ") : "atomic "}`
          : fact.map !== undefined
            ? `map ${fact.rel === "atomic"}`
            : (fact.scalar ?? "");
      if (expected === "") continue;
      compared++;
      if (describeType(field) !== expected) t.equal(describeType(field), expected, `${type}.${fact.name}`);
    }
  }
  t.ok(compared > 1_000, `${compared} fields compared`);
  t.end();
});

function describeType(type: Type | undefined): string {
  if (type === undefined || type.kind === "any") return type === undefined ? "none" : "any";
  if (type.kind === "scalar") return type.scalar;
  if (type.kind === "map") return `map ${type.atomic}`;
  return `list ${type.relation} ${type.keys.map(({ name }) => name).join()}`;
}

t.test("checkType() names the field at fault", (t) => {
  const table: [document: string, expected: string | undefined][] = [
    ['{"kind":"Deployment","spec":{"replicas":1}}', undefined],
    ['{"spec":{"replicas":null}}', undefined],
    ['{"spec":{"replicas":"x"}}', ".spec.replicas: expected numeric (int or float), got string"],
    ['{"spec":{"paused":1}}', ".spec.paused: expected boolean, got &{1}"],
    ['{"metadata":{"name":5}}', ".metadata.name: expected string, got &value.valueUnstructured{Value:5}"],
    ['{"bogus":1}', ".bogus: field not declared in schema"],
    ['{"spec":[]}', ".spec: expected map, got &{[]}"],
    ['{"metadata":{"finalizers":["a","a"]}}', '.metadata.finalizers: duplicate entries for key [="a"]'],
    ['{"metadata":{"finalizers":{}}}', ".metadata.finalizers: expected list, got &{map[]}"],
    [
      '{"metadata":{"name":1,"uid":2}}',
      "errors:\n  .metadata.name: expected string, got &value.valueUnstructured{Value:1}\n  .metadata.uid: expected string, got &value.valueUnstructured{Value:2}",
    ],
    ['{"metadata":{"labels":{"__proto__":"x"}}}', undefined],
  ];
  for (const [document, expected] of table) {
    t.equal(checkType(deployment, fromJson(document))?.message, expected, document);
  }
  t.end();
});

t.test("mergeTyped() orders shared items as the configuration, others as they were", (t) => {
  const table: [live: string, config: string, expected: string][] = [
    ["abc", "cx", "abcx"],
    ["abc", "xc", "abxc"],
    ["abc", "ca", "bca"],
    ["abc", "", "abc"],
    ["", "ba", "ba"],
    ["abcd", "dxb", "acdxb"],
    ["ab", "xaby", "xaby"],
  ];
  const list = (names: string): Value => new Map([["finalizers", [...names]]]);
  const type = typeOfMessage(messageOf("meta/v1.ObjectMeta"));
  for (const [live, config, expected] of table) {
    const merged = mergeTyped(type, list(live), list(config)) as Map<string, string[]>;
    t.equal(merged.get("finalizers")?.join(""), expected, `${live} + ${config}`);
  }
  t.end();
});

/** A small type with everything in it. */
const small: MapType = {
  kind: "map",
  atomic: false,
  element: undefined,
  fields: new Map<string, Type>([
    ["one", { kind: "scalar", scalar: "numeric" }],
    ["two", { kind: "scalar", scalar: "numeric" }],
    ["map", { kind: "map", fields: new Map(), element: { kind: "scalar", scalar: "numeric" }, atomic: false }],
    ["whole", { kind: "list", element: { kind: "scalar", scalar: "numeric" }, relation: "atomic", keys: [] }],
    ["set", { kind: "list", element: { kind: "scalar", scalar: "string" }, relation: "set", keys: [] }],
    [
      "items",
      {
        kind: "list",
        relation: "keyed",
        keys: [{ name: "name", default: undefined }],
        element: {
          kind: "map",
          atomic: false,
          element: undefined,
          fields: new Map<string, Type>([
            ["name", { kind: "scalar", scalar: "string" }],
            ["value", { kind: "scalar", scalar: "numeric" }],
            ["other", { kind: "scalar", scalar: "numeric" }],
          ]),
        },
      },
    ],
  ]),
};

const kind: Kind = {
  typeOf: (version) => (version === "v1" || version === "v2" ? small : undefined),
  convert: (value, from, to) => (kind.typeOf(from) !== undefined && kind.typeOf(to) !== undefined ? value : undefined),
  ignored: () => undefined,
};

const number = fc.integer({ min: 1, max: 2 });
const optional = { requiredKeys: [] as never[] };
const asMap = (entries: Record<string, unknown>): Value => fromJson(JSON.stringify(entries));
const object = fc
  .record(
    {
      one: number,
      two: number,
      map: fc.dictionary(fc.constantFrom("a", "b"), number, { minKeys: 1, maxKeys: 2 }),
      whole: fc.array(number, { minLength: 1, maxLength: 2 }),
      set: fc.uniqueArray(fc.constantFrom("x", "y", "z"), { minLength: 1, maxLength: 3 }),
      items: fc.uniqueArray(
        fc.record({ name: fc.constantFrom("a", "b"), value: number, other: number }, { requiredKeys: ["name"] }),
        { selector: ({ name }) => name, minLength: 1, maxLength: 2 },
      ),
    },
    optional,
  )
  .map(asMap);

interface Operation {
  readonly manager: string;
  readonly version: string;
  readonly applies: boolean;
  readonly force: boolean;
  readonly object: Value;
}

const operation: fc.Arbitrary<Operation> = fc.record({
  manager: fc.constantFrom("a", "b", "c"),
  version: fc.constantFrom("v1", "v2"),
  applies: fc.boolean(),
  force: fc.boolean(),
  object,
});

interface State {
  readonly value: Value;
  readonly owners: ReadonlyMap<string, Owned>;
}

const nothing: State = { value: new Map(), owners: new Map() };

/** What decoding makes of an object: null is absent. */
function decoded(value: Value): Value {
  return new Map([...((value ?? new Map()) as Map<string, Value>)].filter(([, item]) => item !== null));
}

/** One operation; a refused one changes nothing. */
function run(state: State, { manager, version, applies, force, object }: Operation): State {
  if (!applies) {
    const id = `update ${manager}`;
    const owners = ownUpdate(kind, version, { live: () => state.value, next: () => object }, state.owners, id);
    if (owners instanceof TypeFault) throw new Error(owners.message);
    return { value: object, owners };
  }
  const done = apply(kind, version, state.value, object, state.owners, `apply ${manager}`, force);
  if (done instanceof TypeFault) throw new Error(done.message);
  return done instanceof Conflicts
    ? state
    : { value: decoded(done.value === undefined ? state.value : done.value), owners: done.owners };
}

function leaves(value: Value): Map<string, string> {
  const found = new Map<string, string>();
  for (const path of fieldSetOf(small, value).paths()) {
    const without = removeItems(small, value, setOfPath(path));
    found.set(pathText(path), toJson(without));
  }
  return found;
}

function setOfPath(path: string[]): ReturnType<typeof fieldSetOf> {
  const set = fieldSetOf(small, new Map());
  set.insert(path);
  return set;
}

/** What must hold after any operation. */
function checkState(state: State): string | undefined {
  if (checkType(small, state.value) !== undefined) return "the object does not fit its type";
  const present = fieldSetOf(small, state.value);
  const containers = compare(small, new Map(), state.value);
  if (containers instanceof TypeFault) return containers.message;
  const all = present.union(containers.added);
  for (const [id, { set }] of state.owners) {
    if (set.isEmpty) return `${id} owns nothing and is listed`;
    const lost = set.difference(all);
    // A list or map that became empty may still be owned by whom applied it empty.
    const gone = lost.paths().filter((path) => path.length > 1);
    if (gone.length > 0) return `${id} owns what is not there: ${gone.map(pathText).join(" ")}`;
  }
  return undefined;
}

t.test("apply and update keep their laws through random sequences", (t) => {
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 6 }), operation, (before, last) => {
      let state = nothing;
      for (const next of before) {
        state = run(state, next);
        const broken = checkState(state);
        if (broken !== undefined) throw new Error(broken);
      }
      const forced = run(state, { ...last, applies: true, force: true });
      const id = `apply ${last.manager}`;
      // A forced apply owns exactly its fields, and they are as it says.
      const wanted = fieldSetOf(small, last.object);
      const own = forced.owners.get(id)?.set;
      if (wanted.isEmpty ? own !== undefined : own?.equals(wanted) !== true) throw new Error("owns something else");
      const merged = mergeTyped(small, forced.value, last.object) ?? new Map();
      const change = compare(small, forced.value, merged);
      if (change instanceof TypeFault) throw new Error(change.message);
      if (!change.added.isEmpty || !change.modified.isEmpty) throw new Error("the configuration is not in the object");
      // No other manager is left with a field that the apply changed.
      const difference = compare(small, state.value, forced.value);
      if (difference instanceof TypeFault) throw new Error(difference.message);
      for (const [other, { set }] of forced.owners) {
        if (other !== id && !set.intersection(difference.modified).isEmpty)
          throw new Error(`${other} kept a changed field`);
      }
      // Applying again changes nothing, forced or not.
      for (const force of [true, false]) {
        const again = apply(kind, last.version, forced.value, last.object, forced.owners, id, force);
        if (again instanceof TypeFault || again instanceof Conflicts) throw new Error("the second apply is refused");
        if (again.value !== undefined) throw new Error("the second apply changes the object");
        if (!sameOwners(forced.owners, again.owners)) throw new Error("the second apply changes the owners");
      }
    }),
    { numRuns: 2_000, seed: 7 },
  );
  t.end();
});

function sameOwners(left: ReadonlyMap<string, Owned>, right: ReadonlyMap<string, Owned>): boolean {
  if (left.size !== right.size) return false;
  return [...left].every(([id, { set, version }]) => {
    const other = right.get(id);
    return other !== undefined && other.version === version && other.set.equals(set);
  });
}

t.test("managers of disjoint fields never conflict, and none loses what others applied", (t) => {
  const halves = fc.tuple(
    fc.record({ one: number, map: fc.dictionary(fc.constant("a"), number, { minKeys: 1 }) }, optional).map(asMap),
    fc.record({ two: number, whole: fc.array(number, { minLength: 1, maxLength: 2 }) }, optional).map(asMap),
  );
  fc.assert(
    fc.property(fc.array(halves, { minLength: 1, maxLength: 5 }), (rounds) => {
      let state = nothing;
      let last: [Value, Value] = [new Map(), new Map()];
      for (const round of rounds) {
        for (const [index, config] of round.entries()) {
          const done = apply(kind, "v1", state.value, config, state.owners, index === 0 ? "a" : "b", false);
          if (done instanceof Conflicts || done instanceof TypeFault) throw new Error("refused");
          state = { value: decoded(done.value === undefined ? state.value : done.value), owners: done.owners };
        }
        last = round;
      }
      // The model: an object that only ever was applied is what was applied last, by each.
      const model = mergeTyped(small, last[0], last[1]) ?? new Map();
      const [found, expected] = [leaves(state.value), leaves(model)];
      return found.size === expected.size && [...found.keys()].every((path) => expected.has(path));
    }),
    { numRuns: 1_000, seed: 11 },
  );
  t.end();
});
