// The JSON reader. @hot: every body and every stored object that is decoded passes here.
// Bytes become one string (ASCII without a copy per value), which is scanned once; nesting is kept on a stack of our own,
// so depth costs memory and never the thread's stack. Strict as Go's reader, with its error texts.
//
// Bytes that are no UTF-8 become U+FFFD, one for each byte, as Go has it; so do escapes of lone surrogates.
import { isAscii, isUtf8 } from "node:buffer";
import { NumberText, type Value, type ValueMap } from "../../api/value.ts";
import { limits } from "../../config/limits.ts";
import { Fault, TooManyValues } from "./fault.ts";
import { loneSurrogate, nativeMin, readQuoted } from "./longtext.ts";
import { endOfRaw, recall, remember } from "./remembered.ts";

/**
 * Parses one JSON document; duplicate keys: the last one wins. `valuesMax`: of how many values at most, for documents
 * that clients sent; TooManyValues beyond.
 */
export function parseJson(bytes: Uint8Array, valuesMax = Number.POSITIVE_INFINITY): Value | Fault {
  const reader = new Reader(textOf(bytes), true, valuesMax);
  const value = readDocument(reader);
  return reader.fault ?? value;
}

/** The text of UTF-8 bytes, each bad byte replaced by U+FFFD. */
export function textOf(bytes: Uint8Array): string {
  const buffer = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (isAscii(buffer)) return buffer.toString("latin1");
  if (isUtf8(buffer)) return buffer.toString();
  return repaired(buffer).toString();
}

/** Go replaces each byte that belongs to no valid sequence; decoders of the web replace runs of them. */
function repaired(bytes: Uint8Array): Buffer {
  const out = Buffer.allocUnsafe(bytes.length * 3);
  let length = 0;
  for (let at = 0; at < bytes.length; ) {
    const width = sequenceAt(bytes, at);
    if (width === 0) {
      out[length] = 0xef;
      out[length + 1] = 0xbf;
      out[length + 2] = 0xbd;
      length += 3;
      at += 1;
    } else {
      for (const end = at + width; at < end; at += 1) out[length++] = bytes[at] ?? 0;
    }
  }
  return out.subarray(0, length);
}

/** Bytes of the valid UTF-8 sequence at `at`, 0 if there is none (overlong forms and surrogates are not valid). */
function sequenceAt(bytes: Uint8Array, at: number): number {
  const lead = bytes[at] ?? 0;
  if (lead < 0x80) return 1;
  const width =
    lead >= 0xc2 && lead <= 0xdf ? 2 : lead >= 0xe0 && lead <= 0xef ? 3 : lead >= 0xf0 && lead <= 0xf4 ? 4 : 0;
  if (width === 0 || at + width > bytes.length) return 0;
  const second = bytes[at + 1] ?? 0;
  const low = lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80;
  const high = lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf;
  if (second < low || second > high) return 0;
  for (let next = at + 2; next < at + width; next += 1) {
    if (((bytes[next] ?? 0) & 0xc0) !== 0x80) return 0;
  }
  return width;
}

/** Where the reader is in a text. */
class Reader {
  readonly text: string;
  at = 0;
  /** The container just opened was empty, and its end has been read. */
  empty = false;
  /** A number was not written as an integer. */
  fractions = false;
  fault: Fault | undefined = undefined;
  /** Raw JSON in it is cached, except raw JSON within raw JSON. */
  readonly remembers: boolean;
  readonly valuesMax: number;
  readonly depthMax: number;

  constructor(
    text: string,
    remembers = true,
    valuesMax = Number.POSITIVE_INFINITY,
    depthMax: number = limits.depthMax,
  ) {
    this.text = text;
    this.remembers = remembers;
    this.valuesMax = valuesMax;
    this.depthMax = depthMax;
  }
}

/** Parses one JSON document from text. */
export function parseText(text: string): Value | Fault {
  const reader = new Reader(text);
  const value = readDocument(reader);
  return reader.fault ?? value;
}

