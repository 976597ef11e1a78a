// Encryption at rest over an engine that keeps its data by itself: bodies are encrypted on their way in, and decrypted
// when they are read again. Watchers get what is committed as it came, so that no acknowledged change waits for a key.
//
//   commit(change) ──► sealed = seal(body) ──► engine: keeps `sealed`, tells `body` with its digits
//   replay()       ◄── open(sealed), digits put in ◄── engine: Record.isSealed
//
// The side-table of selectors stays readable: labels and selectable fields are not encrypted.
import { assertShared } from "../../base/assert.ts";
import { limits } from "../../config/limits.ts";
import { withDigits } from "../digits.ts";
import {
  type Change,
  changeTypes,
  type Deliver,
  type Outcome,
  type Record,
  type Refusal,
  type Store,
  StoreError,
  type Take,
} from "../store.ts";
import type { Awaitable, Opened } from "./cipher.ts";
import { isPassing, type Patience, startPatience } from "./patience.ts";
import { TransformError, type Transformers } from "./transformers.ts";

/** What encrypts. */
export type Sealer = Pick<Transformers, "generation" | "concerns" | "seal" | "open">;

/** A store whose bodies are encrypted. */
export function sealedStore(store: Store, transformers: Sealer, patience: Patience = startPatience): Store {
  return new SealedStore(store, transformers, patience);
}

type Sealed = Change | Refusal;
type Read = Record | TransformError;

class SealedStore implements Store {
  readonly #store: Store;
  readonly #transformers: Sealer;
  readonly #patience: Patience;

  constructor(store: Store, transformers: Sealer, patience: Patience) {
    this.#store = store;
    this.#transformers = transformers;
    this.#patience = patience;
  }

  get sizeBytes(): number {
    return this.#store.sizeBytes;
  }

  get nearlyFull(): boolean {
    return this.#store.nearlyFull;
  }

  get revision(): number {
    return this.#store.revision;
  }

  get floor(): number {
    return this.#store.floor;
  }

  currentRevision(): Promise<number> {
    return this.#store.currentRevision();
  }

  revisionAged(ageMs: number): number {
    return this.#store.revisionAged(ageMs);
  }

  compact(revision: number): Promise<boolean> {
    return this.#store.compact(revision);
  }

  close(): Promise<void> {
    return this.#store.close();
  }

