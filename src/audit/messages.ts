// The messages between fronts and the audit thread, over one port per front.

import type { Owner } from "../base/shares.ts";

/** A front to the writer: the events of one turn in order, one line of JSON each, every line ended. */
export interface ToWriter {
  readonly lines: string;
  /** The owner each event is charged to. */
  readonly owners: readonly Owner[];
}

/** The writer to a front, one per message, in order. */
export interface FromWriter {
  /** False: a backend that requests wait for could not write them. */
  readonly stored: boolean;
}
