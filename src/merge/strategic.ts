// Strategic merge patch: a merge patch that knows the type. Lists marked `merge` are united by their merge key (or as
// sets of scalars), and directives in the patch delete, replace, prune and order. Every rule and text is that of the
// upstream (apimachinery strategicpatch at 1.23), whose edges clients rely on: new items come before the server's own,
// directives inside a value that is added whole are data. Lists are indexed by key, so that no list is searched.
import { quote } from "../api/gotext.ts";
import type { Field, Message } from "../api/schema.ts";
import type { Value, ValueMap } from "../api/value.ts";
import { assert } from "../base/assert.ts";
import { type Patched, PatchFault } from "./document.ts";
import { goText, goType } from "./govalue.ts";

const directiveKey = "$patch";
const retainKey = "$retainKeys";
const orderPrefix = "$setElementOrder";
const deletePrefix = "$deleteFromPrimitiveList";

/** The fields of a map: those of a message, or why a key cannot be looked up. */
type Shape = Message | ((key: string) => string);

/** Applies a strategic merge patch to a document of type `message`. Neither is changed. `depthMax` bounds its descent. */
export function applyStrategicPatch(
  document: Value,
  patch: Value,
  message: Message,
  depthMax: number,
): Patched | PatchFault {
  const changes = patch ?? new Map<string, Value>();
  if (!(changes instanceof Map)) {
    const text = `json: cannot unmarshal ${jsonKind(changes)} into Go value of type map[string]interface {}`;
    return new PatchFault("malformed", text);
  }
  const original = document instanceof Map ? document : new Map<string, Value>();
  const value = mergeMap(original, changes, message, depthMax);
  return value instanceof PatchFault ? value : { value, edited: new Set() };
}

function jsonKind(value: Value): string {
  if (Array.isArray(value)) return "array";
  if (typeof value === "string") return "string";
  return typeof value === "boolean" ? "bool" : "number";
}

function mergeMap(original: ValueMap, patch: ValueMap, shape: Shape, depthLeft: number): ValueMap | PatchFault {
  if (depthLeft === 0) return new PatchFault("malformed", "exceeded max depth");
  const directive = patch.get(directiveKey);
  if (directive !== undefined) return replaceMap(directive, patch);
  const result = new Map(original);
  const retained = retain(result, patch);
  if (retained !== undefined) return retained;
  const ordered = new Set<string>();
  for (const [key, order] of patch) {
    if (!key.startsWith(orderPrefix)) continue;
    const fault = mergeOrdered(result, patch, key, order, shape, depthLeft, ordered);
    if (fault !== undefined) return fault;
  }
  for (const [key, change] of patch) {
    if (key === retainKey || key.startsWith(orderPrefix) || ordered.has(key)) continue;
    const fault = mergeKey(result, key, change, shape, depthLeft);
    if (fault !== undefined) return fault;
  }
  return result;
}

function replaceMap(directive: Value, patch: ValueMap): ValueMap | PatchFault {
  if (directive === "delete") return new Map();
  if (directive !== "replace") return unknownDirective(directive, patch);
  const result = new Map(patch);
  result.delete(directiveKey);
  return result;
}

function unknownDirective(directive: Value, map: ValueMap): PatchFault {
  return new PatchFault("failed", `unknown patch type: ${goText(directive)} in map: ${goText(map)}`);
}

/** `$retainKeys`: keys it does not name are removed; the patch may set no others. */
function retain(target: ValueMap, patch: ValueMap): PatchFault | undefined {
  const list = patch.get(retainKey);
  if (list === undefined) return undefined;
  const fault = new PatchFault("malformed", "invalid patch format of retainKeys");
  if (!Array.isArray(list)) return fault;
  const kept = new Set(list);
  for (const [key, change] of patch) {
    if (key === retainKey || change === null || key.startsWith(deletePrefix) || key.startsWith(orderPrefix)) continue;
    if (!kept.has(key)) return fault;
  }
  for (const key of [...target.keys()]) if (!kept.has(key)) target.delete(key);
  return undefined;
}

