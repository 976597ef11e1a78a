// What fronts and the thread that writes events tell each other, over one port per front.

/** A front to the writer: the events of one turn, each one line of JSON, in order. */
export interface ToWriter {
  readonly events: readonly string[];
}

/** The writer to a front, one per message, in order. */
export interface FromWriter {
  /** False: a backend that requests wait for could not write them. */
  readonly stored: boolean;
}
