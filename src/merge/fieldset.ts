// Sets of field paths, as managers own them. A path element is the text FieldsV1 has for it: `f:name` a field, `k:{…}`
// an item of a list by its keys, `v:…` an item of a set by its value, `i:0` an item by its position. Texts are
// canonical (keys sorted, compact), so that elements are equal when their texts are.
//
//   {"f:spec": {"f:replicas": {}, "f:ports": {"k:{\"port\":80}": {".": {}, "f:name": {}}}}}
//
// is the set of .spec.replicas, .spec.ports[port=80] and .spec.ports[port=80].name.
import { compareBytes } from "../api/gotext.ts";
import type { Value } from "../api/value.ts";
import { assert, assertShared } from "../base/assert.ts";

/** One step of a path. */
export type PathElement = string;

interface Node {
  /** The path that ends here is in the set. */
  readonly member: boolean;
  /** Paths that go on from here; never an empty set. */
  readonly below: FieldSet | undefined;
}

/** A path that ends: most of all nodes. */
const leaf: Node = { member: true, below: undefined };

/** A set of paths. All operations but insert() leave their operands alone; results may share parts with them. */
export class FieldSet {
  readonly #nodes = new Map<PathElement, Node>();
  /** The node of the last item put: items of a list mostly own the same fields, and share them. */
  #item: Node | undefined;
  /** Its encoding, with and without itself as a member of the set around it. */
  #text: string | undefined;
  #memberText: string | undefined;

  get isEmpty(): boolean {
    return this.#nodes.size === 0;
  }

  /** Adds a path. Only while the set is being built, before it is shared. The empty path is not kept. */
  insert(path: readonly PathElement[]): void {
    const last = path[path.length - 1];
    if (last === undefined) return;
    const set = this.#openAll(path);
    set.#checkUnshared();
    const node = set.#nodes.get(last);
    if (node?.member !== true)
      set.#nodes.set(last, node?.below === undefined ? leaf : { member: true, below: node.below });
  }

  /** Adds a path and all that goes on from it, of which nothing is in the set yet. As insert(), while it is built. */
  graft(path: readonly PathElement[], below: FieldSet | undefined): void {
    const last = path[path.length - 1];
    if (last !== undefined) this.#openAll(path).graftElement(last, below);
  }

  /** graft() of one element. */
  graftElement(element: PathElement, below: FieldSet | undefined): void {
    this.#checkUnshared();
    this.#put(element, true, below);
  }

  /** Adds an element, a member or not, and what goes on from it, to what there is of it. As insert(), while it is built. */
  join(element: PathElement, member: boolean, below: FieldSet | undefined): void {
    this.#checkUnshared();
    const node = this.#nodes.get(element);
    if (node === undefined) this.#put(element, member, below);
    else
      this.#put(element, member || node.member, node.below === undefined ? below : node.below.union(below ?? emptySet));
  }

  /** Requests share encoded sets and the empty one: a change to them would change the fields of other managers. */
  #checkUnshared(): void {
    assertShared(this.#text === undefined, "A set of fields is changed after it was encoded");
    assertShared(this.#memberText === undefined, "A set of fields is changed after it was encoded");
    assertShared(this !== emptySet, "The empty set of fields is changed");
  }

  /** Whether every path is in `other`, too. */
  isWithin(other: FieldSet): boolean {
    return this === other || this.#fits(other, isNodeWithin);
  }

  equals(other: FieldSet): boolean {
    return this === other || (this.#nodes.size === other.#nodes.size && this.#fits(other, areNodesEqual));
  }

  /**
   * Whether every node fits what `other` has of its element. Nodes that items share are compared once, here and below.
   */
  #fits(other: FieldSet, fits: (node: Node, theirs: Node) => boolean): boolean {
    let mine: Node | undefined;
    let last: Node | undefined;
    for (const [element, node] of this.#nodes) {
      const theirs = other.#nodes.get(element);
      if (node === mine && theirs === last) continue;
      mine = node;
      last = theirs;
      if (theirs === undefined || !fits(node, theirs)) return false;
    }
    return true;
  }

  /** The set a path's last element is in. */
  #openAll(path: readonly PathElement[]): FieldSet {
    let set: FieldSet = this;
    for (let index = 0; index < path.length - 1; index++) set = set.#open(path[index] as PathElement);
    return set;
  }

