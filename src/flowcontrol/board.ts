// Main's side of the shared seats: which level has which slot, as long as a front uses it.
import { limits } from "../config/limits.ts";
import { SeatWords, seatsMemory } from "./seats.ts";

/** Gives levels their slots. */
export class SeatBoard {
  readonly memory: SharedArrayBuffer;
  readonly #words: SeatWords;
  readonly #slots = new Map<string, { readonly slot: number; readonly fronts: Set<number> }>();
  readonly #free = Array.from({ length: limits.levelSlotsMax }, (_, at) => limits.levelSlotsMax - 1 - at);

  constructor(fronts: number) {
    this.memory = seatsMemory(fronts);
    this.#words = new SeatWords(this.memory, fronts);
  }

  /** Levels that have a slot. */
  get size(): number {
    return this.#slots.size;
  }

  /** The slot of a level, which a front uses from now on; undefined: all are taken. */
  open(front: number, level: string): number | undefined {
    let entry = this.#slots.get(level);
    if (entry === undefined) {
      const slot = this.#free.pop();
      if (slot === undefined) return undefined;
      entry = { slot, fronts: new Set() };
      this.#slots.set(level, entry);
    }
    entry.fronts.add(front);
    return entry.slot;
  }

  /** A front does not use the slot of a level any more. */
  close(front: number, level: string): void {
    const entry = this.#slots.get(level);
    if (entry?.fronts.delete(front) !== true) return;
    this.#words.reclaim(entry.slot, front);
    if (entry.fronts.size > 0) return;
    this.#slots.delete(level);
    this.#free.push(entry.slot);
  }

  /** A front ended. */
  reclaim(front: number): void {
    for (const [level, { fronts }] of [...this.#slots]) if (fronts.has(front)) this.close(front, level);
  }
}
