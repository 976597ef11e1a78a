// Damaged bodies through the whole codec: whatever comes in, the answer is an object or a fault, never a throw; and an
// object that was written reads back as itself. Prints its seed; `ORCH_FUZZ_SEED` repeats one, `ORCH_FUZZ_ROUNDS` goes on.
import t from "tap";
import { podText } from "../../perf/corpus/pod.ts";
import { messageOf } from "../../src/api/messages.ts";
import { decode, encode, encodeForStore, Fault, parseJson, toValue, writeValue } from "../../src/codec/engine/json.ts";
import { parseYaml } from "../../src/codec/yaml/yaml.ts";
import { Slowest, threadCpuMs } from "../support/cost.ts";
import { draws, fuzzRun } from "../support/random.ts";

const { seed, rounds } = fuzzRun(3000);
const { next: random } = draws(seed);
/** CPU one step may take, in milliseconds, once code is compiled. */
const stepMsMax = 100;
const warmUp = 100;

const kinds = [
  "core/v1.Pod",
  "core/v1.Secret",
  "apps/v1.Deployment",
  "apiextensions/v1.CustomResourceDefinition",
  "meta/v1.Status",
];
const pieces = [
  "null",
  "[]",
  "{}",
  '""',
  "0",
  "-1",
  "1.5",
  "1e400",
  "true",
  '"x"',
  '"2021-01-01T00:00:00Z"',
  '"1Gi"',
  "[null]",
  '{"a":null}',
  '{"__proto__":{"x":1}}',
  "9223372036854775808",
  '"\\ud800"',
  '"\u2028"',
  "99999999999999999999",
  ",",
  "}",
  "]",
  "{",
  "[",
  ":",
  '"',
  "\\",
  "\u0000",
  "\xff",
  " ",
  "é",
  '"metadata":',
  '"spec":',
  '"items":',
  '"data":',
  '"resources":{"limits":',
];

/** A pod's text with a few places replaced, doubled or cut. */
function damaged(): Buffer {
  let text = podText(random(50));
  for (let count = 1 + random(3); count > 0; count -= 1) {
    const piece = pieces[random(pieces.length)] ?? "";
    const slots = [...text.matchAll(/(?<=":)(?:"[^"]*"|\d+|true|false|null)/g)];
    const slot = slots[random(slots.length)];
    const at = random(4) > 0 && slot !== undefined ? slot.index : random(text.length);
    const cut = random(4) > 0 && slot !== undefined ? slot[0].length : random(8);
    text = text.slice(0, at) + piece + text.slice(at + cut);
  }
  const bytes = Buffer.from(text, random(8) === 0 ? "latin1" : "utf8");
  return random(10) === 0 ? bytes.subarray(0, random(bytes.length)) : bytes;
}

t.test(`decode() never throws, and what encode() writes reads back as itself (seed ${seed})`, async (t) => {
  let objects = 0;
  const slowest = new Slowest(stepMsMax);
  let start = threadCpuMs();
  for (let round = 0; round < rounds; round += 1) {
    // The time of the round before: some end early.
    if (round > warmUp) slowest.add(threadCpuMs() - start);
    start = threadCpuMs();
    const message = messageOf(kinds[round % 4 === 0 ? random(kinds.length) : 0] ?? "core/v1.Pod");
    const value = parseJson(damaged());
    if (value instanceof Fault) continue;
    const again = parseJson(Buffer.from(writeValue(value)));
    if (again instanceof Fault || writeValue(again) !== writeValue(value)) return void t.fail(`round ${round}: value`);
    const object = decode<object>(message, value);
    if (object instanceof Fault) continue;
    objects += 1;
    const text = encode(message, object);
    const reread = decode<object>(message, toValue(message, object));
    if (reread instanceof Fault || encode(message, reread) !== text) return void t.fail(`round ${round}: object`);
    if (message.byJson.get("metadata")?.message?.shortName !== "ObjectMeta") continue;
    const { body, versionAt } = encodeForStore(message, object);
    const stored = Buffer.from(body).toString("latin1", 0, versionAt);
    if (!stored.endsWith('"resourceVersion":"')) return void t.fail(`round ${round}: gap`);
  }
  t.ok(slowest.ms <= stepMsMax, `the slowest took ${slowest.ms.toFixed(1)} ms`);
  t.ok(objects > rounds / 40, `${objects} of ${rounds} were objects`);
  t.equal(({} as Record<string, unknown>)["x"], undefined, "no prototype was touched");
});

t.test(`parseYaml() never throws (seed ${seed})`, async (t) => {
  const source = "a: &x\n  - b: [1, {c: d}]\n    e: |\n      text\n  - 'q'\nf: *x\n? g\n: \"h\\n\"\n--- !t\n<<: *x\n";
  const signs = [
    "\n",
    " ",
    "  ",
    "- ",
    ": ",
    ":",
    "#",
    " #",
    "'",
    '"',
    "[",
    "]",
    "{",
    "}",
    ",",
    "|",
    ">",
    "&a ",
    "*a",
    "!!str ",
    "?",
    "%",
    "\t",
  ];
  let read = 0;
  const slowest = new Slowest(stepMsMax);
  for (let round = 0; round < rounds * 2; round += 1) {
    let text = source;
    for (let count = 1 + random(6); count > 0; count -= 1) {
      const at = random(text.length);
      text = text.slice(0, at) + (signs[random(signs.length)] ?? "") + text.slice(at + random(4));
    }
    // A line many times is what a reader's time may grow with.
    if (random(200) === 0) text = text.repeat(500);
    const start = threadCpuMs();
    const value = parseYaml(Buffer.from(text));
    if (round > warmUp) slowest.add(threadCpuMs() - start);
    if (!(value instanceof Fault) && writeValue(value) !== "") read += 1;
  }
  t.ok(read > 0, `${read} were documents`);
  t.ok(slowest.ms <= stepMsMax, `the slowest took ${slowest.ms.toFixed(1)} ms`);
});
