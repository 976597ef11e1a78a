// Well-formed objects of every kind and version, drawn from the schemas: JSON to protobuf and back is the same JSON, and
// protobuf to an object and back the same bytes. Then damaged bytes: an object or a fault, never a throw, never slow.
// `ORCH_FUZZ_SEED` and `ORCH_FUZZ_ROUNDS` repeat and lengthen a run.
import { isDeepStrictEqual } from "node:util";
import t from "tap";
import { identities } from "../../src/api/identity.ts";
import type { Message } from "../../src/api/schema.ts";
import { createScheme } from "../../src/api/scheme.ts";
import { readCanonical, readLean } from "../../src/codec/engine/canonical.ts";
import { encode, Fault, parseText, toValue } from "../../src/codec/engine/json.ts";
import { decodeProto, encodeMessage } from "../../src/codec/proto/protobuf.ts";
import { Slowest, threadCpuMs } from "../support/cost.ts";
import { ObjectSource, objectFrom } from "../support/objects.ts";
import { draws, fuzzRun } from "../support/random.ts";

const scheme = createScheme({
  identity: identities.kubernetes,
  runtimeConfig: new Map([["api/all", true]]),
});
/** Objects per kind; of what costs more, a tenth. */
const { seed, rounds } = fuzzRun(1000);
const few = Math.ceil(rounds / 10);
/** CPU one step may take, in milliseconds. */
const stepMsMax = 100;
const draw = draws(seed);
const { next, chance } = draw;
const objects = new ObjectSource(draw);

const kinds = [
  ...new Set(
    scheme.resources.flatMap(({ message, subresources }) => [
      message,
      ...subresources.flatMap((sub) => sub.message ?? []),
    ]),
  ),
];
const samples: [Message, Uint8Array][] = [];

t.test(`JSON to protobuf and back is the same for every kind (seed ${seed})`, (t) => {
  for (const message of kinds) {
    const wrong: string[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const source = objectFrom(message, objects.json(message));
      const bytes = encodeMessage(message, source);
      const back = decodeProto<object>(message, bytes);
      if (back instanceof Fault) wrong.push(back.message);
      else {
        const text = encode(message, source);
        if (encode(message, back) !== text) wrong.push(text);
        if (encode(message, objectFrom(message, text)) !== text) wrong.push(`JSON again: ${text}`);
        if (Buffer.compare(encodeMessage(message, back), bytes) !== 0) wrong.push("other bytes");
      }
      if (round === 0) samples.push([message, bytes]);
    }
    t.same(wrong, [], message.name);
  }
  t.end();
});

t.test(`toValue() says what encode() writes, for every kind (seed ${seed})`, (t) => {
  for (const message of kinds) {
    const wrong: string[] = [];
    for (let round = 0; round < few; round += 1) {
      const source = objectFrom(message, objects.json(message));
      const written = parseText(encode(message, source));
      // Key order counts: a document is written again in the order it has.
      if (!isDeepStrictEqual(toValue(message, source), written)) wrong.push(encode(message, source));
      if (order(toValue(message, source)) !== order(written)) wrong.push("another order of keys");
    }
    t.same(wrong, [], message.name);
  }
  t.end();
});

/** Keys and values in their order. */
function order(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    inner instanceof Map ? [...inner] : typeof inner === "bigint" ? `${inner}n` : inner,
  );
}

t.test(`what encode() wrote is read alike in one pass, for every kind (seed ${seed})`, (t) => {
  let read = 0;
  for (const message of kinds) {
    const wrong: string[] = [];
    for (let round = 0; round < few; round += 1) {
      const text = encode(message, objectFrom(message, objects.json(message)));
      const source = objectFrom(message, text);
      const back = readCanonical<object>(message, text);
      if (back === undefined) continue;
      read += 1;
      if (!isDeepStrictEqual(back, source)) wrong.push(text);
      dropManagers(source);
      if (!isDeepStrictEqual(readLean<object>(message, text)?.object, source)) wrong.push(`lean: ${text}`);
    }
    t.same(wrong, [], message.name);
  }
  t.ok(read > (kinds.length * few) / 2, `${read} of ${kinds.length * few} were read`);
  t.end();
});

/** Takes managed fields out of an object and out of all in it. */
function dropManagers(of: unknown): void {
  if (of === null || typeof of !== "object") return;
  if ("managedFields" in of) delete of.managedFields;
  for (const inner of of instanceof Map ? of.values() : Object.values(of)) dropManagers(inner);
}

t.test(`damaged protobuf is an object or a fault (seed ${seed})`, (t) => {
  const slowest = new Slowest(stepMsMax);
  for (const [message, whole] of samples) {
    for (let round = 0; round < few * 5; round += 1) {
      const bytes = Uint8Array.from(whole.subarray(0, chance(20) ? next(whole.length + 1) : whole.length));
      for (let flips = 1 + next(4); flips > 0 && bytes.length > 0; flips -= 1) bytes[next(bytes.length)] = next(256);
      const start = threadCpuMs();
      const back = decodeProto<object>(message, bytes);
      // What was read can be shown and sent.
      if (!(back instanceof Fault)) {
        const shown = parseText(encode(message, back));
        if (shown instanceof Fault) t.fail(`${message.name}: ${shown.message}`);
        encodeMessage(message, back);
      }
      slowest.add(threadCpuMs() - start);
    }
  }
  t.ok(slowest.ms <= stepMsMax, `the slowest took ${slowest.ms.toFixed(1)} ms`);
  t.end();
});
