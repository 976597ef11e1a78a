// Damaged documents of every kind: what is transcoded to protobuf is what decode and encode make of it, and no document
// leaves anything behind that changes the next one. The program has memory of its own without bounds between its regions.
import t from "tap";
import { podText } from "../../perf/corpus/pod.ts";
import { messageOf, messages } from "../../src/api/messages.ts";
import type { Message } from "../../src/api/schema.ts";
import { decode, encode, Fault, parseText } from "../../src/codec/engine/json.ts";
import { planOf, shapes } from "../../src/codec/engine/plan.ts";
import { encodeMessage } from "../../src/codec/proto/protobuf.ts";
import { transcode } from "../../src/codec/proto/transcode.ts";
import { ObjectSource } from "../support/objects.ts";
import { type Draws, draws, fuzzRun } from "../support/random.ts";

/** What is put into documents. */
const tokens = [
  ...['"', "\\", "\\n", "\\u00e9", "\\u20ac", "\\ud800", "{", "}", "[", "]", ":", ",", "null", "true", "0", "-1"],
  ...["1e9", "é", "🙂", "<", "AAAA", "=", "2026-01-01T00:00:00Z", "500m", "1.5Gi", "\0", " "],
];

const rawNames = [...messages.values()].flatMap((message) =>
  planOf(message)
    .slots.filter(({ shape }) => shape === shapes.raw)
    .map(({ jsonKey }) => jsonKey),
);

/** Raw JSON is copied as it was stored: whether it is JSON was checked when it came. */
function hasRaw(text: string): boolean {
  return rawNames.some((key) => text.includes(`${key}{`) || text.includes(`${key}[`));
}

function objectOf(message: Message, text: string): object | undefined {
  const value = parseText(text);
  const object = value instanceof Fault ? value : decode<object>(message, value);
  return object instanceof Fault ? undefined : object;
}

/** The document with one change: something put in, replaced, left out or written twice. */
function changed(bytes: Buffer, { next, pick }: Draws): Buffer {
  const at = next(bytes.length + 1);
  const [before, after] = [bytes.subarray(0, at), bytes.subarray(at)];
  const token = Buffer.from(pick(tokens));
  switch (next(6)) {
    case 0:
      return Buffer.concat([before, token, after]);
    case 1:
      return Buffer.concat([before, Buffer.of(next(256)), after.subarray(1)]);
    case 2:
      return Buffer.concat([before, after.subarray(next(20))]);
    case 3:
      return Buffer.concat([before, after.subarray(0, next(60)), after]);
    case 4:
      return Buffer.concat([before, Buffer.alloc(next(400), "x"), after]);
    default: {
      const place = bytes.indexOf(pick(tokens), at);
      if (place < 0) return bytes;
      return Buffer.concat([bytes.subarray(0, place), token, bytes.subarray(place + 1)]);
    }
  }
}

/** In shared memory, at any alignment, among other bytes. */
function shared(bytes: Buffer, { next }: Draws): Uint8Array {
  const from = next(40);
  const memory = new Uint8Array(new SharedArrayBuffer(bytes.length + 40)).fill(next(256));
  memory.set(bytes, from);
  return memory.subarray(from, from + bytes.length);
}

const run = fuzzRun(60);

t.test(`damaged documents become what decode and encode make of them, or nothing (seed ${run.seed})`, (t) => {
  const draw = draws(run.seed);
  const source = new ObjectSource(draw);
  const pod = messageOf("core/v1.Pod");
  const good = Buffer.from(encode(pod, objectOf(pod, podText(5)) ?? {}));
  const wanted = Buffer.from(transcode(pod, good) ?? new Uint8Array(0));
  t.ok(wanted.length > 1_000);
  let [tried, taken] = [0, 0];
  for (const message of messages.values()) {
    for (let round = 0; round < run.rounds; round += 1) {
      const object = objectOf(message, source.json(message));
      if (object === undefined) continue;
      let bytes: Buffer = Buffer.from(encode(message, object));
      for (let changes = 1 + draw.next(3); changes > 0; changes -= 1) bytes = changed(bytes, draw);
      const text = bytes.toString();
      const made = transcode(message, shared(bytes, draw));
      tried += 1;
      if (made === undefined || hasRaw(text)) continue;
      taken += 1;
      const same = objectOf(message, text);
      if (same === undefined) t.fail(`${message.name} is not to be decoded: ${text}`);
      else if (!Buffer.from(encodeMessage(message, same)).equals(made)) t.fail(`${message.name}: ${text}`);
    }
    if (!wanted.equals(transcode(pod, good) ?? new Uint8Array(0))) t.fail(`something is left of ${message.name}`);
  }
  t.ok(taken > 0, `${taken} of ${tried} documents are taken`);
  t.end();
});
