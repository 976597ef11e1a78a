// The watchers of one log on one front thread: the pass that delivers new records to all synced watchers, and the steps
// of the others.
// @hot
//
//   log     ───────────────┬──────────────────┬───────────►
//                 lagging  │           cursor │       head
//                          └ own position     └ shared by all synced watchers of all groups
//
// A pass moves the cursor over at most limits.passRecordsMax records and writes at most one slice to each synced
// watcher; then those that lag get a slice each, in turn by owner, up to the cursor, where they join. The rest waits for
// the next turn of the loop. There is no timer: while a pass runs, the next batch gathers by itself.
//
// A pass gives way when its time is over, also between two watchers: groups that were not written to yet keep their
// events, held in the log, and the next turn continues with them before the cursor moves again. Meanwhile watchers may
// leave, but none joins a group: it would miss those events, or get them twice.
//
// Where a look has to wait for something first (objects that a webhook converts), its groups do not hold up a pass: their
// watchers leave with the position the pass began at, are parked until it is there, and catch up as all who lag do.

import type { Selector } from "../../api/selector.ts";
import { internalError, type Status } from "../../api/status.ts";
import { assertShared, passShared } from "../../base/assert.ts";
import { copyOf } from "../../base/copy.ts";
import { limits } from "../../config/limits.ts";
import { type Location, recordTypes } from "../shared/record.ts";
import type { Hold, LogView } from "../view/view.ts";
import { countPending, gatherEvents, initialRecords, nextEvents, pendingRecords, revisionBefore } from "./ahead.ts";
import { errorEvent, expiredEvent } from "./bookmark.ts";
import { countEvent, emptyCounts, type WatchCounts } from "./counts.ts";
import { eventForms, sliceBytesFor } from "./gather.ts";
import { Group, GroupIndex, groupKey, type Representation } from "./group.ts";
import { gatherInitial } from "./initial.ts";
import { Runnable } from "./runnable.ts";
import type { Surroundings } from "./surroundings.ts";
import { type Watcher, watcherStates } from "./watcher.ts";

const nothing = new Uint8Array(0);

/** The watchers of one log. */
export class LogWatchers {
  readonly view: LogView;
  readonly #counts = emptyCounts();
  /** Keys are `namespace/name`: a name alone is not one object. */
  readonly #namespaced: boolean;
  readonly #around: Surroundings;
  readonly #groups = new Map<string, Group>();
  readonly #filtered = new GroupIndex();
  /** Groups that get slices of the log. */
  readonly #whole = new Set<Group>();
  /** Watchers with something to do: initial states and laggards that are not blocked. */
  readonly #runnable = new Runnable();
  readonly #blocked = new Set<Watcher>();
  readonly #waiting = new Set<Watcher>();
  /** Watchers whose next events need what is not there yet. */
  readonly #parked = new Set<Watcher>();
  readonly #found: Group[] = [];
  readonly #touched: Group[] = [];
  /** Groups the pass under way writes to; it is open while some are left from #at on. */
  readonly #writes: Group[] = [];
  #at = 0;
  /** The bytes for whole groups. */
  #slice: Uint8Array = nothing;
  /** The bytes for the group at #at, when it was begun in an earlier turn. */
  #begun: Uint8Array | undefined;
  /** Writes until the next look at the clock. */
  #left = 0;
  /** Keeps the events of an open pass. */
  #hold: Hold | undefined;
  /** Keeps what a log that was given up has told, for watchers that are behind. */
  #last: Hold | undefined;
  /** Nothing of the log is read any more. */
  #isOver = false;
  readonly #stopNews: () => void;
  /** Position all synced watchers are at. */
  #cursor: number;
  /** Where the cursor was before the pass under way. */
  #passFrom = 0;
  /** The view held everything up to here when it was last drained. */
  #revision: number;
  #syncedCount = 0;
  /** Bytes of objects the cursor passed; lags are measured with it. */
  #passedBytes = 0;
  /** When a pass first left records for the next one, of those that did since one left none. */
  #behindSince: number | undefined;
  #passing = false;
  #scheduled = false;
  /** Some group has a look that may end. */
  #mayAge = false;

