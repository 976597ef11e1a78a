/** Time, passed in so that tests hold it. */
export interface Clock {
  /** Milliseconds since 1970, the wall clock: for time stamps, and expiry of data that survives a restart. */
  now(): number;
  /** Milliseconds on a clock that never goes back: for durations and deadlines. */
  monotonic(): number;
}

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
};