/**
 * Parses a document the server wrote itself. A client's document may nest to the limit, and is some levels deeper in
 * an answer, an event or an object: a document that was accepted is never rejected for its depth later.
 */
export function parseOwn(text: string): Value | Fault {
  const reader = new Reader(text, true, Number.POSITIVE_INFINITY, limits.depthMax + limits.ownDepthMax);
  const value = readDocument(reader);
  return reader.fault ?? value;
}

/**
 * The document if it is JSON and all of its numbers are integers; undefined otherwise, TooManyValues for one that began
 * as JSON and has more than `valuesMax`.
 */
export function parseIntegersOnly(text: string, valuesMax: number): Value | TooManyValues | undefined {
  const reader = new Reader(text, true, valuesMax);
  const value = readDocument(reader);
  if (reader.fault instanceof TooManyValues) return reader.fault;
  return reader.fault === undefined && !reader.fractions ? value : undefined;
}

/** The reader's innermost container, and the key of its next value. */
interface Frame {
  readonly map: ValueMap | undefined;
  readonly list: Value[] | undefined;
  key: string;
}

function readDocument(reader: Reader): Value {
  const { text, valuesMax } = reader;
  const frames: Frame[] = [];
  let frame: Frame | undefined;
  for (let count = 1; ; count += 1) {
    if (count > valuesMax) {
      reader.fault = new TooManyValues(valuesMax);
      return null;
    }
    const lead = skipSpace(reader);
    let value: Value = null;
    const known = lead === 123 && frames.length === rawDepth && frame?.key === rawKey ? readRaw(reader) : undefined;
    if (known !== undefined) {
      value = known;
    } else if (lead === 123 || lead === 91) {
      if (frames.length >= reader.depthMax) return stop(reader, "exceeded max depth");
      reader.at += 1;
      const opened = open(reader, lead === 123);
      if (reader.fault !== undefined) return null;
      if (!reader.empty) {
        frames.push(opened);
        frame = opened;
        continue;
      }
      value = opened.map ?? opened.list ?? null;
    } else {
      value = lead === 34 ? readString(reader) : readScalar(reader, lead);
      if (reader.fault !== undefined) return null;
    }
    // The value is complete; so may be containers around it.
    for (;;) {
      if (frame === undefined) {
        skipSpace(reader);
        return reader.at < text.length ? stop(reader, "after top-level value") : value;
      }
      if (frame.map !== undefined) frame.map.set(frame.key, value);
      else frame.list?.push(value);
      const after = skipSpace(reader);
      if (after === 44) {
        reader.at += 1;
        if (frame.map !== undefined) frame.key = readKey(reader);
        if (reader.fault !== undefined) return null;
        break;
      }
      if (after !== (frame.map !== undefined ? 125 : 93)) {
        return stop(reader, frame.map !== undefined ? "after object key:value pair" : "after array element");
      }
      reader.at += 1;
      value = frame.map ?? frame.list ?? null;
      frames.pop();
      frame = frames[frames.length - 1];
    }
  }
}

/** The path of fieldsV1 in objects: metadata, managedFields, an entry, fieldsV1. */
const rawDepth = 4;
const rawKey = "fieldsV1";

/** An object of raw JSON that was read before, or is remembered from now on; undefined: it is to be read as any other. */
function readRaw(reader: Reader): ValueMap | undefined {
  const { text, at } = reader;
  const end = reader.remembers ? endOfRaw(text, at) : -1;
  if (end < 0) return undefined;
  const raw = text.substring(at, end);
  let value = recall(raw);
  if (value === undefined) {
    const inner = new Reader(raw, false);
    const read = readDocument(inner);
    if (inner.fault !== undefined || inner.fractions || !(read instanceof Map)) return undefined;
    remember(raw, read);
    value = read;
  }
  reader.at = end;
  return value;
}

