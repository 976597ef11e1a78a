// JSON patch (RFC 6902) with the edges of upstream's library (evanphx/json-patch 4.12), which clients rely on:
// replace of an absent key adds it, a leading slash is not needed, a list position may be negative, a test against
// null passes on an absent key, a missing value is null. All or nothing: the document handed in is never changed.
import type { Value, ValueMap } from "../api/value.ts";
import { assert } from "../base/assert.ts";
import {
  type Container,
  copyOf,
  deeperThan,
  isContainer,
  jsonLength,
  type Patched,
  PatchFault,
  sameValue,
} from "./document.ts";

/** Bounds of one patch. */
export interface JsonPatchLimits {
  /** Operations in one patch. */
  readonly operationsMax: number;
  /** Bytes of JSON all copy operations together may add. */
  readonly copyBytesMax: number;
  /** Nesting of the result. */
  readonly depthMax: number;
  /** List items all operations together may shift to make or close a gap. */
  readonly shiftedItemsMax: number;
}

/** Applies a JSON patch to a document. Neither argument is changed. */
export function applyJsonPatch(document: Value, patch: Value, limits: JsonPatchLimits): Patched | PatchFault {
  const operations = readOperations(patch);
  if (operations instanceof PatchFault) return operations;
  if (operations.length > limits.operationsMax) {
    const message = `The allowed maximum operations in a JSON patch is ${limits.operationsMax}, got ${operations.length}`;
    return new PatchFault("too-large", message);
  }
  const edit = new Edit(document, limits.copyBytesMax);
  for (const operation of operations) {
    const fault = edit.run(operation);
    if (fault !== undefined) return new PatchFault("inapplicable", fault);
    if (edit.shiftedItems > limits.shiftedItemsMax) {
      return new PatchFault("too-large", `The allowed maximum of shifted list items is ${limits.shiftedItemsMax}`);
    }
  }
  if (deeperThan(edit.root, limits.depthMax)) return new PatchFault("inapplicable", "exceeded max depth");
  return { value: edit.root, edited: edit.owned };
}

/** A patch is a list of objects; null is an empty one, and a null operation is an operation without fields. */
function readOperations(patch: Value): readonly ValueMap[] | PatchFault {
  if (patch === null) return [];
  if (!Array.isArray(patch)) {
    return new PatchFault("malformed", `json: cannot unmarshal ${goKind(patch)} into Go value of type jsonpatch.Patch`);
  }
  const operations: ValueMap[] = [];
  for (const item of patch) {
    if (item instanceof Map) operations.push(item);
    else if (item === null) operations.push(new Map());
    else {
      const message = `json: cannot unmarshal ${goKind(item)} into Go value of type jsonpatch.Operation`;
      return new PatchFault("malformed", message);
    }
  }
  return operations;
}

function goKind(value: Value): string {
  if (Array.isArray(value)) return "array";
  if (value instanceof Map) return "object";
  if (typeof value === "string") return "string";
  return typeof value === "boolean" ? "bool" : "number";
}

/** Where an operation points: a container and the key or position in it. */
interface Place {
  readonly container: Container;
  readonly key: string;
}

/** One application of a patch. A method returns an error message, undefined for success. */
class Edit {
  root: Value;
  /** Containers copied for this edit: they may be changed in place. */
  readonly owned = new Set<Container>();
  /** List items shifted so far. */
  shiftedItems = 0;
  #copyBytesLeft: number;

  constructor(document: Value, copyBytesMax: number) {
    this.root = document;
    this.#copyBytesLeft = copyBytesMax;
  }

  run(operation: ValueMap): string | undefined {
    const op = operation.get("op");
    switch (op) {
      case "add":
        return this.#add(operation);
      case "remove":
        return this.#remove(operation);
      case "replace":
        return this.#replace(operation);
      case "move":
        return this.#move(operation);
      case "copy":
        return this.#copy(operation);
      case "test":
        return this.#test(operation);
      default:
        return `Unexpected kind: ${typeof op === "string" ? op : "unknown"}`;
    }
  }

