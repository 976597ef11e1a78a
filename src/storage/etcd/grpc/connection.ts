// One HTTP/2 connection of a client (RFC 9113): streams, flow control both ways, and how it ends. What is sent within a
// turn goes out as one write. It knows nothing of gRPC.
// @hot
import type { Socket } from "node:net";
import { assertShared } from "../../../base/assert.ts";
import { type Field, FieldDecoder, FieldsError, tableBytesMax } from "./fields.ts";
import {
  defaultWindow,
  errorCodes,
  flagAck,
  flagBlockEnd,
  flagEnd,
  flagPadded,
  flagPriority,
  frame,
  frameBytesMax,
  frameTypes,
  goAwayFrame,
  headBytes,
  numberFrame,
  preface,
  settingIds,
  settingsFrame,
  windowMax,
  writeHead,
} from "./frames.ts";

/** Bytes a stream may send us before we have taken them. */
const streamWindow = 2 ** 20;
/** The same for all streams together. */
const connectionWindow = 2 ** 24;
/** Bytes of one block of fields as it is sent, at most. */
const blockBytesMax = 2 ** 16;
/** Bytes of the buffer that frames are gathered in. */
const outBytes = 2 ** 18;
/** Answers to the peer's pings and settings that may wait while it reads nothing. */
const unreadAnswersMax = 10_000;
/** Stream numbers are not used again: beyond this a new connection is made. */
const streamIdMax = 2 ** 31 - 1;

/** An empty change of the table's size: to nothing (RFC 7541, section 6.3). */
const emptyTable = Buffer.of(0x20);

/** Why a stream ended early. */
export interface StreamFault {
  /** The peer has certainly not begun with it. */
  readonly isUntouched: boolean;
  readonly message: string;
}

/** What a stream tells. Nothing comes after `ended` or `failed`. */
export interface StreamEvents {
  /** The head of the answer, or what follows its body. */
  fields(fields: readonly Field[]): void;
  data(bytes: Buffer): void;
  /** The peer has said everything. */
  ended(): void;
  failed(fault: StreamFault): void;
}

/** A stream as its owner sees it. */
export interface Stream {
  /** Sends bytes, as far as the peer lets us; the rest later. `end`: nothing follows. */
  send(bytes: Uint8Array, end: boolean): void;
  /** Takes no more than a window of bytes until resume(); those that came are told. */
  pause(): void;
  resume(): void;
  /** Gives the stream up; it tells nothing more. */
  cancel(): void;
}

class OpenStream implements Stream {
  readonly id: number;
  readonly events: StreamEvents;
  readonly #connection: Connection;
  /** Bytes the peer takes now. */
  window: number;
  /** What it does not take yet, oldest first. */
  readonly unsent: Uint8Array[] = [];
  /** The last of them is the end. */
  ends = false;
  /** Bytes we took and have not allowed again. */
  taken = 0;
  isPaused = false;
  /** The peer has begun with it, whatever it says later. */
  isBegun = false;

  constructor(connection: Connection, id: number, window: number, events: StreamEvents) {
    this.#connection = connection;
    this.id = id;
    this.window = window;
    this.events = events;
  }

  send(bytes: Uint8Array, end: boolean): void {
    assertShared(!this.ends, "A stream sends after its end");
    if (!this.#connection.has(this)) return;
    this.unsent.push(bytes);
    this.ends = end;
    this.#connection.pump(this);
  }

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
    this.#connection.allow(this);
  }

  cancel(): void {
    this.#connection.cancel(this);
  }
}

