// The paths of a conflict as upstream prints them. It lists them in slices that share memory: elements a later path
// writes into the spare room of a slice shows in the earlier ones of the same length, too. Clients and their tests know
// these texts, so they are made the same way here; decisions use the true paths.
import { assert } from "../base/assert.ts";
import type { PathElement } from "./fieldset.ts";

/** A slice: the first `length` elements of an array, whose own length is its capacity. */
interface Slice {
  readonly room: (PathElement | undefined)[];
  readonly length: number;
}

/** Go's append(): into the room that is left, or into twice the room. */
function append({ room, length }: Slice, element: PathElement): Slice {
  assert(length <= room.length, "A slice is longer than its room");
  let target = room;
  if (length === room.length) {
    target = room.concat(new Array<undefined>(Math.max(1, length)).fill(undefined));
  }
  target[length] = element;
  return { room: target, length: length + 1 };
}

/**
 * The printed path of each path of a set, in the order of FieldSet.paths(). Linear in the length of the
 * paths.
 */
export function toldPaths(paths: readonly (readonly PathElement[])[]): PathElement[][] {
  // Prefixes of the last path: the one of length n is at n, with the element that made it.
  const prefixes: { readonly slice: Slice; readonly element: PathElement | undefined }[] = [
    { slice: { room: [], length: 0 }, element: undefined },
  ];
  const slices = paths.map((path) => {
    let shared = 0;
    while (shared < path.length - 1 && prefixes[shared + 1]?.element === path[shared]) shared += 1;
    prefixes.length = shared + 1;
    for (const element of path.slice(shared, -1)) {
      const { slice } = prefixes[prefixes.length - 1] as { readonly slice: Slice };
      prefixes.push({ slice: append(slice, element), element });
    }
    const { slice } = prefixes[prefixes.length - 1] as { readonly slice: Slice };
    const last = path[path.length - 1];
    return last === undefined ? slice : append(slice, last);
  });
  return slices.map(({ room, length }, index) => {
    assert(length === paths[index]?.length, "A path is told longer or shorter than it is");
    return room.slice(0, length) as PathElement[];
  });
}
