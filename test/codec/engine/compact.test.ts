// Bodies that are read in one pass: what readCompact() makes is what parsing and decoding make, whatever a client sends.
import { isDeepStrictEqual } from "node:util";
import t from "tap";
import { podText } from "../../../perf/corpus/pod.ts";
import { messageOf, messages } from "../../../src/api/messages.ts";
import type { Message } from "../../../src/api/schema.ts";
import { readCompact } from "../../../src/codec/engine/canonical.ts";
import { decode, encode, Fault, parseText } from "../../../src/codec/engine/json.ts";
import { hasControls } from "../../../src/codec/json/controls.ts";
import { limits } from "../../../src/config/limits.ts";
import { ObjectSource, objectFrom } from "../../support/objects.ts";
import { draws, fuzzRun } from "../../support/random.ts";

const run = fuzzRun(20);
const draw = draws(run.seed);
const source = new ObjectSource(draw);

/** What the other way makes of a text; undefined: a fault. */
function documentOf(message: Message, text: string): object | undefined {
  const value = parseText(text);
  const object = value instanceof Fault ? value : decode<object>(message, value);
  return object instanceof Fault ? undefined : object;
}

/** Whether a text was taken; throws where it became something else than it should. */
function isTaken(message: Message, text: string): boolean {
  const read = hasControls(Buffer.from(text)) ? undefined : readCompact<object>(message, text);
  if (read === undefined) return false;
  if (!isDeepStrictEqual(read, documentOf(message, text))) throw new Error(`${message.name}: ${text}`);
  return true;
}

/** The same JSON, the fields of each object in an order of chance. */
function shuffled(text: string): string {
  return JSON.stringify(JSON.parse(text), (_key, value: unknown) => {
    if (value === null || typeof value !== "object" || Array.isArray(value)) return value;
    const entries: [number, [string, unknown]][] = Object.entries(value).map((entry) => [draw.next(1000), entry]);
    return Object.fromEntries(entries.sort(([a], [b]) => a - b).map(([, entry]) => entry));
  });
}

t.test(`readCompact() makes what decode() makes, for objects of every kind (seed ${run.seed})`, (t) => {
  const tried = { ordered: 0, shuffled: 0 };
  const taken = { ordered: 0, shuffled: 0 };
  for (const message of messages.values()) {
    if (message.open === true) continue;
    for (let round = 0; round < run.rounds; round += 1) {
      const text = encode(message, objectFrom(message, source.json(message)));
      tried.ordered += 1;
      if (isTaken(message, text)) taken.ordered += 1;
      // Numbers beyond what JavaScript holds would change on their way through it.
      if (/\d{15}/.test(text)) continue;
      tried.shuffled += 1;
      if (isTaken(message, shuffled(text))) taken.shuffled += 1;
    }
  }
  t.ok(taken.ordered > tried.ordered * 0.3, `${taken.ordered} of ${tried.ordered} in the order of the schema`);
  t.ok(taken.shuffled > tried.shuffled * 0.3, `${taken.shuffled} of ${tried.shuffled} in other orders`);
  t.end();
});

const pieces = [
  ...[
    "null",
    "{}",
    "[]",
    "[null]",
    "1",
    "-0",
    "01",
    "1.0",
    "1e3",
    "123456789012345678",
    '""',
    "true",
    '"a"',
    '"\\u0041"',
  ],
  ...[
    ",",
    "}",
    "{",
    "]",
    "[",
    ":",
    '"',
    "\\",
    "tru",
    "nul",
    '"a":1',
    '"kind":"Pod",',
    '"name":"a",',
    '"\\ud800"',
    "\u007f",
    "é",
  ],
  ...['"2026-01-01T00:00:00Z"', '"1Gi"', '"1.5.5"', "{a}", '{"a":1,"a":2}', '"metadata":{},', '"spec":null,'],
];