/** A connection over a socket that is connected. */
export class Connection {
  /** Called once, with why: no stream is left, and none can be opened. */
  onEnd: (why: string) => void = () => undefined;
  /** Called once, when the peer has sent its settings. */
  onReady: () => void = () => undefined;
  /** Called when the peer may take a further stream, or will never take one. */
  onRoom: () => void = () => undefined;
  readonly #socket: Socket;
  readonly #decoder = new FieldDecoder();
  readonly #streams = new Map<number, OpenStream>();
  /** Streams with bytes that wait for the connection's window. */
  readonly #held = new Set<OpenStream>();
  #nextId = 1;
  #isReady = false;
  #ended = false;
  /** No further stream is opened; it ends with the last one. */
  #isDraining = false;
  // What the peer allows.
  #window = defaultWindow;
  #firstWindow = defaultWindow;
  #frameBytesMax = frameBytesMax;
  #streamsMax = Number.POSITIVE_INFINITY;
  /** Bytes taken of all streams, and not allowed again. */
  #taken = 0;
  /** Frames that go out together: those from #outFrom to #outEnd are not written yet. */
  #out = Buffer.allocUnsafeSlow(outBytes);
  #outFrom = 0;
  #outEnd = 0;
  #willFlush = false;
  /** The beginning of a frame whose rest is to come. */
  #rest: Buffer | undefined;
  /** A block of fields whose rest is to come. */
  #block: { readonly stream: number; readonly parts: Buffer[]; bytes: number; readonly ends: boolean } | undefined;
  /** Ends the connection unless its ping is answered before. */
  #pinging: NodeJS.Timeout | undefined;
  #checkMs = 0;
  /** Answers to pings and settings since the peer last had read everything. */
  #unreadAnswers = 0;
  /** The peer keeps a smaller table than the protocol's: the next block has to say that ours is empty. */
  #emptiesTable = false;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("data", (chunk: Buffer) => this.#receive(chunk));
    socket.on("error", (error) => this.#end(error.message));
    socket.on("close", () => this.#end("the connection was closed"));
    this.#write(preface);
    // No pushed streams, and windows that let a page of a large list through at once.
    this.#write(
      settingsFrame([
        [settingIds.enablePush, 0],
        [settingIds.initialWindow, streamWindow],
      ]),
    );
    this.#write(numberFrame(frameTypes.windowUpdate, 0, connectionWindow - defaultWindow));
  }

  /** Whether a stream can be opened now. */
  get isOpen(): boolean {
    return this.#isReady && !this.#ended && !this.#isDraining;
  }

  /** Streams the peer takes now beside those that are open. */
  get room(): number {
    return this.#streamsMax - this.#streams.size;
  }

  /** For a stream: whether it is open. */
  has(stream: OpenStream): boolean {
    return this.#streams.get(stream.id) === stream;
  }

