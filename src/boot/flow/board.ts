// Main's side of flow control: it knows which level has which slot of the shared seats, and gathers what fronts have of
// levels, queues and waiting requests.
import { limits } from "../../config/limits.ts";
import type { SeatBoard } from "../../flowcontrol/board.ts";
import type { LevelDump } from "../../flowcontrol/dump.ts";
import type { OfFront, ToFront } from "../messages.ts";

/** How fronts are reached. */
interface FrontLines {
  readonly tell: (name: string, message: ToFront) => void;
  /** Names of the fronts that run. */
  readonly names: () => readonly string[];
}

/** A dump that fronts are asked for. */
interface Dumping {
  readonly from: string;
  readonly id: number;
  readonly dumps: (readonly LevelDump[])[];
  missing: number;
  readonly timer: NodeJS.Timeout;
}

/** The number of a front; undefined: it is no front. */
export function frontNumber(name: string): number | undefined {
  const digits = /^front-(\d+)$/.exec(name)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

/** Flow control as main keeps it. */
export class FlowBoard {
  readonly #board: SeatBoard;
  readonly #lines: FrontLines;
  readonly #dumping = new Map<number, Dumping>();
  #last = 0;

  constructor(board: SeatBoard, lines: FrontLines) {
    this.#board = board;
    this.#lines = lines;
  }

  /** A front uses a level, or not any more. */
  slot(name: string, { level, opens }: Extract<OfFront, { kind: "slot" }>): void {
    const front = frontNumber(name);
    if (front === undefined) return;
    if (!opens) return this.#board.close(front, level);
    this.#lines.tell(name, { kind: "slot", level, slot: this.#board.open(front, level) });
  }

  /** A front ended. */
  ended(name: string): void {
    const front = frontNumber(name);
    if (front !== undefined) this.#board.reclaim(front);
  }

  /** A front asks what all have; one that does not answer in time is left out. */
  ask(from: string, id: number): void {
    const names = this.#lines.names();
    const number = ++this.#last;
    const timer = setTimeout(() => this.#finish(number), limits.scrapeMsMax);
    this.#dumping.set(number, { from, id, dumps: [], missing: names.length, timer });
    for (const name of names) this.#lines.tell(name, { kind: "dump", id: number });
  }

  /** What one front has. */
  dumped({ id, levels }: Extract<OfFront, { kind: "dumped" }>): void {
    const dumping = this.#dumping.get(id);
    dumping?.dumps.push(levels);
    if (dumping !== undefined && --dumping.missing === 0) this.#finish(id);
  }

  #finish(number: number): void {
    const dumping = this.#dumping.get(number);
    if (dumping === undefined) return;
    this.#dumping.delete(number);
    clearTimeout(dumping.timer);
    this.#lines.tell(dumping.from, { kind: "dumps", id: dumping.id, dumps: dumping.dumps });
  }
}
