// Assertions. A failed one is a bug of ours, never a client's mistake. There are two kinds, by their subject
// about:
//  - the data of one request (an object, its encoding, its answer): the request is answered with 500, the failure is
//    logged and counted, and the thread continues; a client with such data must not end the service of others;
//  - state that requests and threads share (log, segments, index, store): whatever the thread would do next may be
//    wrong for every user, so it ends, and is started again from the log.
// At the start both end what they are in. A controller tries again what failed by the first kind, and ends its thread
// by the second.

/** A broken invariant of the data of one request. Nothing but the request path and a watcher group catches it. */
export class AssertionFailure extends Error {
  override name = "AssertionFailure";
}

/** A broken invariant of shared state. Nothing catches it for good: the thread must not continue. */
export class SharedStateFailure extends AssertionFailure {
  override name = "SharedStateFailure";
}

/** Checks a cheap invariant of one request's data, always on. Throws AssertionFailure when `condition` is false. */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new AssertionFailure(message);
}

/** Checks a cheap invariant of shared state, always on. Throws SharedStateFailure when `condition` is false. */
export function assertShared(condition: boolean, message: string): asserts condition {
  if (!condition) throw new SharedStateFailure(message);
}

/** Throws an error that is a broken invariant of shared state, which ends the thread; returns any other one. */
export function passShared(error: unknown): unknown {
  if (error instanceof SharedStateFailure) throw error;
  return error;
}

/** Marks code that cannot be reached with any data of a request. */
export function unreachable(message: string): never {
  throw new AssertionFailure(message);
}

const verifying = process.env["ORCH_VERIFY"] === "1";

/** Checks an expensive invariant of shared state: only where ORCH_VERIFY=1 (tests and soak runs). */
export function verify(check: () => boolean, message: string): void {
  if (verifying && !check()) throw new SharedStateFailure(message);
}