  /** Opens a stream with a block of fields; the parts of `body`, if any, are all it sends. The connection is open. */
  open(block: Buffer, events: StreamEvents, body?: readonly Uint8Array[]): Stream {
    assertShared(this.isOpen, "A stream is opened on a connection that is not");
    const stream = new OpenStream(this, this.#nextId, this.#firstWindow, events);
    this.#nextId += 2;
    if (this.#nextId > streamIdMax) this.#isDraining = true;
    this.#streams.set(stream.id, stream);
    this.#writeFrame(frameTypes.headers, flagBlockEnd, stream.id, this.#emptiesTable ? [emptyTable, block] : [block]);
    this.#emptiesTable = false;
    if (body !== undefined) this.#sendAll(stream, body);
    return stream;
  }

  /**
   * Ends the connection unless the peer answers a ping within a time. A connection that opens no further stream is asked
   * again and again: no later call would find out that its peer is gone.
   */
  check(limitMs: number): void {
    if (this.#pinging !== undefined || this.#ended) return;
    // An answer that came while this thread was busy is read first.
    const look = (): void => {
      if (this.#pinging === timer) this.#end("the server does not answer");
    };
    const timer = setTimeout(() => setImmediate(look), limitMs);
    this.#pinging = timer;
    this.#checkMs = limitMs;
    this.#write(frame(frameTypes.ping, 0, 0, Buffer.alloc(8)));
  }

  /** Ends it at once; its streams fail. */
  destroy(why: string): void {
    this.#end(why);
  }

  /** For a stream: sends what it holds, as far as the windows go. */
  pump(stream: OpenStream): void {
    const { unsent } = stream;
    while (unsent.length > 0 && this.has(stream)) {
      const first = unsent[0] as Uint8Array;
      const length = Math.min(first.length, this.#window, Math.max(0, stream.window), this.#frameBytesMax);
      if (length === 0 && first.length > 0) break;
      const isWhole = length === first.length;
      if (isWhole) unsent.shift();
      else unsent[0] = first.subarray(length);
      this.#window -= length;
      stream.window -= length;
      const ends = stream.ends && unsent.length === 0;
      this.#writeFrame(frameTypes.data, ends ? flagEnd : 0, stream.id, [first.subarray(0, length)]);
    }
    if (unsent.length > 0 && this.#window === 0) this.#held.add(stream);
    else this.#held.delete(stream);
  }

  /** For a stream: lets the peer send again what was taken. */
  allow(stream: OpenStream): void {
    if (stream.isPaused || 2 * stream.taken < streamWindow || !this.has(stream)) return;
    this.#write(numberFrame(frameTypes.windowUpdate, stream.id, stream.taken));
    stream.taken = 0;
  }

  /** For a stream: ends it. */
  cancel(stream: OpenStream): void {
    if (!this.has(stream)) return;
    this.#write(numberFrame(frameTypes.reset, stream.id, errorCodes.cancel));
    this.#forget(stream);
  }

  #forget(stream: OpenStream): void {
    this.#streams.delete(stream.id);
    this.#held.delete(stream);
    if (this.#isDraining && this.#streams.size === 0) this.#end("the server ends it");
    else this.onRoom();
  }

  /** The whole of what a stream sends: one frame, where the peer takes it. */
  #sendAll(stream: OpenStream, parts: readonly Uint8Array[]): void {
    const length = lengthOf(parts);
    if (length > Math.min(this.#window, stream.window, this.#frameBytesMax)) {
      return stream.send(Buffer.concat(parts), true);
    }
    this.#window -= length;
    stream.window -= length;
    stream.ends = true;
    this.#writeFrame(frameTypes.data, flagEnd, stream.id, parts);
  }

  #writeFrame(type: number, flags: number, id: number, parts: readonly Uint8Array[]): void {
    const length = lengthOf(parts);
    let at = this.#reserve(headBytes + length);
    if (at < 0) return;
    writeHead(this.#out, at, length, type, flags, id);
    at += headBytes;
    for (const part of parts) {
      this.#out.set(part, at);
      at += part.length;
    }
  }

  /** Answers the peer, unless it asks on and on without reading the answers: those would fill the memory. */
  #answer(bytes: Uint8Array): void {
    this.#unreadAnswers = this.#socket.writableLength === 0 ? 0 : this.#unreadAnswers + 1;
    if (this.#unreadAnswers <= unreadAnswersMax) return this.#write(bytes);
    throw new ProtocolError(errorCodes.calm, "it asks more than it reads answers");
  }

  #write(bytes: Uint8Array): void {
    const at = this.#reserve(bytes.length);
    if (at >= 0) this.#out.set(bytes, at);
  }

  /** Room among the frames that go out at the end of the turn; -1: the connection has ended. */
  #reserve(bytes: number): number {
    if (this.#ended) return -1;
    if (this.#outEnd + bytes > this.#out.length) {
      this.#flush();
      // What was written may still be in use.
      if (this.#outEnd + bytes > this.#out.length) {
        this.#out = Buffer.allocUnsafeSlow(Math.max(outBytes, bytes));
        this.#outFrom = 0;
        this.#outEnd = 0;
      }
    }
    if (!this.#willFlush) {
      this.#willFlush = true;
      process.nextTick(() => {
        this.#willFlush = false;
        this.#flush();
      });
    }
    const at = this.#outEnd;
    this.#outEnd += bytes;
    return at;
  }

  #flush(): void {
    if (this.#ended) return;
    if (this.#outEnd > this.#outFrom) this.#socket.write(this.#out.subarray(this.#outFrom, this.#outEnd));
    // Nothing waits: the kernel has it all, and the buffer begins again.
    const isFree = this.#socket.writableLength === 0;
    this.#outEnd = isFree ? 0 : this.#outEnd;
    this.#outFrom = this.#outEnd;
  }

  #receive(chunk: Buffer): void {
    const bytes = this.#rest === undefined ? chunk : Buffer.concat([this.#rest, chunk]);
    let at = 0;
    try {
      while (!this.#ended && bytes.length - at >= headBytes) {
        const length = bytes.readUIntBE(at, 3);
        if (length > frameBytesMax) throw new ProtocolError(errorCodes.frameSize, `a frame of ${length} bytes`);
        const end = at + headBytes + length;
        if (end > bytes.length) break;
        this.#take(
          bytes[at + 3] as number,
          bytes[at + 4] as number,
          bytes.readUInt32BE(at + 5) & windowMax,
          bytes.subarray(at + headBytes, end),
        );
        at = end;
      }
      this.#rest = at === bytes.length ? undefined : bytes.subarray(at);
    } catch (error) {
      if (!(error instanceof ProtocolError || error instanceof FieldsError)) throw error;
      if (!this.#ended)
        this.#socket.write(goAwayFrame(error instanceof ProtocolError ? error.code : errorCodes.compression));
      this.#end(`the server breaks the protocol: ${error.message}`);
    }
  }

  #take(type: number, flags: number, id: number, payload: Buffer): void {
    if (this.#block !== undefined && (type !== frameTypes.continuation || id !== this.#block.stream)) {
      throw new ProtocolError(errorCodes.protocol, "a block of fields is interrupted");
    }
    switch (type) {
      case frameTypes.data:
        return this.#takeData(this.#streamOf(id), flags, payload);
      case frameTypes.headers:
        return this.#takeFields(id, flags, payload);
      case frameTypes.continuation:
        return this.#continue(flags, payload);
      case frameTypes.reset:
        return this.#takeReset(this.#streamOf(id), onlyNumber(payload));
      case frameTypes.settings:
        return this.#takeSettings(id, flags, payload);
      case frameTypes.ping:
        return this.#takePing(id, flags, payload);
      case frameTypes.goAway:
        return this.#takeGoAway(id, payload);
      case frameTypes.windowUpdate:
        return this.#takeWindow(id, onlyNumber(payload) & windowMax);
      case frameTypes.pushPromise:
        throw new ProtocolError(errorCodes.protocol, "a stream is pushed");
      default:
        // Section 4.1: unknown types are left alone.
        return;
    }
  }

  /** The stream a frame is of; undefined: it has ended. */
  #streamOf(id: number): OpenStream | undefined {
    const stream = this.#streams.get(id);
    if (stream !== undefined || (id % 2 === 1 && id < this.#nextId)) return stream;
    throw new ProtocolError(errorCodes.protocol, `a frame is of stream ${id}, which was not opened`);
  }

  #takeData(stream: OpenStream | undefined, flags: number, payload: Buffer): void {
    this.#taken += payload.length;
    if (2 * this.#taken >= connectionWindow) {
      this.#write(numberFrame(frameTypes.windowUpdate, 0, this.#taken));
      this.#taken = 0;
    }
    if (stream === undefined) return;
    stream.isBegun = true;
    stream.taken += payload.length;
    if (stream.taken > streamWindow) throw new ProtocolError(errorCodes.flowControl, "more is sent than was allowed");
    stream.events.data(unpadded(flags, payload, 0));
    if ((flags & flagEnd) !== 0) this.#finish(stream);
    else this.allow(stream);
  }

  #takeFields(id: number, flags: number, payload: Buffer): void {
    this.#streamOf(id);
    const ends = (flags & flagEnd) !== 0;
    const part = unpadded(flags, payload, (flags & flagPriority) === 0 ? 0 : 5);
    if ((flags & flagBlockEnd) !== 0) return this.#tellFields(id, ends, part);
    this.#block = { stream: id, parts: [part], bytes: part.length, ends };
  }

  #continue(flags: number, payload: Buffer): void {
    const block = this.#block;
    if (block === undefined)
      throw new ProtocolError(errorCodes.protocol, "a block of fields goes on that was not begun");
    // Empty ones, of which there may be any number, are not kept.
    if (payload.length > 0) block.parts.push(payload);
    block.bytes += payload.length;
    if (block.bytes > blockBytesMax) throw new ProtocolError(errorCodes.protocol, "a block of fields is too long");
    if ((flags & flagBlockEnd) === 0) return;
    this.#block = undefined;
    this.#tellFields(block.stream, block.ends, Buffer.concat(block.parts));
  }

  #tellFields(id: number, ends: boolean, block: Buffer): void {
    // Decoded in any case: the tables of both ends stay the same.
    const fields = this.#decoder.decode(block);
    const stream = this.#streams.get(id);
    if (stream === undefined) return;
    stream.isBegun = true;
    stream.events.fields(fields);
    if (ends) this.#finish(stream);
  }

  #finish(stream: OpenStream): void {
    if (!this.has(stream)) return;
    // The peer has answered before it has heard everything: the rest is of no use to it.
    if (!stream.ends || stream.unsent.length > 0) {
      this.#write(numberFrame(frameTypes.reset, stream.id, errorCodes.cancel));
    }
    this.#forget(stream);
    stream.events.ended();
  }

