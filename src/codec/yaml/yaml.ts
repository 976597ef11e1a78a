// YAML request bodies as upstream reads them: the first document of YAML 1.1, as JSON values. One pass
// with a stack of its own; no library reads what upstream reads (DECISIONS 78). JSON goes to the JSON reader.
//
//   frames   root ─ block map ─ block list ─ flow list …      each waits for a key, a value or nothing
//   tokens   move the top frame on, close frames (a smaller column, a bracket) or open new ones
import { isUtf8 } from "node:buffer";
import { quote } from "../../api/gotext.ts";
import type { Value, ValueMap } from "../../api/value.ts";
import { limits } from "../../config/limits.ts";
import { Fault, TooManyValues } from "../json/fault.ts";
import { parseIntegersOnly, textOf } from "../json/scan.ts";
import { keyText, scalarValue } from "./scalar.ts";
import {
  Cursor,
  isBlankOrEnd,
  isDocumentMark,
  scanBlock,
  scanName,
  scanPlain,
  scanQuoted,
  skipToBreak,
  skipToToken,
  textFault,
} from "./scanner.ts";

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
  waiting: "node" | "key" | "colon" | "nothing";
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

class Reader extends Cursor {
  readonly frames: Frame[] = [];
  /** Undefined while its node is being read. */
  readonly anchors = new Map<string, Value | undefined>();
  properties: Properties | undefined = undefined;
  /** Properties of a collection that starts on the next line, kept while its first key has some of its own. */
  outer: Properties | undefined = undefined;
  root: Value = null;
  done = false;
  /** Nodes read so far, those made by aliases, and how many there may be. */
  values = 0;
  aliased = 0;
  readonly valuesMax: number;
  /** Receives a line for each key that comes twice. */
  readonly duplicates: string[] | undefined;

  constructor(text: string, duplicates: string[] | undefined, valuesMax: number) {
    super(text);
    this.duplicates = duplicates;
    this.valuesMax = valuesMax;
  }

  get top(): Frame | undefined {
    return this.frames[this.frames.length - 1];
  }
}

/**
 * Parses one YAML document. Aliases, depth and size are bounded. Keys that come twice are added to `duplicates` in
 * upstream's words; the last of them wins.
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
  // Everything but tab, line breaks and printable Unicode.
  if (/[^\t\n\r -~\u0085\u00a0-\ufffd]/.test(text)) return new Fault("yaml: control characters are not allowed");
  return readDocument(new Reader(text, duplicates, valuesMax));
}

function readDocument(reader: Reader): Value | Fault {
  if (reader.code === 0xfeff) {
    reader.at = 1;
    reader.lineStart = 1;
  }
  startDocument(reader);
  while (!reader.done && reader.fault === undefined) {
    skipToToken(reader);
    if (reader.at >= reader.text.length || isDocumentMark(reader)) {
      endDocument(reader);
      break;
    }
    readToken(reader);
  }
  return reader.fault ?? reader.root;
}

/** Directives and the first `---`. */
function startDocument(reader: Reader): void {
  skipToToken(reader);
  for (; reader.text.charAt(reader.at) === "%" && reader.column === 0; skipToToken(reader)) skipToBreak(reader);
  if (isDocumentMark(reader) && reader.text.charAt(reader.at) === "-") {
    reader.at += 3;
    reader.keyAllowed = false;
  }
}

function endDocument(reader: Reader): void {
  // The end is on a line of its own.
  const line = reader.column > 0 ? reader.line + 1 : reader.line;
  const { top } = reader;
  if (top !== undefined && top.indent < 0) return refuseNode(reader, top, line);
  unroll(reader, -1);
  if (!reader.done && reader.frames.length === 0) complete(reader, null);
}

/** A fault of structure; upstream counts such lines from zero, and leaves out the first. */
function fail(reader: Reader, message: string, line = reader.line): void {
  reader.fault ??= new Fault(`yaml: ${line > 0 ? `line ${line}: ` : ""}${message}`);
}

/** A token that cannot follow in `frame`. */
function refuseNode(reader: Reader, frame: Frame, line?: number): void {
  const isMap = frame.map !== undefined;
  if (frame.indent >= 0) fail(reader, `did not find expected ${isMap ? "key" : "'-' indicator"}`, line);
  else if (frame.waiting === "node" || frame.waiting === "key")
    fail(reader, "did not find expected node content", line);
  else fail(reader, `did not find expected ',' or '${isMap ? "}" : "]"}'`, line);
}

