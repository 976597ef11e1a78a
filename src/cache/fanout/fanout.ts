// All watches of one front thread: opens and ends them, and keeps their time (bookmarks, timeouts, sweeps). Everything
// a log's watchers share is in follow.ts; this file knows the clock.
import type { Selector } from "../../api/selector.ts";
import { assertShared } from "../../base/assert.ts";
import { type Clock, systemClock } from "../../base/clock.ts";
import { limits } from "../../config/limits.ts";
import type { LogView } from "../view/view.ts";
import type { Bookmark } from "./bookmark.ts";
import { addCounts, emptyCounts, type WatchCounts } from "./counts.ts";
import { LogWatchers } from "./follow.ts";
import { Gather } from "./gather.ts";
import type { Representation } from "./group.ts";
import { type LateWatcher, lateWatchers } from "./late.ts";
import type { Surroundings } from "./surroundings.ts";
import { type Sink, Watcher, type WatchStart, watcherStates } from "./watcher.ts";

/** A requested watch. */
export interface WatchRequest {
  readonly view: LogView;
  /** The resource is namespaced. */
  readonly namespaced: boolean;
  /** Empty: all namespaces, or a cluster-scoped resource. */
  readonly namespace: string;
  readonly selector: Selector;
  readonly representation: Representation;
  readonly start: WatchStart;
  /** The client asked for bookmarks. */
  readonly bookmarks: boolean;
  /** The bookmark that ends the initial state (watch-list); undefined: none. */
  readonly initialEnd: Bookmark | undefined;
  /** Milliseconds the watch lives; undefined: 30 to 60 minutes, at random. */
  readonly timeoutMs: number | undefined;
  readonly sink: Sink;
  /** Called once when the watch has ended, by either side; possibly before watch() returns. */
  readonly ended?: () => void;
  /** Whose it is: its owner's, which it takes turns by, and which people see. */
  readonly user?: string;
}

/** Dependencies and settings of a Fanout. */
export interface FanoutOptions {
  readonly clock?: Clock;
  /** Evenly distributed in [0, 1). */
  readonly random?: () => number;
  /** A watch without a timeout of its own lives this long at least, milliseconds; default limits.watchMsMin. */
  readonly lifeMsMin?: number;
  /** How often a pass looks at the clock; a test's does each time. */
  readonly writesPerLook?: number;
  /** Runs work in a later turn of the loop, after sockets were served. */
  readonly defer?: (work: () => void) => void;
  /** Told of faults that end watches with 500. */
  readonly failed?: (error: unknown) => void;
}

/** Beyond this many ticks a due time is rounded up to a multiple of the other: to a second, beyond ten. */
const farTicks = 10_000 / limits.watchTickMs;
const coarseTicks = 1000 / limits.watchTickMs;

/** Time of each pass in a busy turn, at least, in milliseconds; turns of less are not told apart. */
const sliceMsMin = 1;

/** Time of passes in one turn when synced watchers have been behind for `behindMs`, in milliseconds. */
function sliceMsFor(behindMs: number): number {
  const more = limits.passMsMax - limits.sliceMsMax;
  return limits.sliceMsMax + (more * Math.min(behindMs, limits.watchBehindMs)) / limits.watchBehindMs;
}

