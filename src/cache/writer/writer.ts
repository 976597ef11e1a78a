// The store thread's side of the shared logs: appends committed changes, publishes them to the fronts, and keeps the
// logs within their window. Nothing here waits: segments in use by fronts are recycled when they release them.
// @hot
//
//   Store.watch() ──► accept(records, revision) = append(record) …, publish(revision) ──► acknowledge
//                     start(): tend() in turns of its own while it has work, and every second
//
// A record enters its log after its commit, never before; a change is acknowledged after its publication. Records of
// changes that another server made come unasked, also for a kind whose log is not registered here yet, or was given up.
import { type MessagePort, receiveMessageOnPort } from "node:worker_threads";
import { assertShared } from "../../base/assert.ts";
import { type Clock, systemClock } from "../../base/clock.ts";
import { limits } from "../../config/limits.ts";
import { changeTypes, type LastRecord, type Record, type Store } from "../../storage/store.ts";
import { SegmentPool } from "../shared/memory.ts";
import type { SegmentMessage, ToFront, ToWriter } from "../shared/messages.ts";
import { recordTypes } from "../shared/record.ts";
import { bytesOfFrame, type Entry, entryBytes, indexOf, segmentOf } from "../shared/segment.ts";
import { keyBytesOf } from "../shared/selection.ts";
import { ControlWords } from "../shared/words.ts";
import { isRetirable, LedgerLog, type LedgerSegment, type Place } from "./ledger.ts";

/** How a writer is set up. */
export interface LogWriterOptions {
  /** Prefixes known at start; others are added by register() or by their first record. */
  readonly prefixes: readonly string[];
  readonly clock?: Clock;
  /** Watch history to keep, ms. */
  readonly historyMs?: number;
  /** Dead records to keep per log, bytes; this limit wins. */
  readonly historyBytes?: number;
}

/** One log's figures, for metrics. */
export interface LogStats {
  readonly prefix: string;
  /** Buffers of its segments, and how much of them holds records, and live ones. */
  readonly capacityBytes: number;
  readonly usedBytes: number;
  readonly liveBytes: number;
  readonly liveCount: number;
  readonly segmentCount: number;
  /** Segments it had since it began. */
  readonly segmentsEver: number;
  /** Entries that fit into its segments, if their side-tables took nothing. */
  readonly entriesMax: number;
  /** Segments retired that some front still uses. */
  readonly releasingCount: number;
  readonly floor: number;
  /** Newest revision in the log. */
  readonly head: number;
  /** Entries ever written. */
  readonly writes: number;
  /** Age of the oldest event that can be watched, ms; 0 when there is none. */
  readonly oldestAgeMs: number;
}

/** Figures of all logs. */
export interface WriterStats {
  readonly logs: readonly LogStats[];
  readonly frontCount: number;
  /** Buffers in use by segments, and waiting for reuse. */
  readonly usedBytes: number;
  readonly freeBytes: number;
}

interface Front {
  readonly port: MessagePort;
}

/** A retired segment and the fronts that have not released it. */
interface Releasing {
  readonly segment: LedgerSegment;
  readonly fronts: Set<Front>;
}

/** A log that was given up and the fronts that have not let go of it. */
interface Leaving {
  readonly log: LedgerLog;
  readonly fronts: Set<Front>;
}

/** A segment to empty, and then to retire: at once when its log is over the limit, else when its deaths are old. */
interface Work {
  readonly log: LedgerLog;
  readonly segment: LedgerSegment;
  readonly pressed: boolean;
}

/** Work of one tend(), so that no commit waits for long. */
const tendRecordsMax = 256;
const tendBytesMax = 1024 * 1024;
/** How often logs are looked at when nothing presses, ms. */
const tendEveryMs = 1000;

