// What threads share is checked where it is used: each row breaks one structure, and the assertion that finds it ends
// the thread.
import t, { type Test } from "tap";
import { parseFieldSelector, parseLabelSelector } from "../../src/api/selector.ts";
import { SharedStateFailure } from "../../src/base/assert.ts";
import { LogWatchers } from "../../src/cache/fanout/follow.ts";
import { Gather } from "../../src/cache/fanout/gather.ts";
import { Group, GroupIndex } from "../../src/cache/fanout/group.ts";
import { Watcher } from "../../src/cache/fanout/watcher.ts";
import { SegmentPool } from "../../src/cache/shared/memory.ts";
import type { SegmentMessage } from "../../src/cache/shared/messages.ts";
import { type Entry, entryBytes, OpenSegment, Segment } from "../../src/cache/shared/segment.ts";
import { encodeSelection, nameText, selectionSource } from "../../src/cache/shared/selection.ts";
import { ControlWords } from "../../src/cache/shared/words.ts";
import { type KeyEntry, KeyIndex } from "../../src/cache/view/index.ts";
import { Log } from "../../src/cache/view/log.ts";
import type { LogView } from "../../src/cache/view/view.ts";
import { LedgerLog, type Place } from "../../src/cache/writer/ledger.ts";
import { LogWriter } from "../../src/cache/writer/writer.ts";
import { limits } from "../../src/config/limits.ts";
import { FakeSink } from "../support/fakesink.ts";
import { RecordSource } from "./fixture.ts";

type Row = readonly [message: string, breakIt: () => unknown];

function check(t: Test, rows: readonly Row[]): void {
  for (const [message, breakIt] of rows) t.throws(breakIt, new SharedStateFailure(message), message);
  t.end();
}

function open(number = 1, base = 0, bytes = 4096): OpenSegment {
  return new OpenSegment(new Segment(number, base, new SharedArrayBuffer(bytes), new SharedArrayBuffer(bytes)));
}

function entry(revision: number, changes: Partial<Entry> = {}, name = "a"): Entry {
  const body = Buffer.from(`{"resourceVersion":"${revision}"}`);
  const selection = encodeSelection("", name, undefined, []);
  const origin = { createRevision: 1, previousSegment: 0, previousIndex: 0 };
  return { type: 1, revision, ...origin, time: 1, order: revision, selection, body, versionAt: 20, ...changes };
}

/** A segment with two records. */
function filled(number = 1): OpenSegment {
  const target = open(number);
  target.append(entry(1));
  target.append(entry(2, {}, "b"));
  return target;
}

/** A segment of which one word of an entry is not what was written. */
function damaged(index: number, word: number, value: number): Segment {
  const { segment } = filled();
  segment.words[index * (entryBytes / 4) + word] = value;
  return segment;
}

t.test("ControlWords finds words that go back, and logs that have none", (t) => {
  const words = ControlWords.allocate();
  words.committed = 7;
  words.setFloor(3, 5);
  check(t, [
    ["A control buffer of 64 bytes", () => new ControlWords(new SharedArrayBuffer(64))],
    ["The committed revision goes back", () => (words.committed = 6)],
    ["A committed revision is no integer", () => (words.committed = 7.5)],
    ["The floor of a log goes back", () => words.setFloor(3, 4)],
    ["A log has a slot beyond the control buffer", () => words.setFloor(limits.logCountMax, 9)],
    ["A log has a slot beyond the control buffer", () => words.ringLog(-1)],
  ]);
});

t.test("Segment finds buffers and entries that cannot be", (t) => {
  const buffer = new SharedArrayBuffer(4096);
  check(t, [
    ["A segment has no number", () => new Segment(0, 0, buffer, buffer)],
    ["A segment begins before its log", () => new Segment(1, -1, buffer, buffer)],
    [
      "A segment's meta buffer is no whole number of entries",
      () => new Segment(1, 0, buffer, new SharedArrayBuffer(100)),
    ],
    ["A frame ends beyond its segment", () => damaged(1, 2, 5000).frame(1)],
    ["An object ends beyond its segment", () => damaged(1, 2, 5000).object(1)],
    ["A frame holds no object", () => damaged(1, 2, 30).object(1)],
    ["A selection table ends beyond its segment", () => damaged(1, 4, 5000).selection(1)],
  ]);
});

t.test("OpenSegment writes no entry that a reader could not follow", (t) => {
  const closed = filled();
  closed.close(2);
  check(t, [
    ["An entry has an unknown type", () => open().append(entry(1, { type: 5 }))],
    ["A record is older than its object", () => open().append(entry(1, { createRevision: 2 }))],
    ["A record is newer than its log", () => open().append(entry(2, { order: 1 }))],
    ["The version of a record is not in its object", () => open().append(entry(1, { versionAt: 99 }))],
    ["An index lies beyond every segment", () => open().append(entry(1, { previousIndex: 65_536 }))],
    ["A record does not fit its segment", () => open(1, 0, 128).append(entry(1))],
    ["The order of a log goes back", () => filled().append(entry(1))],
    ["An entry is written twice, or behind the end of its segment", () => closed.append(entry(3))],
    ["A segment is closed twice", () => closed.close(3)],
    ["A log continues in an older segment", () => open(2).close(2)],
    ["A record is moved to an older segment", () => open(2).move(filled(2).segment, 0, 3, 1)],
  ]);
});

