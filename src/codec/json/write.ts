// JSON text of strings and of generic documents, as Go's encoder writes them. @hot.
import { NumberText, type Value, type ValueMap } from "../../api/value.ts";
import { nativeMin } from "./longtext.ts";

/**
 * Characters Go escapes: quotes, backslash, controls (everything before space), and for HTML's sake `<`, `>`, `&`,
 * U+2028 and U+2029. Surrogates without their other half cannot be written at all.
 */
const special = /["\\<>&\u2028\u2029\ud800-\udfff]|[^ -\uffff]/;
const specials =
  /["\\<>&\u2028\u2029]|[^ -\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** Strings up to this length are looked through in JavaScript, longer ones by the pattern. */
const shortMax = 48;

/** Characters that JSON.stringify() writes differently from Go, and those Go escapes for HTML. */
const notNative = /[\b\f]|\p{Surrogate}/u;
const forHtml = /[<>&\u2028\u2029]/;

/** A JSON string, quotes included. */
export function quote(text: string): string {
  const { length } = text;
  if (length > shortMax) return special.test(text) ? quoteSpecial(text) : `"${text}"`;
  for (let index = 0; index < length; index += 1) {
    const code = text.charCodeAt(index);
    // Letters, digits and most punctuation leave by the first test.
    if (code >= 63 ? code === 92 || code > 0x2027 : code < 35 || code === 38 || code === 60 || code === 62) {
      if (code === 32 || code === 33) continue;
      return `"${text.replace(specials, escaped)}"`;
    }
  }
  return `"${text}"`;
}

/** A string that has something to escape, or surrogates. */
function quoteSpecial(text: string): string {
  if (text.length < nativeMin || notNative.test(text)) return `"${text.replace(specials, escaped)}"`;
  const json = JSON.stringify(text);
  return forHtml.test(text) ? json.replace(/[<>&\u2028\u2029]/g, escaped) : json;
}

function escaped(char: string): string {
  switch (char) {
    case '"':
      return '\\"';
    case "\\":
      return "\\\\";
    case "\n":
      return "\\n";
    case "\r":
      return "\\r";
    case "\t":
      return "\\t";
    default: {
      const code = char.charCodeAt(0);
      return code >= 0xd800 && code <= 0xdfff ? "\\ufffd" : `\\u${code.toString(16).padStart(4, "0")}`;
    }
  }
}

/** Orders strings by their UTF-8 bytes: JavaScript's order, except that surrogates come after U+FFFF. */
export function compareBytes(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index += 1) {
    const x = a.charCodeAt(index);
    const y = b.charCodeAt(index);
    if (x === y) continue;
    const isX = x >= 0xd800 && x <= 0xdfff;
    return isX === (y >= 0xd800 && y <= 0xdfff) ? x - y : isX ? 1 : -1;
  }
  return a.length - b.length;
}

const highUnit = /[\ud800-\uffff]/;

/** The keys of a map in the order of their UTF-8 bytes. */
export function sortedKeys(map: ReadonlyMap<string, unknown>): string[] {
  const keys = [...map.keys()];
  if (keys.length < 2) return keys;
  if (keys.some((key) => highUnit.test(key))) return keys.sort(compareBytes);
  return isAscending(keys) ? keys : keys.sort();
}

/** Values we wrote are in order already. */
function isAscending(keys: readonly string[]): boolean {
  for (let index = 1; index < keys.length; index += 1) {
    if ((keys[index - 1] as string) > (keys[index] as string)) return false;
  }
  return true;
}

/** A container being written: the document's depth is the client's, so the stack is ours. */
interface Frame {
  readonly entries: Iterator<[string, Value]> | undefined;
  readonly items: Iterator<Value> | undefined;
}

/** Compact JSON of a Value; strings escaped as upstream does (`<`, `>`, `&`, U+2028, U+2029 included). */
export function writeValue(value: Value): string {
  return write(value, frameOf);
}

/** The same, the keys of every object in the order of their bytes. */
export function writeSorted(value: Value): string {
  return write(value, sortedFrameOf);
}

function write(value: Value, frameOf: (value: ValueMap | Value[]) => Frame): string {
  if (!(value instanceof Map) && !Array.isArray(value)) return scalar(value);
  const frames: Frame[] = [frameOf(value)];
  let text = value instanceof Map ? "{" : "[";
  let first = true;
  for (let frame = frames[0]; frame !== undefined; frame = frames[frames.length - 1]) {
    const next = frame.entries?.next() ?? frame.items?.next();
    if (next === undefined || next.done === true) {
      text += frame.entries !== undefined ? "}" : "]";
      frames.pop();
      first = false;
      continue;
    }
    if (!first) text += ",";
    let item: Value;
    if (frame.entries !== undefined) {
      const [key, of] = next.value as [string, Value];
      text += `${quote(key)}:`;
      item = of;
    } else {
      item = next.value as Value;
    }
    const container = item instanceof Map || Array.isArray(item);
    if (container) {
      text += item instanceof Map ? "{" : "[";
      frames.push(frameOf(item as ValueMap | Value[]));
    } else {
      text += scalar(item as Exclude<Value, ValueMap | Value[]>);
    }
    first = container;
  }
  return text;
}

function sortedFrameOf(value: ValueMap | Value[]): Frame {
  if (!(value instanceof Map)) return { entries: undefined, items: value.values() };
  const keys = [...value.keys()];
  if (keys.every((key) => !highUnit.test(key)) && isAscending(keys)) return frameOf(value);
  const entries = sortedKeys(value).map((key): [string, Value] => [key, value.get(key) as Value]);
  return { entries: entries.values(), items: undefined };
}

function frameOf(value: ValueMap | Value[]): Frame {
  return value instanceof Map
    ? { entries: value.entries(), items: undefined }
    : { entries: undefined, items: value.values() };
}

function scalar(value: Exclude<Value, ValueMap | Value[]>): string {
  if (typeof value === "string") return quote(value);
  if (value instanceof NumberText) return value.text;
  return Object.is(value, -0) ? "-0" : String(value);
}