/** One key of a patch, without order directives. */
function mergeKey(
  target: ValueMap,
  patchKey: string,
  change: Value,
  shape: Shape,
  depthLeft: number,
): PatchFault | undefined {
  const deletes = patchKey.startsWith(deletePrefix);
  const key = deletes ? fieldOf(patchKey, deletePrefix) : patchKey;
  if (key === undefined) return new PatchFault("malformed", "invalid patch format of primitive list");
  if (change === null) {
    target.delete(key);
    return undefined;
  }
  const present = target.get(key);
  if (present === undefined) {
    if (!deletes) target.set(key, change);
    return undefined;
  }
  if (present instanceof Map && change instanceof Map) {
    const field = lookUp(shape, key);
    if (typeof field === "string") return new PatchFault("failed", field);
    const merged = isReplaced(field) ? change : mergeMap(present, change, shapeOf(field), depthLeft - 1);
    if (merged instanceof PatchFault) return merged;
    target.set(key, merged);
  } else if (Array.isArray(present) && Array.isArray(change)) {
    const field = lookUpList(shape, key);
    if (typeof field === "string") return new PatchFault("failed", field);
    const merged = isMerged(field) ? mergeList(present, change, field, deletes, depthLeft) : change;
    if (merged instanceof PatchFault) return merged;
    target.set(key, merged);
  } else if (!deletes || goType(present) === goType(change)) target.set(key, change);
  return undefined;
}

/** `prefix/field` names the field; undefined for anything else. */
function fieldOf(key: string, prefix: string): string | undefined {
  return key[prefix.length] === "/" ? key.slice(prefix.length + 1) : undefined;
}

function lookUp(shape: Shape, key: string): Field | string {
  if (typeof shape === "function") return shape(key);
  return shape.byJson.get(key) ?? unknownField(shape.shortName, key);
}

function lookUpList(shape: Shape, key: string): Field | string {
  const field = lookUp(shape, key);
  if (typeof field === "string" || field.cardinality === "list") return field;
  return "expected slice or array type, but got: struct";
}

/** The shape of the values of a field. */
function shapeOf(field: Field): Shape {
  if (field.cardinality !== "map" && field.message !== undefined) return field.message;
  if (field.cardinality !== "map" && field.type === "raw") return (key) => unknownField("RawExtension", key);
  const kind = field.cardinality === "map" ? "map" : field.type;
  return () => `merging an object in json but data type is not struct, instead is: ${kind}`;
}

function unknownField(struct: string, key: string): string {
  return `unable to find api field in struct ${struct} for the json field ${quote(key)}`;
}

function isReplaced(field: Field): boolean {
  return field.patchStrategy.includes("replace");
}

function isMerged(field: Field): boolean {
  return field.patchStrategy.includes("merge");
}

/** A list with `$setElementOrder`: merged as without it, then brought into that order. */
function mergeOrdered(
  target: ValueMap,
  patch: ValueMap,
  orderKey: string,
  order: Value,
  shape: Shape,
  depthLeft: number,
  ordered: Set<string>,
): PatchFault | undefined {
  if (!Array.isArray(order)) return wrongType([], order);
  const key = fieldOf(orderKey, orderPrefix);
  if (key === undefined) return new PatchFault("malformed", "invalid patch format of setElementOrder list");
  const present = target.get(key);
  const change = patch.get(key);
  if (present !== undefined && !Array.isArray(present)) return wrongType([], present);
  if (change !== undefined && !Array.isArray(change)) return wrongType([], change);
  const field = lookUpList(shape, key);
  if (typeof field === "string") return new PatchFault("failed", field);
  const name = field.patchMergeKey ?? "";
  const unordered = checkOrder(change ?? [], order, name);
  if (unordered !== undefined) return unordered;
  if (present === undefined && change === undefined) return undefined;
  let merged: Value[] | PatchFault = present ?? change ?? [];
  if (present !== undefined && change !== undefined) {
    merged = isMerged(field) ? mergeList(present, change, field, false, depthLeft) : change;
  }
  if (merged instanceof PatchFault) return merged;
  const kind = elementType([present ?? [], change ?? []]);
  if (kind instanceof PatchFault) return kind;
  const arranged = arrange(merged, order, present ?? [], name);
  if (arranged instanceof PatchFault) return arranged;
  target.set(key, arranged);
  ordered.add(key);
  return undefined;
}

