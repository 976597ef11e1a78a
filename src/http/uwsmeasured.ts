// Streamed answers whose length is known, on the uWS build: chunks are offered with tryEnd(), by the rules of uws.ts. They
// go out whole, without framing and without a copy in the build's cork buffer: 25 MiB take a sixth less CPU.
import { assert } from "../base/assert.ts";
import { copyBytes } from "../base/copy.ts";
import { limits } from "../config/limits.ts";
import { type AnswerPlan, type Streaming, UwsAnswer } from "./uwsanswer.ts";
import type { HttpResponse } from "./uwsbuild.ts";
import { corkBytesMax, type Head, sendHead, writeHead } from "./uwshead.ts";

const nothing = new Uint8Array(0);
/** Memory of rests that were taken, for the next ones: made anew, they would have garbage collected every few lists. */
const spare: Uint8Array[] = [];
const spareMax = 8;

/** What an exchange knows of its stream. */
export interface MeasuredPlan extends AnswerPlan {
  /** Bytes of the body. */
  readonly length: number;
}

function memoryFor({ length }: Uint8Array): Uint8Array {
  return new Uint8Array(Math.max(length, limits.listChunkBytes));
}

/** An answer of known length: the head travels with the first chunk. */
export class UwsMeasured extends UwsAnswer {
  readonly #length: number;
  /** Bytes that were not written yet. */
  #left: number;
  /** The parser may still be at work: what is written waits. */
  #isEarly = true;
  /** Written before the first bytes; undefined once it was. */
  #head: Head | undefined;
  /** Bytes of the body before `#rest`. */
  #taken = 0;
  /** What was written and has not been taken yet, and the memory it lies in. */
  #rest: Uint8Array = nothing;
  #memory: Uint8Array = nothing;

  constructor(front: Streaming, res: HttpResponse, head: Head, plan: MeasuredPlan) {
    super(front, res, plan);
    assert(plan.length > 0, "A stream has a length of nothing");
    this.#length = plan.length;
    this.#left = plan.length;
    this.#head = head;
    res.onWritable(() => this.#writable());
    setImmediate(() => this.#start());
  }

  write(chunk: Uint8Array): boolean {
    if (this.ended || chunk.length === 0) return true;
    this.#left -= chunk.length;
    assert(this.#left >= 0, `A body of ${this.#length} bytes has ${-this.#left} more`);
    assert(this.#rest.length === 0, "A stream is written to while its peer is behind");
    if (!this.#isEarly) return this.#offer(chunk);
    this.#keep(chunk);
    return false;
  }

  /** An answer that is not complete ends with its connection. */
  end(): void {
    if (this.ended) return;
    if (this.#left > 0) this.abort();
    else this.leave();
  }

  /** The parser is left: sends what was written so far. */
  #start(): void {
    this.#isEarly = false;
    if (!this.aborted && this.#rest.length > 0 && this.#offer(this.#rest)) this.drained?.();
  }

  /** Offers bytes to the peer; what it does not take is kept, and offered again when it has read. */
  #offer(bytes: Uint8Array): boolean {
    const { res } = this;
    const head = this.#head;
    this.#head = undefined;
    const isWhole = head === undefined || head.bytes <= corkBytesMax || sendHead(res, head);
    let result: [taken: boolean, finished: boolean] = [false, false];
    res.cork(() => {
      if (head !== undefined && head.bytes <= corkBytesMax) writeHead(res, head);
      // tryEnd() cannot close: the header asks the client to, and the build's idle timer sees to the rest.
      if (head !== undefined && (this.front.closing || this.last)) res.writeHeader("Connection", "close");
      // Behind a last answer further bytes of the peer are not read.
      if (this.last && this.#taken + bytes.length === this.#length) res.pause();
      result = res.tryEnd(bytes, this.#length);
    });
    const [isTaken, isFinished] = result;
    if (isFinished) {
      this.forget();
      return true;
    }
    const offset = isTaken ? this.#taken + bytes.length : res.getWriteOffset();
    if (!isTaken && !isWhole && offset === 0) {
      this.cut();
      return true;
    }
    if (isTaken) this.#release();
    else this.#keep(bytes.subarray(offset - this.#taken));
    this.#taken = offset;
    return isTaken;
  }

  /** Keeps bytes to offer them again. */
  #keep(rest: Uint8Array): void {
    if (rest.buffer === this.#memory.buffer) this.#rest = rest;
    else {
      this.#memory = (rest.length <= limits.listChunkBytes ? spare.pop() : undefined) ?? memoryFor(rest);
      copyBytes(this.#memory, 0, rest);
      this.#rest = this.#memory.subarray(0, rest.length);
    }
  }

  #release(): void {
    if (this.#memory.length === limits.listChunkBytes && spare.length < spareMax) spare.push(this.#memory);
    this.#memory = nothing;
    this.#rest = nothing;
  }

  protected override forget(): void {
    super.forget();
    this.#release();
  }

  /** The build reads again where a write did not fit, also what came meanwhile: a last answer ends in its own turn. */
  #writable(): boolean {
    const more = (): void => {
      if (this.aborted) return;
      if (this.#rest.length > 0 && !this.#offer(this.#rest)) return;
      this.drained?.();
    };
    if (this.last) setImmediate(more);
    else more();
    return true;
  }
}
