// Field sets, selectors and patches below the request: what is read is written the same and read again, what is none is
// refused, nothing throws, and no step takes long, however often a piece is repeated.
// `ORCH_FUZZ_SEED` and `ORCH_FUZZ_ROUNDS` repeat and lengthen a run.
import { isDeepStrictEqual } from "node:util";
import t, { type Test } from "tap";
import { messageOf } from "../../src/api/messages.ts";
import {
  formatFieldSelector,
  formatLabelSelector,
  parseFieldSelector,
  parseLabelSelector,
} from "../../src/api/selector.ts";
import { Fault, parseText } from "../../src/codec/engine/json.ts";
import { PatchFault } from "../../src/merge/document.ts";
import { FieldSet } from "../../src/merge/fieldset.ts";
import { applyJsonPatch } from "../../src/merge/jsonpatch.ts";
import { applyStrategicPatch } from "../../src/merge/strategic.ts";
import { Slowest, threadCpuMs } from "../support/cost.ts";
import { draws, fuzzRun } from "../support/random.ts";

const { seed, rounds } = fuzzRun(3000);
const { next, chance, pick } = draws(seed);
/** CPU one step may take, in milliseconds. */
const stepMsMax = 100;
/** Rounds before code is compiled. */
const warmUp = 100;

/** Pieces in any order, now and then one of them many times. */
function text(pieces: readonly string[]): string {
  const parts = Array.from({ length: next(10) }, () => pick(pieces));
  if (chance(2)) parts.push(pick(pieces).repeat(5000));
  return parts.join("");
}

/** Runs steps and looks how long the slowest took. */
function steps(t: Test, step: () => string | undefined): void {
  const slowest = new Slowest(stepMsMax);
  for (let round = 0; round < rounds; round += 1) {
    const start = threadCpuMs();
    const wrong = step();
    if (wrong !== undefined) return void t.fail(`round ${round}: ${wrong.slice(0, 2000)}`);
    if (round > warmUp) slowest.add(threadCpuMs() - start);
  }
  t.ok(slowest.ms <= stepMsMax, `the slowest took ${slowest.ms.toFixed(1)} ms`);
}

const signs = ["a", "b1", "x.example/y", "=", "==", "!=", "!", ",", "(", ")", " ", " in ", " notin ", ">", "<", "\\"];

t.test(`selectors are read as they are written, or refused (seed ${seed})`, (t) => {
  let read = 0;
  steps(t, () => {
    const from = text([...signs, "é", "\u0000", "__proto__", "metadata.name", "-", "%"]);
    const labels = parseLabelSelector(from);
    const fields = parseFieldSelector(from);
    if (!("error" in labels)) {
      read += 1;
      const again = formatLabelSelector(labels);
      const back = parseLabelSelector(again);
      if ("error" in back || formatLabelSelector(back) !== again) return `labels ${from} as ${again}`;
    }
    if (!("error" in fields)) {
      read += 1;
      const again = formatFieldSelector(fields);
      const back = parseFieldSelector(again);
      if ("error" in back || formatFieldSelector(back) !== again) return `fields ${from} as ${again}`;
    }
    return undefined;
  });
  t.ok(read > rounds / 10, `${read} were selectors`);
  t.end();
});

const elements = [
  ".",
  "f:a",
  "f:spec",
  "f:__proto__",
  "f:",
  'k:{"name":"c"}',
  'k:{"b":1,"a":"x"}',
  'v:"x"',
  "v:1.0",
  "i:0",
];
const oddities = [
  "",
  "x",
  "k:{",
  "k:[]",
  'k:{"a":{}}',
  "v:",
  "v:{",
  "i:",
  "i:-1",
  "i:1e9",
  "i:99999999999999999999",
  "f",
];

