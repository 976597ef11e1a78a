// YAML request bodies, as the reference reads them: the first document of YAML 1.1, turned into what JSON can say. The
// yaml package needs 26 s for three megabytes of `a: a: a: …` and overflows its stack on brackets, so the reader is
// ours: one pass, nesting on a stack of our own, aliases counted. A body that is JSON goes to the JSON reader.
//
//   frames   root ─ block map ─ block list ─ flow list …      each waits for a key, a value or nothing
//   tokens   move the top frame on, close frames (a smaller column, a bracket) or open new ones
import { isUtf8 } from "node:buffer";
import { quote } from "../../api/gotext.ts";
import type { Value, ValueMap } from "../../api/value.ts";
import { limits } from "../../config/limits.ts";
import { Fault, TooManyValues } from "../json/fault.ts";
import { parseIntegersOnly, textOf } from "../json/scan.ts";
import { keyText, scalarValue } from "./yamlscalar.ts";
import {
  isBlankOrEnd,
  isDocumentMark,
  scanBlock,
  scanName,
  scanPlain,
  scanQuoted,
  skipToBreak,
  skipToToken,
  textFault,
  YamlCursor,
} from "./yamltext.ts";

/** What a frame waits for. */
type Waiting = "node" | "key" | "colon" | "nothing";

/** A collection being read. */
interface Frame {
  readonly map: ValueMap | undefined;
  readonly list: Value[] | undefined;
  /** Column of a block collection; -1: a flow collection. */
  readonly indent: number;
  /** A block list as deep as the map whose value it is. */
  readonly indentless: boolean;
  /** `[a: b]`: a map of one pair, which ends with its value. */
  readonly single: boolean;
  readonly anchor: string | undefined;
  waiting: Waiting;
  key: string | undefined;
  merges: boolean;
}

/** Anchor and tag in front of a node. */
interface Properties {
  anchor: string | undefined;
  tag: string;
  readonly line: number;
  readonly column: number;
  readonly keyAllowed: boolean;
}

class Reading {
  readonly cursor: YamlCursor;
  readonly frames: Frame[] = [];
  /** Undefined while its node is being read. */
  readonly anchors = new Map<string, Value | undefined>();
  properties: Properties | undefined = undefined;
  /** Properties of a collection that starts on the next line, kept while its first key has some of its own. */
  outer: Properties | undefined = undefined;
  aliased = 0;
  root: Value = null;
  done = false;
  /** Keys that come twice are told here; undefined: nobody wants to know. */
  readonly duplicates: string[] | undefined;

  /** Nodes read so far, and how many there may be. */
  values = 0;
  readonly valuesMax: number;

  constructor(text: string, duplicates: string[] | undefined, valuesMax: number) {
    this.cursor = new YamlCursor(text);
    this.duplicates = duplicates;
    this.valuesMax = valuesMax;
  }

  get top(): Frame | undefined {
    return this.frames[this.frames.length - 1];
  }
}

/**
 * Parses one YAML document. Aliases, depth and size are bounded. Keys that come twice are added to `duplicates` in the
 * reference's words; the last of them wins.
 */