/** The only writer of the shared logs. Lives on the store thread. */
export class LogWriter {
  /** For openViews() on every front. */
  readonly control: SharedArrayBuffer;
  readonly #words: ControlWords;
  readonly #pool = new SegmentPool();
  readonly #clock: Clock;
  readonly #historyMs: number;
  readonly #historyBytes: number;
  readonly #logs = new Map<string, LedgerLog>();
  /** Those of #logs, to go through. */
  readonly #logList: LedgerLog[] = [];
  /** By their slot; those that are given up until every front let go of them. */
  readonly #bySlot: (LedgerLog | undefined)[] = [];
  readonly #freeSlots: number[] = [];
  /** Those that are there for good. */
  readonly #listed: ReadonlySet<string>;
  /** Those that began with another server's record, and that are not registered here. */
  readonly #strays = new Set<LedgerLog>();
  readonly #leaving = new Map<number, Leaving>();
  readonly #fronts = new Set<Front>();
  readonly #releasing = new Map<LedgerLog, Map<number, Releasing>>();
  /** The entry being written; one object for all. */
  readonly #entry: Entry;
  /** Of the newest record, or published. */
  #revision = 0;
  #published = 0;
  #floor = 0;
  #working: Work | undefined;
  #lookMs = 0;
  /** The fronts are woken at the end of this turn. */
  #willRing = false;
  #timer: NodeJS.Timeout | undefined;
  #tending = false;

  constructor(options: LogWriterOptions) {
    this.#words = ControlWords.allocate();
    this.control = this.#words.buffer;
    this.#clock = options.clock ?? systemClock;
    this.#historyMs = options.historyMs ?? limits.historyMsMin;
    this.#historyBytes = options.historyBytes ?? limits.historyBytesMax;
    this.#entry = {
      type: 0,
      revision: 0,
      createRevision: 0,
      time: 0.5,
      order: 0,
      previousSegment: 0,
      previousIndex: 0,
      selection: new Uint8Array(0),
      body: new Uint8Array(0),
      versionAt: 0,
    };
    this.#listed = new Set(options.prefixes);
    for (const prefix of this.#listed) this.register(prefix);
  }

