// What runs a controller: it follows logs, keeps the keys they lead to in a queue (workqueue.ts), has the controller work
// on them, tries again what failed, reports and counts. A controller says what it follows and what to do about a key;
// when, how often and how many at once is decided here, for all of them alike.
import type { Status } from "../api/status.ts";
import { Allowance } from "../base/allowance.ts";
import { SharedStateFailure } from "../base/assert.ts";
import type { Clock } from "../base/clock.ts";
import { nextTurn, Turn } from "../base/turn.ts";
import type { Location } from "../cache/shared/record.ts";
import { eachChange } from "../cache/view/changes.ts";
import type { LogView } from "../cache/view/view.ts";
import { limits } from "../config/limits.ts";
import { spanKinds, type Tracer } from "../observe/spans.ts";
import type { WorkqueueMeter } from "../observe/workqueues.ts";
import { inPass } from "./passes.ts";
import { type QueuePace, WorkQueue } from "./workqueue.ts";

/** What became of a key: undefined is done. An error that is thrown is a failure as well. */
export type Result = undefined | Again | Failure;

/** Nothing failed, and the key is to be looked at again in so many milliseconds. */
export interface Again {
  readonly againMs: number;
}

/** The key is tried again after a pause that grows with each failure in a row. */
export interface Failure {
  /** A refusal, or an error of ours. */
  readonly cause: Status | unknown;
  /** What could not be done; left out: what the controller is for. */
  readonly message?: string | undefined;
}

/** A failure as the operator is told of it. */
export interface Trouble extends Failure {
  readonly controller: string;
  /** Empty: of the controller as a whole. */
  readonly key: string;
  readonly message: string;
  /** How often in a row the key failed by now. */
  readonly failures: number;
  /** Failures of this controller that were not told since the last one that was: there were too many. */
  readonly untold: number;
}

/** Told what went wrong. The controller tries again. */
export type Report = (trouble: Trouble) => void;

/** Handles one change of a log that is followed: adds keys. `type`: of recordTypes; a move only where that was asked for. */
export type Changed = (queue: Queue, at: Location, type: number) => void;

/** What a controller does with its queue. All of it may be called at any time, and does nothing after the end. */
export interface Queue {
  /** Aborted when the controller is to end: what is under way had better end soon. */
  readonly signal: AbortSignal;
  /** Works on a key as soon as possible; again when it is being worked on. */
  add(key: string): void;
  /** Works on a key in `ms`, or before if it waits for less. */
  addAfter(key: string, ms: number): void;
  /** Works on a key in `ms` and not before, also if it waits for less. */
  postpone(key: string, ms: number): void;
  /** Whether a key waits, now or for its time. */
  has(key: string): boolean;
  /**
   * Follows a log from what its last drain() took in. A change that is missed has all() called. Returns how to stop; a
   * log that is given up stops by itself. `moves`: records that are moved within the log are handed on, too.
   */
  follow(view: LogView, changed: Changed, moves?: boolean): () => void;
  /** Hands on every change that is published by now; false when that takes more than a turn and goes on by itself. */
  catchUp(): boolean;
  /** Gives others a turn of the loop when this one has lasted long enough. */
  giveWay(): Promise<void>;
  /**
   * Calls `take` for every live record of a log, in one namespace if one is given and as of a revision that is held; gives
   * way between records, and ends early with the controller. `take` does not drain.
   */
  scan(view: LogView, take: (at: Location, key: string) => void, among?: Among): Promise<void>;
  /** Reports a failure that costs no key its success. */
  report(key: string, message: string, cause: unknown): void;
}

/** Which records are scanned. */
export interface Among {
  readonly namespace?: string;
  readonly revision?: number;
}

/** Logs, and what changes in them lead to. */
export type Follows = readonly (readonly [view: LogView, changed: Changed])[];

/** How a controller works; what is left out is as limits.ts says. */
export interface Pace extends Partial<QueuePace> {
  /** Keys in work at a time; left out: one. */
  readonly workers?: number;
  /** all() is called this often in any case, in milliseconds. */
  readonly resyncMs?: number;
}

