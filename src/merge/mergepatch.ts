// JSON merge patch (RFC 7386) with upstream's edges: a null in an object that is added whole disappears even
// inside lists, one in a list that replaces a list stays, and a patch must be an object or a list.
import type { Value, ValueMap } from "../api/value.ts";
import { assert } from "../base/assert.ts";
import { type Container, copyOf, isContainer, type Patched, PatchFault } from "./document.ts";

/** Text of upstream's refusal; it says JSON Patch for a merge patch too. */
const malformed = new PatchFault("malformed", "Invalid JSON Patch");

/** Applies a merge patch to a document. Neither argument is changed. */
export function applyMergePatch(document: Value, patch: Value): Patched | PatchFault {
  const edited = new Set<Container>();
  if (!isContainer(patch)) return malformed;
  if (Array.isArray(patch) || !(document instanceof Map)) return { value: withoutNulls(patch, edited), edited };
  const root = copyOf(document);
  edited.add(root);
  const rest: [ValueMap, ValueMap][] = [[root, patch]];
  for (let pair = rest.pop(); pair !== undefined; pair = rest.pop()) {
    const [target, changes] = pair;
    assert(edited.has(target), "A merge patch changes its input");
    for (const [key, change] of changes) {
      const current = target.get(key);
      if (change === null) target.delete(key);
      else if (current === undefined || current === null || !(current instanceof Map)) {
        target.set(key, withoutNulls(change, edited));
      } else if (!(change instanceof Map)) target.set(key, change);
      else {
        const copy = copyOf(current);
        edited.add(copy);
        target.set(key, copy);
        rest.push([copy, change]);
      }
    }
  }
  return { value: root, edited };
}

/** A copy of `value` in which no object holds a null; nulls that are list items stay. Containers of the copy are noted. */
export function withoutNulls(value: Value, edited: Set<Container> = new Set()): Value {
  if (!isContainer(value)) return value;
  const root = copyOf(value);
  const rest: Container[] = [root];
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    edited.add(next);
    for (const [key, item] of next.entries()) {
      if (item === null) {
        if (next instanceof Map) next.delete(key as string);
        continue;
      }
      if (!isContainer(item)) continue;
      const copy = copyOf(item);
      if (Array.isArray(next)) next[key as number] = copy;
      else next.set(key as string, copy);
      rest.push(copy);
    }
  }
  return root;
}
