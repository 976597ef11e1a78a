// The store thread's account of the records of one log: which are live, when and at
// which revision the others died, and the cost of retiring a segment. Retention decides from it.
//
//   closed segment ──► live share < 50 % a window after it closed (< 25 % at any time once the log is half full)
//        │                 └─► evacuate: live records (and their keys) move to the open segment
//        └─► no live record left, and every death a window ago (or over the limit) ──► retire: the floor rises to the
//            newest revision the log had when the segment closed, or the newest that ended a record in it
//
// Why that floor suffices: a state at revision r needs, of each key, the newest record at or below r. A record that is
// needed for some r at or above the floor either lives or died above the floor, so its segment is still there.
import { assertShared } from "../../base/assert.ts";
import type { SegmentMemory } from "../shared/memory.ts";
import type { Location } from "../shared/record.ts";
import { indexOf, OpenSegment, Segment, segmentOf } from "../shared/segment.ts";

/** A key and its newest record. */
export interface Place {
  /** Full key. */
  readonly key: string;
  at: Location;
  /** False when that record is a delete. */
  live: boolean;
}

/** A segment and its account. */
export class LedgerSegment {
  readonly memory: SegmentMemory;
  readonly segment: Segment;
  readonly open: OpenSegment;
  /** The key of each entry, by index. */
  readonly places: Place[] = [];
  /** Bytes of frames, entries and tables, of all records and of the live ones. */
  usedBytes = 0;
  liveBytes = 0;
  liveCount = 0;
  /** Monotonic ms of the newest death, and of the closing; before any: minus infinity. */
  lastDeathMs = Number.NEGATIVE_INFINITY;
  closedMs = Number.NEGATIVE_INFINITY;
  closed = false;
  /** The floor once the segment is retired. */
  floorAfter = 0;
  /** While records are moved out: the next index to look at. */
  evacuated = 0;

  constructor(number: number, base: number, memory: SegmentMemory) {
    this.memory = memory;
    this.segment = new Segment(number, base, memory.data, memory.meta);
    this.open = new OpenSegment(this.segment);
  }

  /** Whether the entry is its key's newest record. */
  isCurrent(index: number): boolean {
    return this.places[index]?.at === this.segment.locationOf(index);
  }
}

/** One log on the store thread. */
export class LedgerLog {
  readonly prefix: string;
  /** Its slot in the control buffer. */
  readonly index: number;
  floor: number;
  /** Newest revision in the log. */
  order = 0;
  /** Entries ever written: the position of the next one. */
  position = 0;
  /** Whether entries were written since the doorbell was last set. */
  rang = true;
  /** Bytes of records in segments that are not retired. */
  usedBytes = 0;
  liveBytes = 0;
  liveCount = 0;
  /** Changes that are to be committed: it is not given up meanwhile. */
  expected = 0;
  /** Not retired, oldest first; the last one is open. */
  readonly segments: LedgerSegment[] = [];
  readonly places = new Map<string, Place>();
  #lastNumber = 0;

  constructor(prefix: string, index: number, floor: number) {
    this.prefix = prefix;
    this.index = index;
    this.floor = floor;
  }

  /** The segment being filled. */
  get open(): LedgerSegment | undefined {
    return this.segments[this.segments.length - 1];
  }

  /** Segments it had since it began. */
  get segmentsEver(): number {
    return this.#lastNumber;
  }

  /** Bytes of records that are not part of the present state. */
  get deadBytes(): number {
    return this.usedBytes - this.liveBytes;
  }

  /** Wall time (ms) of the oldest event that can be watched; undefined when there is none. */
  get oldestTime(): number | undefined {
    for (const { segment, places } of this.segments) {
      if (places.length === 0 || segment.order(places.length - 1) <= this.floor) continue;
      for (let index = 0; index < places.length; index++) {
        if (segment.order(index) > this.floor) return segment.time(index);
      }
    }
    return undefined;
  }

  /** Adds the next segment. It must be announced to readers before the previous one is closed. */
  extend(memory: SegmentMemory): LedgerSegment {
    const { open } = this;
    if (open !== undefined) {
      assertShared(
        open.segment.base + open.places.length === this.position,
        "A log counts other entries than its segments",
      );
    }
    this.#lastNumber += 1;
    const segment = new LedgerSegment(this.#lastNumber, this.position, memory);
    this.segments.push(segment);
    return segment;
  }

  /** The segment of a place; it must not be retired. */
  segmentOf(at: Location): LedgerSegment {
    const number = segmentOf(at);
    let low = 0;
    let high = this.segments.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const segment = this.segments[middle];
      assertShared(segment !== undefined, "A log has a hole among its segments");
      if (segment.segment.number < number) low = middle + 1;
      else high = middle;
    }
    const found = this.segments[low];
    assertShared(found !== undefined && found.segment.number === number, "A record's segment is retired");
    return found;
  }

