// Reads a watch stream as bytes: chunked framing off, lines counted and checked, each object's changes in order and
// without gap. Nothing is parsed as JSON and nothing is kept but the end of a line that is split over two reads.
//
// The objects of a load carry a mark as the last value of their data, so that it stands before the end of each line:
//   …,"seq":"0063-0000000123-1795248000123456"}}}\n     object, number of its change, when it was sent (us)

/** Bytes of a mark: `oooo-nnnnnnnnnn-uuuuuuuuuuuuuuuu`. */
export const markBytes = 4 + 1 + 10 + 1 + 16;
/** What follows the mark in a line. */
export const markTail = '"}}}\n';

/** Writes a mark. */
export function markOf(object: number, change: number, us: number): string {
  return `${String(object).padStart(4, "0")}-${String(change).padStart(10, "0")}-${String(us).padStart(16, "0")}`;
}

/** Microseconds since 1970, comparable between the threads of a machine. */
export function microseconds(): number {
  return Math.floor((performance.timeOrigin + performance.now()) * 1000);
}

/** What a reader found. One object per thread, summed over its readers. */
export interface Findings {
  events: number;
  bytes: number;
  /** Changes missed or seen twice. */
  gaps: number;
  /** Lines that do not begin and end as events do. */
  torn: number;
  /** ERROR events. */
  errors: number;
  latency(us: number): void;
}

const newline = 0x0a;
const carriageReturn = 0x0d;
const tailBytes = markBytes + markTail.length;
const head = Buffer.from('{"type":"');

/** The lines of one stream. `last` holds the newest change seen of each object. */
export class LineReader {
  readonly #findings: Findings;
  readonly #last: Int32Array;
  readonly #carry = Buffer.alloc(tailBytes);
  #carried = 0;
  #lineBytes = 0;
  /** Third letter of the type, and whether the line began well. */
  #kind = 0;
  #good = true;

  constructor(findings: Findings, objects: number, first: number) {
    this.#findings = findings;
    this.#last = new Int32Array(objects).fill(first);
  }

  /** Takes bytes of the stream's body. */
  push(bytes: Buffer, from: number, end: number): void {
    let start = from;
    while (start < end) {
      if (this.#lineBytes === 0) {
        // White space between events is none of our business.
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
    if (this.#kind === 0x45) {
      this.#findings.errors += 1;
      return;
    }
    this.#findings.events += 1;
    const at = lineEnd - tailBytes;
    if (!this.#good || at < 0 || line.toString("latin1", lineEnd - markTail.length, lineEnd) !== markTail) {
      this.#findings.torn += 1;
      return;
    }
    const object = digits(line, at, 4);
    const change = digits(line, at + 5, 10);
    if (change !== (this.#last[object] ?? 0) + 1) this.#findings.gaps += 1;
    this.#last[object] = change;
    this.#findings.latency(digits(line, at + 16, 16));
  }
}

function digits(bytes: Buffer, at: number, count: number): number {
  let value = 0;
  for (let index = at; index < at + count; index += 1) value = value * 10 + ((bytes[index] ?? 0) - 0x30);
  return value;
}

/** The body of a chunked answer; calls `take` for pieces of it and `done` at its end. */
export class ChunkReader {
  readonly #take: (bytes: Buffer, from: number, end: number) => void;
  readonly #done: () => void;
  /** Data bytes left in the chunk; below 0: reading its size line. */
  #left = -1;
  #size = 0;
  #sizeDigits = 0;

  constructor(take: (bytes: Buffer, from: number, end: number) => void, done: () => void) {
    this.#take = take;
    this.#done = done;
  }

  push(bytes: Buffer, from: number): void {
    let at = from;
    while (at < bytes.length) {
      if (this.#left > 0) {
        const end = Math.min(bytes.length, at + this.#left);
        this.#take(bytes, at, end);
        this.#left -= end - at;
        at = end;
        if (this.#left === 0) this.#left = -1;
        continue;
      }
      const byte = bytes[at++] ?? 0;
      if (byte === newline && this.#sizeDigits > 0) {
        if (this.#size === 0) return this.#done();
        this.#left = this.#size;
        this.#size = 0;
        this.#sizeDigits = 0;
      } else if (byte !== carriageReturn && byte !== newline) {
        this.#size = this.#size * 16 + Number.parseInt(String.fromCharCode(byte), 16);
        this.#sizeDigits += 1;
      }
    }
  }
}
