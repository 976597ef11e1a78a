// Parts of a document out of JSON our encoder wrote, without reading the rest: a Table shows a few fields of objects of any
// size.
import type { Value, ValueMap } from "../../api/value.ts";
import { parseOwn } from "../json/scan.ts";
import { endOfValue } from "./canonical.ts";
import { Fault } from "./json.ts";

/** Which parts of an object are read, by key: all of a value, or parts of it. */
export type Parts = ReadonlyMap<string, Parts | "all">;

/** Parts of an object, and where its metadata ends in the text; 0: it has none. */
export interface ReadParts {
  readonly document: ValueMap;
  readonly metadataEnd: number;
}

/**
 * The parts of paths of keys, all of the value there, and of paths of objects that are only known to be there. Undefined: a
 * path has no keys, which is the object itself.
 */
export function partsOf(
  paths: Iterable<readonly string[]>,
  there: Iterable<readonly string[]> = [],
): Parts | undefined {
  const parts = new Map<string, Part>();
  for (const path of paths) if (!place(parts, path, "all")) return undefined;
  for (const path of there) if (!place(parts, path, new Map())) return undefined;
  return parts;
}

type Part = Map<string, Part> | "all";

/** False for a path without keys. What is there already stays, if it is more. */
function place(parts: Map<string, Part>, path: readonly string[], leaf: Part): boolean {
  let at = parts;
  for (const [index, key] of path.entries()) {
    const known = at.get(key);
    if (known === "all") break;
    if (index === path.length - 1) {
      if (leaf === "all" || known === undefined) at.set(key, leaf);
    } else if (known === undefined) {
      const below = new Map<string, Part>();
      at.set(key, below);
      at = below;
    } else at = known;
  }
  return path.length > 0;
}

/** Reads parts of an object. Undefined: the text is not as our encoder writes it. */
export function readParts(text: string, parts: Parts): ReadParts | undefined {
  const reader = { text, at: 0, metadataEnd: 0 };
  const document = readObject(reader, parts, true);
  return document === undefined || reader.at < text.length ? undefined : { document, metadataEnd: reader.metadataEnd };
}

interface Reader {
  readonly text: string;
  at: number;
  metadataEnd: number;
}

const [quote, comma, colon, openMap, closeMap] = [34, 44, 58, 123, 125];

function readObject(reader: Reader, parts: Parts, isRoot: boolean): ValueMap | undefined {
  const { text } = reader;
  const found: ValueMap = new Map();
  reader.at += 1;
  if (text.charCodeAt(reader.at) === closeMap) {
    reader.at += 1;
    return found;
  }
  for (;;) {
    const keyEnd = text.charCodeAt(reader.at) === quote ? endOfValue(text, reader.at) : -1;
    if (keyEnd < 0 || text.charCodeAt(keyEnd) !== colon) return undefined;
    const key = keyOf(text, reader.at, keyEnd);
    reader.at = keyEnd + 1;
    const value = readPart(reader, parts.get(key));
    if (value === undefined) return undefined;
    if (value !== skipped) found.set(key, value);
    if (isRoot && key === "metadata") reader.metadataEnd = reader.at;
    const after = text.charCodeAt(reader.at);
    reader.at += 1;
    if (after === closeMap) return found;
    if (after !== comma) return undefined;
  }
}

const skipped = Symbol();

/** Undefined: it is not to be read so. */
function readPart(reader: Reader, part: Parts | "all" | undefined): Value | typeof skipped | undefined {
  const { text, at } = reader;
  if (typeof part === "object" && text.charCodeAt(at) === openMap) return readObject(reader, part, false);
  const end = endOfValue(text, at);
  if (end < 0) return undefined;
  reader.at = end;
  if (part === undefined) return skipped;
  const value = parseOwn(text.slice(at, end));
  return value instanceof Fault ? undefined : value;
}

function keyOf(text: string, from: number, end: number): string {
  const key = text.slice(from + 1, end - 1);
  return key.includes("\\") ? String(parseOwn(text.slice(from, end))) : key;
}