function readToken(reader: Reader): void {
  if (reader.flow === 0) unroll(reader, reader.column);
  const sign = reader.text.charAt(reader.at);
  const spaced = isBlankOrEnd(reader.text.charCodeAt(reader.at + 1));
  switch (sign) {
    case "-":
      return spaced ? readEntry(reader) : readScalar(reader, sign);
    case "?":
      return spaced ? readExplicitKey(reader) : readScalar(reader, sign);
    case ":":
      return spaced || reader.flow > 0 ? readColon(reader) : readScalar(reader, sign);
    case "[":
    case "{":
      return openFlow(reader, sign);
    case "]":
    case "}":
      return closeFlow(reader, sign);
    case ",":
      return readComma(reader);
    case "&":
    case "!":
      return readProperty(reader, sign);
    default:
      return readScalar(reader, sign);
  }
}

/** Closes the block collections that are indented deeper than `column`. */
function unroll(reader: Reader, column: number): void {
  for (let { top } = reader; top !== undefined && top.indent > column; { top } = reader) close(reader);
}

/** Opens a collection, which has the properties that were read before it. */
function push(reader: Reader, frame: Pick<Frame, "map" | "list" | "indent" | "waiting"> & Partial<Frame>): Frame {
  if (reader.frames.length >= limits.depthMax) fail(reader, `exceeded max depth of ${limits.depthMax}`);
  const anchor = (reader.outer ?? reader.properties)?.anchor;
  if (reader.outer !== undefined) reader.outer = undefined;
  else reader.properties = undefined;
  if (anchor !== undefined) reader.anchors.set(anchor, undefined);
  const opened = { indentless: false, single: false, key: undefined, merges: false, ...frame, anchor };
  reader.frames.push(opened);
  return opened;
}

/** Ends the collection on top: a missing value is null. */
function close(reader: Reader): void {
  const frame = reader.top;
  if (frame === undefined) return;
  // A flow list may end with a comma; everywhere else something is missing.
  const dangling = frame.waiting === "node" && (frame.list === undefined || frame.indent >= 0);
  if (dangling || frame.waiting === "colon") completeMissing(reader);
  if (frame.waiting === "key" && frame.indent >= 0) fail(reader, "unsupported map key of type: nil");
  reader.frames.pop();
  const value = frame.map ?? frame.list ?? null;
  if (frame.anchor !== undefined) reader.anchors.set(frame.anchor, value);
  place(reader, value, false);
}

/** A node that is no collection has been read, and has the properties in front of it. */
function complete(reader: Reader, value: Value, merges = false): void {
  const anchor = reader.properties?.anchor;
  if (anchor !== undefined) reader.anchors.set(anchor, value);
  reader.properties = undefined;
  place(reader, value, merges);
}

/** The value of the frame on top is null, with or without its colon. */
function completeMissing(reader: Reader): void {
  const { top } = reader;
  if (top?.waiting === "colon") top.waiting = "node";
  complete(reader, null);
}

/** Puts a node where the top frame waits for one. `merges`: it is a plain `<<`. */
function place(reader: Reader, value: Value, merges: boolean): void {
  const frame = reader.top;
  countValues(reader, 1);
  if (frame === undefined) {
    reader.root = value;
    reader.done = true;
  } else if (frame.list !== undefined) {
    frame.list.push(value);
    frame.waiting = "nothing";
  } else if (frame.waiting === "key") {
    setKey(reader, frame, value, merges);
    frame.waiting = "colon";
  } else {
    setValue(reader, frame, value);
    frame.waiting = "nothing";
  }
}

function countValues(reader: Reader, count: number): void {
  reader.values += count;
  if (reader.values > reader.valuesMax) reader.fault ??= new TooManyValues(reader.valuesMax);
}

function setKey(reader: Reader, frame: Frame, value: Value, merges: boolean): void {
  const text = keyText(value);
  if (text === undefined) {
    const kind = value === null ? "nil" : value instanceof Map ? "map" : "list";
    reader.fault ??= new Fault(`yaml: unsupported map key of type: ${kind}`);
  }
  frame.key = text;
  frame.merges = merges;
  const { duplicates, line } = reader;
  if (duplicates === undefined || text === undefined || merges || frame.map?.has(text) !== true) return;
  if (duplicates.length < limits.fieldErrorsMax) {
    duplicates.push(`line ${line + 1}: key ${quote(text)} already set in map`);
  }
}

function setValue(reader: Reader, { map, key, merges }: Frame, value: Value): void {
  if (map === undefined || key === undefined) return;
  if (!merges) {
    map.set(key, value);
    return;
  }
  // The keys of these maps; of a list of maps the first wins.
  for (const from of Array.isArray(value) ? value.toReversed() : [value]) {
    if (from instanceof Map) {
      // The keys of one map may be merged into many.
      countValues(reader, from.size);
      if (reader.fault !== undefined) return;
      for (const [name, item] of from) map.set(name, item);
    } else reader.fault ??= new Fault("yaml: map merge requires map or sequence of maps as the value");
  }
}

