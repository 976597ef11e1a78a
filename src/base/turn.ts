// The one way a long piece of work lets the thread do something else in between.

/** Resolves in the next turn of the loop: what waits for its turn (reads, wakes, timers) comes first. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
