// One front's view of one log: follows the published entries, keeps the index of keys, answers reads at any revision of
// the window, and gives segments back when nothing on this front uses them.
// @hot
//
//   segments   [ 1 ] [ 2 ] gap [ 4 ] [ 5 ]◄ reading      taken in up to `head`; retired ones leave gaps
//   index      key ─► entry ─► newest record ─► previous ─► previous ─► 0
//
// Segments are given back in a turn of the event loop of their own, so that what was read earlier in a turn stays.
import { assertShared } from "../../base/assert.ts";
import type { SegmentMessage } from "../shared/messages.ts";
import { type Location, recordTypes } from "../shared/record.ts";
import { continued, indexOf, Segment, segmentOf } from "../shared/segment.ts";
import type { SelectionSource } from "../shared/selection.ts";
import type { ControlWords } from "../shared/words.ts";
import { fromByteKey, type KeyEntry, KeyIndex, toByteKey } from "./index.ts";
import type { Hold, LogView } from "./view.ts";

/** Services of the front that a log uses. */
export interface LogHost {
  /** Takes in the messages that wait, new segments among them. */
  receive(): void;
  /** Tells the store thread that this front will not touch a segment again. */
  released(log: number, number: number): void;
  /** Tells it that this front will not touch a log again that was given up. */
  dropped(log: Log): void;
  /** Calls sweep() of this log in another turn of the event loop. */
  sweepLater(log: Log): void;
  /** Monotonic ms. */
  now(): number;
}

/** A segment with this front's index entries. */
class ReadSegment extends Segment {
  /** Per entry taken in, its key's index entry; undefined for those a late front leaves out. */
  readonly entries: (KeyEntry | undefined)[] = [];
  readonly current: SegmentMessage["current"];

  constructor(message: SegmentMessage) {
    super(message.number, message.base, message.data, message.meta);
    this.current = message.current;
  }

  /** Whether an entry was superseded before this front came. */
  isPast(index: number): boolean {
    if (this.current === undefined || index >= this.current.count) return false;
    return ((this.current.bits[index >> 3] ?? 0) & (1 << (index & 7))) === 0;
  }
}

class LogHold implements Hold {
  expired = false;
  readonly #log: Log;

  constructor(log: Log) {
    this.#log = log;
  }

  release(): void {
    this.#log.drop(this);
  }
}

/** A retired segment and the holds that keep it. */
interface Retired {
  readonly segment: ReadSegment;
  readonly sinceMs: number;
  readonly holds: Set<LogHold>;
}

/** One front's view of one log. */
export class Log implements LogView {
  readonly prefix: string;
  /** Slot in the control buffer. */
  readonly number: number;
  floor: number;
  count = 0;
  gone = false;
  readonly #words: ControlWords;
  readonly #host: LogHost;
  #index = new KeyIndex();
  readonly #byNumber = new Map<number, ReadSegment>();
  /** Oldest first. */
  readonly #segments: ReadSegment[] = [];
  readonly #retired: Retired[] = [];
  readonly #holds = new Set<LogHold>();
  readonly #subscribers = new Set<() => void>();
  /** The segment being taken in and the index of the next entry. */
  #reading: ReadSegment | undefined;
  #next = 0;
  /** Newest revision taken in. */
  #order = 0;
  #doorbell = 0;
  #scanning = false;
  /** The segment of the last look-up. */
  #recent: ReadSegment | undefined;
  #toldHead = 0;
  #toldFloor: number;
  /** When the log was given up, monotonic ms. */
  #goneMs = Number.POSITIVE_INFINITY;
  /** This front let go of it: it is empty from then on, and its slot may be another's. */
  #closed = false;

  constructor(prefix: string, number: number, words: ControlWords, host: LogHost) {
    this.prefix = prefix;
    this.number = number;
    this.#words = words;
    this.#host = host;
    this.floor = words.floor(number);
    this.#toldFloor = this.floor;
  }

  /** Position after the newest entry taken in. */
  get head(): number {
    return this.#reading === undefined ? 0 : this.#reading.base + this.#next;
  }