/** What a Reconciler runs. */
export interface Controller {
  /** Followed from the start on. */
  readonly follows?: Follows;
  readonly pace?: Pace;
  /** Adds every key there is: at the start, and when changes were missed. Long work gives way. */
  all(queue: Queue): Promise<void> | void;
  /** Works on one key, looking at how things are now: a key says that something changed, not what. */
  work(key: string, queue: Queue): Promise<Result> | Result;
}

/** What all reconcilers of a thread share. */
export interface ReconcilerParts {
  readonly clock: Clock;
  /** At least 0, less than 1. */
  readonly random: () => number;
  readonly meter: WorkqueueMeter;
  readonly report: Report;
  readonly turn: Turn;
  /** Takes spans of passes; left out: nothing is traced. */
  readonly tracer?: Tracer | undefined;
  /** Calls `due` in `ms`, and returns how to prevent it. Left out: a timer, which keeps no process alive. */
  readonly timer?: (due: () => void, ms: number) => () => void;
}

/** A turn for all controllers of a thread. */
export function controllersTurn(): Turn {
  return new Turn(limits.sliceMsMax);
}

/** Works on a key that the resync of all keys goes by; no name has a zero byte. */
const resyncKey = "\0all";

const usualPace: QueuePace = {
  retryMsMin: limits.reconcileRetryMsMin,
  retryMsMax: limits.reconcileRetryMsMax,
  retriesPerSecond: limits.reconcileRetriesPerSecond,
  keysMax: limits.reconcileKeysMax,
  gatherMs: 0,
  gatheredMax: 1,
};

interface Following {
  readonly view: LogView;
  readonly changed: Changed;
  readonly moves: boolean;
  /** Up to where changes were handed on. */
  position: number;
  stop: () => void;
}

/** Runs one controller from start() to stop(). */
export class Reconciler implements Queue {
  readonly name: string;
  readonly #controller: Controller;
  readonly #parts: ReconcilerParts;
  readonly #workers: number;
  readonly #keysMax: number;
  readonly #queue: WorkQueue;
  readonly #following = new Set<Following>();
  readonly #abort = new AbortController();
  readonly #closeCounts: () => void;
  readonly #reports: Reports;
  #cancelTimer: (() => void) | undefined;
  #timerMs = Number.POSITIVE_INFINITY;
  /** The turn was over: work goes on in a later one. */
  #putOff = false;
  #pumping = false;
  /** Keys were refused: all() is called when there is room again. */
  #incomplete = false;
  #started = false;
  #waiting: (() => void)[] = [];

