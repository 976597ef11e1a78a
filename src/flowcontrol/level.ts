// A priority level on one front: who gets its seats, who waits for them, and who is rejected.
import { assert } from "../base/assert.ts";
import type { Clock } from "../base/clock.ts";
import { Tally } from "../base/tally.ts";
import { limits } from "../config/limits.ts";
import type { LevelFigures, RejectReason } from "../observe/flowcontrol.ts";
import { type FairQueue, QueueSet, type QueueShape } from "./queueset.ts";
import type { Seats } from "./seats.ts";
import { type Asking, type Flow, HeldSeats, Rejection, Ticket } from "./ticket.ts";

/** How a level is configured. */
export interface LevelShape extends QueueShape {
  readonly name: string;
  /** Empty: it is not stored. */
  readonly uid: string;
  readonly isExempt: boolean;
  /** Its seats on all fronts. */
  readonly seats: number;
}

/** What levels of a front share. */
export interface LevelParts {
  readonly clock: Clock;
  /** How long a request waits at most. */
  readonly waitMsMax: number;
  /** Requests wait: the front has to hear of seats that others give back. */
  readonly listens: () => void;
  /** A level that is configured no more has nothing left to do. */
  readonly idle: () => void;
}

/** One level. */
export class Level {
  readonly seats: Seats;
  readonly #parts: LevelParts;
  readonly #queues: QueueSet<Ticket>;
  /** Seats by owner, on this front. */
  readonly #held = new Tally();
  #shape: LevelShape;
  #executing = 0;
  #executingSeats = 0;
  #isQuiescing = false;
  #timer: NodeJS.Timeout | undefined;
  #dueMs = 0;
  /** What another front had looked at when it was let go first. */
  #looks: number | undefined;

  constructor(shape: LevelShape, seats: Seats, parts: LevelParts) {
    this.#shape = shape;
    this.seats = seats;
    this.#parts = parts;
    this.#queues = new QueueSet(shape);
  }

  get shape(): LevelShape {
    return this.#shape;
  }

  /** It is configured no more, and ends when nothing of it waits or runs. */
  get isQuiescing(): boolean {
    return this.#isQuiescing;
  }

  get isIdle(): boolean {
    return this.#executing === 0 && this.#queues.waiting === 0;
  }

  get waiting(): number {
    return this.#queues.waiting;
  }

  get executing(): number {
    return this.#executing;
  }

  /** Its queues, those with something to do. */
  get queues(): QueueSet<Ticket> {
    return this.#queues;
  }

  /** Changes its configuration; undefined: there is none any more. */
  configure(shape: LevelShape | undefined): void {
    this.#isQuiescing = shape === undefined;
    if (shape === undefined) return;
    this.#shape = shape;
    this.#queues.shape = shape;
    this.seats.max = shape.seats;
    this.pump();
  }