  async commit(changes: readonly Change[]): Promise<readonly Outcome[]> {
    let generation: number;
    let all: readonly Sealed[];
    // Where keys change while a plugin is asked, what has a former one would count as new. The engine then takes the batch
    // in this turn.
    do {
      generation = this.#transformers.generation;
      const sealing = allOf(changes.map((change) => this.#seal(change)));
      all = sealing instanceof Promise ? await sealing : sealing;
    } while (generation !== this.#transformers.generation);
    const ready = all.filter((one) => "body" in one);
    const outcomes = await this.#store.commit(ready);
    if (ready.length === all.length) return outcomes;
    let made = 0;
    return all.map((one) => ("refused" in one ? one : (outcomes[made++] as Outcome)));
  }

  #seal(change: Change): Awaitable<Sealed> {
    const { prefix, key, body } = change;
    const withSealed = (sealed: Uint8Array): Change => (sealed === body ? change : { ...change, sealed });
    const refuse = (error: unknown): Refusal => {
      if (!(error instanceof TransformError)) throw error;
      return { refused: "not-encrypted", message: error.message };
    };
    try {
      const sealed = this.#transformers.seal(prefix, key, body);
      return sealed instanceof Promise ? sealed.then(withSealed, refuse) : withSealed(sealed);
    } catch (error) {
      return refuse(error);
    }
  }

  /** Store.watch(). What comes plain was committed now, or is what replay() let pass. */
  watch(after: number, take: Deliver): Promise<() => void> {
    return this.#store.watch(after, (records, revision) => {
      const read = allOf(records.map((record) => (record.isSealed === true ? this.#readPatiently(record) : record)));
      return read instanceof Promise ? read.then((all) => take(certain(all), revision)) : take(certain(read), revision);
    });
  }

  /**
   * Store.replay(). Records of history that cannot be decrypted any more are dropped when no object needs them: after a
   * key was changed everywhere and taken out of the file, and when a KMS plugin has lost one.
   */
  async replay(take: Take): Promise<number> {
    const lost = new LostRecords();
    const revision = await this.#store.replay(async (records) => {
      const reading = allOf(records.map((record) => (lost.any ? this.#read(record) : this.#readPatiently(record))));
      const read = reading instanceof Promise ? await reading : reading;
      for (const [at, one] of read.entries()) lost.see(records[at] as Record, one);
      if (!lost.any) await take(certain(read));
    });
    if (!lost.any) return revision;
    if (lost.needed !== undefined) throw lost.needed;
    while (!(await this.#store.compact(lost.floor)));
    throw new StoreError("compacted", `Revisions up to ${lost.floor} were dropped: ${lost.first?.message}`);
  }

  /** A record as it was committed; an error where it cannot be decrypted now. */
  #read(record: Record): Awaitable<Read> {
    const { prefix, key, body, isSealed } = record;
    if (isSealed !== true && !this.#transformers.concerns(prefix)) return record;
    try {
      const opened = this.#transformers.open(prefix, key, body);
      if (opened instanceof Promise) return opened.then((now) => recordOf(record, now), expected);
      return recordOf(record, opened);
    } catch (error) {
      return expected(error);
    }
  }

  /** The same, waiting for a KMS plugin. */
  #readPatiently(record: Record): Awaitable<Read> {
    const read = this.#read(record);
    if (!(read instanceof Promise)) return isPassing(read) ? this.#readAgain(record, read) : read;
    return read.then((now) => (isPassing(now) ? this.#readAgain(record, now) : now));
  }

  async #readAgain(record: Record, failure: Read): Promise<Read> {
    const { clock, waitMsMax } = this.#patience;
    const endMs = clock.monotonic() + waitMsMax;
    for (let read = failure; ; read = await this.#read(record)) {
      if (!isPassing(read) || clock.monotonic() >= endMs) return read;
      await new Promise((resolve) => setTimeout(resolve, limits.kmsReconnectMsMin));
    }
  }
}

/** Records that cannot be decrypted, and whether the present state needs one. */
class LostRecords {
  /** By key: the newest record, where it is one of them. */
  readonly #heads = new Map<string, { readonly record: Record; readonly error: TransformError }>();
  /** The first error there was. */
  first: TransformError | undefined;
  /** The floor above which none is needed: the newest of them, and of the records after them. */
  floor = 0;

  get any(): boolean {
    return this.first !== undefined;
  }

  /** An object's only state that cannot be read. */
  get needed(): TransformError | undefined {
    for (const { record, error } of this.#heads.values()) if (record.type !== changeTypes.delete) return error;
    return undefined;
  }

  see(record: Record, read: Read): void {
    if (read instanceof TransformError) {
      this.first ??= read;
      this.floor = record.revision;
      this.#heads.set(record.key, { record, error: read });
    } else if (this.#heads.delete(record.key)) this.floor = record.revision;
  }
}

function expected(error: unknown): TransformError {
  if (error instanceof TransformError) return error;
  throw error;
}

/** Records of which none failed; throws the first error else. */
function certain(read: readonly Read[]): Record[] {
  return read.map((one) => {
    if (one instanceof TransformError) throw one;
    return one;
  });
}

function recordOf(record: Record, { bytes, stale }: Opened): Record {
  const { isSealed, ...rest } = record;
  const { versionAt, revision } = record;
  const mark = stale ? ({ isStale: true } as const) : {};
  if (isSealed !== true) return stale ? { ...rest, ...mark } : record;
  assertShared(bytes[versionAt - 1] === 0x22, "No quote before the version digits of a decrypted body");
  assertShared(bytes[versionAt] === 0x22, "No quote after the version digits of a decrypted body");
  return { ...rest, body: withDigits(bytes, versionAt, revision), ...mark };
}

/** Values that are all there, or a promise of all. */
function allOf<T>(values: readonly Awaitable<T>[]): Awaitable<readonly T[]> {
  return values.some((value) => value instanceof Promise) ? Promise.all(values) : (values as readonly T[]);
}
