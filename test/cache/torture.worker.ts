// One thread of the torture test: the writer, or a reader that checks what it sees against its own run of the same
// seeded traffic. Posts one result to its parent, or dies of the first difference.
import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import type { Location } from "../../src/cache/shared/record.ts";
import type { Hold, LogView } from "../../src/cache/view/view.ts";
import { openViews } from "../../src/cache/view/views.ts";
import { LogWriter } from "../../src/cache/writer/writer.ts";
import { changeTypes, type Record } from "../../src/storage/store.ts";
import { objectOf, prefix, RecordSource, randomSource, turn } from "./fixture.ts";

/** What a thread of the torture test is told. */
export interface TortureData {
  readonly role: "writer" | "reader";
  readonly seed: number;
  readonly records: number;
  readonly ports: readonly MessagePort[];
  /** Revision each reader has reached; the writer waits for them most of the time. */
  readonly progress: Int32Array<SharedArrayBuffer>;
  /** Its place among the readers. */
  readonly reader: number;
  /** For readers: the writer's control buffer. */
  readonly control: SharedArrayBuffer | undefined;
}

/** The same traffic for all threads. */
class Traffic {
  readonly source = new RecordSource();
  readonly #random: () => number;

  constructor(seed: number) {
    this.#random = randomSource(seed);
  }