export function parseYaml(
  bytes: Uint8Array,
  duplicates?: string[],
  valuesMax = Number.POSITIVE_INFINITY,
): Value | Fault {
  if (!isUtf8(bytes)) return new Fault("yaml: invalid leading UTF-8 octet");
  const text = textOf(bytes);
  // A fraction may be spelled in ways YAML reads as an integer (`1.0`); such documents go the long way.
  const json = duplicates === undefined && /^\s*[{[]/.test(text) ? parseIntegersOnly(text, valuesMax) : undefined;
  if (json !== undefined) return json;
  // Everything but tab, line breaks and what is printable in Unicode.
  if (/[^\t\n\r -~\u0085\u00a0-\ufffd]/.test(text)) return new Fault("yaml: control characters are not allowed");
  return readDocument(new Reading(text, duplicates, valuesMax));
}

function readDocument(reading: Reading): Value | Fault {
  const { cursor } = reading;
  if (cursor.text.charCodeAt(0) === 0xfeff) {
    cursor.at = 1;
    cursor.lineStart = 1;
  }
  startDocument(reading);
  while (!reading.done && cursor.fault === undefined) {
    skipToToken(cursor);
    if (cursor.at >= cursor.text.length || isDocumentMark(cursor)) {
      endDocument(reading);
      break;
    }
    readToken(reading);
  }
  return cursor.fault ?? reading.root;
}

/** Directives and the first `---`. */
function startDocument(reading: Reading): void {
  const { cursor } = reading;
  for (;;) {
    skipToToken(cursor);
    if (cursor.text.charAt(cursor.at) !== "%" || cursor.column !== 0) break;
    skipToBreak(cursor);
  }
  if (isDocumentMark(cursor) && cursor.text.charAt(cursor.at) === "-") {
    cursor.at += 3;
    cursor.keyAllowed = false;
  }
}

function endDocument(reading: Reading): void {
  const { cursor } = reading;
  // The end stands on a line of its own.
  const line = cursor.column > 0 ? cursor.line + 1 : cursor.line;
  const { top } = reading;
  if (top !== undefined && top.indent < 0) return refuseNode(reading, top, line);
  unroll(reading, -1);
  if (!reading.done && reading.frames.length === 0) complete(reading, null);
}

/** A fault of structure; the reference counts such lines from zero. */
function fail(reading: Reading, message: string, line = reading.cursor.line): void {
  reading.cursor.fault ??= new Fault(`yaml: ${line > 0 ? `line ${line}: ` : ""}${message}`);
}

/** What is missing where `frame` cannot go on. */
function refuseNode(reading: Reading, frame: Frame, line?: number): void {
  if (frame.indent >= 0) return fail(reading, `did not find expected ${frame.map ? "key" : "'-' indicator"}`, line);
  if (frame.waiting === "node" || frame.waiting === "key")
    return fail(reading, "did not find expected node content", line);
  fail(reading, `did not find expected ',' or '${frame.map ? "}" : "]"}'`, line);
}

function readToken(reading: Reading): void {
  const { cursor } = reading;
  if (cursor.flow === 0) unroll(reading, cursor.column);
  const sign = cursor.text.charAt(cursor.at);
  const spaced = isBlankOrEnd(cursor.text.charCodeAt(cursor.at + 1));
  switch (sign) {
    case "-":
      return spaced ? readEntry(reading) : readScalar(reading, sign);
    case "?":
      return spaced ? readExplicitKey(reading) : readScalar(reading, sign);
    case ":":
      return spaced || cursor.flow > 0 ? readColon(reading) : readScalar(reading, sign);
    case "[":
    case "{":
      return openFlow(reading, sign);
    case "]":
    case "}":
      return closeFlow(reading, sign);
    case ",":
      return readComma(reading);
    case "&":
    case "!":
      return readProperty(reading, sign);
    default:
      return readScalar(reading, sign);
  }
}

/** Closes the block collections that are indented deeper than `column`. */
function unroll(reading: Reading, column: number): void {
  for (let { top } = reading; top !== undefined && top.indent > column; { top } = reading) close(reading);
}

function push(reading: Reading, frame: Pick<Frame, "map" | "list" | "indent" | "waiting"> & Partial<Frame>): void {
  if (reading.frames.length >= limits.depthMax) return fail(reading, `exceeded max depth of ${limits.depthMax}`);
  const properties = reading.outer ?? reading.properties;
  const anchor = frame.anchor ?? properties?.anchor;
  if (reading.outer !== undefined) reading.outer = undefined;
  else reading.properties = undefined;
  if (anchor !== undefined) reading.anchors.set(anchor, undefined);
  reading.frames.push({ indentless: false, single: false, key: undefined, merges: false, ...frame, anchor });
}

/** Ends the collection on top: what it waits for is null. */
function close(reading: Reading): void {
  const frame = reading.top;
  if (frame === undefined) return;
  // A flow list may end with a comma; everywhere else something is missing.
  const dangling = frame.waiting === "node" ? frame.list === undefined || frame.indent >= 0 : frame.waiting === "colon";
  if (dangling) complete(reading, null, frame.waiting === "colon");
  if (frame.waiting === "key" && frame.indent >= 0) fail(reading, "unsupported map key of type: nil");
  reading.frames.pop();
  if (frame.anchor !== undefined) reading.anchors.set(frame.anchor, frame.map ?? frame.list ?? null);
  place(reading, frame.map ?? frame.list ?? null, false);
}

/** A node that is no collection is there: its properties are spent on it. `skipColon`: it is a value all the same. */
function complete(reading: Reading, value: Value, skipColon = false): void {
  const anchor = reading.properties?.anchor;
  if (anchor !== undefined) reading.anchors.set(anchor, value);
  reading.properties = undefined;
  if (skipColon && reading.top !== undefined) reading.top.waiting = "node";
  place(reading, value, false);
}

/** Puts a node where the top frame waits for one. `merges`: it is a plain `<<`. */
function place(reading: Reading, value: Value, merges: boolean): void {
  const frame = reading.top;
  countValues(reading, 1);
  if (frame === undefined) {
    reading.root = value;
    reading.done = true;
  } else if (frame.list !== undefined) {
    frame.list.push(value);
    frame.waiting = "nothing";
  } else if (frame.waiting === "key") {
    setKey(reading, frame, value, merges);
    frame.waiting = "colon";
  } else {
    setValue(reading, frame, value);
    frame.waiting = "nothing";
  }
}

function countValues(reading: Reading, count: number): void {
  reading.values += count;
  if (reading.values > reading.valuesMax) reading.cursor.fault ??= new TooManyValues(reading.valuesMax);
}

function setKey(reading: Reading, frame: Frame, value: Value, merges: boolean): void {
  const text = keyText(value);
  if (text === undefined) {
    const kind = value === null ? "nil" : value instanceof Map ? "map" : "list";
    reading.cursor.fault ??= new Fault(`yaml: unsupported map key of type: ${kind}`);
  }
  frame.key = text;
  frame.merges = merges;
  const { duplicates, cursor } = reading;
  if (duplicates === undefined || text === undefined || merges || frame.map?.has(text) !== true) return;
  if (duplicates.length < limits.fieldErrorsMax) {
    duplicates.push(`line ${cursor.line + 1}: key ${quote(text)} already set in map`);
  }
}

function setValue(reading: Reading, frame: Frame, value: Value): void {
  const { map, key } = frame;
  if (map === undefined || key === undefined) return;
  if (!frame.merges) {
    map.set(key, value);
    return;
  }
  // The keys of these maps; of a list of maps the first wins.
  for (const from of Array.isArray(value) ? value.toReversed() : [value]) {
    if (from instanceof Map) {
      // The keys of one map may be merged into many.
      countValues(reading, from.size);
      if (reading.cursor.fault !== undefined) return;
      for (const [name, item] of from) map.set(name, item);
    } else reading.cursor.fault ??= new Fault("yaml: map merge requires map or sequence of maps as the value");
  }
}

/** `- `: an item of a block list. */
function readEntry(reading: Reading): void {
  const { cursor } = reading;
  const { column } = cursor;
  if (cursor.flow > 0 || !cursor.keyAllowed) {
    return void textFault(cursor, "block sequence entries are not allowed in this context");
  }
  let { top } = reading;
  if (top === undefined || top.indent < column || (top.map !== undefined && top.indent === column)) {
    const indentless = top !== undefined && top.indent === column;
    if (top !== undefined && top.waiting !== "node" && !(top.waiting === "key" && !indentless))
      return refuseNode(reading, top);
    push(reading, { map: undefined, list: [], indent: column, indentless, waiting: "nothing" });
    ({ top } = reading);
  }
  if (top?.list === undefined) return;
  if (top.waiting === "node") complete(reading, null);
  top.waiting = "node";
  cursor.at += 1;
  cursor.keyAllowed = true;
}

/** A key of a block map starts at `column`: finds or opens the map. */
function enterMap(reading: Reading, column: number): Frame | undefined {
  let { top } = reading;
  if (top?.indentless === true && top.indent === column) {
    close(reading);
    ({ top } = reading);
  }
  if (top === undefined || top.indent < column) {
    if (top !== undefined && top.waiting !== "node" && top.waiting !== "key") {
      refuseNode(reading, top);
      return undefined;
    }
    push(reading, { map: new Map(), list: undefined, indent: column, waiting: "nothing" });
    return reading.top;
  }
  if (top.map === undefined) {
    refuseNode(reading, top);
    return undefined;
  }
  if (top.waiting === "node" || top.waiting === "colon") complete(reading, null, top.waiting === "colon");
  return top;
}

/** `? `: a key of a block map that may be anything; in a flow map it says nothing. */
function readExplicitKey(reading: Reading): void {
  const { cursor } = reading;
  if (cursor.flow === 0) {
    if (!cursor.keyAllowed) return void textFault(cursor, "mapping keys are not allowed in this context");
    const frame = enterMap(reading, cursor.column);
    if (frame !== undefined) frame.waiting = "key";
  }
  cursor.at += 1;
  cursor.keyAllowed = true;
}

/** A colon that does not follow a key on its line. */
function readColon(reading: Reading): void {
  const { cursor } = reading;
  const { top } = reading;
  cursor.at += 1;
  if (top !== undefined && top.waiting === "colon") {
    top.waiting = "node";
    cursor.keyAllowed = cursor.flow === 0;
  } else if (top?.list !== undefined && top.indent < 0 && top.waiting === "nothing") {
    // `[a: b]`: the item just read is the key of a map of its own.
    const key = top.list.pop() ?? null;
    top.waiting = "node";
    push(reading, { map: new Map(), list: undefined, indent: -1, single: true, waiting: "node" });
    if (reading.top !== undefined) setKey(reading, reading.top, key, false);
  } else if (cursor.flow === 0) {
    textFault(cursor, "mapping values are not allowed in this context");
  } else if (top !== undefined) {
    refuseNode(reading, top);
  }
}

function openFlow(reading: Reading, sign: "[" | "{"): void {
  const { cursor } = reading;
  const { top } = reading;
  if (top !== undefined && top.waiting !== "node" && top.waiting !== "key") return refuseNode(reading, top);
  if (cursor.flow === 0 && top?.indent === cursor.column) return void textFault(cursor, "could not find expected ':'");
  if (sign === "[") push(reading, { map: undefined, list: [], indent: -1, waiting: "node" });
  else push(reading, { map: new Map(), list: undefined, indent: -1, waiting: "key" });
  cursor.at += 1;
  cursor.flow += 1;
}

/** The innermost flow collection, a map of one pair (`[a: b]`) closed; undefined, and a fault, outside of one. */
function flowTop(reading: Reading): Frame | undefined {
  if (reading.top?.single === true) close(reading);
  const { top } = reading;
  if (top !== undefined && top.indent < 0) return top;
  fail(reading, "did not find expected node content");
  return undefined;
}

function closeFlow(reading: Reading, sign: "]" | "}"): void {
  const { cursor } = reading;
  const top = flowTop(reading);
  if (top === undefined) return;
  if ((top.map === undefined) !== (sign === "]")) return refuseNode(reading, top);
  cursor.at += 1;
  cursor.flow -= 1;
  cursor.keyAllowed = false;
  if (top.waiting === "node" && top.list !== undefined && reading.properties !== undefined) complete(reading, null);
  close(reading);
  if (cursor.flow === 0 && isKeyEnd(cursor)) fail(reading, "invalid map key");
}

/** A colon follows that makes a key of what stands before it. */
function isKeyEnd(cursor: YamlCursor): boolean {
  let { at } = cursor;
  while (cursor.text.charCodeAt(at) === 32 || cursor.text.charCodeAt(at) === 9) at += 1;
  return cursor.text.charCodeAt(at) === 58 && isBlankOrEnd(cursor.text.charCodeAt(at + 1));
}

function readComma(reading: Reading): void {
  const { cursor } = reading;
  const top = flowTop(reading);
  if (top === undefined) return;
  if (top.map !== undefined && (top.waiting === "node" || top.waiting === "colon")) {
    complete(reading, null, top.waiting === "colon");
  } else if (top.waiting !== "nothing") {
    return refuseNode(reading, top);
  }
  top.waiting = top.map === undefined ? "node" : "key";
  cursor.at += 1;
}

/** `&anchor` or `!tag`. */
function readProperty(reading: Reading, sign: "&" | "!"): void {
  const { cursor } = reading;
  const { line, column, keyAllowed } = cursor;
  if (reading.properties !== undefined && reading.properties.line !== line) {
    reading.outer = reading.properties;
    reading.properties = undefined;
  }
  const properties = (reading.properties ??= { anchor: undefined, tag: "", line, column, keyAllowed });
  cursor.at += 1;
  const name = scanName(cursor);
  cursor.keyAllowed = false;
  if (sign === "!") {
    properties.tag = `!${name}`;
  } else if (!/^[\w-]+$/.test(name)) {
    textFault(cursor, "did not find expected alphabetic or numeric character");
  } else {
    properties.anchor = name;
  }
}

/** A scalar or an alias: a key if a colon follows on its line, else a node. */
function readScalar(reading: Reading, sign: string): void {
  const { cursor } = reading;
  const { line, at } = cursor;
  const own = reading.properties?.line === line ? reading.properties : undefined;
  const column = own?.column ?? cursor.column;
  const keyAllowed = own?.keyAllowed ?? cursor.keyAllowed;
  const value = scanNode(reading, sign);
  if (cursor.fault !== undefined) return;
  const merges = sign === "<" && value === "<<" && own === undefined;
  const isBlock = sign === "|" || sign === ">";
  if (cursor.flow === 0 && !isBlock && cursor.line === line && cursor.at - at <= keyLengthMax && isKeyEnd(cursor)) {
    if (!keyAllowed) return void textFault(cursor, "mapping values are not allowed in this context");
    return readKey(reading, value, column, own, merges);
  }
  const { top } = reading;
  if (cursor.flow === 0 && top !== undefined && top.indent === column && !isBlock) {
    return void textFault(cursor, "could not find expected ':'");
  }
  if (top !== undefined && top.waiting !== "node" && top.waiting !== "key") return refuseNode(reading, top, line);
  const anchor = reading.properties?.anchor;
  if (anchor !== undefined) reading.anchors.set(anchor, value);
  reading.properties = undefined;
  place(reading, value, merges);
}

/** Characters a key without `?` may have, by the language's rules. */
const keyLengthMax = 1024;

/** The key of a block map, and the colon after it. */
function readKey(reading: Reading, value: Value, column: number, own: Properties | undefined, merges: boolean): void {
  const { cursor } = reading;
  if (own !== undefined) {
    // They are the key's; what the map has of its own stood on an earlier line.
    reading.properties = reading.outer;
    reading.outer = undefined;
    if (own.anchor !== undefined) reading.anchors.set(own.anchor, value);
  }
  const frame = enterMap(reading, column);
  if (frame === undefined) return;
  setKey(reading, frame, value, merges);
  frame.waiting = "node";
  cursor.at = cursor.text.indexOf(":", cursor.at) + 1;
  cursor.keyAllowed = false;
}

/** The value of the scalar or alias at the cursor. */
function scanNode(reading: Reading, sign: string): Value {
  const { cursor } = reading;
  const indent = reading.top?.indent ?? -1;
  if (sign === "*") return scanAlias(reading);
  if (sign === "|" || sign === ">") {
    if (cursor.flow > 0) return textFault(cursor, "found character that cannot start any token");
    return resolve(reading, scanBlock(cursor, indent), false);
  }
  if (sign === '"' || sign === "'") return resolve(reading, scanQuoted(cursor), false);
  if (/[\s#%@`]/.test(sign)) return textFault(cursor, "found character that cannot start any token");
  const text = scanPlain(cursor, indent + 1);
  return resolve(reading, text, true);
}

function resolve(reading: Reading, text: string, plain: boolean): Value {
  const value = scalarValue(text, reading.properties?.tag ?? "", plain);
  if (!(value instanceof Fault)) return value;
  reading.cursor.fault ??= value;
  return null;
}

/** An alias is its node once more: values are changed in place later, so nothing may be shared. */
function scanAlias(reading: Reading): Value {
  const { cursor } = reading;
  cursor.at += 1;
  const name = scanName(cursor);
  cursor.keyAllowed = false;
  const value = reading.anchors.get(name);
  if (value !== undefined) return copy(reading, value, 0);
  const known = reading.anchors.has(name);
  const fault = known ? `anchor '${name}' value contains itself` : `unknown anchor '${name}' referenced`;
  cursor.fault ??= new Fault(`yaml: ${fault}`);
  return null;
}

function copy(reading: Reading, value: Value, depth: number): Value {
  reading.aliased += 1;
  if (reading.aliased > limits.yamlAliasedNodesMax || depth > limits.messageDepthMax) {
    reading.cursor.fault ??= new Fault("yaml: document contains excessive aliasing");
    return null;
  }
  if (Array.isArray(value)) {
    const list: Value[] = [];
    for (const item of value) {
      if (reading.cursor.fault !== undefined) break;
      list.push(copy(reading, item, depth + 1));
    }
    return list;
  }
  if (!(value instanceof Map)) return value;
  const map: ValueMap = new Map();
  for (const [key, item] of value) {
    if (reading.cursor.fault !== undefined) break;
    map.set(key, copy(reading, item, depth + 1));
  }
  return map;
}
