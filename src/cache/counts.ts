// What the watches of a log cost and got, in plain numbers that metrics read.

/** What was done, for metrics. Only grows, except `watchers` and `groups`. */
export interface WatchCounts {
  watchers: number;
  groups: number;
  /** Events of the log delivered, and all bytes. */
  events: number;
  bytes: number;
  /** Synthetic ADDED events. */
  initEvents: number;
  bookmarks: number;
  /** Cut off because they took nothing, or lagged too far. */
  terminated: number;
  /** Ended with 410, at the start or behind. */
  expired: number;
}

/** Zero of everything. */
export function emptyCounts(): WatchCounts {
  return { watchers: 0, groups: 0, events: 0, bytes: 0, initEvents: 0, bookmarks: 0, terminated: 0, expired: 0 };
}

/** Adds up two counts. */
export function addCounts(a: WatchCounts, b: WatchCounts): WatchCounts {
  return {
    watchers: a.watchers + b.watchers,
    groups: a.groups + b.groups,
    events: a.events + b.events,
    bytes: a.bytes + b.bytes,
    initEvents: a.initEvents + b.initEvents,
    bookmarks: a.bookmarks + b.bookmarks,
    terminated: a.terminated + b.terminated,
    expired: a.expired + b.expired,
  };
}
