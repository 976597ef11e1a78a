// One watch: where its bytes go and how far it is. In step with its group it has no position of its own and costs an
// entry in a list; behind, it has only a cursor: its pending events stay in the log.
// @hot
//
//   initial ──► lagging ◄──► synced          initial: the state it starts from is being written
//      waiting ──┘  │           │            waiting: starts at a revision that is not there yet
//                   └──► ended ◄┘            lagging: has a cursor of its own; blocked while its peer is behind
import type { Bookmark } from "./bookmark.ts";
import type { Group } from "./group.ts";

/** Where a watch writes: a subset of http's AnswerStream. */
export interface Sink {
  /** Sends a chunk that is not kept. False: the peer is behind; nothing is written before `drained` was called. */
  write(chunk: Uint8Array): boolean;
  /** Registers the one callback for "writable again". Called outside write(). */
  onDrain(drained: () => void): void;
  /** Ends the answer. */
  end(): void;
  /** Cuts the connection. */
  abort(): void;
}

/** States of a watcher. */
export const watcherStates = { initial: 0, waiting: 1, lagging: 2, synced: 3, ended: 4 } as const;

/** Where a watch begins. */
export type WatchStart =
  /** The state now, as synthetic ADDED events, then changes. */
  | { readonly from: "state" }
  /** Changes from now on. */
  | { readonly from: "now" }
  /** Changes above a revision, which may lie in the future. */
  | { readonly from: "revision"; readonly revision: number };

/** One watch of one front thread. */
export class Watcher {
  readonly group: Group;
  readonly sink: Sink;
  /** The client asked for bookmarks. */
  readonly bookmarks: boolean;
  /** Written between the initial state and the first change; undefined: nothing. */
  readonly initialEnd: Bookmark | undefined;
  /** One of watcherStates. */
  state: number = watcherStates.lagging;
  /** The sink said false and was not drained since. */
  blocked = false;
  /** Its position in the log, unless synced. */
  position = 0;
  /** Index in its group's list of synced watchers, -1 otherwise. */
  slot = -1;
  /** Newest revision the client is known to have. */
  revision = 0;
  /** Revision of its start: bookmarks are sent for later ones only. */
  startRevision = 0;
  /** Last key of the initial state that was sent. */
  after = "";
  /** Milliseconds of the monotonic clock: when it ends, when a bookmark is due, since when it is blocked. */
  deadline = 0;
  bookmarkAt = 0;
  blockedAt = 0;
  /** Bytes its log had delivered when it was blocked. */
  blockedBytes = 0;
  /** The tick it is listed under. */
  dueTick = 0;
  /** Called once when the watch has ended, by either side. */
  readonly ended: (() => void) | undefined;
  /** Name of the user it belongs to: it takes turns with those of others. Empty: the server's own. */
  readonly user: string;

  constructor(
    group: Group,
    sink: Sink,
    bookmarks: boolean,
    initialEnd: Bookmark | undefined,
    ended: (() => void) | undefined,
    user = "",
  ) {
    this.user = user;
    this.group = group;
    this.sink = sink;
    this.bookmarks = bookmarks;
    this.initialEnd = initialEnd;
    this.ended = ended;
  }
}
