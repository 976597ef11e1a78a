// One front's view of the shared logs, from which reads and watches are served. Single-threaded and never blocking;
// everything returned is a slice of shared memory that does not change while the view holds it.
//
// A record's place is a Location: one number, the log-wide segment number times recordsPerSegment plus the index.
import type { Location } from "../shared/record.ts";
import type { SelectionSource } from "../shared/selection.ts";

/** Records that can be read by their locations. */
export interface RecordSource {
  readonly prefix: string;
  /** Key relative to the prefix. */
  keyOf(at: Location): string;
  /** The revision it was written at. */
  revisionOf(at: Location): number;
  /** The object's JSON, `{"kind":…}`, without the frame. */
  object(at: Location): Uint8Array;
  /** Its length, and a copy of it from its byte `from` on at byte `to` of `target`: returns the byte after it. */
  objectBytes(at: Location): number;
  copyObject(at: Location, from: number, target: Uint8Array, to: number): number;
  /** Where selectionAt(at) counts from: for the readers of cache/selection.ts, without a view per record. */
  selectionSource(at: Location): SelectionSource;
  /** First byte of the selection side-table in selectionSource(at). */
  selectionAt(at: Location): number;
  /** Whether a location, of any age, is the live record of its key as of the last drain(). */
  isCurrent(at: Location): boolean;
  /** Keeps every record reachable now from being recycled until released; see LogView. */
  hold(): Hold;
}

/** One front's view of one resource prefix. */
export interface LogView extends RecordSource {
  /**
   * The log was given up: it is empty and stays so. Subscribers were called, and it must not be
   * read in later turns without a hold.
   */
  readonly gone: boolean;
  /** State at this revision and every change above it can be read; below it: 410. As of the last drain(). */
  readonly floor: number;
  /**
   * Records up to this revision may be stored otherwise than they would be now (another key encrypts them): the next
   * write of their objects is stored even without a change.
   */
  readonly staleRevision: number;
  /**
   * Takes in everything published and returns a revision R such that the view is the state at R: it holds every change
   * at or below R, which is at least every change acknowledged to any client before the call, and none above R.
   */
  drain(): number;
  /** Number of live objects. */
  readonly count: number;
  /** The live record of a key; 0 when there is none. `namespace` is empty for cluster-scoped objects. */
  get(namespace: string, name: string): Location;
  /** Its record at `revision` (>= floor, or >= the floor at the time of a hold() that lasts); 0: it did not exist then. */
  getAt(namespace: string, name: string, revision: number): Location;
  /**
   * Live records in key order, from the first key after `after` (a key relative to the prefix, `namespace/name` or
   * `name`; empty: the start), limited to one namespace when `namespace` is not empty, as of `revision` (0: now).
   * Stops when `take` returns false. Calls `take` synchronously, and `take` must not drain(). Locations and slices are
   * good for this turn of the event loop; hold() first when they must live longer.
   */
  scan(namespace: string, after: string, revision: number, take: (at: Location, key: string) => boolean): void;
  /** Live records now that scan() would yield: at the cost of a few thousand of them, however many there are. */
  countAfter(namespace: string, after: string): number;
  /**
   * Keeps every record reachable now from being recycled until released; at most limits.holdMsMax from when the log
   * wanted to, and less when too much waits.
   */
  hold(): Hold;

  // Reading a record. The slices are views of shared memory.
  typeOf(at: Location): number;
  createRevisionOf(at: Location): number;
  /**
   * The record of the same key before this one; 0 when there is none or it left the window. Before a create that is the
   * delete before it, before a move the record that was moved. An update above the floor always has one.
   */
  previousOf(at: Location): Location;
  /** The same, also where that record left the window; it can be told from others, and not be read. */
  formerOf(at: Location): Location;
  object(at: Location): Uint8Array<SharedArrayBuffer>;
  /** Byte offset in object() of the digits of metadata.resourceVersion (they are the record's revision). */
  versionAt(at: Location): number;
  /** The selection side-table as cache/selection.ts laid it out. */
  selection(at: Location): Uint8Array<SharedArrayBuffer>;
  /** The framed watch event, newline included. */
  frame(at: Location): Uint8Array<SharedArrayBuffer>;

  // Following the log in order, for watches: the entries of a log are numbered by position, moves included.
  /** Position after the newest entry taken in by drain(). */
  readonly head: number;
  /**
   * Position of the first event with a revision above `revision`; undefined when `revision` is below the floor.
   * Wait until drain() returns `revision` before: records not taken in yet cannot be told from later ones.
   */
  positionAfter(revision: number): number | undefined;
  /** The record at a position below head; 0 when it was recycled (the reader is too slow: 410). */
  at(position: number): Location;
  /**
   * Frames from `position` on that lie next to one another in one segment, at most `bytesMax` (always at least one
   * frame) and below `end`: for unfiltered watches. `next` is the position after the last one. Moves are not events and
   * end a run. Undefined: the position was recycled.
   */
  run(
    position: number,
    end: number,
    bytesMax: number,
  ): { bytes: Uint8Array<SharedArrayBuffer> | undefined; next: number } | undefined;
  /** Calls `news` (outside drain) after entries were taken in, and after the floor moved. Returns how to stop. */
  onNews(news: () => void): () => void;
}

/** A promise to readers that slices stay. */
export interface Hold {
  /** True when it lasted too long: nothing read under it may be used any more. Look before each use in a new turn. */
  readonly expired: boolean;
  release(): void;
}

/** A log was asked for that is not registered, or was given up since. */
export class UnknownLog extends Error {
  override name = "UnknownLog";
}

/** One front's side of everything it shares with the store thread. */
export interface Views {
  /** The log of a prefix. Throws UnknownLog when it is not registered. */
  log(prefix: string): LogView;
  /** The log of a prefix; undefined: it is not registered. */
  find(prefix: string): LogView | undefined;
  /** Newest revision acknowledged to any client, over all logs. */
  readonly revision: number;
  /** Asks for a log of a prefix; resolves when every front can find it, false when there are too many. */
  register(prefix: string): Promise<boolean>;
  /** Gives up the log of a prefix, on every front; false when it holds objects. */
  giveUp(prefix: string): Promise<boolean>;
}
