// Reads a watch stream in protobuf: frames of a length in four bytes and a WatchEvent, whose object ends with the mark.
import { type EventReader, type Findings, markBytes, Sequence } from "./marks.ts";

const lengthBytes = 4;
/** How far before the end of a frame its mark stands at most: behind it are empty fields of the envelope. */
const tailBytes = markBytes + 64;
const mark = /\d{4}-\d{10}-\d{16}/;

/** The frames of one stream. */
export class FrameReader implements EventReader {
  readonly #findings: Findings;
  readonly #sequence: Sequence;
  #rest: Buffer | undefined;

  constructor(findings: Findings, last: Int32Array) {
    this.#findings = findings;
    this.#sequence = new Sequence(findings, last);
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
    const from = Math.max(start, end - tailBytes);
    const at = bytes.toString("latin1", from, end).search(mark);
    if (at < 0 || !["ADDED", "MODIFIED", "DELETED"].includes(type)) this.#findings.torn += 1;
    else this.#sequence.take(bytes, from + at);
  }
}
