// Assertions in two tiers. A failed assertion is a bug of ours, never a client's mistake: it ends the thread.

/** A broken invariant. Nothing catches it on purpose: the thread that sees it must not go on. */
export class AssertionFailure extends Error {
  override name = "AssertionFailure";
}

/** Checks a cheap invariant, always on. Throws AssertionFailure with `message` when `condition` is false. */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new AssertionFailure(message);
}

/** Marks code that cannot be reached. */
export function unreachable(message: string): never {
  throw new AssertionFailure(message);
}

const verifying = process.env["ORCH_VERIFY"] === "1";

/** Checks an expensive invariant: only where ORCH_VERIFY=1 (tests and soak runs). */
export function verify(check: () => boolean, message: string): void {
  if (verifying && !check()) throw new AssertionFailure(message);
}
