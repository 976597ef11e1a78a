// Waiting for a body no longer than a request may take.

/** Headers of the answer to an upload that came too late: the rest of it is not waited for. */
export const hangUp = [["Connection", "close"]] as const;

/** Waits for `pending`, at most `ms`. */
export function within<T>(pending: Promise<T>, ms: number): Promise<T | "late"> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, Math.max(0, Math.ceil(ms)), "late");
    const settle = (value: T): void => {
      clearTimeout(timer);
      resolve(value);
    };
    pending.then(settle, reject);
  });
}
