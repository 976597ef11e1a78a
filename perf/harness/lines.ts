// Reads a watch stream as bytes: lines are counted and checked, each object's changes in order and without gap. Nothing
// is parsed as JSON and nothing is kept but the end of a line that is split over two reads.
import { type EventReader, type Findings, markBytes, Sequence } from "./marks.ts";

/** What follows the mark in a line. */
const markTail = '"}}}\n';

const newline = 0x0a;
const tailBytes = markBytes + markTail.length;
const head = Buffer.from('{"type":"');
/** The third letters of ERROR and BOOKMARK begin them: E and B. */
const [errorInitial, bookmarkInitial] = [0x45, 0x42];

/** The lines of one stream. */
export class LineReader implements EventReader {
  readonly #findings: Findings;
  readonly #sequence: Sequence;
  readonly #carry = Buffer.alloc(tailBytes);
  #carried = 0;
  #lineBytes = 0;
  /** First letter of the type, and whether the line began well. */
  #kind = 0;
  #good = true;

  constructor(findings: Findings, last: Int32Array) {
    this.#findings = findings;
    this.#sequence = new Sequence(findings, last);
  }

  /** Takes bytes of the stream's body. */
  push(bytes: Buffer, from: number, end: number): void {
    let start = from;
    while (start < end) {
      if (this.#lineBytes === 0) {
        // White space between events means nothing.
        if (bytes[start] === 0x20 || bytes[start] === newline) {
          start += 1;
          continue;
        }
        this.#good = true;
      }
      let stop = bytes.indexOf(newline, start);
      const whole = stop >= 0 && stop < end;
      if (!whole) stop = end - 1;
      this.#checkHead(bytes, start, stop + 1);
      if (whole) this.#line(bytes, start, stop + 1);
      else this.#keep(bytes, start, end);
      start = stop + 1;
    }
    this.#findings.bytes += end - from;
  }

  #checkHead(bytes: Buffer, start: number, end: number): void {
    for (let at = this.#lineBytes; at < head.length + 1 && at - this.#lineBytes < end - start; at += 1) {
      const byte = bytes[start + at - this.#lineBytes];
      if (at === head.length) this.#kind = byte ?? 0;
      else if (byte !== head[at]) this.#good = false;
    }
  }

  #keep(bytes: Buffer, start: number, end: number): void {
    this.#lineBytes += end - start;
    const fresh = Math.min(end - start, tailBytes);
    const stay = Math.min(this.#carried, tailBytes - fresh);
    this.#carry.copyWithin(0, this.#carried - stay, this.#carried);
    bytes.copy(this.#carry, stay, end - fresh, end);
    this.#carried = stay + fresh;
  }

  #line(bytes: Buffer, start: number, end: number): void {
    let line = bytes;
    let lineEnd = end;
    if (end - start < tailBytes) {
      this.#keep(bytes, start, end);
      line = this.#carry;
      lineEnd = this.#carried;
    }
    this.#carried = 0;
    this.#lineBytes = 0;
    if (this.#kind === bookmarkInitial) return;
    if (this.#kind === errorInitial) {
      this.#findings.errors += 1;
      return;
    }
    this.#findings.events += 1;
    const at = lineEnd - tailBytes;
    if (!this.#good || at < 0 || line.toString("latin1", lineEnd - markTail.length, lineEnd) !== markTail) {
      this.#findings.torn += 1;
      return;
    }
    this.#sequence.take(line, at);
  }
}
