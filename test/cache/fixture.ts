// Records, a seeded source of random numbers and a tiny model of a log, shared by the tests of this folder.
import { encodeSelection } from "../../src/cache/shared/selection.ts";
import type { LogView } from "../../src/cache/view/view.ts";
import { type ChangeType, changeTypes, type Record } from "../../src/storage/store.ts";

/** Prefix of the logs under test. */
export const prefix = "/registry/pods";

/** Numbers in [0, 1) that a seed repeats (mulberry32). */
export function randomSource(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** Makes the records of changes to keys, as a store would. */
export class RecordSource {
  revision: number;
  readonly #live = new Map<string, { revision: number; createRevision: number }>();

  constructor(revision = 0) {
    this.revision = revision;
  }

  /** The next change of an object: a create when it is not there, else an update or a delete. */
  next(namespace: string, name: string, remove: boolean, padBytes: number): Record {
    this.revision += 1;
    const key = namespace === "" ? name : `${namespace}/${name}`;
    const before = this.#live.get(key);
    const type: ChangeType =
      before === undefined ? changeTypes.create : remove ? changeTypes.delete : changeTypes.update;
    const createRevision = before?.createRevision ?? this.revision;
    if (type === changeTypes.delete) this.#live.delete(key);
    else this.#live.set(key, { revision: this.revision, createRevision });
    const head = `{"kind":"Pod","metadata":{"namespace":"${namespace}","name":"${name}","resourceVersion":"`;
    const text = `${head}${this.revision}"},"pad":"${padOf(this.revision, padBytes)}"}`;
    return {
      revision: this.revision,
      createRevision,
      previous: before?.revision ?? 0,
      type,
      prefix,
      key: `${prefix}/${key}`,
      selection: encodeSelection(namespace, name, new Map([["app", name]]), [["spec.nodeName", `node-${name}`]]),
      body: Buffer.from(text),
      versionAt: Buffer.byteLength(head),
    };
  }
}

/** Text that only this revision has, so that a reader of recycled memory is found out. */
function padOf(revision: number, bytes: number): string {
  return String(revision)
    .padStart(10, "0")
    .repeat(Math.ceil(bytes / 10))
    .slice(0, bytes);
}

/** The object's JSON as readers must see it. */
export function objectOf(record: Record): string {
  return Buffer.from(record.body).toString();
}

const eventNames: { readonly [type: number]: string } = {
  [changeTypes.create]: "ADDED",
  [changeTypes.update]: "MODIFIED",
  [changeTypes.delete]: "DELETED",
};

/** The event as watchers must see it, after JSON.parse. */
export function eventOf(record: Record): unknown {
  return { type: eventNames[record.type], object: JSON.parse(objectOf(record)) };
}

/** All records, and what follows from them. */
export class Model {
  readonly records: Record[] = [];

  /** The key relative to the prefix. */
  static keyOf(record: Record): string {
    return record.key.slice(prefix.length + 1);
  }

  /** Live records at a revision, by key in the order of bytes. */
  stateAt(revision: number): Map<string, Record> {
    const state = new Map<string, Record>();
    for (const record of this.records) {
      if (record.revision > revision) break;
      if (record.type === changeTypes.delete) state.delete(record.key);
      else state.set(record.key, record);
    }
    const sorted = [...state.values()].sort((a, b) => Buffer.compare(Buffer.from(a.key), Buffer.from(b.key)));
    return new Map(sorted.map((record) => [Model.keyOf(record), record]));
  }

  after(revision: number): Record[] {
    return this.records.filter((record) => record.revision > revision);
  }
}

/** Everything live in a view at a revision (0: now), key to JSON. */
export function scanAll(view: LogView, revision: number, namespace = "", after = ""): Map<string, string> {
  const found = new Map<string, string>();
  view.scan(namespace, after, revision, (at, key) => {
    found.set(key, textOf(view.object(at)));
    return true;
  });
  return found;
}

/** Events from a position to the head, parsed, by at(). */
export function eventsFrom(view: LogView, position: number): { revision: number; event: unknown }[] {
  const events: { revision: number; event: unknown }[] = [];
  for (let at = position; at < view.head; at++) {
    const location = view.at(at);
    if (location === 0) throw new Error(`Position ${at} was recycled`);
    if (view.typeOf(location) === 4) continue;
    events.push({ revision: view.revisionOf(location), event: JSON.parse(textOf(view.frame(location))) });
  }
  return events;
}

/** The same by run(). */
export function runsFrom(view: LogView, position: number, bytesMax: number): unknown[] {
  const events: unknown[] = [];
  let next = position;
  while (next < view.head) {
    const run = view.run(next, view.head, bytesMax);
    if (run === undefined) throw new Error(`Position ${next} was recycled`);
    next = run.next;
    if (run.bytes === undefined) continue;
    const lines = textOf(run.bytes).split("\n");
    if (lines.pop() !== "") throw new Error("A run does not end with a whole line");
    for (const line of lines) events.push(JSON.parse(line));
  }
  return events;
}

/** Bytes as text; copies out of shared memory. */
export function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("utf8");
}

/** A clock that stands still until told. */
export class TestClock {
  ms = 1_000_000;

  now(): number {
    return this.ms;
  }

  monotonic(): number {
    return this.ms;
  }
}

/** One turn of the event loop. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Waits for a condition, at most thirty seconds unless told. */
export async function until(condition: () => boolean, what: string, limitMs = 30_000): Promise<void> {
  const end = performance.now() + limitMs;
  while (!condition()) {
    if (performance.now() > end) throw new Error(`Still waiting for ${what}`);
    await turn();
  }
}
