// Streamed answers on the uWS build, by the rules of uws.ts: nothing is written before the parser is left, and then in
// pieces that fit the build's cork buffer.
import { assert } from "../base/assert.ts";
import { copyOf } from "../base/copy.ts";
import { limits } from "../config/limits.ts";
import { type AnswerPlan, type Streaming, UwsAnswer } from "./uwsanswer.ts";
import type { HttpResponse } from "./uwsbuild.ts";
import { corkBytesMax, type Head, sendHead, writeHead } from "./uwshead.ts";

/** The framing of a chunk of a stream. */
const framingBytes = 16;
/** A piece of a stream. */
const pieceBytes = corkBytesMax - framingBytes;
/** An empty chunk ends a body, and nothing else makes this build send the head: JSON readers skip the space. */
const blank = new Uint8Array([0x20]);

/** What an exchange knows of its stream. */
export interface StreamPlan extends AnswerPlan {
  /** The byte the body begins with, where that is known. */
  readonly opening: number | undefined;
}

/** An answer of any length: the head travels with the first chunk, at the latest when the loop comes round. */
export class UwsStream extends UwsAnswer {
  /** Bytes written before the parser is left; undefined from then on. */
  #early: Uint8Array[] | undefined = [];
  #earlyBytes = 0;
  #chunk: Uint8Array = blank;
  /** The build's result for the last piece: false, the peer is behind. */
  #accepted = true;
  /** Its end is sent in the next turn. */
  #finishing = false;
  #wrote = false;
  /** The byte the body begins with, where that is known. */
  readonly #opening: number | undefined;
  /** It was sent ahead: the first chunk goes without it. */
  #opened = false;
  /** One closure for the life of the stream: exactly one write per cork, or the build sends piecemeal. */
  readonly #write = (): void => {
    this.#accepted = this.res.write(this.#chunk);
  };

  constructor(front: Streaming, res: HttpResponse, head: Head, plan: StreamPlan) {
    super(front, res, plan);
    this.#opening = plan.opening;
    // Mandatory, also where nothing is waiting: without it a stream that was ever behind is closed 10 s later.
    res.onWritable(() => this.#writable());
    setImmediate(() => this.#start(head));
  }

  /** The parser is left: sends the head and the bytes written so far. */
  #start(head: Head): void {
    const early = this.#early ?? [];
    this.#early = undefined;
    if (this.aborted) return;
    let body = early.length === 1 ? (early[0] as Uint8Array) : Buffer.concat(early);
    if (body.length === 0 && !this.ended) {
      this.#opened = this.#opening !== undefined;
      body = this.#opening === undefined ? blank : Uint8Array.of(this.#opening);
    }
    const res = this.res;
    const room = Math.min(body.length, corkBytesMax - head.bytes - framingBytes);
    if (room > 0) this.#chunk = body.subarray(0, room);
    else sendHead(res, head);
    res.cork(() => {
      if (room > 0) writeHead(res, head);
      if (this.front.closing || this.last) res.writeHeader("Connection", "close");
      if (room > 0) this.#write();
    });
    const accepted = this.#send(body.subarray(Math.max(room, 0)));
    if (!accepted) return;
    if (this.ended) this.#finish();
    else if (this.#earlyBytes > limits.sliceBytesMax) this.drained?.();
  }

  /** In pieces that fit the build's cork buffer. */
  #send(chunk: Uint8Array): boolean {
    for (let at = 0; at < chunk.length; at += pieceBytes) {
      this.#chunk = chunk.length <= pieceBytes ? chunk : chunk.subarray(at, at + pieceBytes);
      this.res.cork(this.#write);
    }
    this.#chunk = blank;
    this.#wrote = true;
    return this.#accepted;
  }

  write(chunk: Uint8Array): boolean {
    if (this.ended || chunk.length === 0) return true;
    if (this.#early !== undefined) {
      this.#early.push(copyOf(chunk));
      this.#earlyBytes += chunk.length;
      return this.#earlyBytes <= limits.sliceBytesMax;
    }
    if (!this.#opened) return this.#send(chunk);
    this.#opened = false;
    assert(chunk[0] === this.#opening, "A body does not begin with the byte it was opened with");
    return chunk.length === 1 ? true : this.#send(chunk.subarray(1));
  }

  #writable(): boolean {
    this.#wrote = false;
    this.#accepted = true;
    if (this.ended) this.#finish();
    else this.drained?.();
    // Bytes the build buffers for the peer are sent only with a write or a cork.
    if (!this.ended && !this.#wrote) this.res.cork(() => {});
    return true;
  }

  end(): void {
    if (this.ended) return;
    this.leave();
    // To a peer that is behind, the answer ends when it has taken some: until then no further one is begun.
    if (this.#early === undefined && this.#accepted) this.#finish();
  }

  #finish(): void {
    if (!this.last) this.#complete();
    else if (!this.#finishing) {
      // When the peer reads the pending bytes, the build continues reading, paused or not: in a
      // turn of its own nothing is read behind the end, and a request that comes before it closes the connection.
      this.#finishing = true;
      setImmediate(() => {
        if (!this.aborted) this.#complete();
      });
    }
  }

  #complete(): void {
    this.front.streams.delete(this);
    // Without a close header: the build would write that header into the body. Bytes the peer sends after the last
    // answer is not read, and the build's idle timer ends the connection.
    if (this.last || this.front.closing) this.res.pause();
    this.res.cork(() => this.res.end());
  }
}