function wrongType(expected: Value, actual: Value): PatchFault {
  return new PatchFault("failed", `expected a ${goType(expected)}, but received a ${goType(actual)}`);
}

/** Items of the patch must be in the order list, in its order. */
function checkOrder(list: readonly Value[], order: readonly Value[], name: string): PatchFault | undefined {
  if (order.length === 0 || list.length === 0) return undefined;
  let at = 0;
  for (const item of list) {
    if (item instanceof Map && item.has(directiveKey)) continue;
    const wanted = identify(item, name);
    if (wanted instanceof PatchFault) return wanted;
    for (; ; at++) {
      if (at >= order.length) {
        const texts = `${goText(list as Value[])}\n doesn't match ${orderPrefix} list:\n${goText(order as Value[])}\n`;
        return new PatchFault("failed", `The order in patch list:\n${texts}`);
      }
      const found = identify(order[at] as Value, name);
      if (found instanceof PatchFault) return found;
      if (found === wanted) break;
    }
    at++;
  }
  return undefined;
}

/** Items are equal when these texts are: of the merge key's value, or of the scalar itself. */
function identify(item: Value, name: string): string | PatchFault {
  if (name === "") {
    if (item instanceof Map || Array.isArray(item)) {
      return new PatchFault("failed", "cannot merge lists without merge key for struct");
    }
    return `${goType(item)} ${goText(item)}`;
  }
  if (!(item instanceof Map)) return wrongType(new Map(), item);
  const value = item.get(name);
  if (value === undefined) return noMergeKey(item, name);
  // Upstream ends the connection here.
  if (value instanceof Map || Array.isArray(value)) {
    return new PatchFault("malformed", `map: ${goText(item)} has a merge key ${name} that is no scalar`);
  }
  return `${goType(value)} ${goText(value)}`;
}

function noMergeKey(map: ValueMap, name: string): PatchFault {
  return new PatchFault("failed", `map: ${goText(map)} does not contain declared merge key: ${name}`);
}

/** The Go type all items share. */
function elementType(lists: readonly (readonly Value[])[]): string | PatchFault {
  let type: string | undefined;
  for (const list of lists) {
    for (const item of list) {
      const next = goType(item);
      if (type === undefined && Array.isArray(item)) {
        return new PatchFault("inapplicable", "lists of lists are not supported");
      }
      type ??= next;
      if (next !== type || item === null) {
        return new PatchFault("failed", `list element types are not identical: ${goText(lists as Value[])}`);
      }
    }
  }
  return type ?? new PatchFault("failed", "no elements in any of the given slices");
}

/** Unites two lists; `deletes`: takes the patch's scalars out of the list. */
function mergeList(
  original: Value[],
  patch: Value[],
  field: Field,
  deletes: boolean,
  depthLeft: number,
): Value[] | PatchFault {
  if (original.length === 0 && patch.length === 0) return original;
  const type = elementType([original, patch]);
  if (type instanceof PatchFault) return type;
  if (type !== goType(new Map())) {
    if (deletes) {
      const gone = new Set(patch.map((item) => identify(item, "")));
      return original.filter((item) => !gone.has(identify(item, "")));
    }
    return arrange(withoutDoubles([...original, ...patch]), patch, original, "");
  }
  const name = field.patchMergeKey ?? "";
  if (name === "") return new PatchFault("failed", "cannot merge lists without merge key for struct");

  const directed = followDirectives(original as ValueMap[], patch as ValueMap[], name);
  if (directed instanceof PatchFault) return directed;
  const merged = mergeItems(directed.kept, directed.changes, name, shapeOf(field), depthLeft);
  return merged instanceof PatchFault ? merged : arrange(merged, directed.changes, directed.kept, name);
}

function withoutDoubles(list: readonly Value[]): Value[] {
  const seen = new Set<string | PatchFault>();
  return list.filter((item) => {
    const id = identify(item, "");
    return seen.has(id) ? false : seen.add(id);
  });
}