/** Enters a container: reads its first key, or finds it empty. */
function open(reader: Reader, isMap: boolean): Frame {
  const frame: Frame = { map: isMap ? new Map() : undefined, list: isMap ? undefined : [], key: "" };
  reader.empty = skipSpace(reader) === (isMap ? 125 : 93);
  if (reader.empty) reader.at += 1;
  else if (isMap) frame.key = readKey(reader);
  return frame;
}

/** Skips white space and returns the character code after it, NaN at the end. */
function skipSpace(reader: Reader): number {
  const { text } = reader;
  let at = reader.at;
  let code = text.charCodeAt(at);
  while (code === 32 || code === 10 || code === 13 || code === 9) code = text.charCodeAt((at += 1));
  reader.at = at;
  return code;
}

/** A key and the colon after it. */
function readKey(reader: Reader): string {
  if (skipSpace(reader) !== 34) {
    stop(reader, "looking for beginning of object key string");
    return "";
  }
  const key = readString(reader);
  if (reader.fault !== undefined) return "";
  if (skipSpace(reader) !== 58) stop(reader, "after object key");
  reader.at += 1;
  return key;
}

function readString(reader: Reader): string {
  const { text } = reader;
  const start = reader.at + 1;
  const end = plainEnd(text, start);
  if (text.charCodeAt(end) !== 34) return readEscaped(reader, start, end);
  reader.at = end + 1;
  return text.substring(start, end);
}

/**
 * Where a run of unescaped characters ends. A loop with nothing else in it: while a long string is
 * read it may be compiled before anything that follows it ever ran, and V8 would then fall out of that code at the end
 * of every string from there on.
 */
function plainEnd(text: string, from: number): number {
  let at = from;
  for (;;) {
    const code = text.charCodeAt(at);
    // NaN, the end, is not at least 32 either.
    if (code === 34 || code === 92 || !(code >= 32)) return at;
    at += 1;
  }
}

const escapes: Readonly<Record<string, string>> = {
  '"': '"',
  "\\": "\\",
  "/": "/",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
};

/** A long string, by native code; undefined: it has a fault, which the slow reader reports. */
function readNative(reader: Reader, start: number, end: number): string | undefined {
  const value = readQuoted(reader.text.substring(start - 1, end + 1));
  if (value !== undefined) reader.at = end + 1;
  return value;
}

/** The quote that ends a string, from one of its escapes on; the end of the text where there is none. */
function quoteAfter(text: string, first: number): number {
  let at = first;
  for (; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 34) return at;
    if (code === 92) at += 1;
  }
  return text.length;
}

/** A string whose first escape (or fault) is at `first`. */
function readEscaped(reader: Reader, start: number, first: number): string {
  const { text } = reader;
  const end = quoteAfter(text, first);
  const native = end - start < nativeMin ? undefined : readNative(reader, start, end);
  if (native !== undefined) return native;
  let value = "";
  let from = start;
  let at = first;
  let surrogates = false;
  while (text.charCodeAt(at) === 92) {
    value += text.substring(from, at);
    const letter = text.charAt(at + 1);
    if (letter === "u") {
      const unit = readUnit(reader, at + 2);
      if (unit < 0) return "";
      surrogates ||= unit >= 0xd800 && unit <= 0xdfff;
      value += String.fromCharCode(unit);
      at += 6;
    } else {
      const char = escapes[letter];
      if (char === undefined) return stopString(reader, at + 1, "in string escape code");
      value += char;
      at += 2;
    }
    from = at;
    at = plainEnd(text, at);
  }
  if (text.charCodeAt(at) !== 34) return stopString(reader, at, "in string literal");
  reader.at = at + 1;
  value += text.substring(from, at);
  return surrogates ? value.replace(loneSurrogate, "\ufffd") : value;
}

function stopString(reader: Reader, at: number, context: string): string {
  stopAt(reader, at, context);
  return "";
}