  /** Adds a log; nothing happens when it is there. False: no slot is free (limits.logCountMax). */
  register(prefix: string): boolean {
    const log = this.#logs.get(prefix);
    if (log !== undefined) this.#strays.delete(log);
    else if (this.#isFull) return false;
    else this.#addLog(prefix);
    return true;
  }

  /**
   * Gives up a log without objects: fronts end its watches and let go of its memory, and then its slot is free for
   * another. False: it holds objects, or a change of it is under way. A log of the same prefix may be registered again
   * at once; it begins with now.
   */
  giveUp(prefix: string): boolean {
    const log = this.#logs.get(prefix);
    if (log === undefined) return true;
    if (log.liveCount > 0 || log.expected > 0) return false;
    if (this.#working?.log === log) this.#working = undefined;
    this.#logs.delete(prefix);
    this.#strays.delete(log);
    const at = this.#logList.indexOf(log);
    assertShared(at >= 0, "A log that is given up is not listed");
    this.#logList.splice(at, 1);
    assertShared(!this.#leaving.has(log.index), "The slot of a log is given up twice");
    // Its history cannot be watched any more, under whatever prefix a log is registered next.
    this.#floor = Math.max(this.#floor, this.#revision);
    const leaving: Leaving = { log, fronts: new Set(this.#fronts) };
    this.#leaving.set(log.index, leaving);
    for (const front of this.#fronts) post(front, { kind: "drop", log: log.index });
    this.#words.changeLogs();
    this.#letGo(leaving);
    return true;
  }

  /** A change of a prefix is to be committed: its log is not given up until settled(). False: it has no log. */
  expect(prefix: string): boolean {
    const log = this.#logs.get(prefix);
    if (log === undefined) return false;
    log.expected += 1;
    return true;
  }

  /** A change that was expected is published, or was not made. */
  settled(prefix: string): void {
    const log = this.#logs.get(prefix);
    assertShared(log !== undefined, "A log was given up while a change of it was under way");
    assertShared(log.expected > 0, "A change is settled that was not expected");
    log.expected -= 1;
  }

  /** Keys of the objects in a log, in no order. */
  keysOf(prefix: string): string[] {
    const places = this.#logs.get(prefix)?.places.values() ?? [];
    return [...places].filter(({ live }) => live).map(({ key }) => key);
  }

  /** The newest record of a key, of which it holds copies; undefined: none lives. */
  last(prefix: string, key: string): LastRecord | undefined {
    const log = this.#logs.get(prefix);
    const place = log?.places.get(key);
    if (log === undefined || place?.live !== true) return undefined;
    const segment = log.segmentOf(place.at).segment;
    const index = indexOf(place.at);
    return {
      revision: segment.revision(index),
      createRevision: segment.createRevision(index),
      selection: Buffer.from(segment.selection(index)),
      body: Buffer.from(segment.object(index)),
      versionAt: segment.versionAt(index),
    };
  }

  /** Gives up the logs that hold nothing, but for those of the start and those whose prefix is kept. */
  giveUpEmpty(isKept: (prefix: string) => boolean): void {
    for (const { prefix } of [...this.#logList]) {
      if (!this.#listed.has(prefix) && !isKept(prefix)) this.giveUp(prefix);
    }
  }

  /**
   * Fills the logs from a durable log at start: records at or below its floor become state without events, those above
   * become history, so that watches resume across a restart. Resolves with the revision up to which they are filled.
   * History may contain more kinds than there are slots: those that are gone lose theirs when another needs it.
   */
  async load(store: Pick<Store, "floor" | "replay">): Promise<number> {
    assertShared(this.#revision === 0, "A writer is loaded after it was written to");
    this.#floor = store.floor;
    for (const log of this.#logList) this.#setFloor(log, store.floor);
    const revision = await store.replay((records) => {
      for (const [index, record] of records.entries()) {
        if (this.#isFull && !this.#logs.has(record.prefix)) this.giveUpEmpty(() => false);
        this.append(record);
        const isWhole = records[index + 1]?.revision !== record.revision;
        if (!isWhole || !this.#overLimit(record.prefix)) continue;
        this.publish(this.#revision);
        while (this.#overLimit(record.prefix) && this.tend());
      }
    });
    this.publish(revision);
    this.#strays.clear();
    return revision;
  }

  /**
   * Enters and publishes what the store's watch delivers, in order; the store loop calls it before it acknowledges.
   * `revision`: everything up to it has been delivered; left out: up to the last of these records.
   */
  accept(records: readonly Record[], revision = records.at(-1)?.revision ?? this.#revision): void {
    for (const record of records) this.append(record);
    this.publish(revision);
    // Objects of a kind that went here came and went: its log goes as well.
    for (const log of this.#strays) if (log.liveCount === 0) this.giveUp(log.prefix);
    if (this.#timer !== undefined) this.#tendSoon();
  }

  /** Keeps the logs within their window from now on. Does not keep the thread alive. */
  start(): void {
    this.#timer = setInterval(() => this.#tendSoon(), tendEveryMs);
    this.#timer.unref();
  }

  /** Stops that, and leaves the fronts. */
  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    for (const front of this.#fronts) front.port.close();
  }

  /**
   * What the logs of these prefixes hold is stored otherwise than it would be now: the next write of each object is stored
   * even without a change. `told`: the store's newest revision, whose records may be on their way here.
   */
  outdate(isOutdated: (prefix: string) => boolean, told: number): void {
    const revision = Math.max(told, this.#revision);
    for (const log of this.#logList) if (isOutdated(log.prefix)) this.#words.setStale(log.index, revision);
  }

  /** Enters one committed change. Fronts may see it from now on; it counts as published with publish(). */
  append(record: Record): void {
    // Fronts take the key from the table; the byte count is a cheap check that it is the same.
    const keyBytes = keyBytesOf(record.selection);
    assertShared(keyBytes >= 0, "A record has no valid selection table");
    assertShared(
      record.prefix.length + 1 + keyBytes === Buffer.byteLength(record.key),
      "A record's key is not that of its selection table",
    );
    const log = this.#logs.get(record.prefix) ?? this.#addStray(record.prefix);
    // A state comes log by log. Records of one transaction have one revision, and are published together.
    if (record.revision <= this.#floor) {
      assertShared(record.revision >= log.order, "A record's revision is below the one before");
    } else {
      assertShared(record.revision > this.#published, "A record's revision is not above what is published");
      assertShared(record.revision >= this.#revision, "A record's revision is below the one before");
    }
    const deleted = record.type === changeTypes.delete;
    let place = log.places.get(record.key);
    if (place === undefined) {
      const first = record.type === changeTypes.create || record.revision <= log.floor;
      assertShared(first, "A change has no record before it");
      place = { key: record.key, at: 0, live: false };
      log.places.set(record.key, place);
    }
    const nowMs = this.#clock.monotonic();
    if (place.live) this.#keepBefore(log, place, nowMs);
    const event = record.revision > log.floor;
    if (event)
      assertShared((record.type === changeTypes.create) !== place.live, "A change does not follow its key's state");
    const entry = this.#entry;
    entry.type = event ? record.type : recordTypes.move;
    entry.revision = record.revision;
    entry.createRevision = record.createRevision;
    entry.time = this.#clock.now();
    entry.order = record.revision;
    entry.previousSegment = segmentOf(place.at);
    entry.previousIndex = indexOf(place.at);
    entry.selection = record.selection;
    entry.body = record.body;
    entry.versionAt = record.versionAt;
    const frameBytes = bytesOfFrame(record.body.length);
    const segment = this.#room(log, frameBytes, record.selection.length);
    const index = segment.open.append(entry);
    this.#revision = Math.max(this.#revision, record.revision);
    log.order = record.revision;
    if (record.isStale === true) this.#words.setStale(log.index, record.revision);
    log.leave(place, record.revision, nowMs);
    log.enter(segment, index, place, !deleted);
  }

  /**
   * Publishes everything appended; `revision`: the store's newest committed one. Wakes the fronts at the end of the turn,
   * once: an engine may deliver many times in one, and each front that sleeps costs 10 µs to wake.
   */
  publish(revision: number): void {
    assertShared(revision >= this.#revision, "A publication is behind the records appended");
    this.#revision = this.#published = revision;
    for (const log of this.#logList) if (!log.rang) this.#ring(log);
    this.#words.committed = revision;
    if (this.#willRing) return;
    this.#willRing = true;
    setImmediate(() => {
      this.#willRing = false;
      this.#words.ring();
    });
  }

  /**
   * Does a bounded piece of retention work. True: more is left; call again soon, after
   * waits. start() sees to it.
   */
  tend(): boolean {
    for (const front of this.#fronts) this.#receive(front);
    const nowMs = this.#clock.monotonic();
    if (this.#working === undefined) {
      if (nowMs < this.#lookMs) return false;
      this.#working = this.#findWork(nowMs);
      if (this.#working === undefined) {
        this.#lookMs = nowMs + tendEveryMs;
        return false;
      }
    }
    const { log, segment, pressed } = this.#working;
    if (!this.#evacuate(log, segment, nowMs)) return true;
    this.#working = undefined;
    if (pressed || isRetirable(segment, nowMs, this.#historyMs)) this.#retire(log, segment);
    return true;
  }

  /** Serves one more front; the port's other end goes to openViews(). Its close counts as leaving. */
  connect(port: MessagePort): void {
    const front: Front = { port };
    this.#fronts.add(front);
    port.on("message", (message: ToWriter) => this.#take(front, message));
    port.on("close", () => this.#leave(front));
    // A connected front does not keep the store thread alive.
    port.unref();
    for (const log of this.#logList) {
      post(front, { kind: "log", log: log.index, prefix: log.prefix });
      for (const segment of log.segments) post(front, announcement(log, segment, true));
    }
    post(front, { kind: "welcome" });
  }

  /** Figures for metrics. Walks all logs: about once in ten seconds, not more. */
  stats(): WriterStats {
    const now = this.#clock.now();
    const logs = this.#logList.map((log): LogStats => {
      const oldest = log.oldestTime;
      return {
        prefix: log.prefix,
        capacityBytes: log.segments.reduce((sum, { segment }) => sum + segment.data.length + segment.bytes.length, 0),
        usedBytes: log.usedBytes,
        liveBytes: log.liveBytes,
        liveCount: log.liveCount,
        segmentCount: log.segments.length,
        segmentsEver: log.segmentsEver,
        entriesMax: log.segments.reduce((sum, { segment }) => sum + segment.bytes.length / entryBytes, 0),
        releasingCount: this.#releasing.get(log)?.size ?? 0,
        floor: log.floor,
        head: log.order,
        writes: log.position,
        oldestAgeMs: oldest === undefined ? 0 : Math.max(0, now - oldest),
      };
    });
    return { logs, frontCount: this.#fronts.size, usedBytes: this.#pool.usedBytes, freeBytes: this.#pool.freeBytes };
  }

  get #isFull(): boolean {
    return this.#freeSlots.length === 0 && this.#bySlot.length === limits.logCountMax;
  }

  /** Batches that wait for the disk go between the pieces. */
  #tendSoon(): void {
    if (this.#tending) return;
    this.#tending = true;
    setImmediate(() => {
      this.#tending = false;
      if (this.#timer !== undefined && this.tend()) this.#tendSoon();
    });
  }

  #addLog(prefix: string): LedgerLog {
    const index = this.#freeSlots.pop() ?? this.#bySlot.length;
    assertShared(index < limits.logCountMax, `There are more than ${limits.logCountMax} logs`);
    assertShared(!this.#logs.has(prefix), "A prefix has two logs");
    assertShared(this.#bySlot[index] === undefined, "A slot has two logs");
    const log = new LedgerLog(prefix, index, this.#floor);
    this.#logs.set(prefix, log);
    this.#logList.push(log);
    this.#bySlot[index] = log;
    this.#releasing.set(log, new Map());
    this.#setFloor(log, this.#floor);
    this.#words.setStale(index, 0);
    for (const front of this.#fronts) post(front, { kind: "log", log: index, prefix });
    this.#words.changeLogs();
    return log;
  }

  #addStray(prefix: string): LedgerLog {
    const log = this.#addLog(prefix);
    this.#strays.add(log);
    return log;
  }

  #setFloor(log: LedgerLog, floor: number): void {
    log.floor = floor;
    log.rang = false;
    this.#words.setFloor(log.index, floor);
  }

  #ring(log: LedgerLog): void {
    log.rang = true;
    this.#words.ringLog(log.index);
  }

  /** The open segment, or a new one, with room for a record. Fronts know a segment before anything points to it. */
  #room(log: LedgerLog, frameBytes: number, selectionBytes: number): LedgerSegment {
    const open = log.open;
    if (open?.open.fits(frameBytes, selectionBytes)) return open;
    const memory = this.#pool.take(log.usedBytes, frameBytes, selectionBytes);
    const next = log.extend(memory);
    assertShared(next.open.fits(frameBytes, selectionBytes), "A new segment has no room for its first record");
    const message = announcement(log, next, false);
    for (const front of this.#fronts) post(front, message);
    if (open !== undefined) {
      open.closed = true;
      open.closedMs = this.#clock.monotonic();
      open.open.close(next.segment.number);
      if (log.deadBytes * 2 > this.#historyBytes) this.#lookMs = 0;
    }
    return next;
  }

  #overLimit(prefix: string): boolean {
    const log = this.#logs.get(prefix);
    return log !== undefined && log.deadBytes > this.#historyBytes && log.segments.length > 1;
  }

  #findWork(nowMs: number): Work | undefined {
    for (const log of this.#logList) {
      const cheapest = log.deadBytes > this.#historyBytes ? log.cheapest() : undefined;
      if (cheapest !== undefined) return { log, segment: cheapest, pressed: true };
      const segment = log.due(nowMs, this.#historyMs, this.#historyBytes);
      if (segment !== undefined) return { log, segment, pressed: false };
    }
    return undefined;
  }

  /** Moves a bounded number of live records to the open segment; true when none is left. */
  #evacuate(log: LedgerLog, segment: LedgerSegment, nowMs: number): boolean {
    let bytes = 0;
    let count = 0;
    while (segment.liveCount > 0) {
      if (count === tendRecordsMax || bytes >= tendBytesMax) return false;
      const index = segment.evacuated++;
      const place = segment.places[index];
      assertShared(place !== undefined, "A segment's live records are not in it");
      if (!place.live || !segment.isCurrent(index)) continue;
      bytes += segment.segment.bytesOf(index);
      count += 1;
      this.#move(log, segment, index, place, nowMs);
    }
    return true;
  }

  /**
   * A live record about to be superseded while its segment is emptied moves first: its death then belongs to the
   * segment it moved to, and does not raise the floor with the retired one.
   */
  #keepBefore(log: LedgerLog, place: Place, nowMs: number): void {
    const segment = this.#working?.segment;
    if (segment === undefined || this.#working?.log !== log) return;
    if (segmentOf(place.at) === segment.segment.number) this.#move(log, segment, indexOf(place.at), place, nowMs);
  }

  #move(log: LedgerLog, segment: LedgerSegment, index: number, place: Place, nowMs: number): void {
    const source = segment.segment;
    assertShared(segment.isCurrent(index), "A record is moved that is not its key's newest");
    const target = this.#room(log, source.frameBytes(index), source.selectionBytes(index));
    const moved = target.open.move(source, index, log.order, this.#clock.now());
    log.leave(place, 0, nowMs);
    log.enter(target, moved, place, true);
  }

  #retire(log: LedgerLog, segment: LedgerSegment): void {
    // A front that hears of this takes in the moves first, and it takes in nothing above the committed revision.
    assertShared(log.order <= this.#words.committed, "A segment is retired in the middle of a batch");
    log.retire(segment);
    this.#words.setFloor(log.index, log.floor);
    this.#ring(log);
    const number = segment.segment.number;
    const releasing: Releasing = { segment, fronts: new Set(this.#fronts) };
    const waiting = this.#releasing.get(log);
    assertShared(waiting !== undefined, "A log has no list of retired segments");
    waiting.set(number, releasing);
    let waitingBytes = 0;
    for (const each of waiting.values()) waitingBytes += each.segment.usedBytes;
    // Memory kept by holds is bounded too: beyond the limit they end early.
    const urgent = waitingBytes > this.#historyBytes;
    for (const front of this.#fronts) post(front, { kind: "retire", log: log.index, number, urgent });
    this.#recycle(log, releasing);
    // Watches below the new floor are to end now, not with the next change.
    this.#words.ring();
  }

  #recycle(log: LedgerLog, releasing: Releasing): void {
    if (releasing.fronts.size > 0) return;
    const listed = this.#releasing.get(log)?.delete(releasing.segment.segment.number);
    assertShared(listed === true, "A segment is recycled twice");
    this.#free(releasing.segment);
  }

  #free({ open, segment, memory }: LedgerSegment): void {
    // A later use may put entries where tables were: both are zeroed.
    segment.bytes.fill(0, 0, (open.count + 1) * entryBytes);
    segment.bytes.fill(0, open.selectionStart);
    this.#pool.give(memory);
  }

  /** Frees the memory and slot of a log once every front released it. */
  #letGo({ log, fronts }: Leaving): void {
    if (fronts.size > 0) return;
    assertShared(this.#releasing.get(log)?.size === 0, "A log is let go of before its retired segments");
    assertShared(this.#bySlot[log.index] === log, "A log is let go of twice");
    for (const segment of log.segments) this.#free(segment);
    this.#releasing.delete(log);
    this.#leaving.delete(log.index);
    this.#bySlot[log.index] = undefined;
    this.#freeSlots.push(log.index);
  }

  #receive(front: Front): void {
    for (;;) {
      const received = receiveMessageOnPort(front.port);
      if (received === undefined) return;
      this.#take(front, received.message as ToWriter);
    }
  }

  #take(front: Front, message: ToWriter): void {
    switch (message.kind) {
      case "released": {
        const log = this.#bySlot[message.log];
        assertShared(log !== undefined, "A front releases a segment of no log");
        const releasing = this.#releasing.get(log)?.get(message.number);
        assertShared(releasing?.fronts.delete(front) === true, "A front releases a segment it was not asked for");
        this.#recycle(log, releasing);
        return;
      }
      case "dropped": {
        const leaving = this.#leaving.get(message.log);
        assertShared(leaving?.fronts.delete(front) === true, "A front lets go of a log it was not asked for");
        this.#releaseAll(front, leaving.log);
        this.#letGo(leaving);
        return;
      }
      default: {
        const done = message.kind === "register" ? this.register(message.prefix) : this.giveUp(message.prefix);
        post(front, { kind: "answered", id: message.id, done });
      }
    }
  }

  /** A front will touch no retired segment of a log again. */
  #releaseAll(front: Front, log: LedgerLog): void {
    for (const releasing of this.#releasing.get(log)?.values() ?? []) {
      if (releasing.fronts.delete(front)) this.#recycle(log, releasing);
    }
  }

  #leave(front: Front): void {
    this.#fronts.delete(front);
    for (const log of this.#releasing.keys()) this.#releaseAll(front, log);
    for (const leaving of this.#leaving.values()) if (leaving.fronts.delete(front)) this.#letGo(leaving);
  }
}

function post(front: Front, message: ToFront): void {
  front.port.postMessage(message);
}

function announcement(log: LedgerLog, segment: LedgerSegment, late: boolean): SegmentMessage {
  return {
    kind: "segment",
    log: log.index,
    number: segment.segment.number,
    base: segment.segment.base,
    data: segment.memory.data,
    meta: segment.memory.meta,
    current: late ? currentOf(segment) : undefined,
  };
}

function currentOf(segment: LedgerSegment): { count: number; bits: Uint8Array } {
  const count = segment.places.length;
  const bits = new Uint8Array((count + 7) >> 3);
  for (let index = 0; index < count; index++) {
    if (segment.isCurrent(index)) bits[index >> 3] = (bits[index >> 3] ?? 0) | (1 << (index & 7));
  }
  return { count, bits };
}
