// Marks in the objects that are changed under watches, by which a watcher knows that it missed nothing, and how long an
// event was under way. A mark is the last value of an object's data: in JSON it stands before the end of each line.
//   …,"seq":"0063-0000000123-1795248000123456"}}}\n     object, number of its change, when it was sent (us)

/** Bytes of a mark: `oooo-nnnnnnnnnn-uuuuuuuuuuuuuuuu`. */
export const markBytes = 4 + 1 + 10 + 1 + 16;

/** Objects that marks can be of. */
export const markedMax = 10_000;

/** Writes a mark. */
export function markOf(object: number, change: number, us: number): string {
  return `${String(object).padStart(4, "0")}-${String(change).padStart(10, "0")}-${String(us).padStart(16, "0")}`;
}

/** Microseconds since 1970, comparable between the processes of a machine. */
export function microseconds(): number {
  return Math.floor((performance.timeOrigin + performance.now()) * 1000);
}

/** What readers found. One object per process, for all of its watches. */
export interface Findings {
  events: number;
  bytes: number;
  /** Changes missed, seen twice or out of order. */
  gaps: number;
  /** Events that do not begin and end as events do. */
  torn: number;
  /** ERROR events. */
  errors: number;
  event(object: number, change: number, sentUs: number): void;
}

/** Takes the bytes of a watch. */
export interface EventReader {
  push(bytes: Buffer, from: number, end: number): void;
}

/** Changes that a watch has seen of each object. */
export class Sequence {
  readonly #findings: Findings;
  readonly #last: Int32Array;

  /** `last`: the change of each object that was there when the watch began. */
  constructor(findings: Findings, last: Int32Array) {
    this.#findings = findings;
    this.#last = last.slice();
  }

  /** The mark in `bytes` at a place, which the caller found to hold one. */
  take(bytes: Buffer, at: number): void {
    const object = digits(bytes, at, 4);
    const change = digits(bytes, at + 5, 10);
    if (change !== (this.#last[object] ?? 0) + 1) this.#findings.gaps += 1;
    this.#last[object] = change;
    this.#findings.event(object, change, digits(bytes, at + 16, 16));
  }
}

function digits(bytes: Buffer, at: number, count: number): number {
  let value = 0;
  for (let index = at; index < at + count; index += 1) value = value * 10 + ((bytes[index] ?? 0) - 0x30);
  return value;
}