/** `$patch` in items: the remaining items of the list, and the items without a directive. */
function followDirectives(
  original: readonly ValueMap[],
  patch: readonly ValueMap[],
  name: string,
): { kept: readonly ValueMap[]; changes: readonly ValueMap[] } | PatchFault {
  const changes: ValueMap[] = [];
  const deleted = new Set<string>();
  let replaces = false;
  for (const item of patch) {
    const directive = item.get(directiveKey);
    if (directive === undefined) changes.push(item);
    else if (directive === "replace") replaces = true;
    else if (directive === "delete") {
      const id = identify(item, name);
      if (id instanceof PatchFault) return id;
      deleted.add(id);
    } else if (directive === "merge") {
      return new PatchFault("failed", "merging lists cannot yet be specified in the patch");
    } else return unknownDirective(directive, item);
  }
  if (replaces) return { kept: changes, changes: [] };
  if (deleted.size === 0) return { kept: original, changes };
  const kept = original.filter((item) => {
    const id = identify(item, name);
    return id instanceof PatchFault || !deleted.has(id);
  });
  return { kept, changes };
}

/** Merges each change into the item of its key, or appends it. */
function mergeItems(
  original: readonly ValueMap[],
  changes: readonly ValueMap[],
  name: string,
  shape: Shape,
  depthLeft: number,
): ValueMap[] | PatchFault {
  const merged = original.slice();
  const positions = new Map<string, number>();
  for (const [index, item] of merged.entries()) {
    const id = identify(item, name);
    if (!(id instanceof PatchFault) && !positions.has(id)) positions.set(id, index);
  }
  for (const change of changes) {
    const id = identify(change, name);
    if (id instanceof PatchFault) return id;
    const index = positions.get(id);
    if (index === undefined) positions.set(id, merged.push(change) - 1);
    else {
      const item = mergeMap(merged[index] as ValueMap, change, shape, depthLeft - 1);
      if (item instanceof PatchFault) return item;
      merged[index] = item;
    }
  }
  return merged;
}

/**
 * Brings a merged list into order: items named in `order` follow it, the others keep the server's order, and where the
 * two meet an item of `order` goes first unless it was after the other in the server's list.
 */
function arrange(
  merged: readonly Value[],
  order: readonly Value[],
  server: readonly Value[],
  name: string,
): Value[] | PatchFault {
  const orderAt = positionsOf(order, name);
  if (orderAt instanceof PatchFault) return orderAt;
  const serverAt = positionsOf(server, name);
  if (serverAt instanceof PatchFault) return serverAt;
  const named: Placed[] = [];
  const others: Placed[] = [];
  for (const item of merged) {
    const id = identify(item, name);
    if (id instanceof PatchFault) return id;
    const at = orderAt.get(id);
    const serverIndex = serverAt.get(id) ?? -1;
    if (at === undefined) others.push({ item, rank: serverIndex, serverIndex });
    else named.push({ item, rank: at, serverIndex });
  }
  named.sort(byRank);
  others.sort(byRank);
  const arranged = interleave(others, named);
  assert(arranged.length === merged.length, "Items of a list are lost while it is ordered");
  return arranged;
}

/** An item and where it stands among its own, and in the server's list (-1: nowhere). */
interface Placed {
  readonly item: Value;
  readonly rank: number;
  readonly serverIndex: number;
}

function byRank(a: Placed, b: Placed): number {
  return a.rank - b.rank;
}

function positionsOf(list: readonly Value[], name: string): Map<string, number> | PatchFault {
  const positions = new Map<string, number>();
  for (const [index, item] of list.entries()) {
    const id = identify(item, name);
    if (id instanceof PatchFault) return id;
    if (!positions.has(id)) positions.set(id, index);
  }
  return positions;
}

function interleave(others: readonly Placed[], named: readonly Placed[]): Value[] {
  const all: Value[] = [];
  let at = 0;
  for (const { item, serverIndex } of named) {
    for (let next = others[at]; next !== undefined; next = others[++at]) {
      if (next.serverIndex < 0 || serverIndex < 0 || next.serverIndex > serverIndex) break;
      all.push(next.item);
    }
    all.push(item);
  }
  for (; at < others.length; at++) all.push((others[at] as Placed).item);
  return all;
}
