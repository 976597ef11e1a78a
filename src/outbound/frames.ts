// Frames of WebSocket (RFC 6455 5), as the side that connected: those of the peer are read as they come, a message in
// pieces and never gathered; ours are masked and sent in order. Extensions are not negotiated, so no bit of theirs is set.
import { createHash, randomFillSync } from "node:crypto";
import { assert } from "../base/assert.ts";
import { copyBytes } from "../base/copy.ts";
import { limits } from "../config/limits.ts";

/** What a frame is. A message begins with a text or binary frame and goes on in continuations. */
export const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

/** A number of `opcodes`. */
export type Opcode = (typeof opcodes)[keyof typeof opcodes];

/** A control frame, or a piece of a message: a frame of its own to whom it is passed on. */
export interface Frame {
  readonly opcode: Opcode;
  /** The last piece of its message. */
  readonly fin: boolean;
  /** A view of what was read. */
  readonly payload: Uint8Array;
}

/** How a peer closed a connection, or is told that it is: 1005 stands for no code, 1006 for no frame. */
export interface Closing {
  readonly code: number;
  /** At most 123 bytes. */
  readonly reason: string;
}

/** Bytes of a control frame's payload. */
const controlBytesMax = 125;
const empty = new Uint8Array(0);

/** The answer to a key of the handshake (RFC 6455 4.2.2). */
export function acceptOf(key: string): string {
  return createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
}

/** Reads the frames of a server. */
export class FrameReader {
  /** What was pushed and not read. */
  #bytes: Uint8Array = empty;
  #at = 0;
  /** Payload bytes of the frame under way that are to come; what it is, and whether its message ends with it. */
  #left = 0;
  #opcode: Opcode = opcodes.binary;
  #fin = true;

  /** Adds bytes, which must not be changed until they are read. */
  push(chunk: Uint8Array): void {
    const rest = this.#bytes.length - this.#at;
    this.#bytes = rest === 0 ? chunk : Buffer.concat([this.#bytes.subarray(this.#at), chunk]);
    this.#at = 0;
  }