  /** The set below an element, made when there is none. */
  #open(element: PathElement): FieldSet {
    const node = this.#nodes.get(element);
    if (node?.below !== undefined) return node.below;
    this.#checkUnshared();
    const below = new FieldSet();
    this.#nodes.set(element, { member: node?.member === true, below });
    return below;
  }

  #put(element: PathElement, member: boolean, below: FieldSet | undefined): void {
    if (below === undefined || below.isEmpty) {
      if (member) this.#nodes.set(element, leaf);
    } else if (isField(element)) this.#nodes.set(element, { member, below });
    else {
      const like = this.#item;
      const isLike = like?.below !== undefined && like.member === member && like.below.equals(below);
      this.#nodes.set(element, isLike ? like : (this.#item = { member, below }));
    }
  }

  /** Whether the path of one element is in the set. */
  hasMember(element: PathElement): boolean {
    return this.#nodes.get(element)?.member === true;
  }

  /** Paths that begin with an element, without it. */
  under(element: PathElement): FieldSet | undefined {
    return this.#nodes.get(element)?.below;
  }

  /** Whether a path is in the set. */
  has(path: readonly PathElement[]): boolean {
    let set: FieldSet | undefined = this;
    for (let index = 0; index < path.length - 1; index++) set = set?.under(path[index] as PathElement);
    return path.length > 0 && set?.hasMember(path[path.length - 1] as PathElement) === true;
  }

  /** Paths of either; this set itself where the other adds nothing. */
  union(other: FieldSet): FieldSet {
    if (other.isEmpty || other === this) return this;
    if (this.isEmpty) return other;
    let result: FieldSet | undefined;
    let left: Node | undefined;
    let right: Node | undefined;
    let joined: Node | undefined;
    for (const [element, node] of other.#nodes) {
      const mine = this.#nodes.get(element);
      if (joined === undefined || mine !== left || node !== right)
        joined = mine === undefined ? node : joinNodes(mine, node);
      left = mine;
      right = node;
      if (joined === mine) continue;
      result ??= this.#copy();
      result.#nodes.set(element, joined);
    }
    return result ?? this;
  }

  #copy(): FieldSet {
    const copy = new FieldSet();
    for (const [element, node] of this.#nodes) copy.#nodes.set(element, node);
    return copy;
  }

  intersection(other: FieldSet): FieldSet {
    if (this === other) return this;
    const result = new FieldSet();
    let mine: Node | undefined;
    let last: Node | undefined;
    let both: FieldSet | undefined;
    const [few, many] = this.#nodes.size <= other.#nodes.size ? [this, other] : [other, this];
    for (const element of few.#nodes.keys()) {
      if (!many.#nodes.has(element)) continue;
      const node = this.#nodes.get(element) as Node;
      const theirs = other.#nodes.get(element) as Node;
      if (node !== mine || theirs !== last) {
        both = theirs.below === undefined ? undefined : node.below?.intersection(theirs.below);
      }
      mine = node;
      last = theirs;
      result.#put(element, node.member && theirs.member, both);
    }
    return result;
  }

  /** Paths that are not in `other`; paths below a path of `other` stay. This set itself where none are. */
  difference(other: FieldSet): FieldSet {
    if (other.isEmpty || this.isEmpty) return this;
    if (this === other) return emptySet;
    let mine: Node | undefined;
    let last: Node | undefined;
    let below: FieldSet | undefined;
    const [few, many] = this.#nodes.size < other.#nodes.size ? [this, other] : [other, this];
    let result: FieldSet | undefined;
    for (const element of few.#nodes.keys()) {
      if (!many.#nodes.has(element)) continue;
      const node = this.#nodes.get(element) as Node;
      const theirs = other.#nodes.get(element) as Node;
      if (node !== mine || theirs !== last) {
        below = theirs.below === undefined ? node.below : node.below?.difference(theirs.below);
      }
      mine = node;
      last = theirs;
      const member = node.member && !theirs.member;
      if (member === node.member && below === node.below) continue;
      result ??= this.#copy();
      result.#nodes.delete(element);
      result.#put(element, member, below);
    }
    return result ?? this;
  }

  /** Paths that neither are in `other` nor go on from one that is. */
  differenceBelow(other: FieldSet): FieldSet {
    if (other.isEmpty || this.isEmpty) return this;
    const result = new FieldSet();
    for (const [element, node] of this.#nodes) {
      const theirs = other.#nodes.get(element);
      if (theirs === undefined) result.#nodes.set(element, node);
      else if (!theirs.member) {
        const below = theirs.below === undefined ? node.below : node.below?.differenceBelow(theirs.below);
        result.#put(element, node.member, below);
      }
    }
    return result;
  }

  /**
   * The set with every field for which `choose` says so made a member; it returns the argument for the elements below,
   * which is the same for all items of a list. This set itself where nothing is new.
   */
  withMembers<T>(
    at: T,
    choose: (at: T, element: PathElement) => { readonly named: boolean; readonly below: T },
  ): FieldSet {
    let result: FieldSet | undefined;
    let last: Node | undefined;
    let chosen: Node | undefined;
    for (const [element, node] of this.#nodes) {
      const { member, below } = node;
      if (below === undefined) continue;
      if (chosen === undefined || node !== last || isField(element)) {
        const choice = choose(at, element);
        const deeper = below.withMembers(choice.below, choose);
        const same = deeper === below && (member || !choice.named);
        chosen = same ? node : { member: member || choice.named, below: deeper };
      }
      last = node;
      if (chosen === node) continue;
      result ??= this.#copy();
      result.#nodes.set(element, chosen);
    }
    return result ?? this;
  }

  /** All paths: those that end first, then those that go on, elements in their order. */
  paths(): PathElement[][] {
    const found: PathElement[][] = [];
    this.#addPaths([], found);
    return found;
  }

  #addPaths(prefix: readonly PathElement[], found: PathElement[][]): void {
    const sorted = sortElements([...this.#nodes.keys()]);
    for (const element of sorted) if (this.hasMember(element)) found.push([...prefix, element]);
    for (const element of sorted) {
      const below = this.under(element);
      if (below !== undefined) below.#addPaths([...prefix, element], found);
    }
  }

  /** The set as FieldsV1, compact JSON. Remembered, for parts of it, too: a set that differs a little shares the rest. */
  encode(): string {
    return (this.#text ??= `{${this.#inner()}}`);
  }

  /** The same where the path that leads to the set is a member of the set around it. */
  #encodeMember(): string {
    return (this.#memberText ??= `{".":{},${this.#inner()}}`);
  }

  /** Never empty below another set. */
  #inner(): string {
    let text = "";
    for (const element of sortElements([...this.#nodes.keys()])) {
      const { member, below } = this.#nodes.get(element) as Node;
      assert(member || below !== undefined, "A node of a set of fields holds nothing");
      assert(below === undefined || !below.isEmpty, "An empty set of fields is below another one");
      const inner = below === undefined ? "{}" : member ? below.#encodeMember() : below.encode();
      text += `${text === "" ? "" : ","}${quoteElement(element)}:${inner}`;
    }
    return text;
  }

  /** The same for compact text as encode() writes it; undefined for any other, which decode() may still read. */
  static read(text: string, depthMax: number): FieldSet | undefined {
    const reader = { text, at: 0, depthMax };
    const set = FieldSet.#read(reader, 1);
    return reader.at === text.length ? set?.below : undefined;
  }

  /** Reads an object; the reader is behind it. Undefined: it is not as encode() writes it. */
  static #read(reader: SetReader, depth: number): { readonly member: boolean; readonly below: FieldSet } | undefined {
    const { text } = reader;
    if (depth > reader.depthMax || text.charCodeAt(reader.at) !== openMap) return undefined;
    const set = new FieldSet();
    let member = false;
    let last = "";
    for (;;) {
      reader.at += 1;
      if (text.startsWith(itself, reader.at)) {
        member = true;
        reader.at += itself.length;
      } else {
        const element = readKey(reader);
        if (element === undefined || set.#nodes.has(element)) return undefined;
        const start = reader.at;
        const like = set.#item;
        if (text.startsWith("{}", start)) {
          set.#nodes.set(element, leaf);
          reader.at += 2;
        } else if (last !== "" && like !== undefined && !isField(element) && text.startsWith(last, start)) {
          set.#nodes.set(element, like);
          reader.at += last.length;
        } else {
          const inner = FieldSet.#read(reader, depth + 1);
          if (inner === undefined) return undefined;
          set.#put(element, inner.member, inner.below);
          if (!isField(element)) last = text.slice(start, reader.at);
        }
      }
      const code = text.charCodeAt(reader.at);
      if (code === comma) continue;
      if (code !== closeMap || set.isEmpty) return undefined;
      reader.at += 1;
      return { member, below: set };
    }
  }

  /** Reads FieldsV1; undefined for anything else. `depthMax` bounds how deep it may nest. */
  static decode(fields: Value, depthMax: number): FieldSet | undefined {
    if (!(fields instanceof Map) || depthMax === 0) return undefined;
    const set = new FieldSet();
    for (const [key, inner] of fields) {
      if (key === ".") continue;
      const element = readElement(key);
      if (element === undefined || !(inner instanceof Map)) return undefined;
      const below = FieldSet.decode(inner, depthMax - 1);
      if (below === undefined) return undefined;
      const member = inner.size === 0 || inner.has(".");
      const known = set.#nodes.get(element);
      const both = known?.below === undefined ? below : known.below.union(below);
      set.#put(element, member || known?.member === true, both);
    }
    return set;
  }
}

function joinNodes(mine: Node, theirs: Node): Node {
  const member = mine.member || theirs.member;
  if (theirs.below === undefined) return member === mine.member ? mine : { member, below: mine.below };
  const below = mine.below === undefined ? theirs.below : mine.below.union(theirs.below);
  return member === mine.member && below === mine.below ? mine : { member, below };
}

function isNodeWithin({ member, below }: Node, theirs: Node): boolean {
  if (member && !theirs.member) return false;
  return below === undefined || (theirs.below !== undefined && below.isWithin(theirs.below));
}

function areNodesEqual({ member, below }: Node, theirs: Node): boolean {
  if (member !== theirs.member) return false;
  return below === undefined || theirs.below === undefined ? below === theirs.below : below.equals(theirs.below);
}

/** The set of nothing. */
export const emptySet: FieldSet = new FieldSet();

/** The union of some sets. United in pairs, so that nothing is copied more often than their number can be halved. */
export function unionOf(sets: readonly FieldSet[]): FieldSet {
  let rest = sets;
  while (rest.length > 1) {
    const halves: FieldSet[] = [];
    for (let index = 0; index < rest.length; index += 2) {
      const one = rest[index] as FieldSet;
      halves.push(one.union(rest[index + 1] ?? emptySet));
    }
    rest = halves;
  }
  return rest[0] ?? emptySet;
}

/** The set of some paths. */
export function setOf(...paths: readonly PathElement[][]): FieldSet {
  const set = new FieldSet();
  for (const path of paths) set.insert(path);
  return set;
}

const plain = /^[ !#-%'-;=?-[\]-~]*$/;

/** Elements of plain ASCII, quoted: the same field names are written with every object. */
const quoted = new Map<PathElement, string>();

/** An element as a key of FieldsV1, quotes included. */
export function quoteElement(element: PathElement): string {
  const known = quoted.get(element);
  if (known !== undefined) return known;
  if (plain.test(element)) return remember(quoted, element, `"${element}"`, element.length);
  return JSON.stringify(element).replace(/[<>&\u2028\u2029]/g, escapeUnit);
}

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** Where the reader of a text is. */
interface SetReader {
  readonly text: string;
  at: number;
  readonly depthMax: number;
}

const openMap = 123;
const closeMap = 125;
const openList = 91;
const closeList = 93;
const comma = 44;
const colon = 58;
const quote = 34;
const backslash = 92;
const itself = '".":{}';

/** A key and its colon; undefined where decode() has to read it. */
function readKey(reader: SetReader): PathElement | undefined {
  const { text, at } = reader;
  if (text.charCodeAt(at) !== quote) return undefined;
  let end = text.indexOf('"', at + 1);
  while (end > 0 && text.charCodeAt(end - 1) === backslash) end = text.indexOf('"', end + 1);
  if (end < 0 || text.charCodeAt(end + 1) !== colon) return undefined;
  const key = text.slice(at + 1, end);
  reader.at = end + 2;
  if (isField(key)) return key.charCodeAt(1) === colon && plain.test(key) ? key : undefined;
  const named = plainItem.exec(key);
  if (named !== null) return `k:{"${named[1]}":"${named[2]}"}`;
  if (!ascii.test(key) || key.includes("\\u")) return undefined;
  const parsed = readJson(`"${key}"`);
  return typeof parsed === "string" ? readElement(parsed) : undefined;
}

/** An item with one key that has nothing to escape but its quotes. */
const plainItem = /^k:\{\\"([A-Za-z]+)\\":\\"([ !#-%'-;=?-[\]-~]*)\\"\}$/;
const ascii = /^[ -~]*$/;

function isField(element: PathElement): boolean {
  return element.charCodeAt(0) === 102;
}

/** Sorts elements into the order of FieldsV1, in place. The contents of many keys and values are parsed once. */
function sortElements(elements: PathElement[]): PathElement[] {
  if (elements.length < 2) return elements;
  if (elements.every(isNarrowField)) return elements.sort(compareUnits);
  if (elements.length <= rememberedSorts || elements.some((element) => !"kv".includes(element.charAt(0)))) {
    return elements.sort(compareElements);
  }
  const read = elements.map((element) => ({ element, content: readContent(element) }));
  read.sort((a, b) =>
    a.element.charCodeAt(0) === b.element.charCodeAt(0)
      ? compareJson(a.content, b.content)
      : compareElements(a.element, b.element),
  );
  for (const [index, { element }] of read.entries()) elements[index] = element;
  return elements;
}

/** Lists of more items are sorted without the cache: they would evict everything else. */
const rememberedSorts = 64;

/** The order of FieldsV1: fields, then keys, values and positions, each by content. */
export function compareElements(a: PathElement, b: PathElement): number {
  const kind = a.charCodeAt(0);
  const other = b.charCodeAt(0);
  if (kind !== other) {
    const rank = ranks.indexOf(a.charAt(0));
    const otherRank = ranks.indexOf(b.charAt(0));
    assert(rank >= 0, "A path element is of no kind");
    assert(otherRank >= 0, "A path element is of no kind");
    return rank - otherRank;
  }
  if (kind === 102) return compareBytes(a, b);
  if (kind === 105) return Number(a.slice(2)) - Number(b.slice(2));
  return compareJson(contentOf(a), contentOf(b));
}

/** A field whose name has no unit from U+D800 on: among such, the order of UTF-16 is that of the bytes. */
function isNarrowField(element: PathElement): boolean {
  return element.charCodeAt(0) === 102 && (quoted.has(element) || !wide.test(element));
}

const wide = /[\ud800-\uffff]/;

function compareUnits(a: PathElement, b: PathElement): number {
  return a < b ? -1 : 1;
}

/**
 * Parsed keys and values, and the canonical form of elements clients wrote: the same few names are frequent,
 * and parsing them is most of the work. Bounded in number and length; emptied when full.
 */
const contents = new Map<PathElement, unknown>();
const canonical = new Map<string, PathElement | undefined>();
const rememberedMax = 4_096;
const rememberedCharsMax = 200;

function remember<K, V>(memory: Map<K, V>, key: K, value: V, chars: number): V {
  if (chars > rememberedCharsMax) return value;
  if (memory.size >= rememberedMax) memory.clear();
  memory.set(key, value);
  return value;
}

function contentOf(element: PathElement): unknown {
  const known = contents.get(element);
  return known ?? remember(contents, element, readContent(element), element.length);
}

/** The pairs of a key, which are compared, or the value. */
function readContent(element: PathElement): unknown {
  const content = JSON.parse(element.slice(2)) as unknown;
  return element.startsWith("k:") ? new Pairs(content as object) : content;
}

/** An object as it is compared. */
class Pairs {
  readonly list: readonly (readonly [string, unknown])[];
  constructor(object: object) {
    this.list = Object.entries(object);
  }
}

const ranks = "fkvi";

/** Numbers, strings, booleans, null, lists, maps; keys of one list have the same names and differ in a scalar. */
function compareJson(a: unknown, b: unknown): number {
  const kinds = kindRank(a) - kindRank(b);
  if (kinds !== 0) return kinds;
  if (typeof a === "string") return compareBytes(a, b as string);
  if (typeof a === "object" && a !== null) {
    const left = a instanceof Pairs ? a.list : Object.entries(a);
    const right = b instanceof Pairs ? b.list : Object.entries(b as object);
    for (let index = 0; index < Math.min(left.length, right.length); index++) {
      const [name = "", value] = left[index] ?? [];
      const [otherName = "", otherValue] = right[index] ?? [];
      const difference = compareBytes(name, otherName) || compareJson(value, otherValue);
      if (difference !== 0) return difference;
    }
    return left.length - right.length;
  }
  return Number(a) - Number(b);
}

function kindRank(value: unknown): number {
  if (typeof value === "number") return 0;
  if (typeof value === "string") return 1;
  return typeof value === "boolean" ? 2 : value === null ? 3 : Array.isArray(value) ? 4 : 5;
}

/** Lists and maps within one another in the values and keys that identify items of a list: no kind has any. */
const elementDepthMax = 16;

/** Whether a key of FieldsV1 identifies items by JSON that nests deeper than any that is read. */
export function isDeepElement(key: string): boolean {
  if (!key.startsWith("k:") && !key.startsWith("v:")) return false;
  let depth = 0;
  let inText = false;
  for (let at = 2; at < key.length; at += 1) {
    const code = key.charCodeAt(at);
    if (inText) {
      if (code === backslash) at += 1;
      else if (code === quote) inText = false;
    } else if (code === quote) inText = true;
    else if (code === openMap || code === openList) {
      depth += 1;
      if (depth > elementDepthMax) return true;
    } else if (code === closeMap || code === closeList) depth -= 1;
  }
  return false;
}

/** The canonical element of a FieldsV1 key; undefined for anything else. */
function readElement(key: string): PathElement | undefined {
  if (key.charCodeAt(1) !== 58) return undefined;
  if (key.charCodeAt(0) === 102) return key;
  return canonical.get(key) ?? remember(canonical, key, canonicalElement(key), key.length);
}

function canonicalElement(key: string): PathElement | undefined {
  // Content is read and written by recursion.
  if (isDeepElement(key)) return undefined;
  switch (key.charAt(0)) {
    case "i":
      return /^i:[+-]?[0-9]{1,15}$/.test(key) ? `i:${Number(key.slice(2))}` : undefined;
    case "v": {
      const value = readJson(key.slice(2));
      return value === undefined ? undefined : `v:${canonicalJson(value)}`;
    }
    case "k": {
      const value = readJson(key.slice(2));
      const isMap = typeof value === "object" && value !== null && !Array.isArray(value);
      return isMap ? `k:${canonicalJson(value)}` : undefined;
    }
    default:
      return undefined;
  }
}

/** Text within an element: bounded by the key that contains it. */
function readJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Compact JSON with the keys of the outermost map sorted. */
function canonicalJson(value: unknown): string {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return JSON.stringify(value);
  const names = Object.keys(value).sort(compareBytes);
  const map = new Map(Object.entries(value));
  return `{${names.map((name) => `${JSON.stringify(name)}:${JSON.stringify(map.get(name))}`).join(",")}}`;
}

/** A path as conflicts print it: `.spec.ports[port=80,protocol="TCP"].name`. */
export function pathText(path: readonly PathElement[]): string {
  return path.map(elementText).join("");
}

/** One element as it is printed. */
export function elementText(element: PathElement): string {
  const rest = element.slice(2);
  switch (element.charAt(0)) {
    case "f":
      return `.${rest}`;
    case "k": {
      const pairs = Object.entries(JSON.parse(rest) as object);
      return `[${pairs.map(([name, value]) => `${name}=${JSON.stringify(value)}`).join(",")}]`;
    }
    case "v":
      return `[=${rest}]`;
    default:
      return `[${rest}]`;
  }
}