  constructor(view: LogView, namespaced: boolean, around: Surroundings) {
    this.view = view;
    this.#namespaced = namespaced;
    this.#around = around;
    this.#revision = view.drain();
    this.#cursor = view.head;
    this.#stopNews = view.onNews(() => this.pass());
  }

  /** Counts so far. */
  get counts(): WatchCounts {
    this.#counts.behind = this.#runnable.size + this.#blocked.size + this.#parked.size;
    return this.#counts;
  }

  /** The log has no watchers left; the object must not be used afterwards. */
  close(): void {
    this.#stopNews();
    this.#closePass();
    this.#last?.release();
  }

  /** The group for these wishes, made when it is not there. */
  group(namespace: string, selector: Selector, representation: Representation): Group {
    const key = groupKey(namespace, selector, representation);
    const known = this.#groups.get(key);
    if (known !== undefined) return known;
    const group = new Group(key, namespace, selector, representation);
    this.#groups.set(key, group);
    if (representation.isCurrent !== undefined) this.#mayAge = true;
    if (group.whole) this.#whole.add(group);
    else this.#filtered.add(group);
    this.#counts.groups += 1;
    return group;
  }

  /** Starts a watcher with the state now; its first slice is written before this returns, unless others read theirs. */
  startWithState(watcher: Watcher): void {
    this.#admit(watcher);
    watcher.revision = watcher.startRevision = this.view.drain();
    watcher.position = this.view.head;
    watcher.state = watcherStates.initial;
    this.#start(watcher);
  }

  /** Starts a watcher with the changes above `revision`; an unknown past ends it at once with 410. */
  startAfter(watcher: Watcher, revision: number): void {
    this.#admit(watcher);
    const reached = this.view.drain();
    watcher.revision = watcher.startRevision = revision;
    if (revision > reached) {
      watcher.state = watcherStates.waiting;
      this.#waiting.add(watcher);
      return;
    }
    const position = revision === reached ? this.view.head : this.view.positionAfter(revision);
    if (position === undefined) this.#expire(watcher);
    else this.#follow(watcher, position);
  }

  /** Starts a watcher with the changes from now on. */
  startNow(watcher: Watcher): void {
    this.startAfter(watcher, this.view.drain());
  }

  #admit(watcher: Watcher): void {
    watcher.group.members += 1;
    this.#counts.watchers += 1;
    watcher.sink.onDrain(() => this.#drained(watcher));
  }