t.test("SegmentPool finds memory that is given back twice", (t) => {
  const pool = new SegmentPool();
  const memory = pool.take(0, 100, 100);
  pool.give(memory);
  check(t, [["The memory of a segment is given back twice", () => pool.give(memory)]]);
});

t.test("A selection table whose texts lie beyond it is not read", (t) => {
  const table = encodeSelection("ns", "name", undefined, []);
  const source = selectionSource(table);
  source.words[5] = 4000;
  t.throws(() => nameText(source, 0), new SharedStateFailure("A text of a selection table ends beyond it"));
  source.words[5] = 1;
  t.throws(() => nameText(source, 0), new SharedStateFailure("A text of a selection table ends before it begins"));
  t.end();
});

t.test("LedgerLog finds accounts that do not agree", (t) => {
  const pool = new SegmentPool();
  const place = (): Place => ({ key: "k", at: 0, live: false });
  const ledger = (count: number) => {
    const log = new LedgerLog("/registry/pods", 0, 0);
    const segment = log.extend(pool.take(0, 100, 100));
    const first = place();
    for (let revision = 1; revision <= count; revision++) {
      log.order = revision;
      log.enter(segment, segment.open.append(entry(revision)), first, true);
      if (revision < count) log.leave(first, revision + 1, 1);
    }
    return { log, segment, first };
  };
  check(t, [
    [
      "A record is entered in a segment that is not open",
      () => {
        const { log, segment } = ledger(1);
        log.extend(pool.take(0, 100, 100));
        log.enter(segment, 0, place(), true);
      },
    ],
    [
      "Records are entered out of order",
      () => {
        const { log, segment } = ledger(1);
        log.enter(segment, 0, place(), true);
      },
    ],
    [
      "A key's newest record is before an older one",
      () => {
        const { log, segment } = ledger(1);
        log.enter(segment, segment.open.append(entry(2)), { key: "k", at: Number.MAX_SAFE_INTEGER, live: false }, true);
      },
    ],
    [
      "More live bytes leave a segment than entered it",
      () => {
        const { log, first } = ledger(1);
        log.leave(first, 2, 1);
        log.leave(first, 3, 1);
      },
    ],
    [
      "A segment with live bytes is retired",
      () => {
        const { log, segment, first } = ledger(1);
        log.leave(first, 2, 1);
        segment.closed = true;
        segment.liveBytes = 1;
        log.retire(segment);
      },
    ],
    [
      "A segment has entries that were not entered",
      () => {
        const { log, segment, first } = ledger(1);
        log.leave(first, 1, 1);
        segment.closed = true;
        segment.places.pop();
        log.retire(segment);
      },
    ],
    [
      "A floor would rise above the newest revision of its log",
      () => {
        const { log, segment, first } = ledger(1);
        log.leave(first, 2, 1);
        segment.closed = true;
        log.retire(segment);
      },
    ],
    [
      "A log counts other entries than its segments",
      () => {
        const { log } = ledger(2);
        log.position = 1;
        log.extend(pool.take(0, 100, 100));
      },
    ],
  ]);
});

t.test("LogWriter.append() finds a change that does not follow its key's state", (t) => {
  const writer = () => new LogWriter({ prefixes: ["/registry/pods"] });
  const source = new RecordSource();
  const create = source.next("ns", "a", false, 10);
  const update = source.next("ns", "a", false, 10);
  check(t, [
    [
      "A change does not follow its key's state",
      () => {
        const one = writer();
        one.append(create);
        one.append({ ...update, type: 1 });
      },
    ],
    [
      "A change does not follow its key's state",
      () => {
        const one = writer();
        one.append(create);
        one.append({ ...update, type: 3 });
        one.append({ ...source.next("ns", "a", false, 10), type: 2 });
      },
    ],
  ]);
});

/** A view of a log with nothing but its words, and a message that announces a segment to it. */
function viewOf(segment: OpenSegment): { log: Log; words: ControlWords; message: SegmentMessage } {
  const words = ControlWords.allocate();
  const nothing = (): undefined => undefined;
  const host = { receive: nothing, released: nothing, dropped: nothing, sweepLater: nothing, now: () => 1 };
  const log = new Log("/registry/pods", 0, words, host);
  const { number, base, data, bytes } = segment.segment;
  const message = { kind: "segment", log: 0, number, base, data: data.buffer, meta: bytes.buffer } as const;
  return { log, words, message: { ...message, current: undefined } };
}

/** A view that has the records of a segment before it. */
function drained(segment: OpenSegment): ReturnType<typeof viewOf> {
  const view = viewOf(segment);
  view.log.announce(view.message);
  view.words.committed = 100;
  view.words.ringLog(0);
  view.log.drain();
  return view;
}

