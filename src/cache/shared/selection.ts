// The selection side-table of a record: the input of label and field selectors, so that no filter parses JSON.
// Encoded once by the front that wrote the object, stored with the record (durably too), read by every front.
// There are no shared ids: a test compares 32-bit hashes first and verifies the bytes of the few that agree, so the
// table needs no other table to be read, whatever thread or process wrote it.
// @hot
//
//   byte 0                                                    all numbers 32 bits, little-endian
//   ┌────────┬────────┬──────────┬──────────┬────────┬─────────┬───────┬─────────┐
//   │ labels │ fields │ ns hash  │name hash │ name at│ name end│ total │ form, 1 │   header, 32 bytes; last: 24 bits, 8
//   ├────────┼────────┼──────────┼──────────┼────────┴─────────┴───────┴─────────┘
//   │key hash│k=v hash│ key at   │ value at │  one entry of 16 bytes per label, then per field; a key ends where its
//   ├────────┴────────┴──────────┴──────────┤  value begins, a value where the next entry's key begins, the last one
//   │ namespace/name, key, value, key, …    │  at `total`; all `at` are bytes from the table's first byte
//   └───────────────────────────────────────┘  UTF-8, zero padding to a multiple of 4; no slash without a namespace
//
// A hash is FNV-1a over UTF-8 bytes; that of `key=value` goes on from the key's. The form identifies how the fields
// were derived (behaviour.ts): a record of another form can be recognized. 1 is the number of this layout.
import { assert, assertShared } from "../../base/assert.ts";

/** Where tables are read from: 32-bit and byte views of the same memory, both from its first byte on. */
export interface SelectionSource {
  readonly words: Int32Array;
  readonly bytes: Uint8Array;
}

