// Reads a watch stream in protobuf: frames of a length in four bytes and a WatchEvent.
import { fieldIn, type Span, textAt } from "./fields.ts";
import { type EventReader, type Findings, markBytes, Sequence } from "./marks.ts";
import { Rising } from "./versions.ts";

const lengthBytes = 4;
/** How far before the end of a frame its mark stands at most: behind it are empty fields of the envelope. */
const tailBytes = markBytes + 64;
const mark = /\d{4}-\d{10}-\d{16}/;
/** Bytes before the envelope of an object. */
const magicBytes = 4;
const known = ["ADDED", "MODIFIED", "DELETED"];

/** Takes an event, the WatchEvent between two places. False: it is not as events are. */
type TakeEvent = (bytes: Buffer, event: Span) => boolean;

/** The frames of one stream. */
class FrameReader implements EventReader {
  readonly #findings: Findings;
  readonly #take: TakeEvent;
  #rest: Buffer | undefined;

  constructor(findings: Findings, take: TakeEvent) {
    this.#findings = findings;
    this.#take = take;
  }

  push(bytes: Buffer, from: number, end: number): void {
    this.#findings.bytes += end - from;
    const fresh = bytes.subarray(from, end);
    const whole = this.#rest === undefined ? fresh : Buffer.concat([this.#rest, fresh]);
    let at = 0;
    while (whole.length - at >= lengthBytes) {
      const stop = at + lengthBytes + whole.readUInt32BE(at);
      if (stop > whole.length) break;
      this.#frame(whole, at + lengthBytes, stop);
      at = stop;
    }
    // The bytes belong to the socket's reads, which are used again.
    this.#rest = at === whole.length ? undefined : Buffer.from(whole.subarray(at));
  }

  /** A WatchEvent begins with its type: field 1, a length, the text. */
  #frame(bytes: Buffer, start: number, end: number): void {
    const type = bytes.toString("latin1", start + 2, start + 2 + (bytes[start + 1] ?? 0));
    if (type === "BOOKMARK") return;
    if (type === "ERROR") {
      this.#findings.errors += 1;
      return;
    }
    this.#findings.events += 1;
    if (!known.includes(type) || !this.#take(bytes, [start, end])) this.#findings.torn += 1;
  }
}

/** Frames whose objects end with a mark. `last`: the change of each object that was there when the watch began. */
export function markedFrames(findings: Findings, last: Int32Array): EventReader {
  const sequence = new Sequence(findings, last);
  return new FrameReader(findings, (bytes, [start, end]) => {
    const from = Math.max(start, end - tailBytes);
    const at = bytes.toString("latin1", from, end).search(mark);
    if (at >= 0) sequence.take(bytes, from + at);
    return at >= 0;
  });
}

/** Frames of any objects, whose versions rise. */
export function versionFrames(findings: Findings): EventReader {
  const rising = new Rising(findings);
  return new FrameReader(findings, (bytes, event) => rising.take(versionOf(bytes, event)) !== undefined);
}

/** WatchEvent.object is a RawExtension, whose `raw` is an envelope (k8s, then Unknown) of an object, whose metadata is field 1. */
function versionOf(bytes: Buffer, event: Span): string | undefined {
  const extension = fieldIn(bytes, event, 2);
  const raw = extension && fieldIn(bytes, extension, 1);
  const object = raw && fieldIn(bytes, [raw[0] + magicBytes, raw[1]], 2);
  const metadata = object && fieldIn(bytes, object, 1);
  return metadata && textAt(bytes, fieldIn(bytes, metadata, 6));
}