  get staleRevision(): number {
    return this.#closed ? 0 : this.#words.stale(this.number);
  }

  /** See LogView. */
  drain(): number {
    assertShared(!this.#scanning, "A scan drains its own log");
    // The order matters: records at or below the committed revision are in the log before it is set.
    const committed = this.#words.committed;
    if (this.#closed) return committed;
    const doorbell = this.#words.doorbell(this.number);
    if (doorbell !== this.#doorbell) {
      if (this.#takeIn(committed)) this.#doorbell = doorbell;
      this.#readFloor();
    }
    assertShared(this.#order <= committed, "A view holds records above the committed revision");
    return committed;
  }

  get(namespace: string, name: string): Location {
    const entry = this.#find(namespace, name);
    return entry?.live ? entry.at : 0;
  }

  getAt(namespace: string, name: string, revision: number): Location {
    const entry = this.#find(namespace, name);
    return entry === undefined ? 0 : this.#at(entry, revision);
  }

  scan(namespace: string, after: string, revision: number, take: (at: Location, key: string) => boolean): void {
    const start = namespace === "" ? "" : toByteKey(`${namespace}/`);
    let from = toByteKey(after);
    if (from < start) from = start;
    // A namespace's keys start with `namespace/`; the first key that does not ends the range.
    this.#scanning = true;
    try {
      this.#index.scan(from, (entry) => {
        if (!entry.key.startsWith(start)) return false;
        const at = revision === 0 ? (entry.live ? entry.at : 0) : this.#at(entry, revision);
        return at === 0 || take(at, entry.text);
      });
    } finally {
      this.#scanning = false;
    }
  }

  countAfter(namespace: string, after: string): number {
    // A namespace's keys start with `namespace/`, and `0` is the byte behind that slash.
    const [start, end] = namespace === "" ? ["", ""] : [toByteKey(`${namespace}/`), toByteKey(`${namespace}0`)];
    let from = toByteKey(after);
    if (from < start) from = start;
    return this.#index.countLive(from, end);
  }

  hold(): Hold {
    const hold = new LogHold(this);
    this.#holds.add(hold);
    // Retired segments that are still here may contain records the caller read before: they stay too, but not for
    // longer.
    for (const { holds } of this.#retired) holds.add(hold);
    return hold;
  }

  isCurrent(at: Location): boolean {
    const entry = this.#byNumber.get(segmentOf(at))?.entries[indexOf(at)];
    return entry?.live === true && entry.at === at;
  }

  typeOf(at: Location): number {
    return this.#segmentOf(at).type(indexOf(at));
  }

  revisionOf(at: Location): number {
    return this.#segmentOf(at).revision(indexOf(at));
  }

  createRevisionOf(at: Location): number {
    return this.#segmentOf(at).createRevision(indexOf(at));
  }

  previousOf(at: Location): Location {
    const previous = this.#segmentOf(at).previous(indexOf(at));
    return this.#byNumber.has(segmentOf(previous)) ? previous : 0;
  }

  formerOf(at: Location): Location {
    return this.#segmentOf(at).previous(indexOf(at));
  }

  keyOf(at: Location): string {
    const segment = this.#segmentOf(at);
    const index = indexOf(at);
    return fromByteKey(segment.entries[index]?.key ?? segment.byteKey(index));
  }

  object(at: Location): Uint8Array<SharedArrayBuffer> {
    return this.#segmentOf(at).object(indexOf(at));
  }

  objectBytes(at: Location): number {
    return this.#segmentOf(at).objectBytes(indexOf(at));
  }

  copyObject(at: Location, from: number, target: Uint8Array, to: number): number {
    return this.#segmentOf(at).copyObject(indexOf(at), from, target, to);
  }

  versionAt(at: Location): number {
    return this.#segmentOf(at).versionAt(indexOf(at));
  }

  selection(at: Location): Uint8Array<SharedArrayBuffer> {
    return this.#segmentOf(at).selection(indexOf(at));
  }

  selectionSource(at: Location): SelectionSource {
    return this.#segmentOf(at);
  }

  selectionAt(at: Location): number {
    return this.#segmentOf(at).selectionAt(indexOf(at));
  }

  frame(at: Location): Uint8Array<SharedArrayBuffer> {
    return this.#segmentOf(at).frame(indexOf(at));
  }

  positionAfter(revision: number): number | undefined {
    if (revision < this.floor || this.#closed) return undefined;
    if (revision >= this.#order) return this.head;
    let low = 0;
    let high = this.#segments.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const segment = this.#segments[middle];
      assertShared(segment !== undefined, "A log has a hole among its segments");
      const last = segment.entries.length - 1;
      // Segments not taken in yet lie behind everything asked for here.
      if (last >= 0 && segment.order(last) <= revision) low = middle + 1;
      else high = middle;
    }
    const segment = this.#segments[low];
    assertShared(segment !== undefined, "The newest revision of a log is in none of its segments");
    return segment.base + firstAbove(segment, revision);
  }

  at(position: number): Location {
    const segment = this.#segmentAt(position);
    return segment === undefined ? 0 : segment.locationOf(position - segment.base);
  }

  run(
    position: number,
    end: number,
    bytesMax: number,
  ): { bytes: Uint8Array<SharedArrayBuffer> | undefined; next: number } | undefined {
    let next = position;
    while (next < end) {
      const segment = this.#segmentAt(next);
      if (segment === undefined) return undefined;
      const stop = Math.min(end - segment.base, segment.entries.length);
      let index = next - segment.base;
      while (index < stop && segment.type(index) === recordTypes.move) index++;
      next = segment.base + index;
      if (index === stop) continue;
      const start = segment.frameAt(index);
      let bytes = segment.frameBytes(index);
      for (index++; index < stop && segment.type(index) !== recordTypes.move; index++) {
        const more = segment.frameBytes(index);
        if (bytes + more > bytesMax) break;
        assertShared(segment.frameAt(index) === start + bytes, "Two frames of a run are not next to each other");
        bytes += more;
      }
      assertShared(start + bytes <= segment.data.length, "A run of frames ends beyond its segment");
      return { bytes: segment.data.subarray(start, start + bytes), next: segment.base + index };
    }
    return { bytes: undefined, next };
  }

  onNews(news: () => void): () => void {
    this.#subscribers.add(news);
    return () => this.#subscribers.delete(news);
  }

  // For views.ts.

  /** A new segment: the store thread publishes into it from now on. */
  announce(message: SegmentMessage): void {
    const last = this.#segments[this.#segments.length - 1];
    assertShared(last === undefined || last.number < message.number, "A segment is announced out of order");
    assertShared(last === undefined || last.base <= message.base, "A segment begins before the one before it");
    assertShared(!this.gone, "A segment is announced for a log that was given up");
    const { current } = message;
    if (current !== undefined) {
      assertShared(current.bits.length === (current.count + 7) >> 3, "A segment is announced without a bit per entry");
    }
    const segment = new ReadSegment(message);
    this.#byNumber.set(segment.number, segment);
    this.#segments.push(segment);
  }

  /** A segment is on its way out. Its live records were moved on before this was sent. */
  retire(number: number, urgent: boolean): void {
    const segment = this.#byNumber.get(number);
    assertShared(segment !== undefined, "A segment is retired that was never announced");
    assertShared(!this.#retired.some((retired) => retired.segment === segment), "A segment is retired twice");
    this.#retired.push({ segment, sinceMs: this.#host.now(), holds: new Set(this.#holds) });
    if (urgent) this.expire(Number.POSITIVE_INFINITY);
    this.#host.sweepLater(this);
  }

  /** The log is given up: subscribers are called in another turn, and it is freed when no hold keeps it. */
  leave(): void {
    assertShared(!this.gone, "A log is given up twice");
    this.gone = true;
    this.#goneMs = this.#host.now();
    this.#host.sweepLater(this);
  }

  /** Gives back retired segments that no hold keeps. Only from a turn of the event loop of its own. */
  sweep(): void {
    if (this.gone) return this.#sweepGone();
    if (this.#retired.length === 0) return;
    // The index must point to where records were moved before their old places go.
    this.#takeIn(this.#words.committed);
    this.#readFloor();
    for (let i = this.#retired.length - 1; i >= 0; i--) {
      const retired = this.#retired[i];
      if (retired === undefined || retired.holds.size > 0) continue;
      this.#retired.splice(i, 1);
      this.#release(retired.segment);
    }
  }

  /** Ends the holds of segments that were retired at or before a time. */
  expire(retiredMs: number): void {
    if (this.#goneMs <= retiredMs) this.#expireHolds(this.#holds);
    for (const { sinceMs, holds } of this.#retired) if (sinceMs <= retiredMs) this.#expireHolds(holds);
  }

  #expireHolds(holds: ReadonlySet<LogHold>): void {
    for (const hold of holds) {
      hold.expired = true;
      this.drop(hold);
    }
  }

  /** Ends one hold. */
  drop(hold: LogHold): void {
    if (!this.#holds.delete(hold)) return;
    if (this.gone && this.#holds.size === 0) this.#host.sweepLater(this);
    for (const retired of this.#retired) {
      if (retired.holds.delete(hold) && retired.holds.size === 0) this.#host.sweepLater(this);
    }
  }

  /** Takes in published records and calls the subscribers if there are new ones. */
  tell(): void {
    if (this.gone) return;
    // Most logs are silent most of the time: one load each.
    if (this.#words.doorbell(this.number) !== this.#doorbell) this.drain();
    const head = this.head;
    if (head === this.#toldHead && this.floor === this.#toldFloor) return;
    this.#toldHead = head;
    this.#toldFloor = this.floor;
    for (const news of this.#subscribers) news();
  }

  /** Figures for metrics: keys with their deleted ones, segments, and those kept by holds. */
  get keyCount(): number {
    return this.#index.size;
  }

  get segmentCount(): number {
    return this.#segments.length;
  }

  get heldCount(): number {
    return this.#retired.length;
  }

  /** Calls the subscribers of a log that was given up, and frees it when nothing holds it. */
  #sweepGone(): void {
    if (this.#closed) return;
    for (const news of [...this.#subscribers]) news();
    this.#subscribers.clear();
    if (this.#holds.size > 0) return;
    this.#closed = true;
    this.#index = new KeyIndex();
    this.#byNumber.clear();
    this.#segments.length = 0;
    this.#retired.length = 0;
    this.#reading = undefined;
    this.#recent = undefined;
    this.#next = 0;
    this.count = 0;
    this.#host.dropped(this);
  }

  /**
   * Takes in records up to a revision, so that all logs show the same one. False when there was more: a batch
   * that is being written.
   */
  #takeIn(committed: number): boolean {
    for (;;) {
      const segment = this.#reading ?? this.#follow(0);
      if (segment === undefined) return true;
      const index = this.#next;
      const type = segment.type(index);
      if (type === 0) return true;
      if (type === continued) this.#follow(segment.next(index));
      else if (segment.order(index) > committed) return false;
      else {
        this.#enter(segment, index, type);
        this.#next = index + 1;
      }
    }
  }

  #readFloor(): void {
    const floor = this.#words.floor(this.number);
    assertShared(floor >= this.floor, "The floor of a log goes back");
    this.floor = floor;
  }

  /** Moves to the oldest segment after the one being read; segment `number` must be known by then. */
  #follow(number: number): ReadSegment | undefined {
    const last = this.#segments[this.#segments.length - 1];
    if (last === undefined || last.number < number) this.#host.receive();
    const past = this.#reading?.number ?? 0;
    for (let i = this.#segments.length - 1; i >= 0; i--) {
      const before = this.#segments[i - 1];
      if (before !== undefined && before.number > past) continue;
      const next = this.#segments[i];
      assertShared(next !== undefined && next.number > past, "A log goes on in a segment that was not announced");
      this.#reading = next;
      this.#next = 0;
      return next;
    }
    assertShared(number === 0, "A log goes on in a segment that was not announced");
    return undefined;
  }

  #enter(segment: ReadSegment, index: number, type: number): void {
    const order = segment.order(index);
    assertShared(type <= recordTypes.move, "An entry has an unknown type");
    assertShared(order >= this.#order, "The order of a log goes back");
    assertShared(segment.revision(index) <= order, "A record is newer than its log");
    assertShared(segment.entries.length === index, "An entry is taken in twice, or left out");
    this.#order = order;
    if (segment.isPast(index)) {
      segment.entries.push(undefined);
      return;
    }
    const entry = this.#entryBefore(segment.previous(index)) ?? this.#entryOf(segment.byteKey(index));
    const live = type !== recordTypes.delete;
    if (this.#index.setLive(entry, live)) this.count += live ? 1 : -1;
    assertShared(this.count <= this.#index.size, "A view has more live objects than keys");
    const at = segment.locationOf(index);
    assertShared(at > entry.at, "A key's newest record is before an older one");
    entry.at = at;
    segment.entries.push(entry);
  }

  #entryBefore(previous: Location): KeyEntry | undefined {
    if (previous === 0) return undefined;
    return this.#byNumber.get(segmentOf(previous))?.entries[indexOf(previous)];
  }

  #entryOf(key: string): KeyEntry {
    return this.#index.enter(key);
  }

  #find(namespace: string, name: string): KeyEntry | undefined {
    return this.#index.find(toByteKey(namespace === "" ? name : `${namespace}/${name}`));
  }

  /** An entry's record at a revision: back along the links to the first that is not above it. */
  #at(entry: KeyEntry, revision: number): Location {
    let at = entry.at;
    while (at !== 0) {
      const segment = this.#segmentOf(at);
      const index = indexOf(at);
      if (segment.revision(index) <= revision) return segment.type(index) === recordTypes.delete ? 0 : at;
      const previous = segment.previous(index);
      assertShared(previous < at, "A record's predecessor is behind it");
      at = this.#byNumber.has(segmentOf(previous)) ? previous : 0;
    }
    return 0;
  }

  #segmentOf(at: Location): ReadSegment {
    const number = segmentOf(at);
    const recent = this.#recent;
    if (recent !== undefined && recent.number === number) return recent;
    const segment = this.#byNumber.get(number);
    assertShared(segment !== undefined, "A record is read after its segment was given back");
    this.#recent = segment;
    return segment;
  }

  #segmentAt(position: number): ReadSegment | undefined {
    assertShared(position >= 0, "A position before the log is read");
    assertShared(position < this.head, "A position beyond the head is read");
    const recent = this.#recent;
    if (recent !== undefined && isWithin(recent, position)) return recent;
    let low = 0;
    let high = this.#segments.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const segment = this.#segments[middle];
      assertShared(segment !== undefined, "A log has a hole among its segments");
      if (segment.base <= position) low = middle + 1;
      else high = middle;
    }
    const segment = this.#segments[low - 1];
    if (segment === undefined || !isWithin(segment, position)) return undefined;
    this.#recent = segment;
    return segment;
  }

  #release(segment: ReadSegment): void {
    assertShared(segment !== this.#reading, "The segment being read is given back");
    assertShared(this.#byNumber.delete(segment.number), "A segment is given back twice");
    const place = this.#segments.indexOf(segment);
    assertShared(place >= 0, "A segment that is given back is not listed");
    this.#segments.splice(place, 1);
    if (this.#recent === segment) this.#recent = undefined;
    for (let index = 0; index < segment.entries.length; index++) {
      const entry = segment.entries[index];
      if (entry === undefined || entry.at !== segment.locationOf(index)) continue;
      assertShared(!entry.live, "A live record's segment is given back");
      this.#index.remove(entry);
    }
    this.#host.released(this.number, segment.number);
  }
}

function isWithin(segment: ReadSegment, position: number): boolean {
  return segment.base <= position && position < segment.base + segment.entries.length;
}

/** Index of the first entry taken in whose order is above a revision. */
function firstAbove(segment: ReadSegment, revision: number): number {
  let low = 0;
  let high = segment.entries.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (segment.order(middle) <= revision) low = middle + 1;
    else high = middle;
  }
  return low;
}