/** The watches of one front thread. */
export class Fanout {
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #around: Surroundings;
  readonly #lifeMsMin: number;
  readonly #logs = new Map<LogView, LogWatchers>();
  /** Of all watchers, oldest first: the log each is on. */
  readonly #watchers = new Map<Watcher, LogWatchers>();
  /** Watchers by the tick something is due for them. */
  readonly #due = new Map<number, Set<Watcher>>();
  /** Counts of logs without watches, by prefix. */
  readonly #past = new Map<string, WatchCounts>();
  #tick: number;
  #sweptAt = 0;
  /** Runs work in a later turn of the loop. */
  readonly #defer: (work: () => void) => void;
  /** Passes that wait for time, at most one of each log, in the order of their turns. */
  readonly #passes: (() => void)[] = [];
  #isTurnDue = false;
  /** Time passes took in this turn of the loop. */
  #spentMs = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: FanoutOptions = {}) {
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
    this.#lifeMsMin = options.lifeMsMin ?? limits.watchMsMin;
    this.#defer = options.defer ?? ((work) => void setImmediate(work));
    this.#around = {
      gather: new Gather(),
      defer: (pass) => this.#later(pass),
      now: () => this.#clock.monotonic(),
      ended: (watcher) => this.#forget(watcher),
      failed: options.failed ?? (() => undefined),
      sliceMs: (behindMs) => Math.max(sliceMsMin, sliceMsFor(behindMs) - this.#spentMs),
      spent: (ms) => this.#spend(ms),
      writesPerLook: options.writesPerLook ?? 16,
    };
    this.#tick = this.#tickOf(this.#clock.monotonic());
  }

  /** Starts keeping time. The timer does not keep the thread alive. */
  start(): void {
    assertShared(this.#timer === undefined, "A fan-out was started twice");
    this.#timer = setInterval(() => this.tick(), limits.watchTickMs);
    this.#timer.unref();
  }

  /** Stops keeping time; watches that are open stay as they are. */
  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Number of open watches. */
  get watcherCount(): number {
    return this.#watchers.size;
  }

  /** Number of open watches of one log. */
  watchersOf(view: LogView): number {
    return this.#logs.get(view)?.counts.watchers ?? 0;
  }

  /** Counts per log, for metrics. A log is named by its prefix. */
  counts(): ReadonlyMap<string, WatchCounts> {
    const all = new Map<string, WatchCounts>();
    for (const [prefix, counts] of this.#past) all.set(prefix, counts);
    for (const [view, log] of this.#logs)
      all.set(view.prefix, addCounts(all.get(view.prefix) ?? emptyCounts(), log.counts));
    return all;
  }

  /** Watchers that are not in step, those that are furthest behind first, at most `max`. */
  late(max: number): readonly LateWatcher[] {
    return lateWatchers(this.#logs.values(), this.#clock.monotonic(), max);
  }

  /**
   * Opens a watch; its first bytes may be written before this returns. The caller refuses watches beyond
   * limits.watchersMax. Returns a function that reports the end of the client.
   */
  watch(request: WatchRequest): () => void {
    const log = this.#log(request.view, request.namespaced);
    const group = log.group(request.namespace, request.selector, request.representation);
    const watcher = new Watcher(
      group,
      request.sink,
      request.bookmarks,
      request.initialEnd,
      request.ended,
      request.user,
    );
    const now = this.#clock.monotonic();
    const life = request.timeoutMs ?? this.#lifeMsMin * (1 + this.#random());
    watcher.deadline = now + Math.max(life, 0);
    watcher.bookmarkAt = this.#nextBookmark(now);
    this.#watchers.set(watcher, log);
    this.#list(watcher);
    if (request.start.from === "state") log.startWithState(watcher);
    else if (request.start.from === "now") log.startNow(watcher);
    else log.startAfter(watcher, request.start.revision);
    if (request.view.gone) log.pass();
    return () => log.end(watcher, true);
  }

  /** Runs due work: bookmarks, timeouts, and each limits.watchSweepMs a check of lagging watchers. */
  tick(): void {
    const now = this.#clock.monotonic();
    const current = this.#tickOf(now);
    for (; this.#tick <= current; this.#tick += 1) {
      const due = this.#due.get(this.#tick);
      if (due === undefined) continue;
      this.#due.delete(this.#tick);
      this.#serve(due, now);
    }
    if (now - this.#sweptAt < limits.watchSweepMs) return;
    this.#sweptAt = now;
    for (const log of [...this.#logs.values()]) log.sweep();
  }

  /**
   * Ends all watches, oldest first, at most `perSecond`, each with a last bookmark when it asked for bookmarks.
   * Resolves when none is left. New watches are the caller's to refuse.
   */
  async closeAll(perSecond: number): Promise<void> {
    const perTurn = Math.max(1, Math.ceil((perSecond * limits.watchTickMs) / 1000));
    while (this.#watchers.size > 0) {
      let left = perTurn;
      for (const log of this.#logs.values()) log.pass();
      for (const [watcher, log] of this.#watchers) {
        if (left-- === 0) break;
        this.#close(watcher, log);
      }
      if (this.#watchers.size > 0) await new Promise((resolve) => setTimeout(resolve, limits.watchTickMs));
    }
  }

  /** Passes of other logs in the same turn share the rest of its time. */
  #spend(ms: number): void {
    this.#spentMs += ms;
    if (this.#spentMs >= sliceMsMin) this.#nextTurn();
  }

  #later(pass: () => void): void {
    this.#passes.push(pass);
    this.#nextTurn();
  }

  #nextTurn(): void {
    if (this.#isTurnDue) return;
    this.#isTurnDue = true;
    this.#defer(() => this.#turn());
  }

  /** Runs the passes that wait, one at least: those that find no time left are the first ones of the next turn. */
  #turn(): void {
    this.#isTurnDue = false;
    this.#spentMs = 0;
    for (let left = this.#passes.length; left > 0; left -= 1) {
      this.#passes.shift()?.();
      if (this.#spentMs >= limits.sliceMsMax) break;
    }
    if (this.#passes.length > 0) this.#nextTurn();
  }

  #log(view: LogView, namespaced: boolean): LogWatchers {
    const known = this.#logs.get(view);
    if (known !== undefined) return known;
    const log = new LogWatchers(view, namespaced, this.#around);
    this.#logs.set(view, log);
    return log;
  }

  #serve(due: ReadonlySet<Watcher>, now: number): void {
    const fresh = new Set<LogWatchers>();
    for (const watcher of due) {
      const log = this.#watchers.get(watcher);
      if (log === undefined) continue;
      if (!fresh.has(log)) {
        fresh.add(log);
        log.pass();
        if (!this.#watchers.has(watcher)) continue;
      }
      if (now >= watcher.deadline) {
        this.#close(watcher, log);
        continue;
      }
      // Not in step: events come first, the bookmark a second later.
      const told = !watcher.bookmarks || log.bookmark(watcher);
      if (now >= watcher.bookmarkAt) watcher.bookmarkAt = told ? this.#nextBookmark(now) : now + 1000;
      if (this.#watchers.has(watcher)) this.#list(watcher);
    }
  }

  #close(watcher: Watcher, log: LogWatchers): void {
    if (watcher.bookmarks) log.bookmark(watcher);
    log.end(watcher, false);
  }

  #nextBookmark(now: number): number {
    return now + limits.bookmarkMs * (0.9 + 0.2 * this.#random());
  }

  #tickOf(time: number): number {
    return Math.ceil(time / limits.watchTickMs);
  }

  /** Lists a watcher under the tick of its first due work; never under a past one. */
  #list(watcher: Watcher): void {
    assertShared(watcher.state !== watcherStates.ended, "Something is due for a watcher that ended");
    const time = watcher.bookmarks ? Math.min(watcher.bookmarkAt, watcher.deadline) : watcher.deadline;
    let tick = Math.max(this.#tickOf(time), this.#tick + 1);
    // Distant times need no precision of a tick: fewer, fuller sets.
    if (tick - this.#tick > farTicks) tick = Math.ceil(tick / coarseTicks) * coarseTicks;
    watcher.dueTick = tick;
    const due = this.#due.get(watcher.dueTick);
    if (due === undefined) this.#due.set(watcher.dueTick, new Set([watcher]));
    else due.add(watcher);
  }

  #forget(watcher: Watcher): void {
    assertShared(watcher.state === watcherStates.ended, "A watcher is forgotten before it ended");
    const log = this.#watchers.get(watcher);
    assertShared(log !== undefined, "A watcher ended twice");
    this.#watchers.delete(watcher);
    const due = this.#due.get(watcher.dueTick);
    due?.delete(watcher);
    if (due?.size === 0) this.#due.delete(watcher.dueTick);
    watcher.ended?.();
    if (log.counts.watchers > 0) return;
    log.close();
    this.#logs.delete(log.view);
    const { prefix, gone } = log.view;
    // Counts end with their log.
    if (gone) {
      this.#past.delete(prefix);
      return;
    }
    this.#past.set(prefix, addCounts(this.#past.get(prefix) ?? emptyCounts(), log.counts));
  }
}