  #add(operation: ValueMap): string | undefined {
    const place = this.#place(operation, "path");
    return typeof place === "string" ? place : this.#insert(place, operation.get("value") ?? null);
  }

  #remove(operation: ValueMap): string | undefined {
    const place = this.#place(operation, "path");
    return typeof place === "string" ? place : this.#take(place);
  }

  #replace(operation: ValueMap): string | undefined {
    if (operation.get("path") === "") {
      // The whole document; a value that is none changes nothing.
      const value = operation.get("value");
      if (value === undefined) return "Replace operation has no value";
      if (isContainer(value)) this.root = value;
      return undefined;
    }
    const place = this.#place(operation, "path");
    if (typeof place === "string") return place;
    const value = operation.get("value") ?? null;
    this.#checkOwned(place);
    if (place.container instanceof Map) {
      place.container.set(place.key, value);
      return undefined;
    }
    const index = position(place.key, place.container.length);
    if (index === undefined) return `Replace operation does not apply: no item ${place.key}`;
    place.container[index] = value;
    return undefined;
  }

  #move(operation: ValueMap): string | undefined {
    const from = this.#place(operation, "from");
    if (typeof from === "string") return from;
    const value = read(from);
    if (typeof value === "string") return value;
    const fault = this.#take(from);
    if (fault !== undefined) return fault;
    const place = this.#place(operation, "path");
    return typeof place === "string" ? place : this.#insert(place, value.found ?? null);
  }

  #copy(operation: ValueMap): string | undefined {
    const from = this.#place(operation, "from");
    if (typeof from === "string") return from;
    const value = read(from);
    if (typeof value === "string") return value;
    const place = this.#place(operation, "path");
    if (typeof place === "string") return place;
    if (value.found === undefined || value.found === null) return this.#insert(place, null);
    // The copy shares the original's containers; neither may be changed in place any more.
    this.#copyBytesLeft -= jsonLength(value.found, (container) => this.owned.delete(container));
    if (this.#copyBytesLeft < 0) return "The copied values exceed the limit";
    // Reading gave up ownership below `found`, which may hold the target's container too.
    const target = this.#place(operation, "path");
    return typeof target === "string" ? target : this.#insert(target, value.found);
  }

  #test(operation: ValueMap): string | undefined {
    const expected = operation.get("value");
    // Nothing equals a value that is not there (RFC 6902 asks for one; upstream ends the connection where it reads it).
    if (expected === undefined) return "Test operation has no value";
    if (operation.get("path") === "") {
      return sameValue(this.root, expected) ? undefined : "Testing the document failed";
    }
    const place = this.#place(operation, "path");
    if (typeof place === "string") return place;
    const value = read(place);
    if (typeof value === "string") return value;
    return sameValue(value.found ?? null, expected) ? undefined : "Testing the value failed";
  }

  #insert(place: Place, value: Value): string | undefined {
    const { container, key } = place;
    this.#checkOwned(place);
    if (container instanceof Map) {
      container.set(key, value);
      return undefined;
    }
    const index = key === "-" ? container.length : position(key, container.length + 1);
    if (index === undefined) return `No position ${key} in a list of ${container.length}`;
    this.shiftedItems += container.length - index;
    container.splice(index, 0, value);
    return undefined;
  }

  #take(place: Place): string | undefined {
    const { container, key } = place;
    this.#checkOwned(place);
    if (container instanceof Map) return container.delete(key) ? undefined : `No key ${key} to remove`;
    const index = position(key, container.length);
    if (index === undefined) return `No item ${key} in a list of ${container.length}`;
    this.shiftedItems += container.length - index;
    container.splice(index, 1);
    return undefined;
  }

  /** Finds the container a pointer's last part is in and makes the way to it editable. */
  #place(operation: ValueMap, field: "path" | "from"): Place | string {
    const pointer = operation.get(field);
    if (typeof pointer !== "string") return `Operation misses its ${field}`;
    const parts = pointer.split("/");
    if (parts.length < 2) return `Document misses path "${pointer}"`;
    if (!isContainer(this.root)) return "Document is neither an object nor an array";
    let container: Container = this.#own(this.root, (copy) => (this.root = copy));
    for (const part of parts.slice(1, -1)) {
      const step: Place = { container, key: unescapePart(part) };
      const next = read(step);
      if (typeof next === "string" || !isContainer(next.found)) return `Document misses path "${pointer}"`;
      container = this.#own(next.found, (copy) => put(step, copy));
    }
    return { container, key: unescapePart(parts[parts.length - 1] ?? "") };
  }

  /** The document and the patch are not changed, only copies of their containers. */
  #checkOwned({ container }: Place): void {
    assert(this.owned.has(container), "A JSON patch changes its input");
  }

  #own(container: Container, replace: (copy: Container) => void): Container {
    if (this.owned.has(container)) return container;
    const copy = copyOf(container);
    this.owned.add(copy);
    replace(copy);
    return copy;
  }
}

/** `~1` is a slash, `~0` a tilde (RFC 6901). */
function unescapePart(part: string): string {
  return part.replaceAll("~1", "/").replaceAll("~0", "~");
}

/** A list position as Go's Atoi reads it; negative ones count from the end. Undefined: not one of `length` items. */
function position(key: string, length: number): number | undefined {
  if (!/^[+-]?[0-9]+$/.test(key)) return undefined;
  const number = Number(key);
  const index = number < 0 ? number + length : number;
  return index >= 0 && index < length ? index : undefined;
}

function read(place: Place): { readonly found: Value | undefined } | string {
  const { container, key } = place;
  if (container instanceof Map) return { found: container.get(key) };
  const index = position(key, container.length);
  return index === undefined ? `No item ${key} in a list of ${container.length}` : { found: container[index] };
}

/** Puts a copy where its original was. */
function put(place: Place, copy: Container): void {
  const { container, key } = place;
  if (container instanceof Map) container.set(key, copy);
  else container[position(key, container.length) ?? 0] = copy;
}