/** `- `: an item of a block list. */
function readEntry(reader: Reader): void {
  const { column } = reader;
  if (reader.flow > 0 || !reader.keyAllowed) {
    return void textFault(reader, "block sequence entries are not allowed in this context");
  }
  let { top } = reader;
  const indentless = top?.map !== undefined && top.indent === column;
  if (top === undefined || top.indent < column || indentless) {
    if (top !== undefined && top.waiting !== "node" && !(top.waiting === "key" && !indentless))
      return refuseNode(reader, top);
    top = push(reader, { map: undefined, list: [], indent: column, indentless, waiting: "nothing" });
  }
  if (top.waiting === "node") complete(reader, null);
  top.waiting = "node";
  reader.at += 1;
  reader.keyAllowed = true;
}

/** A key of a block map starts at `column`: finds or opens the map. */
function enterMap(reader: Reader, column: number): Frame | undefined {
  if (reader.top?.indentless === true && reader.top.indent === column) close(reader);
  const { top } = reader;
  if (top === undefined || top.indent < column) {
    if (top === undefined || top.waiting === "node" || top.waiting === "key")
      return push(reader, { map: new Map(), list: undefined, indent: column, waiting: "nothing" });
  } else if (top.map !== undefined) {
    if (top.waiting === "node" || top.waiting === "colon") completeMissing(reader);
    return top;
  }
  refuseNode(reader, top);
  return undefined;
}

/** `? `: a key of a block map that may be anything; in a flow map it says nothing. */
function readExplicitKey(reader: Reader): void {
  if (reader.flow === 0) {
    if (!reader.keyAllowed) return void textFault(reader, "mapping keys are not allowed in this context");
    const frame = enterMap(reader, reader.column);
    if (frame !== undefined) frame.waiting = "key";
  }
  reader.at += 1;
  reader.keyAllowed = true;
}

/** A colon that does not follow a key on its line. */
function readColon(reader: Reader): void {
  const { top } = reader;
  reader.at += 1;
  if (top !== undefined && top.waiting === "colon") {
    top.waiting = "node";
    reader.keyAllowed = reader.flow === 0;
  } else if (top?.list !== undefined && top.indent < 0 && top.waiting === "nothing") {
    // `[a: b]`: the item just read is the key of a map of its own.
    const key = top.list.pop() ?? null;
    top.waiting = "node";
    const pair = push(reader, { map: new Map(), list: undefined, indent: -1, single: true, waiting: "node" });
    setKey(reader, pair, key, false);
  } else if (reader.flow === 0) {
    textFault(reader, "mapping values are not allowed in this context");
  } else if (top !== undefined) {
    refuseNode(reader, top);
  }
}

function openFlow(reader: Reader, sign: "[" | "{"): void {
  const { top } = reader;
  if (top !== undefined && top.waiting !== "node" && top.waiting !== "key") return refuseNode(reader, top);
  if (reader.flow === 0 && top?.indent === reader.column) return void textFault(reader, "could not find expected ':'");
  if (sign === "[") push(reader, { map: undefined, list: [], indent: -1, waiting: "node" });
  else push(reader, { map: new Map(), list: undefined, indent: -1, waiting: "key" });
  reader.at += 1;
  reader.flow += 1;
}

/** The innermost flow collection, a map of one pair (`[a: b]`) closed; undefined, and a fault, outside of one. */
function flowTop(reader: Reader): Frame | undefined {
  if (reader.top?.single === true) close(reader);
  const { top } = reader;
  if (top !== undefined && top.indent < 0) return top;
  fail(reader, "did not find expected node content");
  return undefined;
}

function closeFlow(reader: Reader, sign: "]" | "}"): void {
  const top = flowTop(reader);
  if (top === undefined) return;
  if ((top.map === undefined) !== (sign === "]")) return refuseNode(reader, top);
  reader.at += 1;
  reader.flow -= 1;
  reader.keyAllowed = false;
  if (top.waiting === "node" && top.list !== undefined && reader.properties !== undefined) complete(reader, null);
  close(reader);
  if (reader.flow === 0 && isKeyEnd(reader)) fail(reader, "invalid map key");
}

/** A colon follows that makes the preceding text a key. */
function isKeyEnd({ text, at }: Cursor): boolean {
  let next = at;
  while (text.charCodeAt(next) === 32 || text.charCodeAt(next) === 9) next += 1;
  return text.charCodeAt(next) === 58 && isBlankOrEnd(text.charCodeAt(next + 1));
}

function readComma(reader: Reader): void {
  const top = flowTop(reader);
  if (top === undefined) return;
  if (top.map !== undefined && (top.waiting === "node" || top.waiting === "colon")) completeMissing(reader);
  else if (top.waiting !== "nothing") return refuseNode(reader, top);
  top.waiting = top.map === undefined ? "node" : "key";
  reader.at += 1;
}