  next(): Record {
    const key = Math.floor(this.#random() ** 2 * 400);
    const large = this.#random() < 0.01;
    const pad = Math.floor(this.#random() * (large ? 200_000 : 4000));
    return this.source.next(`ns-${key % 5}`, `pod-${key}`, this.#random() < 0.15, pad);
  }
}

function fail(message: string): never {
  throw new Error(message);
}

async function write(data: TortureData, parent: MessagePort): Promise<void> {
  const writer = new LogWriter({ prefixes: [prefix], historyMs: 150, historyBytes: 12e6 });
  for (const port of data.ports) writer.connect(port);
  parent.postMessage({ control: writer.control });
  parent.on("message", ({ port }: { port: MessagePort }) => writer.connect(port));
  writer.start();
  const traffic = new Traffic(data.seed);
  const random = randomSource(data.seed + 1);
  while (traffic.source.revision < data.records) {
    const batch: Record[] = [];
    const count = 1 + Math.floor(random() ** 3 * 60);
    while (batch.length < count && traffic.source.revision < data.records) batch.push(traffic.next());
    writer.accept(batch);
    // Now and then it runs ahead, so that readers fall out of the window.
    const lead = random() < 0.01 ? 5000 : 500;
    do await turn();
    while (traffic.source.revision - Math.min(...data.progress) > lead);
  }
  // Recycling goes on until the readers are done.
  const { logs } = writer.stats();
  parent.postMessage({ done: { role: "writer", floor: logs[0]?.floor ?? 0, segments: logs[0]?.segmentCount ?? 0 } });
}

interface Version {
  readonly revision: number;
  readonly createRevision: number;
  readonly type: number;
  readonly object: () => string;
}

/** What must be there, from the same traffic. */
class Expected {
  readonly versions = new Map<string, Version[]>();
  readonly all: Version[] = [];
  readonly #traffic: Traffic;

  constructor(seed: number) {
    this.#traffic = new Traffic(seed);
  }

  reach(revision: number): void {
    while (this.all.length < revision) {
      const record = this.#traffic.next();
      const key = record.key.slice(prefix.length + 1);
      const { createRevision, type } = record;
      // Bodies are made again when they are looked at: all of them would not fit.
      const headBytes = record.versionAt + String(record.revision).length;
      const head = Buffer.from(record.body.subarray(0, headBytes)).toString();
      const padBytes = record.body.length - headBytes - '"},"pad":""}'.length;
      const object = () => {
        const pad = String(record.revision)
          .padStart(10, "0")
          .repeat(Math.ceil(padBytes / 10))
          .slice(0, padBytes);
        const body = Buffer.from(`${head}"},"pad":"${pad}"}`);
        return objectOf({ ...record, body });
      };
      const version: Version = { revision: record.revision, createRevision, type, object };
      const versions = this.versions.get(key);
      if (versions === undefined) this.versions.set(key, [version]);
      else versions.push(version);
      this.all.push(version);
    }
  }

  at(key: string, revision: number): Version | undefined {
    const versions = this.versions.get(key) ?? [];
    let found: Version | undefined;
    for (let i = versions.length - 1; i >= 0 && found === undefined; i--) {
      const version = versions[i];
      if (version !== undefined && version.revision <= revision) found = version;
    }
    return found?.type === changeTypes.delete ? undefined : found;
  }
}

interface Held {
  readonly hold: Hold;
  readonly slices: readonly { readonly bytes: Uint8Array; readonly text: string }[];
}

class Reader {
  readonly view: LogView;
  readonly expected: Expected;
  readonly random: () => number;
  readonly counts = { role: "reader", states: 0, events: 0, held: 0, expired: 0, recycled: 0, news: 0 };
  position: number | undefined;
  followed = 0;
  held: Held[] = [];

  constructor(view: LogView, seed: number, own: number) {
    this.view = view;
    this.expected = new Expected(seed);
    this.random = randomSource(seed + own);
  }

  text(at: Location): string {
    return Buffer.from(this.view.object(at)).toString();
  }

  follow(revision: number): void {
    const view = this.view;
    if (this.position === undefined) {
      this.position = view.positionAfter(revision) ?? fail("The present is below the floor");
      this.followed = revision;
    }
    for (; this.position < view.head; this.position++) {
      const at = view.at(this.position);
      if (at === 0) {
        this.counts.recycled += 1;
        this.position = undefined;
        return;
      }
      if (view.typeOf(at) === 4) continue;
      this.followed += 1;
      const wanted = this.expected.all[this.followed - 1] ?? fail("More events than records");
      if (view.revisionOf(at) !== wanted.revision) fail(`Event ${view.revisionOf(at)} instead of ${wanted.revision}`);
      if (view.typeOf(at) !== wanted.type) fail(`Event ${wanted.revision} has type ${view.typeOf(at)}`);
      if (this.text(at) !== wanted.object()) fail(`Event ${wanted.revision} has another object`);
      if (wanted.type !== changeTypes.create && view.previousOf(at) === 0)
        fail(`Event ${wanted.revision} has no previous`);
      this.counts.events += 1;
    }
  }

  state(revision: number): void {
    const view = this.view;
    const past = this.random() < 0.7;
    const when = past ? Math.max(1, view.floor + Math.floor(this.random() * (revision - view.floor + 1))) : revision;
    let live = 0;
    for (const key of this.expected.versions.keys()) if (this.expected.at(key, when) !== undefined) live += 1;
    const slices: { bytes: Uint8Array; text: string }[] = [];
    let before = "";
    view.scan("", "", past ? when : 0, (at, key) => {
      if (key <= before) fail(`${key} comes after ${before}`);
      before = key;
      live -= 1;
      const wanted = this.expected.at(key, when) ?? fail(`${key} is there at ${when}`);
      if (view.revisionOf(at) !== wanted.revision)
        fail(`${key} at ${when}: ${view.revisionOf(at)}, not ${wanted.revision}`);
      if (view.createRevisionOf(at) !== wanted.createRevision)
        fail(`${key} at ${when} was created at another revision`);
      const text = wanted.object();
      if (this.text(at) !== text) fail(`${key} at ${when} has another object`);
      slices.push({ bytes: view.object(at), text });
      return true;
    });
    if (live !== 0) fail(`${live} keys are missing at ${when}`);
    this.counts.states += 1;
    if (this.random() < 0.3 && this.held.length < 3) this.held.push({ hold: view.hold(), slices });
  }

  release(): void {
    const held = this.held.shift();
    if (held === undefined) return;
    if (held.hold.expired) {
      this.counts.expired += 1;
      return;
    }
    for (const { bytes, text } of held.slices) if (Buffer.from(bytes).toString() !== text) fail("A held slice changed");
    held.hold.release();
    this.counts.held += held.slices.length;
  }
}

async function read(data: TortureData, parent: MessagePort): Promise<void> {
  const [port] = data.ports;
  if (port === undefined || data.control === undefined) fail("A reader needs a port and the control buffer");
  const views = await openViews({ control: data.control, port });
  const reader = new Reader(views.log(prefix), data.seed, 2 + data.reader);
  reader.view.onNews(() => {
    reader.counts.news += 1;
  });
  for (;;) {
    const revision = reader.view.drain();
    reader.expected.reach(revision);
    reader.follow(revision);
    data.progress[data.reader] = revision;
    if (reader.random() < 0.2) reader.state(revision);
    if (reader.random() < 0.1) reader.release();
    if (revision >= data.records) break;
    if (reader.random() < 0.02) {
      const end = performance.now() + 30;
      while (performance.now() < end);
    }
    await turn();
  }
  reader.state(data.records);
  while (reader.held.length > 0) reader.release();
  views.close();
  parent.postMessage({ done: reader.counts });
}

if (parentPort !== null) {
  const data = workerData as TortureData;
  await (data.role === "writer" ? write(data, parentPort) : read(data, parentPort));
}
