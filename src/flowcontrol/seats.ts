// Seats of a priority level, which all fronts of a server share without a lock: each takes and gives back by itself, with
// one compare-and-exchange on a word in shared memory. While requests wait on several fronts, the fronts take turns, so
// that no front's clients live at the expense of another's.
//
//   word 0…      bell of each front: rung when it may go on; it sleeps on it while its requests wait
//   slot n       seats in use of a level, fronts where requests of it wait, the front that started one last
//     front f    seats it holds, whether its requests wait, how often it looked whether one can start
//
// Of the words of a front, only that front writes, and main after its thread ended. What all hold together is always the
// sum of what each holds: whatever a front held when it ended can be given back.
import { assert } from "../base/assert.ts";
import { limits } from "../config/limits.ts";

/** Words of a slot that all fronts write. */
const [usedWord, waitingWord, turnWord, slotWords] = [0, 1, 2, 4];
/** Words of each front in a slot. */
const [heldWord, wantsWord, looksWord, frontWords] = [0, 1, 2, 4];
/** 64 bytes: what different levels count shares no cache line. */
const lineWords = 16;

/** What a front wants of a level. */
const wants = {
  nothing: 0,
  /** Its turn. */ turn: 1,
  /** To hear of seats that become free: its requests could not run now. */ news: 2,
} as const;

function upToLine(words: number): number {
  return Math.ceil(words / lineWords) * lineWords;
}

/** Memory for the seats of so many fronts; all zero. */
export function seatsMemory(fronts: number): SharedArrayBuffer {
  const words = fronts * lineWords + limits.levelSlotsMax * upToLine(slotWords + fronts * frontWords);
  return new SharedArrayBuffer(words * Int32Array.BYTES_PER_ELEMENT);
}

/** The shared words, as one front or main sees them. */
export class SeatWords {
  readonly fronts: number;
  readonly #words: Int32Array<SharedArrayBuffer>;

  constructor(memory: SharedArrayBuffer, fronts: number) {
    this.fronts = fronts;
    this.#words = new Int32Array(memory);
  }