/** `&anchor` or `!tag`. */
function readProperty(reader: Reader, sign: "&" | "!"): void {
  const { line, column, keyAllowed } = reader;
  if (reader.properties !== undefined && reader.properties.line !== line) {
    reader.outer = reader.properties;
    reader.properties = undefined;
  }
  const properties = (reader.properties ??= { anchor: undefined, tag: "", line, column, keyAllowed });
  reader.at += 1;
  const name = scanName(reader);
  reader.keyAllowed = false;
  if (sign === "!") properties.tag = `!${name}`;
  else if (/^[\w-]+$/.test(name)) properties.anchor = name;
  else textFault(reader, "did not find expected alphabetic or numeric character");
}

/** Characters a key without `?` may have, by the language's rules. */
const keyLengthMax = 1024;

/** A scalar or an alias: a key if a colon follows on its line, else a node. */
function readScalar(reader: Reader, sign: string): void {
  const { line, at } = reader;
  const own = reader.properties?.line === line ? reader.properties : undefined;
  const { column, keyAllowed } = own ?? reader;
  const value = scanNode(reader, sign);
  if (reader.fault !== undefined) return;
  const merges = sign === "<" && value === "<<" && own === undefined;
  const { top } = reader;
  if (reader.flow === 0 && sign !== "|" && sign !== ">") {
    const isShort = reader.line === line && reader.at - at <= keyLengthMax;
    if (isShort && isKeyEnd(reader)) {
      if (keyAllowed) readKey(reader, value, column, own, merges);
      else textFault(reader, "mapping values are not allowed in this context");
      return;
    }
    if (top?.indent === column) return void textFault(reader, "could not find expected ':'");
  }
  if (top !== undefined && top.waiting !== "node" && top.waiting !== "key") return refuseNode(reader, top, line);
  complete(reader, value, merges);
}

/** The key of a block map, and the colon after it. */
function readKey(reader: Reader, value: Value, column: number, own: Properties | undefined, merges: boolean): void {
  if (own !== undefined) {
    // They belong to the key; those of the map are on an earlier line.
    reader.properties = reader.outer;
    reader.outer = undefined;
    if (own.anchor !== undefined) reader.anchors.set(own.anchor, value);
  }
  const frame = enterMap(reader, column);
  if (frame === undefined) return;
  setKey(reader, frame, value, merges);
  frame.waiting = "node";
  reader.at = reader.text.indexOf(":", reader.at) + 1;
  reader.keyAllowed = false;
}

/** The value of the scalar or alias at the cursor. */
function scanNode(reader: Reader, sign: string): Value {
  if (sign === "*") return readAlias(reader);
  const isBlock = sign === "|" || sign === ">";
  if (/[\s#%@`]/.test(sign) || (isBlock && reader.flow > 0)) {
    return textFault(reader, "found character that cannot start any token");
  }
  const indent = reader.top?.indent ?? -1;
  const isQuoted = sign === '"' || sign === "'";
  const text = isBlock ? scanBlock(reader, indent) : isQuoted ? scanQuoted(reader) : scanPlain(reader, indent + 1);
  const value = scalarValue(text, reader.properties?.tag ?? "", !isBlock && !isQuoted);
  if (!(value instanceof Fault)) return value;
  reader.fault ??= value;
  return null;
}

/** An alias is its node once more: values are changed in place later, so nothing may be shared. */
function readAlias(reader: Reader): Value {
  reader.at += 1;
  const name = scanName(reader);
  reader.keyAllowed = false;
  const value = reader.anchors.get(name);
  if (value !== undefined) return copy(reader, value, 0);
  const known = reader.anchors.has(name);
  reader.fault ??= new Fault(
    `yaml: ${known ? `anchor '${name}' value contains itself` : `unknown anchor '${name}' referenced`}`,
  );
  return null;
}

function copy(reader: Reader, value: Value, depth: number): Value {
  reader.aliased += 1;
  if (reader.aliased > limits.yamlAliasedNodesMax || depth > limits.messageDepthMax) {
    reader.fault ??= new Fault("yaml: document contains excessive aliasing");
  }
  if (Array.isArray(value)) {
    const list: Value[] = [];
    for (const item of value) {
      if (reader.fault !== undefined) break;
      list.push(copy(reader, item, depth + 1));
    }
    return list;
  }
  if (!(value instanceof Map)) return value;
  const map: ValueMap = new Map();
  for (const [key, item] of value) {
    if (reader.fault !== undefined) break;
    map.set(key, copy(reader, item, depth + 1));
  }
  return map;
}
