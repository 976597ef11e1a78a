// Sets of field paths: what managers own. A path element is the text FieldsV1 has for it: `f:name` a field, `k:{…}` an
// item of a list by its keys, `v:…` an item of a set by its value, `i:0` an item by its position. Texts are canonical
// (keys sorted, compact), so that elements are equal when their texts are.
//
//   {"f:spec": {"f:replicas": {}, "f:ports": {"k:{\"port\":80}": {".": {}, "f:name": {}}}}}
//
// is the set of .spec.replicas, .spec.ports[port=80] and .spec.ports[port=80].name.
import { compareBytes } from "../api/gotext.ts";
import type { Value } from "../api/value.ts";

/** One step of a path. */
export type PathElement = string;

interface Node {
  /** The path that ends here is in the set. */
  readonly member: boolean;
  /** Paths that go on from here; never an empty set. */
  readonly below: FieldSet | undefined;
}

/** A set of paths. All operations but insert() leave their operands alone; results may share parts with them. */
export class FieldSet {
  readonly #nodes = new Map<PathElement, Node>();
  /** What the set was encoded as, with and without itself being in the set that holds it. */
  #text: string | undefined;
  #memberText: string | undefined;

  get isEmpty(): boolean {
    return this.#nodes.size === 0;
  }

  /** Adds a path. Only while the set is being built: nobody else may hold it yet. The empty path is not kept. */
  insert(path: readonly PathElement[]): void {
    const last = path[path.length - 1];
    if (last === undefined) return;
    const set = this.#openAll(path);
    const node = set.#nodes.get(last);
    if (node?.member !== true) set.#nodes.set(last, { member: true, below: node?.below });
  }

  /** Adds a path and all that goes on from it, of which nothing is in the set yet. As insert(), while it is built. */
  graft(path: readonly PathElement[], below: FieldSet | undefined): void {
    const last = path[path.length - 1];
    if (last !== undefined) this.#openAll(path).graftElement(last, below);
  }

  /** graft() of one element. */
  graftElement(element: PathElement, below: FieldSet | undefined): void {
    this.#nodes.set(element, { member: true, below: below === undefined || below.isEmpty ? undefined : below });
  }

  /** Adds an element, a member or not, and what goes on from it, to what there is of it. As insert(), while it is built. */
  join(element: PathElement, member: boolean, below: FieldSet | undefined): void {
    const node = this.#nodes.get(element);
    if (node === undefined) this.#put(element, member, below);
    else
      this.#put(element, member || node.member, node.below === undefined ? below : node.below.union(below ?? emptySet));
  }

