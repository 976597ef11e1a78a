// What events of a look that may have to wait are made of, found before they are written: the records whose objects they
// show, of a pass, of a watcher that lags, of an initial state.
import type { Location } from "../shared/record.ts";
import type { LogView } from "../view/view.ts";
import { countEvent, type WatchCounts } from "./counts.ts";
import { eventForms, type Gather } from "./gather.ts";
import type { Group } from "./group.ts";
import { gatherInitial, type InitialPiece } from "./initial.ts";
import type { Watcher } from "./watcher.ts";

/** Records in the order of their events. */
export interface Events {
  /** Records the events are of, and their eventForms. */
  readonly at: Location[];
  readonly forms: number[];
  /** Records whose objects they show. */
  readonly shown: Location[];
  /** Where in the log the next ones begin. */
  readonly next: number;
}

/** The next events of a watcher that lags, a slice of so many bytes; undefined: its place in the log is gone. */
export function nextEvents(
  view: LogView,
  { group, position }: Watcher,
  end: number,
  bytesMax: number,
): Events | undefined {
  const at: Location[] = [];
  const forms: number[] = [];
  let next = position;
  for (let bytes = 0; next < end && bytes < bytesMax; next += 1) {
    const record = view.at(next);
    const form = record === 0 ? eventForms.unknown : group.formOf(view, record);
    if (form === eventForms.unknown) return undefined;
    if (form === eventForms.none) continue;
    at.push(record);
    forms.push(form);
    bytes += view.object(record).length;
  }
  return { at, forms, shown: at.map((record, index) => shownRecord(view, record, forms[index] ?? 0)), next };
}

/** Gathers events for one watcher of a group. */
export function gatherEvents(gather: Gather, view: LogView, events: Events, group: Group, counts: WatchCounts): void {
  gather.reset();
  for (const [index, at] of events.at.entries()) {
    gather.addEvent(view, at, events.forms[index] ?? 0, group.representation);
    countEvent(counts, view.object(at).length, 1);
  }
}

/** Counts the events of the pass under way as delivered to a group. */
export function countPending(counts: WatchCounts, view: LogView, { pendingAt, pendingCount, synced }: Group): void {
  for (let index = 0; index < pendingCount; index += 1) {
    countEvent(counts, view.object(pendingAt[index] ?? 0).length, synced.length);
  }
}

/** Records whose objects the events of the pass under way show a group. */
export function pendingRecords(view: LogView, { pendingAt, pendingForm, pendingCount }: Group): Location[] {
  const records: Location[] = [];
  for (let index = 0; index < pendingCount; index += 1) {
    records.push(shownRecord(view, pendingAt[index] ?? 0, pendingForm[index] ?? 0));
  }
  return records;
}

/** The record whose object an event shows: the one before, where a selector was left. */
function shownRecord(view: LogView, at: Location, form: number): Location {
  return form === eventForms.left ? view.previousOf(at) : at;
}

/** The next piece of a watcher's initial state; as gatherInitial(). */
export function initialRecords(
  view: LogView,
  watcher: Watcher,
  piece: InitialPiece,
): { readonly records: readonly Location[]; readonly done: boolean } {
  const records: Location[] = [];
  const collect = { length: 0, addInitial: (_view: LogView, at: Location) => void records.push(at) };
  return { records, done: gatherInitial(view, collect, watcher, piece) };
}

/** The revision of what is before a position, where that is there and above `fallback`. */
export function revisionBefore(view: LogView, position: number, fallback: number): number {
  const at = position > 0 ? view.at(position - 1) : 0;
  return at === 0 ? fallback : Math.max(fallback, view.revisionOf(at));
}