/** The four hexadecimal digits of an escape; -1 after a fault. */
function readUnit(reader: Reader, at: number): number {
  let unit = 0;
  for (let index = at; index < at + 4; index += 1) {
    const code = reader.text.charCodeAt(index);
    const digit =
      code >= 48 && code <= 57
        ? code - 48
        : code >= 97 && code <= 102
          ? code - 87
          : code >= 65 && code <= 70
            ? code - 55
            : -1;
    if (digit < 0) {
      reader.at = index;
      stop(reader, "in \\u hexadecimal character escape");
      return -1;
    }
    unit = unit * 16 + digit;
  }
  return unit;
}

/** A literal or a number. */
function readScalar(reader: Reader, lead: number): Value {
  if (lead === 45 || (lead >= 48 && lead <= 57)) return readNumber(reader, lead);
  if (lead === 116) return readWord(reader, "true", true);
  if (lead === 102) return readWord(reader, "false", false);
  if (lead === 110) return readWord(reader, "null", null);
  return stop(reader, "looking for beginning of value");
}

function readWord(reader: Reader, word: string, value: Value): Value {
  if (reader.text.startsWith(word, reader.at)) {
    reader.at += word.length;
    return value;
  }
  let same = 1;
  while (reader.text[reader.at + same] === word[same]) same += 1;
  reader.at += same;
  return stop(reader, `in literal ${word} (expecting '${word[same]}')`);
}

function readNumber(reader: Reader, lead: number): Value {
  const { text } = reader;
  const start = reader.at;
  const negative = lead === 45;
  let at = negative ? start + 1 : start;
  let code = text.charCodeAt(at);
  let value = 0;
  if (code === 48) {
    code = text.charCodeAt((at += 1));
  } else {
    if (!(code >= 49 && code <= 57)) return stopAt(reader, at, "in numeric literal");
    do {
      value = value * 10 + (code - 48);
      code = text.charCodeAt((at += 1));
    } while (code >= 48 && code <= 57);
  }
  const end = at;
  if (code === 46) {
    code = text.charCodeAt((at += 1));
    if (!(code >= 48 && code <= 57)) return stopAt(reader, at, "after decimal point in numeric literal");
    while (code >= 48 && code <= 57) code = text.charCodeAt((at += 1));
  }
  if (code === 101 || code === 69) {
    code = text.charCodeAt((at += 1));
    if (code === 43 || code === 45) code = text.charCodeAt((at += 1));
    if (!(code >= 48 && code <= 57)) return stopAt(reader, at, "in exponent of numeric literal");
    while (code >= 48 && code <= 57) code = text.charCodeAt((at += 1));
  }
  reader.at = at;
  if (at !== end) {
    reader.fractions = true;
    return new NumberText(text.substring(start, at));
  }
  if (Number.isSafeInteger(value)) return negative ? -value : value;
  // A megabyte of digits is a number in JSON but in no type: its text is enough for the resulting error.
  if (end - start > integerDigitsMax) return new NumberText(text.substring(start, at));
  return BigInt(text.substring(start, at));
}

/** Longer integers fit no type; they stay text. */
const integerDigitsMax = 40;

function stopAt(reader: Reader, at: number, context: string): null {
  reader.at = at;
  return stop(reader, context);
}

/** Records the fault at the reader's place. */
function stop(reader: Reader, context: string): null {
  const code = reader.text.codePointAt(reader.at);
  reader.fault ??= new Fault(
    code === undefined ? "unexpected end of JSON input" : `invalid character ${quoted(code)} ${context}`,
  );
  return null;
}

/** A character as Go's scanner prints it: it sees the first byte only. */
function quoted(code: number): string {
  const byte = code < 0x80 ? code : (Buffer.from(String.fromCodePoint(code))[0] ?? 0xef);
  if (byte === 39) return "'\\''";
  if (byte === 92) return "'\\\\'";
  const short = { 7: "\\a", 8: "\\b", 9: "\\t", 10: "\\n", 11: "\\v", 12: "\\f", 13: "\\r" }[byte];
  if (short !== undefined) return `'${short}'`;
  if (byte < 32 || byte === 127) return `'\\x${byte.toString(16).padStart(2, "0")}'`;
  return `'${String.fromCharCode(byte)}'`;
}
