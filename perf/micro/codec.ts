// CPU the JSON codec takes per 5 KiB pod. `node dist/perf/micro/codec.js [rounds]` prints one JSON line per case,
// `codec/<operation>`, with the best and the median of nine runs, and JSON.parse and JSON.stringify as the baseline.
// Expected: parse and decode together below 150 us, encode below 40 us.
import { messageOf } from "../../src/api/messages.ts";
import { readCanonical, readCompact } from "../../src/codec/engine/canonical.ts";
import { decode, encode, encodeForStore, Fault, parseJson, textOf } from "../../src/codec/engine/json.ts";
import { decodeProto, encodeMessage } from "../../src/codec/proto/protobuf.ts";
import { transcode } from "../../src/codec/proto/transcode.ts";
import { podText } from "../corpus/pod.ts";

const nothing = new Uint8Array(0);
const rounds = Number(process.argv[2] ?? 400);
const pods = 32;
const runs = 9;
const message = messageOf("core/v1.Pod");
const bytes = Array.from({ length: pods }, (_, index) => new TextEncoder().encode(podText(index)));
const bytesMean = Math.round(bytes.reduce((sum, body) => sum + body.length, 0) / pods);

function unwrap<T>(value: T | Fault): T {
  if (value instanceof Fault) throw new Error(value.message);
  return value;
}

const values = bytes.map((body) => unwrap(parseJson(body)));
const objects = values.map((value) => unwrap(decode<object>(message, value)));
const stored = objects.map((object) => Buffer.from(encode(message, object)));
const plain = bytes.map((body) => JSON.parse(Buffer.from(body).toString()) as unknown);

/** What was measured must be used, or the engine may leave it out. */
let consumed = 0;

function measure(name: string, operation: (index: number) => number): void {
  const times: number[] = [];
  for (let run = 0; run < runs + 2; run += 1) {
    // CPU rather than wall time: the machine may be busy with others.
    const start = process.cpuUsage();
    for (let round = 0; round < rounds; round += 1) consumed += operation(round % pods);
    const { user, system } = process.cpuUsage(start);
    times.push((user + system) / rounds);
  }
  // The first two runs warm up.
  const sorted = times.slice(2).sort((a, b) => a - b);
  const rounded = (value: number | undefined): number => Math.round((value ?? 0) * 10) / 10;
  console.log(
    JSON.stringify({
      case: `codec/${name}`,
      usBest: rounded(sorted[0]),
      usMedian: rounded(sorted[runs >> 1]),
      bytes: bytesMean,
    }),
  );
}

const at = <T>(list: readonly T[], index: number): T => list[index] as T;

measure("baseline JSON.parse", (i) => (JSON.parse(Buffer.from(at(bytes, i)).toString()) === null ? 0 : 1));
measure("baseline JSON.stringify", (i) => JSON.stringify(at(plain, i)).length);
measure("parse", (i) => (parseJson(at(bytes, i)) === null ? 0 : 1));
measure("decode", (i) => (decode(message, at(values, i)) instanceof Fault ? 0 : 1));
measure("parse and decode", (i) => (decode(message, unwrap(parseJson(at(bytes, i)))) instanceof Fault ? 0 : 1));
measure("encode", (i) => encode(message, at(objects, i)).length);
measure("encode for the store", (i) => encodeForStore(message, at(objects, i)).body.length);
measure("JSON to protobuf", (i) => (transcode(message, at(stored, i)) ?? nothing).length);
measure("JSON to protobuf by way of an object", (i) => {
  const object = readCanonical<object>(message, textOf(at(stored, i)));
  return object === undefined ? 0 : encodeMessage(message, object).length;
});
measure("compact JSON to an object", (i) => (readCompact(message, textOf(at(bytes, i))) === undefined ? 0 : 1));
const messages = objects.map((object) => Uint8Array.from(encodeMessage(message, object)));
measure("protobuf to an object", (i) => (decodeProto(message, at(messages, i)) instanceof Fault ? 0 : 1));
measure("an object to protobuf", (i) => encodeMessage(message, at(objects, i)).length);
if (consumed === 0) console.log("nothing was measured");