function fieldsV1(depth: number): string {
  if (chance(2)) return pick(["null", "[]", "1", '"x"', "true"]);
  const count = depth > 8 ? 0 : next(4);
  const members = Array.from({ length: count }, () => {
    const element = chance(10) ? pick(oddities) : pick(elements);
    return `${JSON.stringify(element)}:${element === "." ? "{}" : fieldsV1(depth + 1)}`;
  });
  return `{${members.join(",")}}`;
}

t.test(`field sets are read as they are written, or refused (seed ${seed})`, (t) => {
  let read = 0;
  steps(t, () => {
    const from = chance(1) ? `${'{"f:a":'.repeat(2000)}{}${"}".repeat(2000)}` : fieldsV1(0);
    const value = parseText(from);
    const set = value instanceof Fault ? undefined : FieldSet.decode(value, 500);
    const short = FieldSet.read(from, 500);
    if (set === undefined) return short === undefined ? undefined : `${from} is none and was read`;
    read += 1;
    const written = set.encode();
    if (short !== undefined && short.encode() !== written) return `${from} was read as ${short.encode()}`;
    const again = parseText(written);
    const back = again instanceof Fault ? undefined : FieldSet.decode(again, 500);
    return back?.encode() === written ? undefined : `${from} as ${written}`;
  });
  t.ok(read > rounds / 4, `${read} were field sets`);
  t.end();
});

const documents = [
  '{"metadata":{"labels":{"a":"b"},"finalizers":["x/y"]},"spec":{"containers":[{"name":"c","ports":[{"containerPort":80}]}]}}',
  '{"metadata":{},"spec":{"containers":[],"volumes":[{"name":"v","emptyDir":{}}]}}',
  "{}",
];
const values = [
  "null",
  "{}",
  "[]",
  "1",
  '"x"',
  '{"name":"c"}',
  '{"name":"c","$patch":"delete"}',
  '[{"name":"d"}]',
  '["x/y"]',
];
const keys = [
  "metadata",
  "spec",
  "containers",
  "labels",
  "finalizers",
  "$patch",
  "$retainKeys",
  "__proto__",
  "name",
  "",
];
const lists = ["$setElementOrder/containers", "$deleteFromPrimitiveList/finalizers", "$setElementOrder/volumes"];

function merge(depth: number): string {
  if (depth > 4 || chance(30)) return pick(values);
  const members = Array.from({ length: next(4) }, () => {
    return `${JSON.stringify(chance(20) ? pick(lists) : pick(keys))}:${merge(depth + 1)}`;
  });
  return `{${members.join(",")}}`;
}

function operations(): string {
  const pointer = () =>
    Array.from({ length: next(5) }, () => `/${pick([...keys, "0", "-", "1", "~1", "~", "c"])}`).join("");
  const list = Array.from({ length: next(5) }, () => {
    const op = pick(["add", "remove", "replace", "move", "copy", "test", "fly"]);
    return `{"op":"${op}","path":${JSON.stringify(pointer())},"from":${JSON.stringify(pointer())},"value":${pick(values)}}`;
  });
  return `[${list.join(",")}]`;
}

t.test(`patches apply or are refused, and are left as they were (seed ${seed})`, (t) => {
  const pod = messageOf("core/v1.Pod");
  const bounds = { operationsMax: 100, copyBytesMax: 100_000, depthMax: 500, shiftedItemsMax: 100_000 };
  let applied = 0;
  steps(t, () => {
    const document = pick(documents);
    const isStrategic = chance(60);
    const patch = isStrategic ? merge(0) : operations();
    const [on, by] = [parseText(document), parseText(patch)];
    if (on instanceof Fault || by instanceof Fault) return `${document} or ${patch} is not JSON`;
    const result = isStrategic ? applyStrategicPatch(on, by, pod, 50) : applyJsonPatch(on, by, bounds);
    if (!(result instanceof PatchFault)) applied += 1;
    const isKept = isDeepStrictEqual(by, parseText(patch));
    return isKept && ({} as Record<string, unknown>)["name"] === undefined ? undefined : `${patch} on ${document}`;
  });
  t.ok(applied > rounds / 10, `${applied} were applied`);
  t.end();
});
