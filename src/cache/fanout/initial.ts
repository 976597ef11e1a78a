// The state a watch begins with, as synthetic ADDED events in the order of keys: one bounded piece at a time, all pieces
// as of the same revision, nothing kept between them but the last key.
import { assertShared } from "../../base/assert.ts";
import { limits } from "../../config/limits.ts";
import type { Location } from "../shared/record.ts";
import type { LogView } from "../view/view.ts";
import type { Gather } from "./gather.ts";
import { examinationCost } from "./select.ts";
import type { Watcher } from "./watcher.ts";

/** What a piece of an initial state is. */
export interface InitialPiece {
  /** Of the state; 0: now. */
  readonly revision: number;
  /** Keys are `namespace/name`. */
  readonly namespaced: boolean;
  /** It ends with the object that reaches it. */
  readonly bytesMax: number;
}

/** Gathers the next piece of a watcher's initial state. True when it was the last one. */
export function gatherInitial(
  view: LogView,
  gather: Pick<Gather, "addInitial" | "length">,
  watcher: Watcher,
  { revision, namespaced, bytesMax }: InitialPiece,
): boolean {
  const { match, namespace, representation, selector } = watcher.group;
  const name = selector.fields.find(({ field, operator }) => field === "metadata.name" && operator === "=");
  if (name !== undefined && (namespace !== "" || !namespaced)) {
    const at = revision === 0 ? view.get(namespace, name.value) : view.getAt(namespace, name.value, revision);
    if (at !== 0 && (match === undefined || match(view.selectionSource(at), view.selectionAt(at)))) {
      gather.addInitial(view, at, representation);
    }
    return true;
  }
  const cost = examinationCost(selector);
  let examined = 0;
  let read = 0;
  let done = true;
  view.scan(namespace, watcher.after, revision, (at: Location, key: string) => {
    if (match === undefined || match(view.selectionSource(at), view.selectionAt(at))) {
      gather.addInitial(view, at, representation);
      // The cost of a transform depends on the bytes read, not on those written.
      if (representation.transform !== undefined) read += view.object(at).length;
    }
    examined += cost;
    if (Math.max(gather.length, read) < bytesMax && examined < limits.initialRecordsMax) return true;
    assertShared(key !== watcher.after, "An initial state does not get further");
    watcher.after = key;
    done = false;
    return false;
  });
  return done;
}
