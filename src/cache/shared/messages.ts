// The messages between the store thread and a front about the shared logs, over one MessagePort per front.
//
//   store thread                                  front
//   log, segment … (all there are), welcome  ──►  openViews() resolves
//   segment  ── before any entry in it is published ──►  a reader that meets its number reads the port at once
//   retire   ── after its live records were moved on ──►  index points elsewhere, holds end, slices are gone
//                                            ◄──  released: this front will not touch those buffers again
//   drop     ── a log is given up  ──►           its watches end, holds end
//                                            ◄──  dropped: this front will not touch any of its buffers again
//                                            ◄──  register, giveUp: a log is wanted, or no more
//   answered ── after the log was announced to all, or dropped  ──►
//
// A segment's buffers are used again only after every front connected at its retirement released it or left; so are
// all buffers of a log that is given up, and its slot in the control buffer.

/** A log exists. */
export interface LogMessage {
  readonly kind: "log";
  /** Its slot in the control buffer. */
  readonly log: number;
  readonly prefix: string;
}

/** A segment exists. */
export interface SegmentMessage {
  readonly kind: "segment";
  readonly log: number;
  readonly number: number;
  readonly base: number;
  readonly data: SharedArrayBuffer;
  readonly meta: SharedArrayBuffer;
  /**
   * For a front that comes late: one bit per entry that was there, set when it was its key's newest record. The others
   * must not enter the index, because the record that superseded them may be retired already.
   */
  readonly current: { readonly count: number; readonly bits: Uint8Array } | undefined;
}

/** A segment's records are dead or were moved; to be released when nothing on the front uses it. */
export interface RetireMessage {
  readonly kind: "retire";
  readonly log: number;
  readonly number: number;
  /** Too much waits for its release already: holds are to end now. */
  readonly urgent: boolean;
}

/** A log is given up: nothing is in it, and nothing will come. */
export interface DropMessage {
  readonly kind: "drop";
  readonly log: number;
}

/** The result of a front's register or giveUp. */
export interface AnsweredMessage {
  readonly kind: "answered";
  readonly id: number;
  /** False: no slot is free for the log to be registered; the log to be given up holds objects. */
  readonly done: boolean;
}

/** Everything that existed when the front connected was announced. */
export interface WelcomeMessage {
  readonly kind: "welcome";
}

/** From the store thread to a front. */
export type ToFront = LogMessage | SegmentMessage | RetireMessage | DropMessage | AnsweredMessage | WelcomeMessage;

/** From a front to the store thread. */
export type ToWriter =
  | { readonly kind: "released"; readonly log: number; readonly number: number }
  | { readonly kind: "dropped"; readonly log: number }
  | { readonly kind: "register" | "giveUp"; readonly prefix: string; readonly id: number };