  #takeReset(stream: OpenStream | undefined, code: number): void {
    if (stream === undefined) return;
    this.#forget(stream);
    stream.events.failed({
      isUntouched: code === errorCodes.refused && !stream.isBegun,
      message: `the server ended the call with code ${code} of HTTP/2`,
    });
  }

  #takeSettings(id: number, flags: number, payload: Buffer): void {
    ofConnection(id);
    if ((flags & flagAck) !== 0) return;
    if (payload.length % 6 !== 0) throw new ProtocolError(errorCodes.frameSize, "settings of a wrong length");
    for (let at = 0; at < payload.length; at += 6) this.#set(payload.readUInt16BE(at), payload.readUInt32BE(at + 2));
    this.#answer(frame(frameTypes.settings, flagAck, 0, Buffer.alloc(0)));
    if (this.#ended || this.#isReady) return;
    this.#isReady = true;
    this.onReady();
  }

  #set(id: number, value: number): void {
    if (id === settingIds.streamsMax) {
      this.#streamsMax = value;
      this.onRoom();
    }
    if (id === settingIds.headerTableSize) this.#emptiesTable ||= value < tableBytesMax;
    if (id === settingIds.frameBytesMax) {
      if (value < frameBytesMax || value >= 2 ** 24) throw new ProtocolError(errorCodes.protocol, `frames of ${value}`);
      this.#frameBytesMax = value;
    }
    if (id !== settingIds.initialWindow) return;
    if (value > windowMax) throw new ProtocolError(errorCodes.flowControl, `a window of ${value} bytes`);
    const more = value - this.#firstWindow;
    this.#firstWindow = value;
    for (const stream of [...this.#streams.values()]) this.#widen(stream, more);
  }

  #takePing(id: number, flags: number, payload: Buffer): void {
    ofConnection(id);
    if (payload.length !== 8) throw new ProtocolError(errorCodes.frameSize, `a ping of ${payload.length} bytes`);
    if ((flags & flagAck) === 0) return this.#answer(frame(frameTypes.ping, flagAck, 0, payload));
    clearTimeout(this.#pinging);
    this.#pinging = undefined;
    if (this.#isDraining && !this.#ended) setTimeout(() => this.check(this.#checkMs), this.#checkMs).unref();
  }

  #takeGoAway(id: number, payload: Buffer): void {
    ofConnection(id);
    if (payload.length < 8) throw new ProtocolError(errorCodes.frameSize, "a frame is too short");
    const last = payload.readUInt32BE(0) & windowMax;
    this.#isDraining = true;
    const text = payload.toString("latin1", 8, 200).replaceAll(/[^ -~]/g, "");
    for (const stream of [...this.#streams.values()]) {
      if (stream.id <= last) continue;
      this.#forget(stream);
      stream.events.failed({
        isUntouched: !stream.isBegun,
        message: `the server takes no more calls ${text}`.trimEnd(),
      });
    }
    if (this.#streams.size === 0) this.#end("the server ends it");
    else this.onRoom();
  }

  #takeWindow(id: number, more: number): void {
    if (more === 0) throw new ProtocolError(errorCodes.protocol, "a window grows by nothing");
    if (id !== 0) {
      const stream = this.#streamOf(id);
      if (stream !== undefined) this.#widen(stream, more);
      return;
    }
    this.#window += more;
    if (this.#window > windowMax)
      throw new ProtocolError(errorCodes.flowControl, "the connection's window is too large");
    for (const stream of [...this.#held]) this.pump(stream);
  }

  #widen(stream: OpenStream, more: number): void {
    stream.window += more;
    if (stream.window > windowMax) throw new ProtocolError(errorCodes.flowControl, "a stream's window is too large");
    this.pump(stream);
  }

  #end(why: string): void {
    if (this.#ended) return;
    this.#ended = true;
    clearTimeout(this.#pinging);
    this.#socket.destroy();
    const streams = [...this.#streams.values()];
    this.#streams.clear();
    this.#held.clear();
    for (const { events } of streams) events.failed({ isUntouched: false, message: why });
    this.onEnd(why);
  }
}

/** The peer breaks a rule; the code it is told. */
class ProtocolError extends Error {
  override name = "ProtocolError";
  readonly code: number;
  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

function lengthOf(parts: readonly Uint8Array[]): number {
  let length = 0;
  for (const part of parts) length += part.length;
  return length;
}

/** A payload without what pads it; `before`: bytes that precede the content. */
function unpadded(flags: number, payload: Buffer, before: number): Buffer {
  const isPadded = (flags & flagPadded) !== 0;
  const padding = isPadded ? (payload[0] ?? 0) : 0;
  const from = (isPadded ? 1 : 0) + before;
  if (from + padding > payload.length)
    throw new ProtocolError(errorCodes.protocol, "a frame is shorter than its padding");
  return payload.subarray(from, payload.length - padding);
}

function ofConnection(id: number): void {
  if (id !== 0) throw new ProtocolError(errorCodes.protocol, `a frame of the connection is of stream ${id}`);
}

/** The number that is all of a payload. */
function onlyNumber(payload: Buffer): number {
  if (payload.length !== 4) throw new ProtocolError(errorCodes.frameSize, "a number has not four bytes");
  return payload.readUInt32BE(0);
}
