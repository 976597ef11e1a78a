// Counts of the watches of a log, for metrics.

/** Counts for metrics. They only grow, except `watchers`, `groups` and `behind`. */
export interface WatchCounts {
  watchers: number;
  groups: number;
  /** Watchers that are not in step: reading their initial state, catching up, or taking nothing. */
  behind: number;
  /** Events of the log delivered, and all bytes. */
  events: number;
  bytes: number;
  /** Delivered events by the size of their object: up to each of sizeBuckets, then those above. */
  readonly sizes: number[];
  /** Sum of those sizes. */
  sizeBytes: number;
  /** Synthetic ADDED events. */
  initEvents: number;
  bookmarks: number;
  /** Cut off because they took nothing, or lagged too far. */
  terminated: number;
  /** Ended with 410, at the start or behind. */
  expired: number;
}

/** Upper bounds of event sizes, bytes; upstream's. */
export const sizeBuckets = [1024, 2048, 4096, 8192, 16_384, 32_768, 65_536, 131_072] as const;

/** Zero of everything. */
export function emptyCounts(): WatchCounts {
  return {
    watchers: 0,
    groups: 0,
    behind: 0,
    events: 0,
    bytes: 0,
    sizes: new Array<number>(sizeBuckets.length + 1).fill(0),
    sizeBytes: 0,
    initEvents: 0,
    bookmarks: 0,
    terminated: 0,
    expired: 0,
  };
}

/** Adds up two counts. */
export function addCounts(a: WatchCounts, b: WatchCounts): WatchCounts {
  return {
    watchers: a.watchers + b.watchers,
    groups: a.groups + b.groups,
    behind: a.behind + b.behind,
    events: a.events + b.events,
    bytes: a.bytes + b.bytes,
    sizes: a.sizes.map((count, index) => count + (b.sizes[index] ?? 0)),
    sizeBytes: a.sizeBytes + b.sizeBytes,
    initEvents: a.initEvents + b.initEvents,
    bookmarks: a.bookmarks + b.bookmarks,
    terminated: a.terminated + b.terminated,
    expired: a.expired + b.expired,
  };
}

/** Counts an event of so many bytes that goes to so many watchers. */
export function countEvent(counts: WatchCounts, bytes: number, watchers: number): void {
  counts.events += watchers;
  counts.sizeBytes += bytes * watchers;
  // Buckets double from 1024 on.
  const bucket = Math.min(sizeBuckets.length, 32 - Math.clz32((bytes - 1) >> 10));
  counts.sizes[bucket] = (counts.sizes[bucket] ?? 0) + watchers;
}
