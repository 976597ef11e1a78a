// The engine on an etcd cluster that several servers share. Its history is the cluster's: records are what the watch of all
// keys tells, here written or elsewhere. A write is a compare-and-swap by the revision of its key, and is acknowledged when
// its own event has come back and every watcher of this store has it.
//
//   commit() ──► txn ──────────────► etcd ──► watch stream ──► record ──► watchers ──► revision ──► commit() resolves
//   currentRevision() ──► range through the leader ──► revision r ──► wait until the watch has told r
//
// Progress. The watch tells of keys of ours only; that nothing of ours lies between its last event and a revision, it says
// when it is asked. Members before 3.4.25 and 3.5.8 may say so too early (etcd issue 15220): with those a key of ours
// is written instead, and comes back.
import { assertShared } from "../../base/assert.ts";
import type { Clock } from "../../base/clock.ts";
import { limits } from "../../config/limits.ts";
import type { TraceSpans } from "../../observe/spans.ts";
import { Ages } from "../ages.ts";
import { TransformError } from "../encryption/transformers.ts";
import {
  type Change,
  type Cluster,
  type Deliver,
  type LastOf,
  type Outcome,
  type PastPage,
  type PastRequest,
  type Record,
  type Store,
  StoreError,
  type Take,
} from "../store.ts";
import { CallError, EtcdClient } from "./client.ts";
import { Compactor } from "./compactor.ts";
import { ToldHistory } from "./continuity.ts";
import { checkUsable } from "./filling.ts";
import { history } from "./history.ts";
import { claimIdentity } from "./identity.ts";
import { Keys, ownPrefix, rangeCall, statusCall, swapCall } from "./keys.ts";
import type { Header, KeyValue, WatchedEvent } from "./messages.ts";
import { pageAt, stateAt, stateOf } from "./pages.ts";
import { Reached } from "./reached.ts";
import { RecordReader } from "./records.ts";
import { isProgressSound } from "./release.ts";
import { compactedRevision, WatchStream } from "./watchstream.ts";
import { Writes } from "./writes.ts";

/** How to open a store of a cluster. */
export interface EtcdOptions {
  readonly cluster: Cluster;
  readonly identity: string;
  readonly clock: Clock;
  /** Called once when nothing can be known of the cluster any more; default: throws out of the thread. */
  readonly fail?: (error: Error) => void;
}

/** What a store begins with. */
interface Begin {
  /** Of the newest revision. */
  readonly header: Header;
  readonly floor: number;
  /** Release of the member that was asked. */
  readonly version: string;
  /** The state at the floor; undefined: it is to be read. */
  readonly kvs: readonly KeyValue[] | undefined;
}

/**
 * Opens the store of a cluster. Rejects with StoreError "identity" when its objects are spelled in another one,
 * "unavailable" when no member answers.
 */
export async function openEtcd(options: EtcdOptions): Promise<Store> {
  const { endpoints, prefix, atOnce, withoutHistory, isFilling } = options.cluster;
  const client = new EtcdClient(endpoints);
  try {
    const keys = new Keys(prefix);
    const { etcdOpenMs: timeoutMs, etcdWriteMs } = limits;
    const { version } = await client.call(statusCall(timeoutMs));
    if (isFilling !== true) await checkUsable(client, keys, timeoutMs);
    await claimIdentity(client, keys, options.identity, timeoutMs);
    const compactor = await Compactor.open(client, etcdWriteMs);
    if (atOnce === true) {
      const { key, end } = keys.range;
      const { header, kvs } = await client.call(rangeCall({ key, end }, limits.etcdPageMs));
      return new EtcdStore(options, client, keys, compactor, { header, floor: header.revision, version, kvs });
    }
    const { header } = await client.call(rangeCall({ key: keys.probe, countOnly: true }, timeoutMs));
    const { revision } = header;
    const floor = withoutHistory === true ? revision : await floorOf(client, keys, revision, timeoutMs);
    return new EtcdStore(options, client, keys, compactor, { header, floor, version, kvs: undefined });
  } catch (error) {
    client.close();
    throw storeErrorOf(error);
  }
}

/**
 * What becomes of the past when it cannot be read: it is given up. What an operator has removed for that reason is still in
 * it, and so are values under a key that was exchanged since. Whether the present can be read is found next.
 */
function pastErrorOf(error: unknown): unknown {
  if (!(error instanceof StoreError)) return storeErrorOf(error);
  const { kind, cause, message } = error;
  const isUnreadable = kind === "corrupt" || (cause instanceof TransformError && !cause.isPassing);
  return isUnreadable ? new StoreError("compacted", `History cannot be read: ${message}`, error) : error;
}

