// The framing of chunked bodies, read as bytes come in.

const newline = 0x0a;
const carriageReturn = 0x0d;

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
