// Waiting no longer than something may take.

/** Waits for `pending`, at most `ms`. */
export function within<T>(pending: Promise<T>, ms: number): Promise<T | "late"> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, Math.max(0, Math.ceil(ms)), "late");
    const settle = (value: T): void => {
      clearTimeout(timer);
      resolve(value);
    };
    const fail = (error: unknown): void => {
      clearTimeout(timer);
      reject(error as Error);
    };
    pending.then(settle, fail);
  });
}
