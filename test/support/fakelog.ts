// A LogView over arrays, for tests of what reads one: same contract as the real one, no threads and no segments
// (frames lie in one buffer; a run ends where `runRecords` says). Objects are small and carry labels and fields.

import { assert } from "../../src/base/assert.ts";
import { copyBytes } from "../../src/base/copy.ts";
import { type Location, recordTypes } from "../../src/cache/shared/record.ts";
import { encodeSelection, type SelectionSource, selectionSource } from "../../src/cache/shared/selection.ts";
import type { Hold, LogView } from "../../src/cache/view/view.ts";

/** What a test writes. */
export interface FakeObject {
  readonly namespace: string;
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly fields?: Readonly<Record<string, string>>;
  /** Bytes of padding. */
  readonly padding?: number;
}

interface Entry {
  readonly type: number;
  readonly revision: number;
  readonly createRevision: number;
  readonly previous: Location;
  readonly key: string;
  readonly namespace: string;
  readonly table: SelectionSource;
  readonly versionAt: number;
  readonly frameAt: number;
  readonly frameEnd: number;
  readonly headBytes: number;
}

const types = ["", "ADDED", "MODIFIED", "DELETED", "ADDED"];

/** Its own writer: tests put and delete, then the view sees it at the next drain(). */
export class FakeLog implements LogView {
  readonly gone = false;
  readonly prefix: string;
  readonly staleRevision = 0;
  floor = 0;
  head = 0;
  /** Newest revision anywhere: what drain() returns. */
  revision: number;
  /** A run never holds more records than this. */
  runRecords = Number.POSITIVE_INFINITY;
  readonly #entries: Entry[] = [];
  readonly #objects: string[] = [];
  readonly #live = new Map<string, Location>();
  readonly #news = new Set<() => void>();
  #recycled = 0;
  #bytes = new Uint8Array(new SharedArrayBuffer(1024 * 1024));
  #used = 0;

  constructor(prefix = "/registry/things", revision = 100) {
    this.prefix = prefix;
    this.revision = revision;
    this.floor = revision;
  }

  /** Creates or updates an object; returns the revision. No reader is told before news(). */
  put(object: FakeObject): number {
    const key = keyFor(object.namespace, object.name);
    const type = this.#isLive(key) ? recordTypes.update : recordTypes.create;
    return this.#append(type, key, object);
  }

