// Values that are mostly there and sometimes waited for. A promise costs more than much of what is done with the value,
// each function that is async makes one, and each await of what is there gives up the turn all the same.

/** A value, or the promise of one. */
export type Awaitable<T> = T | Promise<T>;

/** Goes on with a value: at once where it is there. */
export function andThen<T, R>(value: Awaitable<T>, next: (value: T) => Awaitable<R>): Awaitable<R> {
  return value instanceof Promise ? value.then(next) : next(value);
}