  /** The next piece; undefined: there is none yet. A text says what the peer does wrong; nothing is read behind that. */
  next(): Frame | undefined | string {
    if (this.#left > 0) return this.#piece();
    const bytes = this.#bytes;
    const at = this.#at;
    const have = bytes.length - at;
    if (have < 2) return undefined;
    const first = bytes[at] as number;
    const second = bytes[at + 1] as number;
    if ((first & 0x70) !== 0) return "a reserved bit is set";
    if ((second & 0x80) !== 0) return "a frame is masked";
    const fin = (first & 0x80) !== 0;
    const opcode = first & 0x0f;
    const short = second & 0x7f;
    if (opcode >= opcodes.close) return this.#control(opcode, fin, short);
    if (opcode > opcodes.binary) return `the opcode ${opcode} is not known`;
    if ((opcode === opcodes.continuation) === this.#fin) {
      return this.#fin ? "a continuation belongs to no message" : "a message begins within another one";
    }
    const head = short < 126 ? 2 : short === 126 ? 4 : 10;
    if (have < head) return undefined;
    const length = short < 126 ? short : bigEndian(bytes, at + 2, at + head);
    if (length > Number.MAX_SAFE_INTEGER) return "a frame is too long";
    this.#at += head;
    this.#opcode = opcode as Opcode;
    this.#fin = fin;
    this.#left = length;
    return length === 0 ? { opcode: this.#opcode, fin, payload: empty } : this.#piece();
  }

  /** What is there of the frame under way. */
  #piece(): Frame | undefined {
    const payload = this.#bytes.subarray(this.#at, this.#at + this.#left);
    if (payload.length === 0) return undefined;
    this.#at += payload.length;
    this.#left -= payload.length;
    const opcode = this.#opcode;
    this.#opcode = opcodes.continuation;
    return { opcode, fin: this.#fin && this.#left === 0, payload };
  }

  #control(opcode: number, fin: boolean, length: number): Frame | undefined | string {
    if (opcode > opcodes.pong) return `the opcode ${opcode} is not known`;
    if (!fin || length > controlBytesMax) return "a control frame is in pieces, or too long";
    const start = this.#at + 2;
    if (this.#bytes.length - start < length) return undefined;
    this.#at = start + length;
    return { opcode: opcode as Opcode, fin, payload: this.#bytes.subarray(start, start + length) };
  }
}

function bigEndian(bytes: Uint8Array, from: number, to: number): number {
  let value = 0;
  for (let at = from; at < to; at++) value = value * 256 + (bytes[at] as number);
  return value;
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** What a close frame says; undefined: nothing it may say (RFC 6455 7.4). */
export function closingOf(payload: Uint8Array): Closing | undefined {
  if (payload.length === 0) return { code: 1005, reason: "" };
  if (payload.length === 1) return undefined;
  const code = bigEndian(payload, 0, 2);
  const isKnown = code >= 1000 && code <= 1014 && !(code >= 1004 && code <= 1006);
  if (!isKnown && !(code >= 3000 && code <= 4999)) return undefined;
  try {
    return { code, reason: utf8.decode(payload.subarray(2)) };
  } catch {
    return undefined;
  }
}

/** The payload of a close frame. */
function closePayload({ code, reason }: Closing): Uint8Array {
  if (code === 1005) return empty;
  const text = Buffer.from(reason);
  const payload = Buffer.alloc(2 + Math.min(text.length, controlBytesMax - 2));
  payload.writeUInt16BE(code);
  text.copy(payload, 2);
  return payload;
}

/** The part of a connection that frames are written to. */
export interface FrameSink {
  /** False: it is behind, until it drains. Bytes are kept. */
  write(bytes: Uint8Array): boolean;
  /** Ends the connection when everything written was sent. */
  destroySoon(): void;
  /** Bytes that were written and not sent. */
  readonly writableLength: number;
}

/** Bytes of a batch: frames of one turn, or those that wait, lie side by side and not each by itself. */
const batchBytes = 64 * 1024;

/** Sends masked frames, those of one turn of the loop at once. What the peer does not take waits here, and is counted. */
export class FrameSender {
  readonly #sink: FrameSink;
  readonly #batches: { readonly bytes: Buffer; used: number }[] = [];
  /** Bytes of the batches. */
  #held = 0;
  #isBehind = false;
  #isScheduled = false;
  #isEnding = false;

  constructor(sink: FrameSink) {
    this.#sink = sink;
  }

  /** Bytes the peer has not taken. */
  get waitingBytes(): number {
    return this.#held + this.#sink.writableLength;
  }

  /** Sends a frame of its own: a whole message, or a control frame. The payload is copied. */
  send(opcode: Opcode, payload: Uint8Array): void {
    const { length } = payload;
    const head = length < 126 ? 2 : length < 65_536 ? 4 : 10;
    const batch = this.#room(head + 4 + length);
    const { bytes } = batch;
    let at = batch.used;
    bytes[at] = 0x80 | opcode;
    bytes[at + 1] = 0x80 | (head === 2 ? length : head === 4 ? 126 : 127);
    if (head === 4) bytes.writeUInt16BE(length, at + 2);
    if (head === 10) bytes.writeBigUInt64BE(BigInt(length), at + 2);
    at += head;
    const mask = nextMask(bytes, at);
    at = copyBytes(bytes, at + 4, payload);
    maskBytes(bytes, at - length, at, mask);
    batch.used = at;
    this.#held += head + 4 + length;
    if (this.#isScheduled || this.#isBehind) return;
    this.#isScheduled = true;
    setImmediate(() => this.flush());
  }

  /** Sends a close frame, behind everything; the peer ends the connection then. */
  close(closing: Closing): void {
    this.send(opcodes.close, closePayload(closing));
    this.flush();
  }

  /** Ends the connection behind everything. */
  end(): void {
    this.#isEnding = true;
    this.flush();
  }

  /** A batch with so much room: the first of a turn has no more. */
  #room(bytes: number): { readonly bytes: Buffer; used: number } {
    const last = this.#batches.at(-1);
    if (last !== undefined && last.used + bytes <= last.bytes.length) return last;
    const size = last === undefined ? bytes : Math.max(bytes, batchBytes);
    const batch = { bytes: Buffer.allocUnsafeSlow(size), used: 0 };
    this.#batches.push(batch);
    return batch;
  }

  /** Writes what waits, as far as the peer takes it. */
  flush(): void {
    this.#isScheduled = false;
    while (!this.#isBehind) {
      const batch = this.#batches.shift();
      if (batch === undefined) {
        if (this.#isEnding) this.#sink.destroySoon();
        return;
      }
      this.#held -= batch.used;
      this.#isBehind = !this.#sink.write(batch.bytes.subarray(0, batch.used));
    }
  }

  /** The peer takes bytes again. */
  drained(): void {
    this.#isBehind = false;
    this.flush();
  }
}

/** Masks are to be unpredictable (RFC 6455 10.3), and a call for each costs more than most frames. */
const masks = new Uint8Array(4 * 2_048);
let masksUsed = masks.length;

/** Writes the next mask at a byte, and returns where it stands among the masks. */
function nextMask(bytes: Uint8Array, at: number): number {
  if (masksUsed === masks.length) {
    randomFillSync(masks);
    masksUsed = 0;
  }
  const mask = masksUsed;
  for (let i = 0; i < 4; i++) bytes[at + i] = masks[mask + i] as number;
  masksUsed += 4;
  return mask;
}

function maskBytes(bytes: Uint8Array, from: number, to: number, mask: number): void {
  const [a = 0, b = 0, c = 0, d = 0] = masks.subarray(mask, mask + 4);
  let at = from;
  for (; at + 4 <= to; at += 4) {
    bytes[at] = (bytes[at] as number) ^ a;
    bytes[at + 1] = (bytes[at + 1] as number) ^ b;
    bytes[at + 2] = (bytes[at + 2] as number) ^ c;
    bytes[at + 3] = (bytes[at + 3] as number) ^ d;
  }
  for (let i = 0; at < to; at++, i++) bytes[at] = (bytes[at] as number) ^ (masks[mask + i] as number);
}

assert(batchBytes <= limits.socketWaitingBytesMax, "What waits has room for a batch");