t.test("Log finds messages and entries that do not follow what was there", (t) => {
  const announced = (changes: Partial<SegmentMessage>) => () => {
    const { log, message } = drained(filled(2));
    log.announce({ ...message, number: 3, base: 2, ...changes });
  };
  const taken = (index: number, word: number, value: number) => () => {
    const target = filled();
    new Float64Array(target.segment.bytes.buffer)[index * (entryBytes / 8) + word] = value;
    drained(target);
  };
  check(t, [
    ["A segment is announced out of order", announced({ number: 2 })],
    [
      "A segment begins before the one before it",
      () => {
        const { log, message } = viewOf(filled());
        log.announce({ ...message, base: 9 });
        log.announce({ ...message, number: 2, base: 8 });
      },
    ],
    ["A segment is announced without a bit per entry", announced({ current: { count: 9, bits: new Uint8Array(1) } })],
    [
      "A segment is announced for a log that was given up",
      () => {
        const { log, message } = drained(filled());
        log.leave();
        log.announce({ ...message, number: 2, base: 2 });
      },
    ],
    [
      "A segment is retired twice",
      () => {
        const { log } = drained(filled());
        log.retire(1, false);
        log.retire(1, false);
      },
    ],
    [
      "A log is given up twice",
      () => {
        const { log } = drained(filled());
        log.leave();
        log.leave();
      },
    ],
    ["The order of a log goes back", taken(1, 7, 0)],
    ["A record is newer than its log", taken(1, 4, 99)],
    [
      "An entry has an unknown type",
      () => {
        const target = filled();
        target.segment.words[entryBytes / 4] = 9;
        drained(target);
      },
    ],
    [
      "A record's predecessor is behind it",
      () => {
        const target = filled();
        const { log } = drained(target);
        target.segment.words[entryBytes / 4 + 5] = 1;
        target.segment.words[entryBytes / 4 + 6] = 1;
        log.getAt("", "b", 1);
      },
    ],
    [
      "Two frames of a run are not next to each other",
      () => {
        const target = filled();
        const { log } = drained(target);
        target.segment.words[entryBytes / 4 + 1] = 999;
        log.run(0, 2, 4096);
      },
    ],
    [
      "A run of frames ends beyond its segment",
      () => {
        const target = filled();
        const { log } = drained(target);
        target.segment.words[2] = 5000;
        log.run(0, 1, 9999);
      },
    ],
    ["A position before the log is read", () => drained(filled()).log.at(-1)],
    [
      "A view holds records above the committed revision",
      () => {
        const { log, words } = drained(filled());
        new BigInt64Array(words.buffer)[0] = 1n;
        log.drain();
      },
    ],
    [
      "The floor of a log goes back",
      () => {
        const { log, words } = drained(filled());
        log.floor = 50;
        words.ringLog(0);
        log.drain();
      },
    ],
  ]);
});

t.test("KeyIndex does not remove an entry that it holds under another key", (t) => {
  const index = new KeyIndex();
  index.enter("b");
  const other = index.enter("d") as { key: string };
  other.key = "b";
  t.throws(() => index.remove(other as KeyEntry), new SharedStateFailure("A removed key is not in the index"));
  t.end();
});

const representation = { key: "json", transform: undefined, bookmark: { at: () => new Uint8Array(0) } };

function groupOf(namespace: string, labels = ""): Group {
  const selector = { labels: parseLabelSelector(labels), fields: parseFieldSelector("") };
  return new Group("k", namespace, selector as never, representation);
}

t.test("Group and GroupIndex find watchers and groups that are not where they should be", (t) => {
  const group = groupOf("");
  const watcherOf = () => new Watcher(group, new FakeSink(), false, undefined, undefined);
  const index = new GroupIndex();
  const joined = watcherOf();
  group.join(joined);
  check(t, [
    ["An event without a record", () => group.addPending(0, 1, 1)],
    ["A watcher is not where its slot says", () => group.leave(watcherOf())],
    [
      "A watcher is kept over one that was not written to",
      () => {
        const other = groupOf("");
        other.keep(joined);
        other.keep(joined);
      },
    ],
    ["A group is removed that was not listed", () => index.remove(groupOf("ns"))],
    ["A group is removed that was not listed", () => index.remove(groupOf("", "!a"))],
    [
      "A group is not listed under its terms",
      () => {
        const other = new GroupIndex();
        other.add(groupOf("ns"));
        other.remove(groupOf("other"));
      },
    ],
    [
      "A watcher joins a group that is being written to",
      () => {
        group.writing = true;
        group.join(watcherOf());
      },
    ],
  ]);
});

t.test("LogWatchers finds a log whose head went back", (t) => {
  const view = { head: 5, gone: false, floor: 0, drain: () => 5, onNews: () => () => undefined };
  const nothing = (): undefined => undefined;
  const around = { gather: new Gather(), defer: nothing, now: () => 0, ended: nothing, failed: nothing };
  const more = { sliceMs: () => 10, spent: nothing, writesPerLook: 16 };
  const watchers = new LogWatchers(view as unknown as LogView, true, { ...around, ...more });
  watchers.pass();
  view.head = 4;
  t.throws(() => watchers.pass(), new SharedStateFailure("The cursor of a log's watchers is beyond its head"));
  t.end();
});
