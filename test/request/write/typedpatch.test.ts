// A typed patch gives what the document patched and decoded gives, for drawn objects and patches of every kind, and leaves
// what it was made from as it was.
import t from "tap";
import { identities } from "../../../src/api/identity.ts";
import type { Message } from "../../../src/api/schema.ts";
import { createScheme } from "../../../src/api/scheme.ts";
import type { Value } from "../../../src/api/value.ts";
import { copyObject } from "../../../src/codec/engine/copy.ts";
import { decode, encode, isFault, parseText, toValue } from "../../../src/codec/engine/json.ts";
import { PatchFault } from "../../../src/merge/document.ts";
import { applyMergePatch } from "../../../src/merge/mergepatch.ts";
import { applyStrategicPatch } from "../../../src/merge/strategic.ts";
import { patchTyped } from "../../../src/request/write/typedpatch.ts";
import { ObjectSource } from "../../support/objects.ts";
import { draws, fuzzRun } from "../../support/random.ts";

const scheme = createScheme({ identity: identities.kubernetes, runtimeConfig: new Map([["api/all", true]]) });
const kinds = scheme.resources.filter((resource) => !resource.virtual && !resource.computed);
const { seed, rounds } = fuzzRun(40);
const { next, chance, pick } = draws(seed);
const objects = new ObjectSource({ next, chance, pick });

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** A part of what another object has, with nulls and misfits here and there. */
function patchFrom(value: Json, depth = 0): Json {
  if (chance(6)) return null;
  if (chance(1)) return pick<Json>(["text", 7, true, [], {}, [null], { a: "b" }, { a: null }]);
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const patch: { [key: string]: Json } = {};
  for (const [key, item] of Object.entries(value))
    if (chance(depth === 0 ? 60 : 40)) patch[key] = patchFrom(item, depth + 1);
  if (chance(5)) patch[pick(["unknown", "$patch", "$retainKeys", "labels", "annotations", "__proto__"])] = "x";
  return patch;
}

function read(message: Message, text: string): object {
  const parsed = parseText(text);
  const object = isFault(parsed) ? parsed : decode<object>(message, parsed);
  if (isFault(object)) throw new Error(object.message);
  return object;
}

function asDocument(message: Message, type: "merge" | "strategic", object: object, patch: Value): string | undefined {
  const document = toValue(message, object);
  const patched =
    type === "merge" ? applyMergePatch(document, patch) : applyStrategicPatch(document, patch, message, 500);
  const decoded = patched instanceof PatchFault ? undefined : decode<object>(message, patched.value);
  return decoded === undefined || isFault(decoded) ? undefined : encode(message, decoded);
}

for (const type of ["merge", "strategic"] as const) {
  t.test(`patchTyped() does what a ${type} patch of the document does`, (t) => {
    let told = 0;
    for (const { message, kind } of kinds) {
      for (let round = 0; round < rounds; round += 1) {
        const text = objects.json(message);
        const object = read(message, text);
        const patchText = JSON.stringify(patchFrom(JSON.parse(chance(50) ? text : objects.json(message))));
        const patch = parseText(patchText) as Value;
        const before = encode(message, object);
        const patched = patchTyped(message, object, patch, type);
        if (patched === undefined) continue;
        told += 1;
        const name = `${kind} ${round}: ${patchText.slice(0, 300)}`;
        const wanted = asDocument(message, type, object, patch);
        if (encode(message, patched) !== wanted) t.equal(encode(message, patched), wanted, name);
        // Nothing is shared that is changed.
        scribble(patched);
        if (encode(message, object) !== before) t.fail(`${name} changed what it was made from`);
      }
    }
    t.ok(told > (kinds.length * rounds) / 10, `${told} were told`);
    t.end();
  });
}

/** Changes every list, map and object in a value. */
function scribble(value: unknown): void {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return;
  if (value instanceof Map) {
    for (const item of value.values()) scribble(item);
    value.clear();
  } else if (Array.isArray(value)) {
    for (const item of value) scribble(item);
    value.length = 0;
  } else if (Object.getPrototypeOf(value) === Object.prototype) {
    for (const key of Object.keys(value)) {
      scribble((value as Record<string, unknown>)[key]);
      delete (value as Record<string, unknown>)[key];
    }
  }
}

t.test("copyObject() is the same and shares nothing that is changed", (t) => {
  for (const { message, kind } of kinds) {
    for (let round = 0; round < rounds; round += 1) {
      const object = read(message, objects.json(message));
      const before = encode(message, object);
      const copy = copyObject(message, object);
      if (encode(message, copy) !== before) t.equal(encode(message, copy), before, kind);
      scribble(copy);
      if (encode(message, object) !== before) t.equal(encode(message, object), before, `${kind} keeps what it has`);
    }
  }
  t.pass(`${kinds.length * rounds} copies`);
  t.end();
});

t.test("patchTyped() leaves to others what it is not for", (t) => {
  const pod = scheme.find("", "v1", "pods")?.message as Message;
  const object = read(
    pod,
    '{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}',
  );
  const told = (type: "merge" | "strategic", text: string): boolean =>
    patchTyped(pod, object, parseText(text) as Value, type) !== undefined;
  const cases: [string, string, boolean, boolean][] = [
    ["a label", '{"metadata":{"labels":{"n":"1"}}}', true, true],
    ["a label that goes", '{"metadata":{"labels":{"a":null}}}', true, true],
    ["the first annotation", '{"metadata":{"annotations":{"n":"1"}}}', true, true],
    ["a list", '{"spec":{"containers":[{"name":"d","image":"i"}]}}', true, false],
    ["a new message", '{"spec":{"dnsConfig":{"nameservers":[]}}}', true, false],
    ["a directive", '{"spec":{"$patch":"replace"}}', true, false],
    ["a directive among labels", '{"metadata":{"labels":{"$patch":"delete"}}}', true, false],
    ["an unknown field", '{"spec":{"unknown":1}}', true, false],
    ["its own kind", '{"kind":"Pod","spec":{"nodeName":"n"}}', true, true],
    ["another kind", '{"kind":"Node"}', false, false],
    ["no kind", '{"kind":null}', false, false],
    ["another version", '{"apiVersion":"v2"}', false, false],
    ["a number for a text", '{"spec":{"nodeName":7}}', false, false],
    ["a number for a label", '{"metadata":{"labels":{"n":7}}}', false, false],
    ["a text for a message", '{"spec":"x"}', false, false],
    ["a map for a text", '{"spec":{"nodeName":{}}}', false, false],
    ["a list", "[]", false, false],
    ["nothing", "null", false, false],
  ];
  for (const [name, text, merges, merged] of cases) {
    t.equal(told("merge", text), merges, `${name}, as a merge patch`);
    t.equal(told("strategic", text), merged, `${name}, as a strategic patch`);
  }
  t.end();
});