  /** Deletes an object that exists, with the labels it last had; returns the revision. */
  delete(object: FakeObject): number {
    const key = keyFor(object.namespace, object.name);
    assert(this.#isLive(key), `Nothing to delete at ${key}`);
    return this.#append(recordTypes.delete, key, object);
  }

  /** Appends a move of a live record: an entry that is no event. */
  move(object: FakeObject): void {
    const key = keyFor(object.namespace, object.name);
    const at = this.#live.get(key) ?? 0;
    const entry = this.#entry(at);
    this.#entries.push({ ...entry, type: recordTypes.move });
    this.#objects.push(this.#objects[at - 1] as string);
    this.#live.set(key, this.#entries.length);
  }

  isCurrent(at: Location): boolean {
    const entry = this.#entry(at);
    return at > this.#recycled && entry.type !== recordTypes.delete && this.#live.get(entry.key) === at;
  }

  /** Forgets what is before a position. */
  recycle(position: number, floor: number): void {
    this.#recycled = position;
    this.floor = floor;
  }

  /** Takes the entries in and tells who follows. */
  news(): void {
    this.drain();
    for (const tell of [...this.#news]) tell();
  }

  /** Number of followers. */
  get followers(): number {
    return this.#news.size;
  }

  drain(): number {
    this.head = this.#entries.length;
    return this.revision;
  }

  get count(): number {
    let count = 0;
    for (const at of this.#live.values()) if (this.#entry(at).type !== recordTypes.delete) count += 1;
    return count;
  }

  get(namespace: string, name: string): Location {
    return this.#at(keyFor(namespace, name), Number.POSITIVE_INFINITY);
  }

  getAt(namespace: string, name: string, revision: number): Location {
    return this.#at(keyFor(namespace, name), revision);
  }

  scan(namespace: string, after: string, revision: number, take: (at: Location, key: string) => boolean): void {
    for (const key of [...this.#live.keys()].sort()) {
      if (key <= after || (namespace !== "" && !key.startsWith(`${namespace}/`))) continue;
      const at = this.#at(key, revision === 0 ? Number.POSITIVE_INFINITY : revision);
      if (at !== 0 && !take(at, key)) return;
    }
  }

  countAfter(namespace: string, after: string): number {
    let count = 0;
    this.scan(namespace, after, 0, () => ++count > 0);
    return count;
  }

  hold(): Hold {
    return { expired: false, release: () => undefined };
  }

  typeOf(at: Location): number {
    return this.#entry(at).type;
  }

  revisionOf(at: Location): number {
    return this.#entry(at).revision;
  }

  createRevisionOf(at: Location): number {
    return this.#entry(at).createRevision;
  }

  previousOf(at: Location): Location {
    const { previous } = this.#entry(at);
    return previous <= this.#recycled ? 0 : previous;
  }

  formerOf(at: Location): Location {
    return this.previousOf(at);
  }

  keyOf(at: Location): string {
    return this.#entry(at).key;
  }

  objectBytes(at: Location): number {
    return this.object(at).length;
  }

  copyObject(at: Location, from: number, target: Uint8Array, to: number): number {
    return copyBytes(target, to, this.object(at).subarray(from));
  }

  object(at: Location): Uint8Array<SharedArrayBuffer> {
    const { frameAt, frameEnd, headBytes } = this.#entry(at);
    return this.#bytes.subarray(frameAt + headBytes, frameEnd - 2);
  }

  versionAt(at: Location): number {
    return this.#entry(at).versionAt;
  }

  selection(): Uint8Array<SharedArrayBuffer> {
    throw new Error("Not part of the fake");
  }

  selectionSource(at: Location): SelectionSource {
    return this.#entry(at).table;
  }

  selectionAt(): number {
    return 0;
  }

  frame(at: Location): Uint8Array<SharedArrayBuffer> {
    const { frameAt, frameEnd } = this.#entry(at);
    return this.#bytes.subarray(frameAt, frameEnd);
  }

  positionAfter(revision: number): number | undefined {
    if (revision < this.floor) return undefined;
    const index = this.#entries.findIndex((entry) => entry.type !== recordTypes.move && entry.revision > revision);
    return index < 0 || index > this.head ? this.head : index;
  }

  at(position: number): Location {
    assert(position < this.head, `Position ${position} is not below ${this.head}`);
    return position < this.#recycled ? 0 : position + 1;
  }

  run(position: number, end: number, bytesMax: number) {
    assert(position < end, `A run from ${position} to ${end}`);
    if (position < this.#recycled) return undefined;
    const first = this.#entries[position] as Entry;
    if (first.type === recordTypes.move) return { bytes: undefined, next: position + 1 };
    let last = first;
    let next = position + 1;
    for (; next < end && next - position < this.runRecords; next += 1) {
      const entry = this.#entries[next] as Entry;
      if (entry.type === recordTypes.move || entry.frameEnd - first.frameAt > bytesMax) break;
      last = entry;
    }
    return { bytes: this.#bytes.subarray(first.frameAt, last.frameEnd), next };
  }

  onNews(news: () => void): () => void {
    const tell = (): void => news();
    this.#news.add(tell);
    return () => this.#news.delete(tell);
  }

  #append(type: number, key: string, object: FakeObject): number {
    this.revision += 1;
    const previous = this.#live.get(key) ?? 0;
    const wasLive = previous !== 0 && this.#entry(previous).type !== recordTypes.delete;
    const head = `{"type":"${types[type]}","object":`;
    const before = `{"kind":"Thing","metadata":{"name":"${object.name}","namespace":"${object.namespace}","resourceVersion":"`;
    const rest = JSON.stringify({ labels: object.labels ?? {}, fields: object.fields ?? {} });
    const text = `${before}${this.revision}"},"spec":${rest},"padding":"${"x".repeat(object.padding ?? 0)}"}`;
    const frame = Buffer.from(`${head}${text}}\n`);
    this.#reserve(frame.length);
    this.#bytes.set(frame, this.#used);
    const labels = new Map(Object.entries(object.labels ?? {}));
    this.#entries.push({
      type,
      revision: this.revision,
      createRevision: wasLive ? this.#entry(previous).createRevision : this.revision,
      previous,
      key,
      namespace: object.namespace,
      table: selectionSource(
        encodeSelection(object.namespace, object.name, labels, Object.entries(object.fields ?? {})),
      ),
      versionAt: before.length,
      frameAt: this.#used,
      frameEnd: this.#used + frame.length,
      headBytes: head.length,
    });
    this.#objects.push(text);
    this.#used += frame.length;
    this.#live.set(key, this.#entries.length);
    return this.revision;
  }

  #at(key: string, revision: number): Location {
    let at = this.#live.get(key) ?? 0;
    while (at !== 0 && (at > this.head || this.#entry(at).revision > revision)) at = this.#entry(at).previous;
    return at === 0 || this.#entry(at).type === recordTypes.delete ? 0 : at;
  }

  #isLive(key: string): boolean {
    const at = this.#live.get(key);
    return at !== undefined && this.#entry(at).type !== recordTypes.delete;
  }

  #entry(at: Location): Entry {
    const entry = this.#entries[at - 1];
    assert(entry !== undefined, `No record at ${at}`);
    return entry;
  }

  #reserve(bytes: number): void {
    if (this.#used + bytes <= this.#bytes.length) return;
    const larger = new Uint8Array(new SharedArrayBuffer((this.#used + bytes) * 2));
    larger.set(this.#bytes.subarray(0, this.#used));
    this.#bytes = larger;
  }
}

function keyFor(namespace: string, name: string): string {
  return namespace === "" ? name : `${namespace}/${name}`;
}
