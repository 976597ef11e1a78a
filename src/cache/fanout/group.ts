// Groups of watchers that want the same events in the same form, and how a record finds the groups it concerns.
// A filter is evaluated once per record and group; a group that requires one value of something is found by hash,
// so its cost for records of others is nothing.
// @hot
import { formatFieldSelector, formatLabelSelector, type Selector } from "../../api/selector.ts";
import { assertShared } from "../../base/assert.ts";
import { limits } from "../../config/limits.ts";
import { type Location, recordTypes } from "../shared/record.ts";
import type { LogView } from "../view/view.ts";
import type { Bookmark } from "./bookmark.ts";
import { eventForms, type Look } from "./gather.ts";
import {
  compileTables,
  type IndexTerms,
  indexKindCount,
  indexTerms,
  isStable,
  RecordTerms,
  type TableMatch,
} from "./select.ts";
import { type Watcher, watcherStates } from "./watcher.ts";

/** The form watchers get objects in. Equal keys mean equal bytes. */
export interface Representation extends Look {
  /** Media type, shape and version: part of the group's key. */
  readonly key: string;
  /** Bookmarks in this form. */
  readonly bookmark: Bookmark;
  /** Whether objects still look so; left out: always. Watches of another look end, as at the end of their time. */
  readonly isCurrent?: (() => boolean) | undefined;
}

/** Watchers of one log with the same namespace, selectors and representation. */
export class Group {
  readonly key: string;
  /** Empty: all namespaces. */
  readonly namespace: string;
  readonly selector: Selector;
  readonly representation: Representation;
  /** Undefined: every record. */
  readonly match: TableMatch | undefined;
  /** An object that matches once matches all its life: the previous state is not needed. */
  readonly stable: boolean;
  readonly terms: IndexTerms | undefined;
  /** In step with the log's cursor. */
  readonly synced: Watcher[] = [];
  /** The synced list is being written to, maybe over several turns: leaving it only changes a watcher's state. */
  writing = false;
  /** Index of the synced watcher that is written to next; those kept so far are at the list's start. */
  next = 0;
  #kept = 0;
  /** Watchers that left meanwhile. */
  #left = 0;
  /** Watchers in all states. */
  members = 0;

  // Events of the pass under way: locations and eventForms, and their bytes without frames.
  pendingAt: number[] = [];
  pendingForm: number[] = [];
  pendingCount = 0;
  pendingBytes = 0;
  /** Position of the record it was last evaluated for. */
  stamp = -1;

  constructor(key: string, namespace: string, selector: Selector, representation: Representation) {
    this.key = key;
    this.namespace = namespace;
    this.selector = selector;
    this.representation = representation;
    this.match = compileTables(namespace, selector);
    this.stable = isStable(selector);
    this.terms = indexTerms(namespace, selector, limits.groupTermsMax);
  }

  /** True when the group gets slices of the log as they are. */
  get whole(): boolean {
    const { transform, framing } = this.representation;
    return this.match === undefined && transform === undefined && framing === undefined;
  }

  /** How a record appears to this group: one of eventForms. `unknown`: the previous state was recycled. */
  formOf(view: LogView, at: Location): number {
    const type = view.typeOf(at);
    if (type === recordTypes.move) return eventForms.none;
    const match = this.match;
    if (match === undefined) return eventForms.stored;
    const isNow = match(view.selectionSource(at), view.selectionAt(at));
    if (this.stable || type === recordTypes.create) return isNow ? eventForms.stored : eventForms.none;
    const previous = view.previousOf(at);
    // The side-table of a delete is that of the last state: it is used where the previous state was recycled.
    if (previous === 0) {
      if (type !== recordTypes.delete) return eventForms.unknown;
      return isNow ? eventForms.stored : eventForms.none;
    }
    const wasBefore = match(view.selectionSource(previous), view.selectionAt(previous));
    if (type === recordTypes.delete) return wasBefore ? eventForms.stored : eventForms.none;
    if (isNow) return wasBefore ? eventForms.stored : eventForms.entered;
    return wasBefore ? eventForms.left : eventForms.none;
  }

  /** Notes an event of the pass under way. */
  addPending(at: Location, form: number, bytes: number): void {
    assertShared(at !== 0, "An event without a record");
    this.pendingAt[this.pendingCount] = at;
    this.pendingForm[this.pendingCount] = form;
    this.pendingCount += 1;
    this.pendingBytes += bytes;
  }

  /** Forgets the events of a pass; the arrays are kept for the next one. */
  clearPending(): void {
    this.pendingCount = 0;
    this.pendingBytes = 0;
  }

