// What typed objects own and how they differ is what src/merge finds in their documents, for wild objects of every kind.
import t from "tap";
import { identities } from "../../../src/api/identity.ts";
import type { ApiObject } from "../../../src/api/object.ts";
import type { Message } from "../../../src/api/schema.ts";
import { createScheme } from "../../../src/api/scheme.ts";
import { decode, encode, isFault, parseText, toValue, zeroOf } from "../../../src/codec/engine/json.ts";
import { resetFields } from "../../../src/kinds/table.ts";
import { setOf } from "../../../src/merge/fieldset.ts";
import { unowned } from "../../../src/merge/managedfields.ts";
import { typeOfMessage } from "../../../src/merge/schema.ts";
import { checkType, compare, type Difference, TypeFault } from "../../../src/merge/typed.ts";
import { isDistinctWithin, ownedText, typedDifference } from "../../../src/request/write/ownedfields.ts";
import { draws } from "../../support/random.ts";
import { wildMaker } from "../../support/wild.ts";

const scheme = createScheme({ identity: identities.kubernetes, runtimeConfig: new Map([["api/all", true]]) });
const kinds = scheme.resources.filter((resource) => !resource.virtual && !resource.computed);
const source = draws(7);
const { next } = source;
const wild = wildMaker(source);
const rounds = 12;

/** An object as a write has it: decoded, and once more from its own text, as what is stored. */
function read(message: Message, json: unknown): ApiObject | undefined {
  const parsed = parseText(JSON.stringify(json));
  const object = isFault(parsed) ? parsed : decode<ApiObject>(message, parsed);
  if (isFault(object)) return undefined;
  const again = parseText(encode(message, object));
  const stored = isFault(again) ? again : decode<ApiObject>(message, again);
  return isFault(stored) ? undefined : stored;
}

function textsOf(difference: Difference | TypeFault | undefined): unknown {
  if (difference === undefined || difference instanceof TypeFault) return difference?.message;
  const { added, modified, removed } = difference;
  return [added.encode(), modified.encode(), removed.encode()];
}

/** Some other fields, the rest as in `json`. */
function changed(message: Message, json: unknown): unknown {
  const other = wild(message);
  if (typeof json !== "object" || json === null || Array.isArray(json)) return other;
  const mixed: Record<string, unknown> = { ...json };
  for (const [name, value] of Object.entries(other as object)) if (next(3) === 0) mixed[name] = value;
  return mixed;
}

t.test("typedDifference() finds what a comparison of documents finds", (t) => {
  let told = 0;
  for (const { message, kind } of kinds) {
    for (let round = 0; round < rounds; round += 1) {
      const json = wild(message);
      const [old, object] = [read(message, json), read(message, round % 3 === 0 ? json : changed(message, json))];
      if (old === undefined || object === undefined) continue;
      const found = typedDifference(message, old, object);
      if (found === undefined) continue;
      told += 1;
      const wanted = compare(typeOfMessage(message), toValue(message, old), toValue(message, object));
      // Which of several faults comes first is not promised, nor heard of.
      if (found instanceof TypeFault && wanted instanceof TypeFault) continue;
      t.strictSame(textsOf(found), textsOf(wanted), `${kind} ${round}`);
    }
  }
  t.ok(told > kinds.length * 4, `${told} were told`);
  t.end();
});

t.test("ownedText() is what a comparison with a blank object finds", (t) => {
  let told = 0;
  for (const resource of kinds) {
    const { message, kind } = resource;
    const zero = zeroOf(message);
    const blank = toValue(message, zero);
    const ignored = resetFields(resource, "", scheme.identity);
    for (let round = 0; round < rounds; round += 1) {
      const object = read(message, wild(message));
      if (object === undefined) continue;
      const found = ownedText(message, zero, object, { ignored, unowned });
      if (found === undefined) continue;
      told += 1;
      const difference = compare(typeOfMessage(message), blank, toValue(message, object));
      if (difference instanceof TypeFault) {
        t.fail(`${kind} ${round}: ${difference.message}`);
        continue;
      }
      const { added, modified, removed } = difference;
      const own = modified
        .union(added)
        .difference(removed)
        .differenceBelow(ignored ?? setOf())
        .difference(unowned);
      t.equal(found, own.isEmpty ? "" : own.encode(), `${kind} ${round}`);
    }
  }
  t.ok(told > kinds.length, `${told} were told`);
  t.end();
});

t.test("both leave items that cannot be told apart to src/merge", (t) => {
  const message = scheme.find("", "v1", "pods")?.message;
  if (message === undefined) throw new Error("Pods are served");
  const pod = (names: readonly string[]): ApiObject => {
    const env = names.map((name) => ({ name, value: "v" }));
    return read(message, { spec: { containers: [{ name: "c", env }] } }) as ApiObject;
  };
  const exempt = { ignored: undefined, unowned: undefined };
  t.equal(ownedText(message, zeroOf(message), pod(["a", "a"]), exempt), undefined);
  t.type(ownedText(message, zeroOf(message), pod(["a", "b"]), exempt), "string");
  t.type(typedDifference(message, pod(["a", "a"]), pod(["a", "a"])), TypeFault);
  t.notOk(typedDifference(message, pod(["a", "b"]), pod(["a", "b"])) instanceof TypeFault);
  t.end();
});

t.test(
  "isDistinctWithin() finds lists told apart in what is owned as a whole, as a check of the document does",
  (t) => {
    let refused = 0;
    for (const { message, kind } of kinds) {
      const type = typeOfMessage(message);
      for (let round = 0; round < rounds; round += 1) {
        const object = read(message, wild(message));
        if (object === undefined) continue;
        const fault = checkType(type, toValue(message, object));
        const told = typedDifference(message, object, object);
        if (isDistinctWithin(message, object)) {
          const isHeard = fault === undefined || told === undefined || told instanceof TypeFault;
          t.ok(isHeard, `${kind}: ${fault?.message}`);
        } else {
          refused += 1;
          t.not(fault, undefined, `${kind} is refused`);
        }
      }
    }
    t.ok(refused > 0, "some are refused");
    const slice = kinds.find(({ kind, version }) => kind === "EndpointSlice" && version === "v1");
    for (const [addresses, want] of [
      [["1.2.3.4", "1.2.3.5"], true],
      [["1.2.3.4", "1.2.3.4"], false],
    ] as const) {
      const { message } = slice as (typeof kinds)[number];
      t.equal(isDistinctWithin(message, read(message, { endpoints: [{ addresses }] }) as ApiObject), want);
    }
    t.end();
  },
);