  /** The number of rings of a front, modulo 2^32. */
  bell(front: number): number {
    return Atomics.load(this.#words, front * lineWords);
  }

  ring(front: number): void {
    Atomics.add(this.#words, front * lineWords, 1);
    Atomics.notify(this.#words, front * lineWords);
  }

  /** Sleeps without blocking until a front's bell is no longer `seen`; undefined: it is not. */
  waitForRing(front: number, seen: number): Promise<unknown> | undefined {
    const result = Atomics.waitAsync(this.#words, front * lineWords, seen);
    return result.async ? result.value : undefined;
  }

  load(slot: number, word: number): number {
    return Atomics.load(this.#words, this.#at(slot) + word);
  }

  /** Of one front. */
  loadOf(slot: number, front: number, word: number): number {
    return Atomics.load(this.#words, this.#at(slot) + slotWords + front * frontWords + word);
  }

  /** Sets what a front wants. */
  want(slot: number, front: number, wanted: number): void {
    const before = Atomics.exchange(this.#words, this.#at(slot) + slotWords + front * frontWords + wantsWord, wanted);
    const change = (wanted === 0 ? 0 : 1) - (before === 0 ? 0 : 1);
    if (change !== 0) Atomics.add(this.#words, this.#at(slot) + waitingWord, change);
  }

  looked(slot: number, front: number): void {
    Atomics.add(this.#words, this.#at(slot) + slotWords + front * frontWords + looksWord, 1);
  }

  setTurn(slot: number, front: number): void {
    Atomics.store(this.#words, this.#at(slot) + turnWord, front);
  }

  /** Takes seats for a front while no more than `max` are in use then; a wide request runs when nothing else does. */
  take(slot: number, front: number, width: number, max: number): boolean {
    const at = this.#at(slot) + usedWord;
    for (;;) {
      const used = Atomics.load(this.#words, at);
      if (used > 0 && used + width > max) return false;
      if (Atomics.compareExchange(this.#words, at, used, used + width) === used) break;
    }
    Atomics.add(this.#words, this.#at(slot) + slotWords + front * frontWords + heldWord, width);
    return true;
  }

  /** The same whatever is in use. */
  charge(slot: number, front: number, width: number): void {
    Atomics.add(this.#words, this.#at(slot) + usedWord, width);
    Atomics.add(this.#words, this.#at(slot) + slotWords + front * frontWords + heldWord, width);
  }

  /** Gives seats back: never more than the front holds, which may have been given back for it when it crashed. */
  give(slot: number, front: number, width: number): void {
    const at = this.#at(slot) + slotWords + front * frontWords + heldWord;
    for (;;) {
      const held = Atomics.load(this.#words, at);
      const given = Math.min(held, width);
      if (Atomics.compareExchange(this.#words, at, held, held - given) !== held) continue;
      Atomics.sub(this.#words, this.#at(slot) + usedWord, given);
      return;
    }
  }

  /** Seats in use, all fronts together. */
  used(slot: number): number {
    return this.load(slot, usedWord);
  }

  /** Fronts where requests wait. */
  waiting(slot: number): number {
    return this.load(slot, waitingWord);
  }

  /** The front whose turn it is: the next one after the last that wants it; undefined: none does. */
  next(slot: number): number | undefined {
    const last = this.load(slot, turnWord);
    for (let step = 1; step <= this.fronts; step++) {
      const front = (last + step) % this.fronts;
      if (this.loadOf(slot, front, wantsWord) === wants.turn) return front;
    }
    return undefined;
  }

  /** How often a front looked whether one of its requests can start. */
  looks(slot: number, front: number): number {
    return this.loadOf(slot, front, looksWord);
  }

  /** Wakes the other fronts where requests wait. */
  ringOthers(slot: number, self: number): void {
    for (let front = 0; front < this.fronts; front++) {
      if (front !== self && this.loadOf(slot, front, wantsWord) !== wants.nothing) this.ring(front);
    }
  }

  /** Gives back what a front held of a level when it ended, and forgets what it wanted. */
  reclaim(slot: number, front: number): void {
    this.give(slot, front, this.loadOf(slot, front, heldWord));
    this.want(slot, front, wants.nothing);
    this.ringOthers(slot, front);
  }

  #at(slot: number): number {
    return this.fronts * lineWords + slot * upToLine(slotWords + this.fronts * frontWords);
  }
}

/** The seats of one level, as one front takes them. */
export class Seats {
  readonly #words: SeatWords;
  readonly #front: number;
  /** Undefined: not told yet, or there are too many levels. The front has its part of the seats for itself then. */
  #slot: number | undefined;
  #own = 0;
  #max: number;
  #wanted: number = wants.nothing;

  /** `max`: of the whole server. */
  constructor(words: SeatWords, front: number, max: number) {
    this.#words = words;
    this.#front = front;
    this.#max = max;
  }

  /** Seats of the level on all fronts. */
  get max(): number {
    return this.#max;
  }

  set max(max: number) {
    this.#max = max;
  }

  /** Seats this front holds. */
  get own(): number {
    return this.#own;
  }

  /** Free seats, at least 0. */
  get free(): number {
    return Math.max(0, this.#slot === undefined ? this.#part() - this.#own : this.#max - this.#words.used(this.#slot));
  }

  /** All fronts share a slot from here on. */
  share(slot: number): void {
    assert(this.#slot === undefined, "A level has one slot");
    this.#slot = slot;
    this.#words.charge(slot, this.#front, this.#own);
    const wanted = this.#wanted;
    this.#wanted = wants.nothing;
    this.#want(wanted);
  }

  /** Leaves the shared words alone from here on: the thread ends, or the level. */
  detach(): void {
    this.#slot = undefined;
  }

  /** Takes seats for a request that just came: where requests wait, it has no right to overtake them. */
  takeNow(width: number): boolean {
    if (this.#slot !== undefined && this.#words.waiting(this.#slot) > 0) return false;
    return this.#take(width);
  }

  /**
   * Takes seats for the request of this front that is next. "late": another front is to go first, and has been woken;
   * `skips`: that one does not wake.
   */
  takeWaiting(width: number, skips: boolean): boolean | "late" {
    const slot = this.#slot;
    if (slot === undefined) return this.#take(width);
    this.#want(wants.turn);
    this.#words.looked(slot, this.#front);
    const next = this.#words.next(slot);
    if (next !== undefined && next !== this.#front && !skips) {
      if (this.free > 0) this.#words.ring(next);
      return "late";
    }
    if (!this.#take(width)) return false;
    this.#words.setTurn(slot, this.#front);
    return true;
  }

  /** How often the front whose turn it is has looked; undefined: it is this one's turn, or no front's. */
  looksOfNext(): number | undefined {
    const slot = this.#slot;
    const next = slot === undefined ? undefined : this.#words.next(slot);
    return slot === undefined || next === undefined || next === this.#front ? undefined : this.#words.looks(slot, next);
  }

  /** Says whether requests wait here, and whether one of them might run. */
  waits(isWaiting: boolean, mightRun: boolean): void {
    this.#want(!isWaiting ? wants.nothing : mightRun ? wants.turn : wants.news);
  }

  give(width: number): void {
    this.#own -= width;
    assert(this.#own >= 0, "A front gives back what it took");
    const slot = this.#slot;
    if (slot === undefined) return;
    this.#words.give(slot, this.#front, width);
    if (this.#words.waiting(slot) > 0) this.#words.ringOthers(slot, this.#front);
  }

  #take(width: number): boolean {
    if (this.#slot !== undefined) {
      if (!this.#words.take(this.#slot, this.#front, width, this.#max)) return false;
    } else if (this.#own > 0 && this.#own + width > this.#part()) return false;
    this.#own += width;
    return true;
  }

  #part(): number {
    return Math.ceil(this.#max / this.#words.fronts);
  }

  #want(wanted: number): void {
    if (wanted === this.#wanted) return;
    this.#wanted = wanted;
    if (this.#slot !== undefined) this.#words.want(this.#slot, this.#front, wanted);
  }
}