  /** Keeps a watcher that was written to. */
  keep(watcher: Watcher): void {
    assertShared(this.#kept <= this.next, "A watcher is kept over one that was not written to");
    watcher.slot = this.#kept;
    this.synced[this.#kept++] = watcher;
  }

  /** The writing is over: the list holds watchers that were kept or not written to, without those that left. */
  endWriting(): void {
    const { synced } = this;
    for (; this.next < synced.length; this.next += 1) this.keep(synced[this.next] as Watcher);
    synced.length = this.#kept;
    if (this.#left > 0) {
      this.#kept = 0;
      for (const watcher of synced) if (watcher.state === watcherStates.synced) this.keep(watcher);
      synced.length = this.#kept;
    }
    this.writing = false;
    this.next = 0;
    this.#kept = 0;
    this.#left = 0;
  }

  /** Adds a watcher to the synced list. */
  join(watcher: Watcher): void {
    assertShared(!this.writing, "A watcher joins a group that is being written to");
    watcher.slot = this.synced.length;
    this.synced.push(watcher);
  }

  /** Takes a watcher from the synced list; while it is being written to, the writer does that. */
  leave(watcher: Watcher): void {
    if (this.writing) {
      this.#left += 1;
      return;
    }
    assertShared(this.synced[watcher.slot] === watcher, "A watcher is not where its slot says");
    const last = this.synced.pop();
    if (last !== undefined && last !== watcher) {
      this.synced[watcher.slot] = last;
      last.slot = watcher.slot;
    }
    watcher.slot = -1;
  }
}

/** The key that makes watchers share a group. */
export function groupKey(namespace: string, selector: Selector, representation: Representation): string {
  const labels = formatLabelSelector(selector.labels);
  return `${representation.key}\n${namespace}\n${labels}\n${formatFieldSelector(selector.fields)}`;
}

/** The groups of one log that filter, findable by record. */
export class GroupIndex {
  readonly #byKey = new Map<number, Group[]>();
  readonly #used: number[] = new Array<number>(indexKindCount).fill(0);
  /** Groups whose match must see every record. */
  readonly #unlisted: Group[] = [];
  readonly #terms = new RecordTerms();
  /** Listed groups that look at labels or fields, which an update may change. */
  #mutable = 0;

  add(group: Group): void {
    const terms = group.terms;
    if (terms === undefined) {
      this.#unlisted.push(group);
      return;
    }
    this.#used[terms.kind] = (this.#used[terms.kind] ?? 0) + 1;
    if (!group.stable) this.#mutable += 1;
    for (const key of terms.keys) {
      const groups = this.#byKey.get(key);
      if (groups === undefined) this.#byKey.set(key, [group]);
      else groups.push(group);
    }
  }

  remove(group: Group): void {
    const terms = group.terms;
    if (terms === undefined) {
      drop(this.#unlisted, group);
      return;
    }
    const used = (this.#used[terms.kind] ?? 0) - 1;
    assertShared(used >= 0, "A group is removed that was not listed");
    this.#used[terms.kind] = used;
    if (!group.stable) this.#mutable -= 1;
    assertShared(this.#mutable >= 0, "More groups are removed than were listed");
    for (const key of terms.keys) {
      const groups = this.#byKey.get(key);
      assertShared(groups !== undefined, "A group is not listed under its terms");
      drop(groups, group);
      if (groups.length === 0) this.#byKey.delete(key);
    }
  }

  /** Fills `found` with the groups a record may concern, each once; returns how many. */
  find(view: LogView, at: Location, position: number, found: Group[]): number {
    let count = 0;
    for (const group of this.#unlisted) found[count++] = group;
    if (this.#byKey.size === 0) return count;
    count = this.#lookUp(view, at, position, false, found, count);
    // A group that matched before the change gets the DELETED event; names and namespaces do not change.
    if (this.#mutable === 0 || view.typeOf(at) === recordTypes.create) return count;
    const previous = view.previousOf(at);
    if (previous !== 0) return this.#lookUp(view, previous, position, true, found, count);
    // The groups that matched before are unknown: every group that may have matched is included.
    return view.typeOf(at) === recordTypes.update ? this.#addMutable(position, found, count) : count;
  }

  #addMutable(position: number, found: Group[], from: number): number {
    let count = from;
    for (const groups of this.#byKey.values()) {
      for (const group of groups) {
        if (group.stable || group.stamp === position) continue;
        group.stamp = position;
        found[count++] = group;
      }
    }
    return count;
  }

  #lookUp(view: LogView, at: Location, position: number, mutableOnly: boolean, found: Group[], from: number): number {
    let count = from;
    const terms = this.#terms;
    terms.read(view.selectionSource(at), view.selectionAt(at), this.#used, mutableOnly);
    for (let index = 0; index < terms.count; index += 1) {
      const groups = this.#byKey.get(terms.keys[index] ?? 0);
      if (groups === undefined) continue;
      for (const group of groups) {
        if (group.stamp === position) continue;
        group.stamp = position;
        found[count++] = group;
      }
    }
    return count;
  }
}

function drop(groups: Group[], group: Group): void {
  const index = groups.indexOf(group);
  assertShared(index >= 0, "A group is removed that was not listed");
  const last = groups.pop();
  if (last !== undefined && last !== group) groups[index] = last;
}