  /** Enters a record just written as its key's newest. */
  enter(segment: LedgerSegment, index: number, place: Place, live: boolean): void {
    assertShared(segment === this.open, "A record is entered in a segment that is not open");
    assertShared(index === segment.places.length, "Records are entered out of order");
    const bytes = segment.segment.bytesOf(index);
    segment.places.push(place);
    segment.usedBytes += bytes;
    this.usedBytes += bytes;
    if (live) {
      segment.liveBytes += bytes;
      segment.liveCount += 1;
      this.liveBytes += bytes;
      this.liveCount += 1;
    }
    const at = segment.segment.locationOf(index);
    assertShared(at > place.at, "A key's newest record is before an older one");
    place.at = at;
    place.live = live;
    this.position += 1;
    this.rang = false;
    // Of moves too: a watch that starts above the floor then never meets a gap.
    segment.floorAfter = Math.max(segment.floorAfter, this.order);
  }

  /** Ends a key's newest record, if it is live: by a newer one at `revision`, or 0 when it is moved. */
  leave(place: Place, revision: number, nowMs: number): void {
    if (!place.live) return;
    const segment = this.segmentOf(place.at);
    const bytes = segment.segment.bytesOf(indexOf(place.at));
    segment.liveBytes -= bytes;
    segment.liveCount -= 1;
    this.liveBytes -= bytes;
    this.liveCount -= 1;
    assertShared(segment.liveBytes >= 0, "More live bytes leave a segment than entered it");
    assertShared(segment.liveCount >= 0, "More live records leave a segment than entered it");
    assertShared(this.liveBytes >= segment.liveBytes, "A log has fewer live bytes than one of its segments");
    assertShared(this.liveCount >= segment.liveCount, "A log has fewer live records than one of its segments");
    if (revision === 0) return;
    segment.lastDeathMs = nowMs;
    segment.floorAfter = Math.max(segment.floorAfter, revision);
  }

  /** Takes a segment without live records out, and forgets the deleted keys whose last record it holds. */
  retire(segment: LedgerSegment): void {
    assertShared(segment.closed, "An open segment is retired");
    assertShared(segment.liveCount === 0, "A segment with live records is retired");
    const at = this.segments.indexOf(segment);
    assertShared(at >= 0, "A segment is retired twice");
    assertShared(segment.liveBytes === 0, "A segment with live bytes is retired");
    assertShared(segment.places.length === segment.open.count, "A segment has entries that were not entered");
    assertShared(segment.floorAfter <= this.order, "A floor would rise above the newest revision of its log");
    this.segments.splice(at, 1);
    this.usedBytes -= segment.usedBytes;
    assertShared(this.usedBytes >= this.liveBytes, "A log uses fewer bytes than are live in it");
    this.floor = Math.max(this.floor, segment.floorAfter);
    for (let index = 0; index < segment.places.length; index++) {
      const place = segment.places[index];
      if (place !== undefined && segment.isCurrent(index)) this.places.delete(place.key);
    }
  }

  /**
   * The next segment to empty or retire before its log is over its limit; undefined when none is due.
   * A log on the way to its limit empties segments early: records that go on dying in old segments would let each
   * retirement raise the floor almost to now, and leave next to no history within the limit.
   */
  due(nowMs: number, historyMs: number, historyBytes: number): LedgerSegment | undefined {
    const filling = this.deadBytes * 2 > historyBytes;
    for (const segment of this.segments) {
      if (!segment.closed) continue;
      if (filling && segment.liveCount > 0 && segment.liveBytes * 4 < segment.usedBytes) return segment;
      if (nowMs - segment.closedMs < historyMs) continue;
      if (segment.liveCount > 0 ? segment.liveBytes * 2 < segment.usedBytes : isRetirable(segment, nowMs, historyMs)) {
        return segment;
      }
    }
    return undefined;
  }

  /**
   * The closed segment whose retirement raises the floor least, mostly dead ones before others: for a log over its
   * limit.
   */
  cheapest(): LedgerSegment | undefined {
    let best: LedgerSegment | undefined;
    let bestMostlyDead = false;
    for (const segment of this.segments) {
      if (!segment.closed || segment.liveBytes === segment.usedBytes) continue;
      const mostlyDead = segment.liveBytes * 2 < segment.usedBytes;
      if (best !== undefined) {
        if (bestMostlyDead && !mostlyDead) continue;
        if (bestMostlyDead === mostlyDead && best.floorAfter <= segment.floorAfter) continue;
      }
      best = segment;
      bestMostlyDead = mostlyDead;
    }
    return best;
  }
}

/** Whether no read within the window needs a segment. */
export function isRetirable(segment: LedgerSegment, nowMs: number, historyMs: number): boolean {
  return segment.liveCount === 0 && nowMs - Math.max(segment.closedMs, segment.lastDeathMs) >= historyMs;
}