/** A text to look for, hashed once. */
export interface SelectionText {
  readonly hash: number;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** A key and a value to look for, hashed once. */
export interface SelectionPair {
  readonly key: SelectionText;
  /** Hash of `key=value`. */
  readonly hash: number;
  readonly value: Uint8Array<ArrayBuffer>;
}

const headerWords = 8;
const entryWords = 4;
const headerBytes = headerWords * 4;
const entryBytes = entryWords * 4;
const layout = 1;
const layoutBits = 8;
const layoutMask = (1 << layoutBits) - 1;
const hashStart = 0x811c9dc5 | 0;
const hashPrime = 0x01000193;
const equalsSign = 0x3d;
const slash = 0x2f;

/**
 * Encodes namespace (empty for cluster-scoped objects), name, labels and selectable fields (metadata.name and
 * metadata.namespace need not be listed). The length is a multiple of 4. `form`: 24 bits that identify the derivation
 * of the fields.
 */
export function encodeSelection(
  namespace: string,
  name: string,
  labels: ReadonlyMap<string, string> | undefined,
  fields: readonly (readonly [field: string, value: string])[],
  form = 0,
): Uint8Array<ArrayBuffer> {
  const labelCount = labels?.size ?? 0;
  const count = labelCount + fields.length;
  let units = namespace.length + 1 + name.length;
  if (labels !== undefined) for (const [key, value] of labels) units += key.length + value.length;
  for (const [key, value] of fields) units += key.length + value.length;
  // A UTF-16 unit takes at most three bytes of UTF-8.
  const encoder = startEncoder(headerBytes + count * entryBytes + units * 3 + 4);
  const words = encoder.words;
  encoder.at = headerBytes + count * entryBytes;
  words[0] = labelCount;
  words[1] = fields.length;
  words[2] = put(encoder, namespace, hashStart);
  if (namespace !== "") encoder.bytes[encoder.at++] = slash;
  words[4] = encoder.at;
  words[3] = put(encoder, name, hashStart);
  words[5] = encoder.at;
  let entry = headerWords;
  if (labels !== undefined) {
    for (const [key, value] of labels) {
      putEntry(encoder, entry, key, value);
      entry += entryWords;
    }
  }
  for (const [key, value] of fields) {
    putEntry(encoder, entry, key, value);
    entry += entryWords;
  }
  assert(encoder.at <= encoder.bytes.length, "A selection table is longer than its texts may be");
  assert(form >>> (32 - layoutBits) === 0, "The form of a selection table has more than 24 bits");
  words[6] = encoder.at;
  words[7] = layout | (form << layoutBits);
  while (encoder.at % 4 !== 0) encoder.bytes[encoder.at++] = 0;
  return encoder.bytes.slice(0, encoder.at);
}

/** A text to look for among namespaces, names or keys. */
export function selectionText(text: string): SelectionText {
  const bytes = new TextEncoder().encode(text);
  return { hash: hashOf(bytes, hashStart), bytes };
}

/** A label or field with its value to look for. */
export function selectionPair(key: string, value: string): SelectionPair {
  const keyText = selectionText(key);
  const valueBytes = new TextEncoder().encode(value);
  return { key: keyText, hash: hashOf(valueBytes, step(keyText.hash, equalsSign)), value: valueBytes };
}

/** Hash of a text as tables have it, going on from the hash of a text before it. */
export function hashOfText(value: string, from: number = hashStart): number {
  let hash = from;
  for (let i = 0; i < value.length; i++) {
    const unit = value.charCodeAt(i);
    if (unit > 0x7f) return hashOf(new TextEncoder().encode(value), from);
    hash = step(hash, unit);
  }
  return hash;
}

/** First byte after a table that stands alone, at any alignment; what follows it up to the end of the bytes is no part of it. */
export function tableEnd(table: Uint8Array): number {
  return (wordAt(table, 24) + 3) & ~3;
}

/** Views of a table that stands alone, for tests and for tables that are in no log. The first byte must be 4-aligned. */
export function selectionSource(table: Uint8Array): SelectionSource {
  assertShared(
    table.byteOffset % 4 === 0,
    `A selection table starts at byte ${table.byteOffset}, not at a multiple of 4`,
  );
  return { words: new Int32Array(table.buffer, table.byteOffset, table.byteLength >> 2), bytes: table };
}

/** Bytes of the key in a table that stands alone, at any alignment; -1 when these bytes cannot be a table. */
export function keyBytesOf(table: Uint8Array): number {
  if (table.byteLength < headerBytes || table.byteLength % 4 !== 0) return -1;
  if ((wordAt(table, 28) & layoutMask) !== layout) return -1;
  const textStart = headerBytes + (wordAt(table, 0) + wordAt(table, 4)) * entryBytes;
  const nameEnd = wordAt(table, 20);
  const total = wordAt(table, 24);
  return textStart <= nameEnd && nameEnd <= total && total <= table.byteLength ? nameEnd - textStart : -1;
}

/** The form of a table that stands alone, at any alignment. */
export function formOf(table: Uint8Array): number {
  return wordAt(table, 28) >>> layoutBits;
}

/** The form of a table of a source. */
export function formAt(source: SelectionSource, at: number): number {
  return word(source, (at >> 2) + 7) >>> layoutBits;
}

/** Whether the last field of a table that stands alone has an empty name, at any alignment. */
export function hasUnnamedField(table: Uint8Array): boolean {
  const fields = wordAt(table, 4);
  if (fields === 0) return false;
  const entry = headerBytes + (wordAt(table, 0) + fields - 1) * entryBytes;
  return wordAt(table, entry + 8) === wordAt(table, entry + 12);
}

// Reading. `at` is the table's first byte in the source, an `entry` is the index of its first word.

/** First byte in the source of the key relative to the prefix, `namespace/name` or `name`. */
export function keyStart(source: SelectionSource, at: number): number {
  return at + textStartOf(source, at >> 2);
}

/** First byte after the key. */
export function keyEnd(source: SelectionSource, at: number): number {
  return at + word(source, (at >> 2) + 5);
}

/** Hash of the namespace: equal texts have equal hashes. */
export function namespaceHash(source: SelectionSource, at: number): number {
  return word(source, (at >> 2) + 2);
}

/** Hash of the name. */
export function nameHash(source: SelectionSource, at: number): number {
  return word(source, (at >> 2) + 3);
}

/** Whether the namespace is `text`. */
export function isNamespace(source: SelectionSource, at: number, text: SelectionText): boolean {
  const first = at >> 2;
  if (word(source, first + 2) !== text.hash) return false;
  return same(source, at + textStartOf(source, first), at + namespaceEndOf(source, first), text.bytes);
}

/** Whether the name is `text`. */
export function isName(source: SelectionSource, at: number, text: SelectionText): boolean {
  const first = at >> 2;
  if (word(source, first + 3) !== text.hash) return false;
  return same(source, at + word(source, first + 4), at + word(source, first + 5), text.bytes);
}

/** The label's entry; -1 when the object has no such label. */
export function findLabel(source: SelectionSource, at: number, key: SelectionText): number {
  const first = at >> 2;
  return find(source, at, first + headerWords, labelsEnd(source, first), key);
}

/** The selectable field's entry; -1 when the kind has no such field. */
export function findField(source: SelectionSource, at: number, key: SelectionText): number {
  const first = at >> 2;
  const from = labelsEnd(source, first);
  return find(source, at, from, from + word(source, first + 1) * entryWords, key);
}

/** Whether the object has the label with exactly this value. */
export function hasLabel(source: SelectionSource, at: number, pair: SelectionPair): boolean {
  const first = at >> 2;
  return findPair(source, at, first + headerWords, labelsEnd(source, first), pair);
}

/** Whether the object has the selectable field with exactly this value. */
export function hasField(source: SelectionSource, at: number, pair: SelectionPair): boolean {
  const first = at >> 2;
  const from = labelsEnd(source, first);
  return findPair(source, at, from, from + word(source, first + 1) * entryWords, pair);
}

/** Number of labels; they come first among the entries. */
export function labelCountOf(source: SelectionSource, at: number): number {
  return word(source, at >> 2);
}

/** Number of selectable fields; they follow the labels. */
export function fieldCountOf(source: SelectionSource, at: number): number {
  return word(source, (at >> 2) + 1);
}

/** The entry of label or field `index`, fields counted on from the labels. */
export function entryOf(at: number, index: number): number {
  return (at >> 2) + headerWords + index * entryWords;
}

/** Hash of an entry's key, as in SelectionText. */
export function keyHashOf(source: SelectionSource, entry: number): number {
  return word(source, entry);
}

/** Whether an entry's key is exactly these bytes. */
export function isKey(source: SelectionSource, at: number, entry: number, key: Uint8Array): boolean {
  return same(source, at + word(source, entry + 2), at + word(source, entry + 3), key);
}

/** Hash of an entry's `key=value`, as in SelectionPair: for indexes from a value to the selectors that require it. */
export function pairHashOf(source: SelectionSource, entry: number): number {
  return word(source, entry + 1);
}

/** Whether an entry's value is exactly these bytes. */
export function isValue(source: SelectionSource, at: number, entry: number, value: Uint8Array): boolean {
  return same(source, at + word(source, entry + 3), at + valueEndOf(source, at, entry), value);
}

/** An entry's value as text. Allocates: for comparisons of numbers, not for equality. */
export function valueText(source: SelectionSource, at: number, entry: number): string {
  return text(source, at + word(source, entry + 3), at + valueEndOf(source, at, entry));
}

/** The namespace as text; empty for cluster-scoped objects. Allocates. */
export function namespaceText(source: SelectionSource, at: number): string {
  const first = at >> 2;
  return text(source, at + textStartOf(source, first), at + namespaceEndOf(source, first));
}

/** The name as text. Allocates. */
export function nameText(source: SelectionSource, at: number): string {
  const first = at >> 2;
  return text(source, at + word(source, first + 4), at + word(source, first + 5));
}

/** Everything in a table, for people and tests. */
export function decodeSelection(source: SelectionSource, at: number) {
  const first = at >> 2;
  const labelCount = word(source, first);
  const pairs: [key: string, value: string][] = [];
  for (let i = 0; i < labelCount + word(source, first + 1); i++) {
    const entry = first + headerWords + i * entryWords;
    const key = text(source, at + word(source, entry + 2), at + word(source, entry + 3));
    pairs.push([key, valueText(source, at, entry)]);
  }
  return {
    namespace: namespaceText(source, at),
    name: nameText(source, at),
    labels: pairs.slice(0, labelCount),
    fields: pairs.slice(labelCount),
  };
}

/** First word after the labels of the table whose first word is `first`; the fields start there. */
function labelsEnd(source: SelectionSource, first: number): number {
  return first + headerWords + word(source, first) * entryWords;
}

function find(source: SelectionSource, at: number, from: number, end: number, key: SelectionText): number {
  for (let entry = from; entry < end; entry += entryWords) {
    if (word(source, entry) !== key.hash) continue;
    if (same(source, at + word(source, entry + 2), at + word(source, entry + 3), key.bytes)) return entry;
  }
  return -1;
}

function findPair(source: SelectionSource, at: number, from: number, end: number, pair: SelectionPair): boolean {
  for (let entry = from; entry < end; entry += entryWords) {
    if (word(source, entry + 1) !== pair.hash) continue;
    const valueAt = at + word(source, entry + 3);
    if (!same(source, valueAt, at + valueEndOf(source, at, entry), pair.value)) continue;
    if (same(source, at + word(source, entry + 2), valueAt, pair.key.bytes)) return true;
  }
  return false;
}

function textStartOf(source: SelectionSource, first: number): number {
  return headerBytes + (word(source, first) + word(source, first + 1)) * entryBytes;
}

/** The name starts one slash after the namespace, or at once when there is none. */
function namespaceEndOf(source: SelectionSource, first: number): number {
  const start = textStartOf(source, first);
  const nameAt = word(source, first + 4);
  return nameAt > start ? nameAt - 1 : start;
}

function valueEndOf(source: SelectionSource, at: number, entry: number): number {
  const first = at >> 2;
  const next = entry + entryWords;
  const end = first + (textStartOf(source, first) >> 2);
  return next < end ? word(source, next + 2) : word(source, first + 6);
}

function same(source: SelectionSource, from: number, end: number, bytes: Uint8Array): boolean {
  if (end - from !== bytes.length) return false;
  for (let i = 0; i < bytes.length; i++) if (source.bytes[from + i] !== bytes[i]) return false;
  return true;
}

function text(source: SelectionSource, from: number, end: number): string {
  const bytes = source.bytes;
  assertShared(from <= end, "A text of a selection table ends before it begins");
  assertShared(end <= bytes.length, "A text of a selection table ends beyond it");
  return Buffer.from(bytes.buffer, bytes.byteOffset + from, end - from).toString("utf8");
}

function wordAt(bytes: Uint8Array, at: number): number {
  return (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8) | ((bytes[at + 2] ?? 0) << 16) | ((bytes[at + 3] ?? 0) << 24);
}

function word(source: SelectionSource, index: number): number {
  const value = source.words[index];
  assertShared(value !== undefined, "A selection table ends early");
  return value;
}

interface Encoder {
  bytes: Uint8Array<ArrayBuffer>;
  words: Int32Array<ArrayBuffer>;
  at: number;
}

// One scratch per thread; a table leaves it as a copy of its exact length.
const scratch: Encoder = { bytes: new Uint8Array(0), words: new Int32Array(0), at: 0 };
const scratchBytesKept = 64 * 1024;

function startEncoder(bytesMax: number): Encoder {
  const capacity = (bytesMax + 3) & ~3;
  if (capacity > scratchBytesKept) {
    const bytes = new Uint8Array(capacity);
    return { bytes, words: new Int32Array(bytes.buffer), at: 0 };
  }
  if (scratch.bytes.length === 0) {
    scratch.bytes = new Uint8Array(scratchBytesKept);
    scratch.words = new Int32Array(scratch.bytes.buffer);
  }
  return scratch;
}

function putEntry(encoder: Encoder, entry: number, key: string, value: string): void {
  encoder.words[entry + 2] = encoder.at;
  const keyHash = put(encoder, key, hashStart);
  encoder.words[entry] = keyHash;
  encoder.words[entry + 3] = encoder.at;
  encoder.words[entry + 1] = put(encoder, value, step(keyHash, equalsSign));
}

/** Writes a text as UTF-8 and returns its hash, going on from `hash`. */
function put(encoder: Encoder, value: string, hash: number): number {
  const bytes = encoder.bytes;
  const start = encoder.at;
  let result = hash;
  for (let i = 0; i < value.length; i++) {
    const unit = value.charCodeAt(i);
    if (unit > 0x7f) {
      const { written } = new TextEncoder().encodeInto(value, bytes.subarray(start));
      encoder.at = start + written;
      return hashOf(bytes.subarray(start, encoder.at), hash);
    }
    bytes[start + i] = unit;
    result = step(result, unit);
  }
  encoder.at = start + value.length;
  return result;
}

function hashOf(bytes: Uint8Array, from: number): number {
  let hash = from;
  for (let i = 0; i < bytes.length; i++) hash = step(hash, bytes[i] ?? 0);
  return hash;
}

function step(hash: number, byte: number): number {
  return Math.imul(hash ^ byte, hashPrime);
}