t.test(`readCompact() takes nothing damaged for whole (seed ${run.seed})`, (t) => {
  let taken = 0;
  for (const message of messages.values()) {
    if (message.open === true) continue;
    for (let round = 0; round < run.rounds * 3; round += 1) {
      let text = encode(message, objectFrom(message, source.json(message)));
      if (draw.chance(50)) text = shuffled(text);
      for (let changes = 1 + draw.next(2); changes > 0; changes -= 1) {
        const at = draw.next(text.length + 1);
        const piece = pieces[draw.next(pieces.length)] as string;
        text = text.slice(0, at) + piece + text.slice(at + (draw.chance(50) ? draw.next(12) : 0));
      }
      if (isTaken(message, text)) taken += 1;
    }
  }
  t.ok(taken > 0, `${taken} were whole all the same`);
  t.end();
});

t.test("readCompact() takes what clients send, and leaves what has to be told of", (t) => {
  const pod = messageOf("core/v1.Pod");
  t.ok(isTaken(pod, podText(1)), "a pod");
  const left = [
    ["a field twice", '{"kind":"Pod","apiVersion":"v1","kind":"Pod"}'],
    ["a label twice", '{"metadata":{"labels":{"a":"1","a":"2"}}}'],
    ["an unknown field", '{"metadata":{"nmae":"a"}}'],
    ["space", '{"metadata": {}}'],
    ["a null in a list", '{"metadata":{"finalizers":[null]}}'],
    ["a text for a number", '{"spec":{"priority":"1"}}'],
    ["a number that is too large", '{"spec":{"priority":2147483648}}'],
    ["something behind it", "{}{}"],
    ["half of it", '{"metadata":{"name":"a"'],
  ] as const;
  for (const [what, text] of left) t.equal(readCompact(pod, text), undefined, what);
  t.same(readCompact(pod, "{}"), documentOf(pod, "{}"));
  const fields = '{"f:metadata":{"f:labels":{".":{},"f:a":{}}}}';
  const managed = (text: string): string => `{"metadata":{"managedFields":[{"manager":"a","fieldsV1":${text}}]}}`;
  for (const text of [fields, fields, '{"f:a":{},"f:a":{}}', "{}"]) t.ok(isTaken(pod, managed(text)), text);
  for (const text of ["{f:a}", '{"f:a":{}', "[]", '"a"', `${fields}x`])
    t.equal(readCompact(pod, managed(text)), undefined, text);
  t.end();
});

t.test("readCompact() goes no deeper than decode()", (t) => {
  const schema = messageOf("apiextensions/v1.JSONSchemaProps");
  const nested = (levels: number): string => `${'{"not":'.repeat(levels)}{}${"}".repeat(levels)}`;
  t.ok(isTaken(schema, nested(limits.messageDepthMax - 1)));
  for (const levels of [limits.messageDepthMax, 20_000]) t.equal(readCompact(schema, nested(levels)), undefined);
  const map = messageOf("core/v1.ConfigMap");
  const fields = (levels: number): string => `${'{"a":'.repeat(levels)}{}${"}".repeat(levels)}`;
  for (const levels of [limits.depthMax - 5, limits.depthMax - 4, limits.depthMax, limits.depthMax + 5]) {
    const text = `{"metadata":{"managedFields":[{"fieldsV1":${fields(levels)}}]}}`;
    t.equal(readCompact(map, text), undefined, `field sets ${levels} deep are left to decode()`);
  }
  t.end();
});

t.test("hasControls() finds every byte below the blank, wherever it is", (t) => {
  const memory = new Uint8Array(64);
  for (const fill of [0x20, 0x22, 0x7f, 0x80, 0xa0, 0xff]) {
    for (let from = 0; from < 5; from += 1) {
      for (let length = 0; length < 13; length += 1) {
        const bytes = memory.fill(fill).subarray(from, from + length);
        t.notOk(hasControls(bytes), `${length} of ${fill} at ${from}`);
        for (let at = 0; at < length; at += 1) {
          for (const control of [0, 9, 10, 0x1f]) {
            bytes[at] = control;
            if (!hasControls(bytes)) t.fail(`${control} at ${at} of ${length} from ${from}`);
            bytes[at] = fill;
          }
        }
      }
    }
  }
  t.end();
});
