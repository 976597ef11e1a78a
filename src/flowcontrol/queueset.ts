// The queues of one priority level on one front, and whose turn it is: start-time fair queueing (Goyal, Vin and Cheng 1996).
// Each queue has a virtual time, in seat-milliseconds of work it was given; the queue that was given least goes first. A
// queue that had nothing to do joins at the time of the others: it neither saves up turns nor pays for what it once had.
//
//   queue 3   next 120   [ waiting, waiting ]   running 2     joins at `now` when it was idle
//   queue 17  next  40   [ waiting ]            running 1  ◄─ goes next; `now` becomes 40
//
// What a request will cost is guessed when it starts and corrected at its end, so that slow requests count as what they are.
import { assert } from "../base/assert.ts";
import { type Listed, Roster } from "../base/roster.ts";

/** One request that waits, or runs. */
export interface Queued {
  readonly width: number;
  /** Set while it waits. */
  queue: FairQueue | undefined;
}

/** Milliseconds a request is thought to take while it runs (upstream: the same). */
const guessedMs = 3;

/** One queue. */
export class FairQueue implements Listed {
  listedAt = -1;
  readonly index: number;
  /** Oldest first. */
  readonly waiting = new Set<Queued>();
  /** Seats that those who wait ask for. */
  waitingSeats = 0;
  running = 0;
  seats = 0;
  /** Virtual time at which its next request starts. */
  next = 0;

  constructor(index: number) {
    this.index = index;
  }
}

/** How a level queues. */
export interface QueueShape {
  /** 0: nothing waits. */
  readonly queues: number;
  readonly handSize: number;
  readonly lengthMax: number;
}

/** Queues with a place by their index; a level may have ten million. */
const placesMax = 1024;

/** All queues of a level that have something to do. */
export class QueueSet<Request extends Queued> {
  shape: QueueShape;
  /** Those in use, and the same by their index. */
  readonly #queues = new Roster<FairQueue>();
  readonly #byIndex: (FairQueue | undefined)[] = [];
  readonly #beyond = new Map<number, FairQueue>();
  #now = 0;
  #waiting = 0;

  constructor(shape: QueueShape) {
    this.shape = shape;
  }

  /** Requests that wait. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Virtual time: when the request that was started last did so. */
  get now(): number {
    return this.#now;
  }

  /** The queues in use, in no order. */
  get queues(): Iterable<FairQueue> {
    return this.#queues;
  }

  /** Queues with something waiting or running. */
  get active(): number {
    return this.#queues.size;
  }

  /** The queue of a hand with the least to do. */
  choose(hand: ArrayLike<number>): FairQueue {
    let best: FairQueue | undefined;
    let least = Number.POSITIVE_INFINITY;
    for (let at = 0; at < hand.length; at++) {
      const index = hand[at] as number;
      const queue = this.#get(index);
      if (queue === undefined) return this.#add(index);
      const load = queue.waitingSeats * guessedMs + queue.seats;
      if (load < least) [best, least] = [queue, load];
    }
    return best ?? this.#at(0);
  }

  /** Has a request wait; false: its queue is full. */
  enqueue(request: Request, queue: FairQueue): boolean {
    if (queue.waiting.size >= this.shape.lengthMax) {
      this.#tidy(queue);
      return false;
    }
    this.#join(queue);
    request.queue = queue;
    queue.waiting.add(request);
    queue.waitingSeats += request.width;
    this.#waiting++;
    return true;
  }

  /** The request whose turn it is, among the oldest of each queue that may run; undefined: none may. */
  peek(mayRun: (request: Request) => boolean): Request | undefined {
    let best: Request | undefined;
    let least = Number.POSITIVE_INFINITY;
    for (const queue of this.#queues.members) {
      if (queue.waiting.size === 0 || queue.next >= least) continue;
      const [oldest] = queue.waiting;
      if (!mayRun(oldest as Request)) continue;
      [best, least] = [oldest as Request, queue.next];
    }
    return best;
  }

  /** Takes a request out that waits: it runs, or does not want to any more. */
  remove(request: Request): void {
    const { queue } = request;
    assert(queue?.waiting.delete(request) === true, "A request waits in its queue");
    queue.waitingSeats -= request.width;
    request.queue = undefined;
    this.#waiting--;
    this.#tidy(queue);
  }

  /** Starts a request of a queue, which does not wait there any more. */
  start(queue: FairQueue, width: number): void {
    this.#enter(queue);
    this.#join(queue);
    this.#now = Math.max(this.#now, queue.next);
    queue.next += width * guessedMs;
    queue.running++;
    queue.seats += width;
  }

  /** Ends it after so many milliseconds. */
  end(queue: FairQueue, width: number, ms: number): void {
    queue.running--;
    queue.seats -= width;
    queue.next += width * (ms - guessedMs);
    assert(queue.running >= 0 && queue.seats >= 0, "A queue runs what it started");
    // No request waited for it: what it had was free.
    if (this.#waiting === 0) queue.next = Math.min(queue.next, this.#now);
    this.#tidy(queue);
  }

  /** The oldest request of each queue. */
  *oldest(): IterableIterator<Request> {
    for (const { waiting } of this.#queues)
      for (const request of waiting) {
        yield request as Request;
        break;
      }
  }

  #join(queue: FairQueue): void {
    if (queue.waiting.size === 0 && queue.running === 0) queue.next = Math.max(queue.next, this.#now);
  }

  #at(index: number): FairQueue {
    return this.#get(index) ?? this.#add(index);
  }

  #add(index: number): FairQueue {
    const queue = new FairQueue(index);
    queue.next = this.#now;
    this.#enter(queue);
    return queue;
  }

  #enter(queue: FairQueue): void {
    this.#set(queue.index, queue);
    if (queue.listedAt < 0) this.#queues.add(queue);
  }

  /** Forgets a queue that has nothing to do and owes nothing. */
  #tidy(queue: FairQueue): void {
    if (queue.waiting.size > 0 || queue.running > 0) return;
    if (this.#get(queue.index) === queue) this.#set(queue.index, undefined);
    this.#queues.delete(queue);
  }

  #get(index: number): FairQueue | undefined {
    return index < placesMax ? this.#byIndex[index] : this.#beyond.get(index);
  }

  #set(index: number, queue: FairQueue | undefined): void {
    if (index < placesMax) this.#byIndex[index] = queue;
    else if (queue === undefined) this.#beyond.delete(index);
    else this.#beyond.set(index, queue);
  }
}