  /** `name`: as in --controllers and the metrics. */
  constructor(name: string, controller: Controller, parts: ReconcilerParts) {
    const pace = { ...usualPace, ...controller.pace };
    this.name = name;
    this.#controller = controller;
    this.#parts = parts;
    this.#workers = pace.workers ?? 1;
    this.#keysMax = pace.keysMax;
    const counts = parts.meter.open(name, () => this.#figures());
    this.#closeCounts = counts.close;
    this.#queue = new WorkQueue(pace, parts.random, counts);
    this.#reports = new Reports(parts);
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Keys that wait for their time. */
  get laterCount(): number {
    return this.#queue.laterCount;
  }

  /** Follows what the controller follows and works on every key once, then on those that are asked for. */
  start(): void {
    if (this.#started || this.signal.aborted) return;
    this.#started = true;
    for (const [view, changed] of this.#controller.follows ?? []) {
      view.drain();
      this.follow(view, changed);
    }
    this.add(resyncKey);
    this.#pump(true);
  }

  /** Nothing is begun after this. Resolves when what is under way has ended. */
  stop(): Promise<void> {
    if (!this.signal.aborted) {
      this.#abort.abort();
      this.#cancelTimer?.();
      for (const following of [...this.#following]) this.#unfollow(following);
      this.#queue.clear();
      this.#closeCounts();
    }
    return this.idle();
  }

  /** Resolves when nothing is ready or in work; what waits for its time does not count. */
  idle(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#settle();
    });
  }

  add(key: string): void {
    if (this.signal.aborted) return;
    if (!this.#queue.add(key, this.#now())) this.#incomplete = true;
    this.#pumpSoon();
  }

  addAfter(key: string, ms: number): void {
    if (ms <= 0) return this.add(key);
    if (this.signal.aborted) return;
    if (!this.#queue.addAt(key, this.#now() + ms)) this.#incomplete = true;
    this.#setTimer();
  }

  postpone(key: string, ms: number): void {
    if (this.signal.aborted) return;
    if (!this.#queue.postpone(key, this.#now() + ms)) this.#incomplete = true;
    this.#setTimer();
  }

  has(key: string): boolean {
    return this.#queue.has(key);
  }

  follow(view: LogView, changed: Changed, moves = false): () => void {
    const following: Following = { view, changed, moves, position: view.head, stop: () => undefined };
    if (this.signal.aborted) return following.stop;
    following.stop = view.onNews(() => this.#handOn(following));
    this.#following.add(following);
    return () => this.#unfollow(following);
  }

  catchUp(): boolean {
    let isAll = true;
    for (const following of this.#following) {
      if (!following.view.gone) following.view.drain();
      isAll = this.#handOn(following) && isAll;
    }
    return isAll;
  }

  giveWay(): Promise<void> {
    return this.#parts.turn.giveWay();
  }

  async scan(view: LogView, take: (at: Location, key: string) => void, among: Among = {}): Promise<void> {
    const { namespace = "", revision = 0 } = among;
    for (let after: string | undefined = ""; after !== undefined && !this.signal.aborted; ) {
      let last: string | undefined;
      view.scan(namespace, after, revision, (at, key) => {
        take(at, key);
        last = this.#parts.turn.isOver ? key : undefined;
        return last === undefined;
      });
      after = last;
      await this.giveWay();
    }
  }

  report(key: string, message: string, cause: unknown): void {
    this.#reports.tell({ controller: this.name, key, message, cause, failures: 1 }, this.#now());
  }

  #unfollow(following: Following): void {
    following.stop();
    this.#following.delete(following);
  }

  /** Hands on the changes of a log, as many as fit in this turn; false when there are more. `begun`: some in any case. */
  #handOn(following: Following, begun = false): boolean {
    const { view, changed, moves } = following;
    if (view.gone) {
      this.#unfollow(following);
      return true;
    }
    const take = (at: Location, type: number): void => changed(this, at, type);
    for (let isFirst = begun; following.position < view.head && !this.signal.aborted; isFirst = false) {
      if (this.#parts.turn.isOver && !isFirst) {
        this.#goOnLater();
        return false;
      }
      const from = following.position;
      following.position = Math.min(view.head, from + limits.reconcileRecordsPerLook);
      try {
        if (eachChange(view, from, take, following.position, moves)) continue;
      } catch (cause) {
        if (cause instanceof SharedStateFailure) throw cause;
        this.report("", `Controller ${this.name} cannot follow ${view.prefix}`, cause);
      }
      // What was missed is found in what there is.
      following.position = view.head;
      this.add(resyncKey);
    }
    return true;
  }

  /** Keys are added in the middle of a scan, too, where no work may begin. */
  #pumpSoon(): void {
    if (this.#pumping) return;
    this.#pumping = true;
    queueMicrotask(() => {
      this.#pumping = false;
      this.#pump();
    });
  }

  /** Begins work on keys until enough are in work or the turn has lasted long enough. `begun`: one in any case. */
  #pump(begun = false): void {
    for (let isFirst = begun; this.#queue.workingCount < this.#workers && !this.signal.aborted; isFirst = false) {
      if (this.#putOff || this.#queue.readyCount === 0) return;
      if (this.#parts.turn.isOver && !isFirst) return this.#goOnLater();
      const key = this.#queue.take(this.#now());
      // All that is ready is in work already.
      if (key === undefined) return;
      void this.#run(key);
    }
  }

  #goOnLater(): void {
    if (this.#putOff) return;
    this.#putOff = true;
    void nextTurn().then(() => {
      this.#putOff = false;
      for (const following of this.#following) this.#handOn(following, true);
      this.#pump(true);
      this.#settle();
    });
  }

  async #run(key: string): Promise<void> {
    let result: Result;
    try {
      result = await (this.#parts.tracer === undefined ? this.#work(key) : this.#traced(key, this.#parts.tracer));
    } catch (cause) {
      // Not to be caught for good: it ends the thread.
      if (cause instanceof SharedStateFailure) throw cause;
      result = { cause };
    }
    const now = this.#now();
    if (result !== undefined && "cause" in result) {
      const failures = this.#queue.failed(key, now);
      const { cause, message = `Controller ${this.name} failed` } = result;
      const shown = key === resyncKey ? "" : key;
      // The end cuts work short: what comes of that is no failure.
      if (!this.signal.aborted)
        this.#reports.tell({ controller: this.name, key: shown, message, cause, failures }, now);
    } else {
      this.#queue.done(key, now, result && now + result.againMs);
      this.#reports.well(key);
    }
    if (this.signal.aborted) this.#queue.clear();
    else if (this.#incomplete && 2 * this.#queue.size < this.#keysMax) {
      this.#incomplete = false;
      this.add(resyncKey);
    }
    this.#setTimer();
    this.#pump();
    this.#settle();
  }

  #work(key: string): Promise<Result> | Result {
    return key === resyncKey ? this.#all() : this.#controller.work(key, this);
  }

  /** A pass that is sampled is a trace. One that is not must not be taken for a part of the pass that added its key. */
  async #traced(key: string, tracer: Tracer): Promise<Result> {
    const spans = tracer.begin();
    let hasFailed = true;
    try {
      const result = await inPass(spans, () => this.#work(key));
      hasFailed = result !== undefined && "cause" in result;
      return result;
    } finally {
      const about = [["controller.key", key === resyncKey ? "" : key]] as const;
      spans?.end(`reconcile ${this.name}`, spanKinds.internal, about, hasFailed);
    }
  }

  async #all(): Promise<Result> {
    await this.#controller.all(this);
    const { resyncMs } = this.#controller.pace ?? {};
    return resyncMs === undefined ? undefined : { againMs: resyncMs };
  }

  /** Has the queue woken when the next key is due. */
  #setTimer(): void {
    const nextMs = this.#queue.nextMs;
    // One that goes off too early finds nothing to do and is set anew: times that move on cost no timer each.
    if (nextMs >= this.#timerMs || this.signal.aborted) return;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#timerMs = nextMs;
    const wake = (): void => {
      this.#cancelTimer = undefined;
      this.#timerMs = Number.POSITIVE_INFINITY;
      this.#queue.wake(this.#now());
      this.#setTimer();
      this.#pump();
    };
    const ms = Math.min(limits.timerMsMax, Math.max(1, Math.ceil(nextMs - this.#now())));
    this.#cancelTimer = (this.#parts.timer ?? unrefTimer)(wake, ms);
  }

  #settle(): void {
    if (this.#queue.readyCount > 0 || this.#queue.workingCount > 0) return;
    if (this.#putOff && !this.signal.aborted) return;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  #figures(): { depth: number; unfinishedSeconds: number; longestSeconds: number } {
    const now = this.#now();
    let [unfinished, longest] = [0, 0];
    for (const begunMs of this.#queue.begun) {
      unfinished += now - begunMs;
      longest = Math.max(longest, now - begunMs);
    }
    return {
      depth: this.#queue.readyCount,
      unfinishedSeconds: unfinished / 1000,
      longestSeconds: longest / 1000,
    };
  }

  #now(): number {
    return this.#parts.clock.monotonic();
  }
}

/** Tells of failures: the first of a key, then now and then while it goes on; of many keys, so many per second. */
class Reports {
  readonly #report: Report;
  /** When keys that fail were told of, for a while; in that order. */
  readonly #toldMs = new Map<string, number>();
  readonly #allowance = new Allowance(limits.reconcileReportsPerSecond, limits.reconcileReportsMax);
  #untold = 0;

  constructor({ report }: ReconcilerParts) {
    this.#report = report;
  }

  well(key: string): void {
    this.#toldMs.delete(key);
  }

  tell(trouble: Omit<Trouble, "untold" | "message"> & { readonly message: string }, nowMs: number): void {
    for (const [key, toldMs] of this.#toldMs) {
      if (nowMs - toldMs < limits.reconcileReportMs) break;
      this.#toldMs.delete(key);
    }
    if (this.#toldMs.has(trouble.key)) return;
    if (!this.#allowance.take(nowMs)) {
      this.#untold += 1;
      return;
    }
    this.#toldMs.set(trouble.key, nowMs);
    this.#report({ ...trouble, untold: this.#untold });
    this.#untold = 0;
  }
}

function unrefTimer(due: () => void, ms: number): () => void {
  const timer = setTimeout(due, ms);
  timer.unref();
  return () => clearTimeout(timer);
}