/** The revision above which the cluster has its history, as far as it is of use. */
async function floorOf(client: EtcdClient, keys: Keys, revision: number, timeoutMs: number): Promise<number> {
  const useful = Math.max(0, revision - limits.etcdHistoryRevisionsMax);
  try {
    await client.call(rangeCall({ key: keys.probe, countOnly: true, revision: 1 }, timeoutMs));
    return useful;
  } catch (error) {
    if (!(error instanceof CallError) || error.fault !== "compacted") throw error;
    return Math.max(useful, await compactedRevision(client, keys.range, timeoutMs));
  }
}

/** The error of the contract that says why a call failed. */
function storeErrorOf(error: unknown): unknown {
  if (!(error instanceof CallError)) return error;
  const { fault, message } = error;
  return new StoreError(fault === "full" || fault === "compacted" ? fault : "unavailable", message, error);
}

class EtcdStore implements Store {
  revision: number;
  floor: number;
  sizeBytes = 0;
  /** Its quota is etcd's own, and its history that of other servers, too. */
  readonly nearlyFull = false;
  /** The revision it began at. */
  readonly #opened: number;
  readonly #options: EtcdOptions;
  readonly #client: EtcdClient;
  readonly #keys: Keys;
  readonly #compactor: Compactor;
  readonly #reached: Reached;
  readonly #writes: Writes;
  readonly #ages: Ages;
  readonly #records: RecordReader;
  readonly #live: WatchStream;
  readonly #toldHistory: ToldHistory;
  readonly #cluster: number;
  readonly #takers = new Set<Deliver>();
  /** Events since the store was opened, until the first watch; undefined: there was one, or they are too many. */
  #early: WatchedEvent[] | undefined = [];
  /** What replay() needs not read. */
  #state: readonly KeyValue[] | undefined;
  /** Events of the live watch that are not told yet. */
  readonly #queue: (readonly WatchedEvent[])[] = [];
  #isTelling = false;
  #version: string;
  #term: number;
  #touched = 0;
  #beatTimer: NodeJS.Timeout | undefined;
  readonly #sizeTimer: NodeJS.Timeout | undefined;
  #beats = 0;
  #failure: unknown;
  /** What a taker has of a key. */
  #last: LastOf | undefined;
  #closed = false;