  /** Takes seats for a request, has it wait for them, or rejects it. */
  enter(flow: Flow, width: number, asking: Asking): HeldSeats | Ticket | Rejection {
    const { isExempt, queues } = this.#shape;
    const now = this.#parts.clock.monotonic();
    if (isExempt) return this.#start(flow, width, undefined, now);
    const mayRun = this.#queues.waiting === 0 && this.#hasShare(flow.owner, width) && this.seats.takeNow(width);
    if (mayRun) return this.#start(flow, width, this.#queues.choose(flow.hand), now);
    if (queues === 0) return this.#reject(flow, "concurrency-limit");
    const ticket = new Ticket(this, flow, width, asking, now);
    if (!this.#queues.enqueue(ticket, this.#queues.choose(flow.hand))) return this.#reject(flow, "queue-full");
    const { counts } = flow;
    counts.queued = true;
    counts.waiting++;
    counts.lengths.add(ticket.queue?.waiting.size ?? 0);
    this.#parts.listens();
    this.pump();
    return ticket;
  }

  /** Starts what waits and may run now. `skips`: the first also when it would be another front's turn. */
  pump(skips = false): void {
    let isLate = false;
    let mayStart = true;
    for (let first = skips; mayStart && this.#queues.waiting > 0; first = false) {
      const ticket = this.#queues.peek(({ flow, width }) => this.#hasShare(flow.owner, width));
      this.seats.waits(true, ticket !== undefined);
      const taken = ticket !== undefined && this.seats.takeWaiting(ticket.width, first);
      isLate = taken === "late";
      mayStart = taken === true;
      if (taken === true && ticket !== undefined) this.#run(ticket);
    }
    if (this.#queues.waiting === 0) this.seats.waits(false, false);
    if (!isLate) this.#looks = undefined;
    else this.#looks ??= this.seats.looksOfNext();
    this.#arm(isLate);
  }

  /** A request is not to wait any more. */
  cancel(ticket: Ticket): void {
    if (ticket.queue === undefined) return;
    this.#drop(ticket, "cancelled");
    this.pump();
  }

  /** A request ended, and gives its seats back. */
  end({ flow, width, queue, startedMs }: HeldSeats): void {
    const ms = this.#parts.clock.monotonic() - startedMs;
    const { counts } = flow;
    counts.executing--;
    counts.seats -= width;
    counts.execution.add(ms / 1000);
    this.#executing--;
    this.#executingSeats -= width;
    if (queue === undefined) return;
    this.#held.add(flow.owner, -width);
    this.#queues.end(queue, width, ms);
    this.seats.give(width);
    if (this.#queues.waiting > 0) this.pump();
    else if (this.#isQuiescing) this.#parts.idle();
  }

  /** How full it is. */
  figures(): LevelFigures {
    const { name, seats, queues, lengthMax } = this.#shape;
    const waiting = [...this.#queues.queues].filter((queue) => queue.waiting.size > 0);
    return {
      name,
      max: seats,
      waiting: this.#queues.waiting,
      waitingSeats: waiting.reduce((sum, { waitingSeats }) => sum + waitingSeats, 0),
      executing: this.#executing,
      executingSeats: this.#executingSeats,
      waitingMax: queues * lengthMax,
      now: this.#queues.now,
      next: waiting.map(({ next }) => next),
    };
  }

  /** The requests that wait, those of a queue in their order. */
  *tickets(): IterableIterator<Ticket> {
    for (const { waiting } of this.#queues.queues) for (const ticket of waiting) yield ticket as Ticket;
  }

  /** It keeps no time any more. */
  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.seats.detach();
  }

  /**
   * Whether an owner may hold so many seats more: twice as many as are left free, in a level that has some to keep free.
   * So one owner's requests, however slow, leave a third of a level, and those of two a fifth (base/shares.ts).
   */
  #hasShare(owner: string, width: number): boolean {
    const held = this.#held.of(owner);
    if (held === 0 || this.#shape.seats < limits.sharedLevelSeatsMin) return true;
    return held + width <= 2 * this.seats.free;
  }

  #run(ticket: Ticket): void {
    const { flow, width, queue, arrivedMs } = ticket;
    assert(queue !== undefined, "A request that waits is in a queue");
    const now = this.#parts.clock.monotonic();
    const { counts } = flow;
    counts.waiting--;
    counts.waits.add((now - arrivedMs) / 1000);
    // Before it leaves the queue, which is forgotten when it is empty.
    const held = this.#start(flow, width, queue, now);
    this.#queues.remove(ticket);
    ticket.settle(held);
  }

  /** `queue`: undefined at a level that does not limit. */
  #start(flow: Flow, width: number, queue: FairQueue | undefined, now: number): HeldSeats {
    const { counts, owner } = flow;
    counts.dispatched++;
    counts.executing++;
    counts.seats += width;
    this.#executing++;
    this.#executingSeats += width;
    if (queue !== undefined) {
      this.#held.add(owner, width);
      this.#queues.start(queue, width);
    }
    return new HeldSeats(this, flow, width, queue, now);
  }

  #reject(flow: Flow, reason: RejectReason): Rejection {
    flow.counts.rejected[reason]++;
    return new Rejection(reason);
  }

  /** Rejects a request that waits. */
  #drop(ticket: Ticket, reason: RejectReason): void {
    this.#queues.remove(ticket);
    const { counts } = ticket.flow;
    counts.waiting--;
    counts.waitsRejected.add((this.#parts.clock.monotonic() - ticket.arrivedMs) / 1000);
    ticket.settle(this.#reject(ticket.flow, reason));
    if (this.#isQuiescing && this.isIdle) this.#parts.idle();
  }

  /** Has a look when the next request has waited too long, and soon when another front is to go first. */
  #arm(isLate: boolean): void {
    if (this.#queues.waiting === 0) {
      clearTimeout(this.#timer);
      this.#timer = undefined;
      return;
    }
    const now = this.#parts.clock.monotonic();
    let dueMs = isLate ? now + limits.frontTurnMs : Number.POSITIVE_INFINITY;
    for (const { arrivedMs } of this.#queues.oldest()) dueMs = Math.min(dueMs, arrivedMs + this.#parts.waitMsMax);
    // One that goes off too early finds nothing to do.
    if (this.#timer !== undefined && this.#dueMs <= dueMs) return;
    clearTimeout(this.#timer);
    this.#dueMs = dueMs;
    this.#timer = setTimeout(() => this.#look(), Math.max(1, Math.ceil(dueMs - now)));
  }

  #look(): void {
    this.#timer = undefined;
    const before = this.#parts.clock.monotonic() - this.#parts.waitMsMax;
    for (const ticket of [...this.tickets()]) if (ticket.arrivedMs <= before) this.#drop(ticket, "time-out");
    // The front whose turn it is has not looked since: it is busy, or there no more.
    const skips = this.#looks !== undefined && this.seats.looksOfNext() === this.#looks;
    this.#looks = undefined;
    this.pump(skips);
  }
}