  /** Whether every path is in `other`, too. */
  isWithin(other: FieldSet): boolean {
    if (this === other) return true;
    for (const [element, { member, below }] of this.#nodes) {
      const theirs = other.#nodes.get(element);
      if (theirs === undefined || (member && !theirs.member)) return false;
      if (below !== undefined && (theirs.below === undefined || !below.isWithin(theirs.below))) return false;
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
    const below = new FieldSet();
    this.#nodes.set(element, { member: node?.member === true, below });
    return below;
  }

  #put(element: PathElement, member: boolean, below: FieldSet | undefined): void {
    const kept = below === undefined || below.isEmpty ? undefined : below;
    if (member || kept !== undefined) this.#nodes.set(element, { member, below: kept });
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
    for (const [element, node] of other.#nodes) {
      const mine = this.#nodes.get(element);
      const joined = mine === undefined ? node : joinNodes(mine, node);
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
    const result = new FieldSet();
    for (const [element, { member, below }] of this.#nodes) {
      const theirs = other.#nodes.get(element);
      if (theirs === undefined) continue;
      const both = below === undefined || theirs.below === undefined ? undefined : below.intersection(theirs.below);
      result.#put(element, member && theirs.member, both);
    }
    return result;
  }

  /** Paths that are not in `other`; what goes on from a path of `other` stays. This set itself where none are. */
  difference(other: FieldSet): FieldSet {
    if (other.isEmpty || this.isEmpty) return this;
    const [few, many] = this.#nodes.size < other.#nodes.size ? [this, other] : [other, this];
    let result: FieldSet | undefined;
    for (const element of few.#nodes.keys()) {
      if (!many.#nodes.has(element)) continue;
      const node = this.#nodes.get(element) as Node;
      const theirs = other.#nodes.get(element) as Node;
      const below = theirs.below === undefined ? node.below : node.below?.difference(theirs.below);
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

  equals(other: FieldSet): boolean {
    if (this === other) return true;
    if (this.#nodes.size !== other.#nodes.size) return false;
    for (const [element, { member, below }] of this.#nodes) {
      const theirs = other.#nodes.get(element);
      if (theirs === undefined || theirs.member !== member) return false;
      if ((below === undefined) !== (theirs.below === undefined)) return false;
      if (below !== undefined && theirs.below !== undefined && !below.equals(theirs.below)) return false;
    }
    return true;
  }

  /** The set with every element for which `choose` says so made a member; it returns what to ask below the element. */
  withMembers<T>(
    at: T,
    choose: (at: T, element: PathElement) => { readonly named: boolean; readonly below: T },
  ): FieldSet {
    const result = new FieldSet();
    for (const [element, { member, below }] of this.#nodes) {
      if (below === undefined) result.#nodes.set(element, { member, below });
      else {
        const choice = choose(at, element);
        const deeper = below.withMembers(choice.below, choose);
        result.#nodes.set(element, { member: member || choice.named, below: deeper });
      }
    }
    return result;
  }

  /** All paths: those that end first, then those that go on, elements in their order. */
  paths(prefix: readonly PathElement[] = []): PathElement[][] {
    const sorted = this.#sorted();
    const found: PathElement[][] = [];
    for (const [element, { member }] of sorted) if (member) found.push([...prefix, element]);
    for (const [element, { below }] of sorted)
      if (below !== undefined) found.push(...below.paths([...prefix, element]));
    return found;
  }

  #sorted(): [PathElement, Node][] {
    const nodes = [...this.#nodes];
    return nodes.length < 2 ? nodes : nodes.sort(([a], [b]) => compareElements(a, b));
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
    const elements = [...this.#nodes.keys()];
    if (elements.length > 1) elements.sort(elements.every(isNarrowField) ? compareUnits : compareElements);
    for (const element of elements) {
      const { member, below } = this.#nodes.get(element) as Node;
      const inner = below === undefined ? "{}" : member ? below.#encodeMember() : below.encode();
      text += `${text === "" ? "" : ","}${quoteElement(element)}:${inner}`;
    }
    return text;
  }

  /** Reads FieldsV1; undefined for what is none. `depthMax` bounds how deep it may nest. */
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

/** The set of nothing. */
export const emptySet: FieldSet = new FieldSet();

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

/** The order of FieldsV1: fields, then keys, values and positions, each by what they say. */
export function compareElements(a: PathElement, b: PathElement): number {
  const kind = a.charCodeAt(0);
  const other = b.charCodeAt(0);
  if (kind !== other) return ranks.indexOf(a.charAt(0)) - ranks.indexOf(b.charAt(0));
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
 * What keys and values hold, and the canonical form of elements clients wrote: the same few names come again and again,
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
  return known ?? remember(contents, element, JSON.parse(element.slice(2)) as unknown, element.length);
}

const ranks = "fkvi";

/** Numbers, strings, booleans, null, lists, maps; keys of one list have the same names and differ in a scalar. */
function compareJson(a: unknown, b: unknown): number {
  const kinds = kindRank(a) - kindRank(b);
  if (kinds !== 0) return kinds;
  if (typeof a === "string") return compareBytes(a, b as string);
  if (typeof a === "object" && a !== null) {
    const left = Object.entries(a);
    const right = Object.entries(b as object);
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

/** The canonical element of a FieldsV1 key; undefined for what is none. */
function readElement(key: string): PathElement | undefined {
  if (key.charCodeAt(1) !== 58) return undefined;
  if (key.charCodeAt(0) === 102) return key;
  return canonical.get(key) ?? remember(canonical, key, canonicalElement(key), key.length);
}

function canonicalElement(key: string): PathElement | undefined {
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

/** Text within an element: bounded by the key it stands in. */
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