  constructor(
    options: EtcdOptions,
    client: EtcdClient,
    keys: Keys,
    compactor: Compactor,
    { header, floor, version, kvs }: Begin,
  ) {
    this.#options = options;
    this.#client = client;
    this.#keys = keys;
    this.#compactor = compactor;
    this.#reached = new Reached(header.revision, () => this.#nudge(this.#live));
    const { values, leaseSharedSeconds, sizePollMs, beatMs = limits.etcdBeatMs } = options.cluster;
    this.#writes = new Writes({
      client,
      keys,
      values,
      leaseSharedSeconds,
      reached: this.#reached,
      header: (answer, least) => this.#checkNow(answer, least),
    });
    this.#ages = new Ages(options.clock);
    this.#records = new RecordReader(keys, options.cluster.values);
    this.#cluster = header.cluster;
    this.#term = header.term;
    this.#version = version;
    this.revision = header.revision;
    this.#opened = header.revision;
    this.floor = floor;
    this.#state = kvs;
    this.#toldHistory = new ToldHistory(client);
    this.#live = new WatchStream(client, keys.range, header.revision, {
      events: (events) => {
        this.#toldHistory.tell(events);
        this.#queue.push(events);
        if (!this.#isTelling) void this.#tell();
      },
      progress: (revision) => this.#progress(revision),
      header: (answer) => this.#check(answer),
      broken: () => {
        this.#reached.isHeld = true;
      },
      resumes: (after) => this.#resumes(after),
      failed: (error) => this.#fail(storeErrorOf(error)),
    });
    client.onSwitch(() => {
      this.#writes.doubtAll();
      void this.#learn();
    });
    if (beatMs > 0) this.#beatTimer = setInterval(() => void this.#beat(), beatMs);
    if (sizePollMs > 0) this.#sizeTimer = setInterval(() => void this.#learn(), sizePollMs);
    void this.#learn();
  }

  async currentRevision(spans?: TraceSpans): Promise<number> {
    this.#checkUsable();
    try {
      const revision = await this.#ask(spans);
      if (await this.#reached.wait(revision, limits.etcdReadMs)) return revision;
    } catch (error) {
      throw storeErrorOf(error);
    }
    this.#checkUsable();
    throw new StoreError("unavailable", "The watch of etcd does not get as far as its newest revision");
  }

  commit(changes: readonly Change[]): Promise<Outcome[]> {
    this.#note();
    const chains = new Map<string, Promise<Outcome>>();
    return Promise.all(
      changes.map((change) => {
        const before = chains.get(change.key);
        const swapped = before === undefined ? this.#make(change) : before.then(() => this.#make(change));
        chains.set(change.key, swapped);
        return swapped;
      }),
    );
  }

  async replay(take: Take): Promise<number> {
    const upTo = this.revision;
    try {
      const source = { client: this.#client, keys: this.#keys, records: this.#records };
      if (this.#state === undefined) await stateAt({ ...source, revision: this.floor, take });
      else await stateOf(this.#state, this.#records, take);
    } catch (error) {
      throw this.#state === undefined ? pastErrorOf(error) : storeErrorOf(error);
    }
    this.#state = undefined;
    try {
      await this.#past(this.floor, upTo, take);
    } catch (error) {
      throw pastErrorOf(error);
    }
    return upTo;
  }

  async watch(after: number, take: Deliver, last?: LastOf): Promise<() => void> {
    let position = after;
    for (;;) {
      this.#checkUsable();
      if (position < this.floor) {
        throw new StoreError("compacted", `Revision ${position} is below the floor of ${this.floor}`);
      }
      if (position >= this.revision) break;
      const upTo = this.revision;
      try {
        await this.#past(position, upTo, take);
      } catch (error) {
        throw storeErrorOf(error);
      }
      position = upTo;
    }
    // Each call is a watch of its own, whatever function it brings.
    const own: Deliver = (records, revision) => take(records, revision);
    this.#takers.add(own);
    if (last !== undefined) this.#last = last;
    this.#early = undefined;
    return () => {
      this.#takers.delete(own);
      if (this.#last === last) this.#last = undefined;
    };
  }

  async listAt(request: PastRequest, spans?: TraceSpans): Promise<PastPage> {
    this.#checkUsable();
    try {
      return await pageAt({ client: this.#client, keys: this.#keys, records: this.#records }, request, spans);
    } catch (error) {
      throw storeErrorOf(error);
    }
  }

  revisionAged(ageMs: number): number {
    return this.#ages.revisionAged(ageMs);
  }

  async compact(revision: number): Promise<boolean> {
    const target = Math.min(revision, this.revision);
    if (target <= this.floor) return true;
    try {
      this.floor = Math.max(this.floor, Math.min(await this.#compactor.compact(target), this.revision));
      this.#ages.drop(this.floor);
    } catch (error) {
      // Nothing is lost by it: the next interval tries again, and so does every other server.
      if (!(error instanceof CallError)) throw error;
    }
    return true;
  }

  close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#beatTimer);
    clearInterval(this.#sizeTimer);
    this.#live.close();
    this.#client.close();
    this.#reached.end();
    return Promise.resolve();
  }

  async #make(change: Change): Promise<Outcome> {
    this.#checkUsable();
    return this.#writes.make(change);
  }

  /** Feeds the records above a revision, up to one that was told. */
  async #past(after: number, upTo: number, take: Deliver): Promise<void> {
    const early = this.#early;
    if (early === undefined) return this.#history(after, upTo, take);
    const opened = Math.max(after, Math.min(this.#opened, upTo));
    await this.#history(after, opened, take);
    if (opened === upTo) return;
    const events = early.filter(({ kv }) => kv.modRevision > opened && kv.modRevision <= upTo);
    await take(await this.#records.read(events, undefined), upTo);
  }

  #history(after: number, upTo: number, take: Deliver): Promise<void> {
    const source = {
      client: this.#client,
      range: this.#keys.range,
      records: this.#records,
      nudge: (stream: WatchStream) => this.#nudge(stream),
      isProgressSound: () => isProgressSound(this.#version),
      header: (header: Header) => this.#check(header),
      isClosed: () => this.#closed || this.#failure !== undefined,
    };
    return history(source, after, upTo, take);
  }

  /** Whether the watch, opened again, goes on in the history that it told. */
  async #resumes(after: number): Promise<boolean> {
    const found = await this.#toldHistory.compare(after);
    if (found === "other") {
      const what = `etcd has other writes up to revision ${after} than it told: it was restored from an older state`;
      this.#fail(new StoreError("corrupt", what));
    }
    if (found !== "same") return false;
    this.#reached.isHeld = false;
    return true;
  }

  /** Tells the queued events, in order. */
  async #tell(): Promise<void> {
    this.#isTelling = true;
    try {
      for (let events = this.#queue.shift(); events !== undefined; events = this.#queue.shift()) {
        const last = (events.at(-1) as WatchedEvent).kv.modRevision;
        // There is no watch yet: the first one is told them.
        if (this.#takers.size === 0) this.#keep(events);
        const records =
          this.#takers.size === 0
            ? []
            : this.#records.read(events, { pending: this.#writes.pending, last: this.#last });
        this.#deliver(records instanceof Promise ? await records : records, last);
      }
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#isTelling = false;
    }
  }

  #keep(events: readonly WatchedEvent[]): void {
    if (this.#early === undefined) return;
    if (this.#early.length + events.length > limits.etcdEarlyEventsMax) this.#early = undefined;
    else this.#early.push(...events);
  }

  #progress(revision: number): void {
    if (!isProgressSound(this.#version) || this.#isTelling || this.#queue.length > 0) return;
    this.#live.passed(revision);
    if (revision > this.revision) this.#deliver([], revision);
  }

  #deliver(records: readonly Record[], revision: number): void {
    if (this.#closed || this.#failure !== undefined) return;
    assertShared(revision >= this.revision, `Revision ${revision} is told after ${this.revision}`);
    this.#note();
    this.revision = revision;
    for (const take of this.#takers) take(records, revision);
    this.#reached.reach(revision);
  }

  /** Has a watch tell how far it is, if nothing happens by itself. */
  #nudge(stream: WatchStream): void {
    if (isProgressSound(this.#version)) stream.askProgress();
    else void this.#touch();
  }

  /** Writes a key of ours that is no record: the watch has told everything before it when it tells it. */
  async #touch(): Promise<void> {
    const key = Buffer.from(this.#keys.stored(`${ownPrefix}touch`));
    const swap = { key, expected: { modRevision: this.#touched }, value: Buffer.alloc(0) };
    try {
      const { header, succeeded, found } = await this.#client.call(swapCall(swap, limits.etcdReadMs));
      this.#touched = succeeded ? header.revision : (found[0]?.modRevision ?? 0);
    } catch {
      // The next nudge tries again, and those who wait give up in time.
      this.#touched = 0;
    }
  }

  /** Asks the cluster whether it is there: calls go to another member when the active one is not. */
  async #beat(): Promise<void> {
    if (this.#beats > 0) return;
    this.#beats += 1;
    try {
      await this.#ask();
      this.#note();
    } catch {
      // Calls that need the cluster say so themselves; writes that wait for it may wait in vain.
      this.#writes.doubtAll();
    } finally {
      this.#beats -= 1;
    }
  }

  /** Asks the active member what it is. */
  async #learn(): Promise<void> {
    try {
      const { header, version, sizeBytes } = await this.#client.call(statusCall(limits.etcdReadMs));
      this.#check(header);
      this.#version = version;
      this.sizeBytes = sizeBytes;
    } catch {
      // What was known stays.
    }
  }

  #note(): void {
    const now = this.#ages.now();
    if (this.#ages.isDue(now, this.revision)) this.#ages.note(now, this.revision);
  }

  #check({ cluster, term }: Header): void {
    if (term > this.#term) {
      this.#term = term;
      this.#writes.doubtAll();
    }
    if (cluster === this.#cluster || cluster === 0 || this.#failure !== undefined) return;
    this.#fail(new StoreError("corrupt", `etcd is another cluster now: ${cluster}, ${this.#cluster} before`));
  }

  /** Checks an answer that went through the leader, and is of `least` or a later revision. Throws when the store cannot go on. */
  #checkNow(header: Header, least: number): void {
    this.#check(header);
    if (header.revision < least) {
      const what = `etcd is at revision ${header.revision}, and must be at ${least} at least: it was restored from an older state`;
      this.#fail(new StoreError("corrupt", what));
    }
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** The newest revision of the cluster, through its leader: at least that of everything the watch has told by now. */
  async #ask(spans?: TraceSpans): Promise<number> {
    const told = this.revision;
    const { header } = await this.#client.call(
      rangeCall({ key: this.#keys.probe, countOnly: true }, limits.etcdReadMs),
      undefined,
      spans,
    );
    this.#checkNow(header, told);
    return header.revision;
  }

  #checkUsable(): void {
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#closed) throw new StoreError("unavailable", "The store is closed");
  }

  /** Nothing that is known here can be trusted to go on: the process starts anew from the cluster. */
  #fail(error: unknown): void {
    if (this.#failure !== undefined || this.#closed) return;
    this.#failure = error;
    this.#reached.end();
    const fail =
      this.#options.fail ??
      ((fault: Error) => {
        setImmediate(() => {
          throw fault;
        });
      });
    fail(error as Error);
  }
}
