// Shared by both patch formats: they edit a document without changing the input, so that a patch can be
// tried again on a newer document. Containers are copied shallowly when they are first edited and are then owned by
// the edit. Nothing here recurses: a document may be as deep as the parser allows, or deeper after a patch.
import type { Value, ValueMap } from "../api/value.ts";
import { NumberText } from "../api/value.ts";

/** An array or an object. */
export type Container = ValueMap | Value[];

/** A patch that cannot be applied: the kind selects the Status of the response. */
export class PatchFault {
  /** "malformed": 400; "inapplicable": 422; "too-large": 413; "failed": 500, as upstream answers some mistakes. */
  readonly kind: "malformed" | "inapplicable" | "too-large" | "failed";
  readonly message: string;
  constructor(kind: PatchFault["kind"], message: string) {
    this.kind = kind;
    this.message = message;
  }
}

/** A patched document, and the containers the patch edited (their keys are sorted where upstream prints them). */
export interface Patched {
  readonly value: Value;
  readonly edited: ReadonlySet<Container>;
}

/** Narrows a value to an array or an object. */
export function isContainer(value: Value | undefined): value is Container {
  return Array.isArray(value) || value instanceof Map;
}

/** The shallow copy an edit may change. */
export function copyOf<T extends Container>(container: T): T {
  return (Array.isArray(container) ? container.slice() : new Map(container)) as T;
}

/** The container's values, without its keys. */
export function valuesOf(container: Container): Iterable<Value> {
  return Array.isArray(container) ? container : container.values();
}

/** Whether arrays and objects nest deeper than `depthMax`. */
export function deeperThan(value: Value, depthMax: number): boolean {
  let level: Container[] = isContainer(value) ? [value] : [];
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > depthMax) return true;
    const below: Container[] = [];
    for (const container of level) {
      for (const item of valuesOf(container)) if (isContainer(item)) below.push(item);
    }
    level = below;
  }
  return false;
}

/** Length of a value's compact JSON text, escapes other than quote and backslash not counted; `visit` sees every container. */
export function jsonLength(value: Value, visit: (container: Container) => void): number {
  let length = 0;
  const rest: Value[] = [value];
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    if (!isContainer(next)) {
      length += scalarLength(next);
      continue;
    }
    visit(next);
    const count = Array.isArray(next) ? next.length : next.size;
    length += 2 + Math.max(0, count - 1);
    if (!Array.isArray(next)) for (const key of next.keys()) length += Buffer.byteLength(key) + 3;
    for (const item of valuesOf(next)) rest.push(item);
  }
  return length;
}

function scalarLength(value: Value): number {
  if (value === null) return 4;
  if (typeof value === "string") return Buffer.byteLength(value) + 2;
  return String(value instanceof NumberText ? value.text : value).length;
}

/** Whether two documents say the same: objects without regard to order, numbers by their text. */
export function sameValue(left: Value, right: Value): boolean {
  const rest: [Value, Value][] = [[left, right]];
  for (let pair = rest.pop(); pair !== undefined; pair = rest.pop()) {
    const [a, b] = pair;
    if (a === b) continue;
    if (Array.isArray(a)) {
      if (!Array.isArray(b) || a.length !== b.length) return false;
      for (let i = 0; i < a.length; i++) rest.push([a[i] as Value, b[i] as Value]);
    } else if (a instanceof Map) {
      if (!(b instanceof Map) || a.size !== b.size) return false;
      for (const [key, item] of a) {
        const other = b.get(key);
        if (other === undefined) return false;
        rest.push([item, other]);
      }
    } else if (a instanceof NumberText) {
      if (!(b instanceof NumberText) || a.text !== b.text) return false;
    } else return false;
  }
  return true;
}

/** The document as upstream prints a patched one: keys of the objects the patch edited in byte order. */
export function asPrinted(patched: Patched): Value {
  const sorted = (value: Value): Value => {
    if (!isContainer(value) || !patched.edited.has(value)) return value;
    if (Array.isArray(value)) return value.slice();
    return new Map([...value].sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b))));
  };
  const root = sorted(patched.value);
  const rest: Container[] = root !== patched.value && isContainer(root) ? [root] : [];
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    for (const [key, item] of next.entries()) {
      const copy = sorted(item);
      if (copy === item || !isContainer(copy)) continue;
      if (Array.isArray(next)) next[key as number] = copy;
      else next.set(key as string, copy);
      rest.push(copy);
    }
  }
  return root;
}
