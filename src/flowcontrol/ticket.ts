// A request at a priority level: whom it belongs to, and what it holds or waits for.
import type { User } from "../api/user.ts";
import type { Question } from "../authz/authorizer.ts";
import type { FlowCounts, RejectReason } from "../observe/flowcontrol.ts";
import type { FairQueue } from "./queueset.ts";

/** The level of a request, as far as the request goes on there. */
interface AtLevel {
  cancel(ticket: Ticket): void;
  end(held: HeldSeats): void;
}

/** Whom a request belongs to. */
export interface Flow {
  readonly schema: string;
  /** Of one schema; what flows have in common that share queues. */
  readonly distinguisher: string;
  /** The queues it may wait in. */
  readonly hand: ArrayLike<number>;
  /** Whose share of the level it counts against. */
  readonly owner: string;
  readonly counts: FlowCounts;
}

/** Who asks, and what. */
export interface Asking {
  readonly user: User;
  readonly asked: Question;
}

/** A rejected request, and why. */
export class Rejection {
  readonly reason: RejectReason;

  constructor(reason: RejectReason) {
    this.reason = reason;
  }
}

/** A request that waits. */
export class Ticket {
  readonly flow: Flow;
  readonly width: number;
  /** Who asks, and what: for the dump. */
  readonly user: User;
  readonly asked: Question;
  readonly arrivedMs: number;
  queue: FairQueue | undefined;
  /** Resolves when it may run, or may not. */
  readonly outcome: Promise<HeldSeats | Rejection>;
  readonly #level: AtLevel;
  #resolve: (outcome: HeldSeats | Rejection) => void = () => undefined;

  constructor(level: AtLevel, flow: Flow, width: number, { user, asked }: Asking, nowMs: number) {
    this.#level = level;
    this.flow = flow;
    this.width = width;
    this.user = user;
    this.asked = asked;
    this.arrivedMs = nowMs;
    this.outcome = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  settle(outcome: HeldSeats | Rejection): void {
    this.#resolve(outcome);
  }

  /** Its client went away: it waits no more. What runs already is not affected. */
  cancel(): void {
    this.#level.cancel(this);
  }
}

/** Seats a request holds. */
export class HeldSeats {
  readonly width: number;
  readonly flow: Flow;
  /** Undefined: of a level that does not limit. */
  readonly queue: FairQueue | undefined;
  readonly startedMs: number;
  readonly #level: AtLevel;
  #isHeld = true;

  constructor(level: AtLevel, flow: Flow, width: number, queue: FairQueue | undefined, startedMs: number) {
    this.#level = level;
    this.flow = flow;
    this.width = width;
    this.queue = queue;
    this.startedMs = startedMs;
  }

  /** Gives them back, once. */
  release(): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    this.#level.end(this);
  }
}
