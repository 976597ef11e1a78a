// A patch applied to a typed object. @hot: most patches change a label, an annotation or a few fields of a status, and to
// make a document of the whole object in order to change those, and an object of the document again, is most of the work.
// Here the object is copied, and only what the patch names is decoded. Whatever is out of the ordinary (a value that does
// not fit, raw JSON, a strategic patch of lists) is left to src/merge, which has the words for it: undefined says so.
import type { Message } from "../../api/schema.ts";
import type { Value, ValueMap } from "../../api/value.ts";
import { copyField } from "../../codec/engine/copy.ts";
import { decode, Fault } from "../../codec/engine/json.ts";
import { planOf, type Slot, shapes } from "../../codec/engine/plan.ts";
import { withoutNulls } from "../../merge/mergepatch.ts";

type Source = Readonly<Record<string, unknown>>;
type Target = Record<string, unknown>;

/** Patches that go deeper are left to src/merge. */
const depthMax = 50;

/** What keys of directives begin with. */
const directive = "$";

/**
 * `object` (of `message`, as decode() makes it) with a patch applied, sharing nothing with it: what decode() makes of the
 * document after applyMergePatch() or applyStrategicPatch(). Undefined: src/merge has to tell what comes of it.
 */
export function patchTyped<T extends object>(
  message: Message,
  object: T,
  patch: Value,
  type: "merge" | "strategic",
): T | undefined {
  if (!(patch instanceof Map) || !namesSame(object as Source, patch)) return undefined;
  return patchMessage(message, object as Source, patch, type === "strategic", 0) as T | undefined;
}

/** Another kind or version is refused by a later stage. */
function namesSame(object: Source, patch: ValueMap): boolean {
  for (const key of ["kind", "apiVersion"]) if (patch.has(key) && patch.get(key) !== object[key]) return false;
  return true;
}

function patchMessage(
  message: Message,
  object: Source,
  patch: ValueMap,
  isStrategic: boolean,
  depth: number,
): Target | undefined {
  const { byName, union, open } = planOf(message);
  if (open || union !== undefined || depth > depthMax) return undefined;
  const leaves = leavesOf(byName, object, patch, isStrategic);
  if (leaves === undefined) return undefined;
  // What is gone leaves behind what an empty document has.
  const decoded = leaves.size > 0 || hasNulls(patch) ? decode<Target>(message, leaves) : nothing;
  if (decoded instanceof Fault) return undefined;
  const patched: Target = {};
  for (const json in object) {
    const value = object[json];
    const slot = typeof value === "object" && value !== null ? byName.get(json) : undefined;
    const change = patch.get(json);
    if (change === undefined) patched[json] = slot === undefined ? value : copyField(slot, value);
    else if (change instanceof Map && slot !== undefined) {
      const content = patchContent(slot, value, change, isStrategic, depth);
      if (content === undefined) return undefined;
      patched[json] = content;
    } else if (decoded[json] !== undefined) patched[json] = decoded[json];
  }
  // What every object has is in both; only what the patch names is in this one alone.
  for (const json in decoded) if (patched[json] === undefined) patched[json] = decoded[json];
  return patched;
}

const nothing: Source = Object.freeze({});

function hasNulls(patch: ValueMap): boolean {
  for (const change of patch.values()) if (change === null) return true;
  return false;
}

/** What the patch sets as a whole, nulls aside; undefined where something needs a closer look. */
function leavesOf(
  byName: ReadonlyMap<string, Slot>,
  object: Source,
  patch: ValueMap,
  isStrategic: boolean,
): ValueMap | undefined {
  const leaves: ValueMap = new Map();
  for (const [json, change] of patch) {
    const slot = byName.get(json);
    if (slot === undefined) {
      // A merge patch's unknown fields are dropped.
      if (isStrategic) return undefined;
      continue;
    }
    if (slot.shape === shapes.raw || slot.shape === shapes.union) return undefined;
    const before = object[slot.json];
    if (change instanceof Map && before !== undefined) {
      if (typeof before !== "object") return undefined;
    } else if (change !== null) {
      const leaf = leafOf(slot, change, isStrategic);
      if (leaf === undefined) return undefined;
      leaves.set(json, leaf);
    }
  }
  return leaves;
}

/** What a field is set to as a whole; undefined where that needs a closer look. */
function leafOf(slot: Slot, change: Value, isStrategic: boolean): Value | undefined {
  if (change instanceof Map) return !isStrategic || isTexts(slot, change) ? withoutNulls(change) : undefined;
  if (!Array.isArray(change)) return change;
  // A list in the place of a map or message keeps its nulls.
  return !isStrategic && slot.cardinality === "list" ? withoutNulls(change) : undefined;
}

/** A map that is nothing but texts, of a field that is. */
function isTexts(slot: Slot, change: ValueMap): boolean {
  if (slot.cardinality !== "map") return false;
  for (const [key, value] of change) if (typeof value !== "string" || key.startsWith(directive)) return false;
  return true;
}

/** A map or message with changes; both are there. */
function patchContent(slot: Slot, before: unknown, patch: ValueMap, isStrategic: boolean, depth: number): unknown {
  const { cardinality, shape, message, field } = slot;
  if (isStrategic && field.patchStrategy.length > 0) return undefined;
  if (cardinality === "map") return patchTexts(slot, before as ReadonlyMap<string, unknown>, patch, isStrategic);
  if (cardinality !== "one" || shape !== shapes.message || message === undefined) return undefined;
  return patchMessage(message, before as Source, patch, isStrategic, depth + 1);
}

/** A map of texts with changes; other maps are rare. */
function patchTexts(
  { shape }: Slot,
  before: ReadonlyMap<string, unknown>,
  patch: ValueMap,
  isStrategic: boolean,
): Map<string, unknown> | undefined {
  if (shape !== shapes.string) return undefined;
  const patched = new Map(before);
  for (const [key, change] of patch) {
    if (isStrategic && key.startsWith(directive)) return undefined;
    if (change === null) patched.delete(key);
    else if (typeof change === "string") patched.set(key, change);
    else return undefined;
  }
  return patched;
}