  #follow(watcher: Watcher, position: number): void {
    watcher.state = watcherStates.lagging;
    watcher.position = position;
    this.#start(watcher);
  }

  /** Writes the first slice to a watcher, so that it goes with the head of the answer; where others wait, in its turn. */
  #start(watcher: Watcher): void {
    this.#runnable.add(watcher);
    if (this.#runnable.size === 1) this.#step(watcher, sliceBytesFor(limits.catchUpBytesMax, 1 + this.#blocked.size));
    this.#schedule();
  }

  /** Delivers new records to the watchers they concern; see the file's head. */
  pass(): void {
    if (this.#passing) return;
    if (this.#isTold()) return this.#endAll();
    this.#passing = true;
    const { now, sliceMs, spent } = this.#around;
    const start = now();
    const until = start + sliceMs(this.#behindSince === undefined ? 0 : start - this.#behindSince);
    const resumed = this.#isOpen;
    if (resumed) this.#resume(until);
    if (!this.#isOpen) {
      // Lagging watchers have their turn before the cursor moves on, however busy the log is.
      if (resumed) this.#catchUp(until);
      this.#revision = this.view.drain();
      if (!this.#mayAge || this.#endAged(until)) {
        this.#wakeWaiting();
        this.#advance(until);
        if (!this.#isOpen) this.#catchUp(until);
      } else this.#passLater();
    }
    this.#passing = false;
    const end = now();
    if (this.inStep) this.#behindSince = undefined;
    else this.#behindSince ??= end;
    spent(end - start);
    if (this.#isTold() || (this.#last !== undefined && this.inStep)) this.#endAll();
    else this.#schedule();
  }

  /** True when every synced watcher has everything this view holds. */
  get inStep(): boolean {
    return this.#cursor === this.view.head && !this.#isOpen;
  }

  /** The cursor has moved, and some synced watchers were not written to yet. */
  get #isOpen(): boolean {
    return this.#at < this.#writes.length;
  }

  /** Writes a bookmark to a synced watcher, when there is news in it. True when it needs no further try. */
  bookmark(watcher: Watcher): boolean {
    if (watcher.state !== watcherStates.synced || !this.inStep) return false;
    if (this.#revision <= watcher.startRevision) return true;
    this.#send(watcher, watcher.group.representation.bookmark.at(this.#revision));
    this.#counts.bookmarks += 1;
    return true;
  }

  /** Ends a watcher: `gone`: the client has closed already; otherwise the response is ended. */
  end(watcher: Watcher, gone: boolean): void {
    if (watcher.state === watcherStates.ended) return;
    this.#remove(watcher);
    if (!gone) watcher.sink.end();
  }

  /** Cuts watchers whose peer reads nothing, or that lag too far. */
  sweep(): void {
    const now = this.#around.now();
    if (this.view.gone) this.#schedule();
    for (const watcher of this.#blocked) {
      const lag = this.#passedBytes - watcher.blockedBytes;
      if (now - watcher.blockedAt <= limits.watchStallMsMax && lag <= limits.watchLagBytesMax) continue;
      // Its connection takes no more bytes, not even the ERROR: the client sees the answer cut and resumes.
      this.#counts.terminated += 1;
      this.#remove(watcher);
      watcher.sink.abort();
    }
  }

  /**
   * True when the log was given up and its watchers were told all of it. Those that cannot take their events yet are
   * waited for as long as a hold lasts.
   */
  #isTold(): boolean {
    if (!this.view.gone || this.#isOver) return this.#isOver;
    // At first a pass has to take in what was published last.
    const isFirst = this.#last === undefined;
    this.#last ??= this.view.hold();
    const late = this.#runnable.size + this.#blocked.size + this.#parked.size;
    if (isFirst || (!this.#last.expired && (late > 0 || !this.inStep))) return false;
    this.#isOver = true;
    this.#last.release();
    return true;
  }

  /** The log was given up: watches that have all of it, or can get no more, end as at the end of their time. */
  #endAll(): void {
    const { now, sliceMs, spent } = this.#around;
    const start = now();
    const until = start + sliceMs(0);
    const synced = [...this.#groups.values()].flatMap((group) => group.synced);
    const isDone = this.#endEach(this.#isOver ? [...synced, ...this.behind()] : synced, until);
    spent(now() - start);
    if (!isDone) this.#passLater();
    else if (!this.#isOver) this.#schedule();
  }

  /** Ends watches whose representation changed, before they get a record written since. False: some are left. */
  #endAged(until: number): boolean {
    const aged = [...this.#groups.values()].filter(({ representation }) => representation.isCurrent?.() === false);
    if (aged.length === 0) return true;
    const others = this.behind().filter(({ group }) => aged.includes(group));
    return this.#endEach([...aged.flatMap(({ synced }) => synced), ...others], until);
  }

  /** Ends one watcher at least. False: some are left for the next turn. */
  #endEach(watchers: readonly Watcher[], until: number): boolean {
    for (const [at, watcher] of watchers.entries()) {
      if (at > 0 && this.#around.now() > until) return false;
      this.end(watcher, false);
    }
    return true;
  }

  /** Watchers that are not in step. */
  behind(): Watcher[] {
    return [...this.#runnable, ...this.#blocked, ...this.#waiting, ...this.#parked];
  }

  #schedule(): void {
    if (this.#passing) return;
    if (this.inStep && this.#runnable.size === 0 && !this.#isTold()) return;
    this.#passLater();
  }

  #passLater(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#around.defer(() => {
      this.#scheduled = false;
      this.pass();
    });
  }

  #wakeWaiting(): void {
    for (const watcher of this.#waiting) {
      if (this.#revision <= watcher.startRevision) continue;
      this.#waiting.delete(watcher);
      const position = this.view.positionAfter(watcher.startRevision);
      if (position === undefined) {
        this.#expire(watcher);
        continue;
      }
      watcher.state = watcherStates.lagging;
      watcher.position = position;
      this.#runnable.add(watcher);
    }
  }

  // Synced watchers.

  #advance(until: number): void {
    const head = this.view.head;
    assertShared(this.#cursor <= head, "The cursor of a log's watchers is beyond its head");
    this.#passFrom = this.#cursor;
    if (this.#cursor === head) return;
    if (this.#syncedCount === 0) {
      if (this.#blocked.size > 0) this.#measure(this.#cursor, head, 0);
      this.#cursor = head;
      return;
    }
    const sliceBytes = sliceBytesFor(limits.passBytesMax, this.#syncedCount);
    let end = Math.min(head, this.#cursor + limits.passRecordsMax);
    let slice: Uint8Array | undefined;
    const wholeWatchers = this.#wholeWatchers();
    if (wholeWatchers > 0) {
      const run = this.view.run(this.#cursor, end, sliceBytes);
      if (run === undefined) return this.#expireSynced();
      assertShared(run.next > this.#cursor && run.next <= end, "A run of frames is not within its bounds");
      end = run.next;
      slice = run.bytes;
    }
    const reached = this.#collect(end, sliceBytes, slice !== undefined, until);
    if (reached < 0) return this.#expireSynced();
    assertShared(reached > this.#cursor && reached <= end, "A pass does not get further, or too far");
    // Time was over before the end of the slice: the records are the same for all.
    if (slice !== undefined && reached < end) slice = this.view.run(this.#cursor, reached, sliceBytes)?.bytes;
    this.#measure(this.#cursor, reached, slice === undefined ? 0 : wholeWatchers);
    this.#cursor = reached;
    if (slice !== undefined) {
      this.#slice = slice;
      for (const group of this.#whole) this.#writes.push(group);
    }
    for (const group of this.#touched) this.#writes.push(group);
    this.#touched.length = 0;
    this.#write(until);
  }

  /** Synced watchers that get slices of the log. */
  #wholeWatchers(): number {
    let count = 0;
    for (const group of this.#whole) count += group.synced.length;
    return count;
  }

  /** Counts the events between two positions as delivered to so many watchers. */
  #measure(from: number, end: number, watchers: number): void {
    for (let position = from; position < end; position += 1) {
      const at = this.view.at(position);
      if (at === 0 || this.view.typeOf(at) === recordTypes.move) continue;
      const bytes = this.view.object(at).length;
      this.#passedBytes += bytes;
      countEvent(this.#counts, bytes, watchers);
    }
  }

  /**
   * Notes for each filtered group which of the records from the cursor on it gets. Stops before `end` when a group has
   * a slice full, unless `exact`, and when time is over. Returns the position after the last record looked at, -1 when
   * one was recycled.
   */
  #collect(end: number, sliceBytes: number, exact: boolean, until: number): number {
    const { view } = this;
    const recordsPerLook = 4 * this.#around.writesPerLook;
    let left = recordsPerLook;
    const touched = this.#touched;
    touched.length = 0;
    if (this.#groups.size === this.#whole.size) return end;
    for (let position = this.#cursor; position < end; position += 1) {
      const at = view.at(position);
      if (at === 0) {
        for (const group of touched) group.clearPending();
        return -1;
      }
      if (view.typeOf(at) === recordTypes.move) continue;
      const count = this.#filtered.find(view, at, position, this.#found);
      let full = false;
      for (let index = 0; index < count; index += 1) {
        const group = this.#found[index];
        if (group === undefined || group.synced.length === 0) continue;
        const form = group.formOf(view, at);
        if (form === eventForms.none) continue;
        if (form === eventForms.unknown) {
          this.#expireGroup(group);
          continue;
        }
        if (group.pendingCount === 0) touched.push(group);
        const bytes = view.object(at).length;
        group.addPending(at, form, bytes);
        if (group.representation.ahead === undefined) countEvent(this.#counts, bytes, group.synced.length);
        if (group.pendingBytes >= sliceBytes) full = true;
      }
      if (full && !exact) return position + 1;
      left -= 1 + count;
      if (left > 0) continue;
      if (this.#around.now() >= until) return position + 1;
      left = recordsPerLook;
    }
    return end;
  }

  /** Continues the pass of an earlier turn. */
  #resume(until: number): void {
    if (this.#hold?.expired === true) this.#expireSynced();
    else this.#write(until);
  }

  /** Writes to the groups of the pass, from where it is; it stays open when time is over before. */
  #write(until: number): void {
    const { gather } = this.#around;
    // Another form of an object costs a hundred times its copy: several groups share one.
    if (this.#writes.length > 1) gather.share();
    this.#left = this.#around.writesPerLook;
    for (; this.#isOpen; this.#at += 1) {
      const group = this.#writes[this.#at] as Group;
      if (group.synced.length === 0) continue;
      if (group.representation.ahead !== undefined && this.#begun === undefined && this.#parks(group)) continue;
      const bytes = this.#begun ?? this.#bytesOf(group);
      this.#begun = undefined;
      if (bytes === undefined) {
        for (const watcher of [...group.synced]) this.#fail(watcher);
        continue;
      }
      if (this.#writeAll(group, bytes, until)) continue;
      // Gathered bytes are in the scratch buffer of the thread.
      this.#begun = group.whole ? bytes : copyOf(bytes);
      break;
    }
    gather.unshare();
    if (this.#isOpen) this.#hold ??= this.view.hold();
    else this.#closePass();
  }

  /**
   * The bytes of a group for this pass; valid until the next gather. Undefined: one of the
   * records cannot be written as its watchers want it.
   */
  #bytesOf(group: Group): Uint8Array | undefined {
    if (group.whole) return this.#slice;
    const { gather } = this.#around;
    gather.reset();
    try {
      for (let index = 0; index < group.pendingCount; index += 1) {
        const at = group.pendingAt[index] ?? 0;
        gather.addEvent(this.view, at, group.pendingForm[index] ?? 0, group.representation);
      }
      return gather.bytes();
    } catch (error) {
      this.#around.failed(passShared(error));
      return undefined;
    } finally {
      group.clearPending();
    }
  }

  /** Parks the watchers of a group whose events need what is not there yet; false: it is there. */
  #parks(group: Group): boolean {
    const waiting = this.#ahead(group, pendingRecords(this.view, group));
    if (waiting === undefined) {
      countPending(this.#counts, this.view, group);
      return false;
    }
    group.clearPending();
    const watchers = [...group.synced];
    for (const watcher of watchers) {
      this.#countOut();
      group.leave(watcher);
      this.#fallBehind(watcher, this.#passFrom);
    }
    this.#park(watchers, waiting);
    return true;
  }

  /** Whether a group has to wait before these records are written. */
  #ahead({ representation }: Group, records: readonly Location[]): Promise<Status | undefined> | undefined {
    try {
      return records.length === 0 ? undefined : representation.ahead?.(this.view, records);
    } catch (error) {
      this.#around.failed(passShared(error));
      return Promise.resolve(internalError("a watch"));
    }
  }

  #park(watchers: readonly Watcher[], waiting: Promise<Status | undefined>): void {
    for (const watcher of watchers) {
      this.#runnable.delete(watcher);
      this.#parked.add(watcher);
    }
    void waiting.then((refused) => {
      for (const watcher of watchers) {
        if (!this.#parked.delete(watcher)) continue;
        if (refused === undefined) this.#runnable.add(watcher);
        else this.#endWith(watcher, errorEvent(refused, watcher.group.representation.framing));
      }
      if (this.#counts.watchers > 0) this.#schedule();
    });
  }

  /** Every group was written to, or is not going to be. */
  #closePass(): void {
    for (const group of this.#writes) {
      group.clearPending();
      if (group.writing) group.endWriting();
    }
    this.#writes.length = 0;
    this.#at = 0;
    this.#begun = undefined;
    this.#slice = nothing;
    this.#hold?.release();
    this.#hold = undefined;
  }

  /**
   * The one write of a pass to each synced watcher of a group. Watchers whose sink returns false leave with the cursor
   * as position. False: time was over before the last watcher, where another call continues.
   */
  #writeAll(group: Group, bytes: Uint8Array, until: number): boolean {
    const { synced } = group;
    const cost = 1 + (bytes.length >> 12);
    group.writing = true;
    for (; group.next < synced.length; group.next += 1) {
      const watcher = synced[group.next] as Watcher;
      if (watcher.state !== watcherStates.synced) continue;
      if (this.#left <= 0) {
        if (this.#around.now() >= until) return false;
        this.#left = this.#around.writesPerLook;
      }
      this.#left -= cost;
      this.#counts.bytes += bytes.length;
      const ready = watcher.sink.write(bytes);
      if ((watcher.state as number) !== watcherStates.synced) continue;
      if (ready) group.keep(watcher);
      else {
        this.#countOut();
        watcher.slot = -1;
        this.#lag(watcher);
      }
    }
    group.endWriting();
    return true;
  }

  #countOut(): void {
    assertShared(this.#syncedCount > 0, "More watchers fall behind than were in step");
    this.#syncedCount -= 1;
  }

  #lag(watcher: Watcher): void {
    this.#fallBehind(watcher, this.#cursor);
    this.#block(watcher);
  }

  #fallBehind(watcher: Watcher, position: number): void {
    watcher.state = watcherStates.lagging;
    watcher.position = position;
    watcher.revision = revisionBefore(this.view, position, watcher.revision);
  }

  #block(watcher: Watcher): void {
    assertShared(!watcher.blocked, "A watcher is blocked twice");
    watcher.blocked = true;
    watcher.blockedAt = this.#around.now();
    watcher.blockedBytes = this.#passedBytes;
    this.#runnable.delete(watcher);
    this.#blocked.add(watcher);
  }

  #expireSynced(): void {
    this.#closePass();
    for (const group of this.#groups.values()) {
      group.clearPending();
      this.#expireGroup(group);
    }
    this.#touched.length = 0;
    this.#cursor = this.view.head;
  }

  #expireGroup(group: Group): void {
    for (const watcher of [...group.synced]) this.#expire(watcher);
  }

  // Watchers with a cursor of their own.

  #drained(watcher: Watcher): void {
    if (!watcher.blocked) return;
    watcher.blocked = false;
    this.#blocked.delete(watcher);
    // Many may be drained in one turn of the loop: a pass, which is behind them in it, knows how long it may take.
    this.#runnable.add(watcher);
    this.#schedule();
  }

  #catchUp(until: number): void {
    if (this.#runnable.size === 0) return;
    // Without time left one watcher has a slice, a whole one: those behind get further, however busy their log is.
    const nowMs = this.#around.now();
    const sharing = nowMs >= until ? 1 : this.#runnable.size + this.#blocked.size;
    // What a peer does not take of its slice is sent in a turn that no pass bounds.
    const sliceBytes = sliceBytesFor(limits.catchUpBytesMax, sharing);
    const endMs = Math.min(until, nowMs + limits.catchUpMsMax);
    const bytesBefore = this.#counts.bytes;
    for (let turns = this.#runnable.size; turns > 0; turns -= 1) {
      const watcher = this.#runnable.take();
      if (watcher === undefined) return;
      this.#step(watcher, sliceBytes);
      if (this.#counts.bytes - bytesBefore >= limits.catchUpBytesMax || this.#around.now() >= endMs) return;
    }
  }

  /** One slice, of so many bytes, for one watcher that is not blocked. */
  #step(watcher: Watcher, sliceBytes: number): void {
    try {
      if (watcher.state === watcherStates.initial) this.#stepInitial(watcher, sliceBytes);
      else if (watcher.position < this.#cursor) {
        if (watcher.group.whole) this.#stepWhole(watcher, sliceBytes);
        else this.#stepFiltered(watcher, sliceBytes);
      }
    } catch (error) {
      this.#around.failed(passShared(error));
      this.#fail(watcher);
    }
    if (this.#isOpen) return;
    if (watcher.state === watcherStates.lagging && !watcher.blocked && watcher.position === this.#cursor) {
      this.#runnable.delete(watcher);
      watcher.state = watcherStates.synced;
      this.#syncedCount += 1;
      watcher.group.join(watcher);
    }
  }

  #stepWhole(watcher: Watcher, sliceBytes: number): void {
    const end = Math.min(this.#cursor, watcher.position + limits.passRecordsMax);
    const run = this.view.run(watcher.position, end, sliceBytes);
    if (run === undefined) return this.#expire(watcher);
    for (let position = watcher.position; position < run.next; position += 1) {
      const at = this.view.at(position);
      if (at === 0 || this.view.typeOf(at) === recordTypes.move) continue;
      countEvent(this.#counts, this.view.object(at).length, 1);
    }
    watcher.position = run.next;
    if (run.bytes !== undefined) this.#send(watcher, run.bytes);
  }

  #stepFiltered(watcher: Watcher, sliceBytes: number): void {
    const { view } = this;
    const { group } = watcher;
    if (group.representation.ahead !== undefined) return this.#stepAhead(watcher, sliceBytes);
    const { gather } = this.#around;
    const end = Math.min(this.#cursor, watcher.position + limits.passRecordsMax);
    gather.reset();
    let position = watcher.position;
    for (; position < end && gather.length < sliceBytes; position += 1) {
      const at = view.at(position);
      if (at === 0) return this.#expire(watcher);
      const form = group.formOf(view, at);
      if (form === eventForms.unknown) return this.#expire(watcher);
      if (form === eventForms.none) continue;
      gather.addEvent(view, at, form, group.representation);
      countEvent(this.#counts, view.object(at).length, 1);
    }
    watcher.position = position;
    if (gather.length > 0) this.#send(watcher, gather.bytes());
  }

  /** As #stepFiltered(), of a look that may have to wait. */
  #stepAhead(watcher: Watcher, sliceBytes: number): void {
    const { group } = watcher;
    const { gather } = this.#around;
    const end = Math.min(this.#cursor, watcher.position + limits.passRecordsMax);
    const events = nextEvents(this.view, watcher, end, sliceBytes);
    if (events === undefined) return this.#expire(watcher);
    const waiting = this.#ahead(group, events.shown);
    if (waiting !== undefined) return this.#park([watcher], waiting);
    gatherEvents(gather, this.view, events, group, this.#counts);
    watcher.position = events.next;
    if (gather.length > 0) this.#send(watcher, gather.bytes());
  }

  /** Gathers the next piece of an initial state; undefined: the watcher is parked. Else whether it was the last one. */
  #gatherInitial(watcher: Watcher, revision: number, sliceBytes: number): boolean | undefined {
    const { gather } = this.#around;
    const { group, after } = watcher;
    gather.reset();
    const piece = { revision, namespaced: this.#namespaced, bytesMax: sliceBytes };
    if (group.representation.ahead === undefined) return gatherInitial(this.view, gather, watcher, piece);
    const { records, done } = initialRecords(this.view, watcher, piece);
    const waiting = this.#ahead(group, records);
    if (waiting === undefined) {
      for (const at of records) gather.addInitial(this.view, at, group.representation);
      return done;
    }
    watcher.after = after;
    this.#park([watcher], waiting);
    return undefined;
  }

  #stepInitial(watcher: Watcher, sliceBytes: number): void {
    const { view } = this;
    const { gather } = this.#around;
    // Nothing new since the start: the state now is the state then.
    const revision = view.head === watcher.position ? 0 : watcher.startRevision;
    if (revision !== 0 && revision < view.floor) return this.#expire(watcher);
    const done = this.#gatherInitial(watcher, revision, sliceBytes);
    if (done === undefined) return;
    this.#counts.initEvents += gather.count;
    if (done) {
      if (watcher.initialEnd !== undefined) gather.addBytes(watcher.initialEnd.at(watcher.startRevision));
      watcher.state = watcherStates.lagging;
    }
    if (gather.length > 0) this.#send(watcher, gather.bytes());
  }

  #send(watcher: Watcher, bytes: Uint8Array): void {
    assertShared(!watcher.blocked, "A write to a watcher whose peer is behind");
    this.#counts.bytes += bytes.length;
    const ready = watcher.sink.write(bytes);
    if (ready || watcher.state === watcherStates.ended) return;
    if (watcher.state === watcherStates.synced) {
      this.#countOut();
      watcher.group.leave(watcher);
      this.#lag(watcher);
    } else {
      watcher.revision = revisionBefore(this.view, watcher.position, watcher.revision);
      this.#block(watcher);
    }
  }

  /** Ends a watcher with 410: its next record was recycled. */
  #expire(watcher: Watcher): void {
    if (watcher.state === watcherStates.ended) return;
    this.#counts.expired += 1;
    const position = watcher.state === watcherStates.synced ? this.#cursor : watcher.position;
    const revision = revisionBefore(this.view, position, watcher.revision);
    this.#endWith(watcher, expiredEvent(revision, this.view.floor, watcher.group.representation.framing));
  }

  /** Ends a watcher with 500: its next event cannot be encoded. Other watchers are not affected. */
  #fail(watcher: Watcher): void {
    if (watcher.state === watcherStates.ended) return;
    this.#endWith(watcher, errorEvent(internalError("a watch"), watcher.group.representation.framing));
  }

  #endWith(watcher: Watcher, event: Uint8Array): void {
    this.#remove(watcher);
    this.#counts.bytes += event.length;
    watcher.sink.write(event);
    watcher.sink.end();
  }

  #remove(watcher: Watcher): void {
    const { group } = watcher;
    assertShared(watcher.state !== watcherStates.ended, "A watcher ends twice");
    if (watcher.state === watcherStates.synced) {
      this.#countOut();
      group.leave(watcher);
    }
    watcher.state = watcherStates.ended;
    watcher.blocked = false;
    this.#runnable.delete(watcher);
    this.#blocked.delete(watcher);
    this.#waiting.delete(watcher);
    this.#parked.delete(watcher);
    this.#counts.watchers -= 1;
    group.members -= 1;
    assertShared(this.#counts.watchers >= 0, "More watchers ended than were opened");
    assertShared(group.members >= 0, "More watchers left a group than were in it");
    if (group.members === 0) {
      this.#groups.delete(group.key);
      if (!this.#whole.delete(group)) this.#filtered.remove(group);
      this.#counts.groups -= 1;
    }
    this.#around.ended(watcher);
  }
}
