// Encryption at rest, as --encryption-provider-config has it: what is stored of an object, and the object of what is
// stored. It knows nothing of records: bytes go in and come out, under the key they are stored at.
//
//   prefix ──► resource ──► ciphers in order: the first one encrypts; what is read is tried with each whose prefix it has
//
// Ciphers with keys of the file work at once; where a KMS plugin is asked, a promise comes back.
import { type Clock, systemClock } from "../../base/clock.ts";
import { messageOf } from "../../base/thrown.ts";
import { cbcCipher, gcmCipher } from "./aes.ts";
import {
  type Awaitable,
  beginsWith,
  type Cipher,
  identityCipher,
  type KmsCipher,
  type Opened,
  sealedMark,
} from "./cipher.ts";
import type { EncryptionConfig, KmsProvider, LocalProvider, ProviderConfig } from "./configuration.ts";
import { KmsFailure } from "./kmsfailure.ts";
import type { EncryptionMeter } from "./meter.ts";

/** A value cannot be encrypted or decrypted. The message is one line, without anything of the value. */
export class TransformError extends Error {
  override name = "TransformError";
  /** The key it is stored under. */
  readonly key: string;
  readonly operation: "seal" | "open";
  /**
   * A KMS plugin may do it later. Else it takes another configuration; that may come, too, where the file is read again
   * while the server runs.
   */
  readonly isPassing: boolean;

  constructor(key: string, operation: "seal" | "open", why: string, cause: unknown) {
    super(`${key} cannot be ${operation === "seal" ? "encrypted" : "decrypted"}: ${why}`, { cause });
    this.key = key;
    this.operation = operation;
    this.isPassing = cause instanceof KmsFailure;
  }
}

/** Tells which prefixes hold objects that were stored otherwise than they would be now. */
export type OutdatedListener = (isOutdated: (prefix: string) => boolean) => void;

/** How transformers are set up. */
export interface TransformersOptions {
  /** The file; undefined: there is none. */
  readonly config: EncryptionConfig | undefined;
  /** `secrets` or `deployments.apps` of a prefix, as the file spells it; undefined: no resource is stored there. */
  readonly resourceAt: (prefix: string) => string | undefined;
  readonly meter: EncryptionMeter;
  readonly clock?: Clock;
}

/** What one configuration comes to. */
interface Setup {
  readonly ciphers: ReadonlyMap<string, readonly Cipher[]>;
  readonly kms: readonly KmsCipher[];
}

/** Prefixes whose ciphers are remembered: more than there are logs. */
const knownMax = 10_000;

/** What encrypts and decrypts. One thread owns it. */
export class Transformers {
  /** Grows when what was encrypted before may be stale: with a reload, and when a KMS plugin has another key. */
  generation = 0;
  /** Called after each look at a KMS plugin, with what it fails at when that is news. */
  onHealth: (news: string | undefined) => void = () => undefined;
  readonly #options: TransformersOptions;
  readonly #listeners = new Set<OutdatedListener>();
  readonly #byPrefix = new Map<string, readonly Cipher[] | undefined>();
  #setup: Setup;

  private constructor(options: TransformersOptions, setup: Setup) {
    this.#options = options;
    this.#setup = setup;
  }

  /** Sets them up, and asks KMS plugins for the first time; whether they answered is told by `failing`. */
  static async open(options: TransformersOptions): Promise<Transformers> {
    const setup = await setUp(options);
    const transformers = new Transformers(options, setup);
    transformers.#follow(setup);
    await Promise.all(setup.kms.map(({ probe }) => probe.start()));
    return transformers;
  }

  /** KMS plugins in the order of the file, and whether each fails. */
  get failing(): boolean[] {
    return this.#setup.kms.map(({ probe }) => probe.failure !== undefined);
  }

  /** Whether the file says anything about what is stored below a prefix; if not, it is stored plain. */
  concerns(prefix: string): boolean {
    return this.#ciphersOf(prefix) !== undefined;
  }

  /**
   * What is stored of `plain` under `key`: the same bytes where it is not encrypted. Throws, or rejects with,
   * TransformError.
   */
  seal(prefix: string, key: string, plain: Uint8Array): Awaitable<Uint8Array> {
    const cipher = this.#ciphersOf(prefix)?.[0];
    if (cipher === undefined) return plain;
    const startMs = performance.now();
    const settle = (error?: unknown): void => this.#count("to_storage", cipher, startMs, error);
    const fail = (error: unknown): never => {
      settle(error);
      throw new TransformError(key, "seal", messageOf(error), error);
    };
    try {
      const sealed = cipher.seal(key, plain);
      if (sealed instanceof Promise) {
        return sealed.then((bytes) => {
          settle();
          return bytes;
        }, fail);
      }
      settle();
      return sealed;
    } catch (error) {
      return fail(error);
    }
  }

  /** The object of what is stored under `key`. Throws, or rejects with, TransformError. */
  open(prefix: string, key: string, stored: Uint8Array): Awaitable<Opened> {
    const ciphers = this.#ciphersOf(prefix);
    return this.#openFrom(0, { prefix, key, stored, ciphers: ciphers ?? plainOnly, counts: ciphers !== undefined }, []);
  }

  /** Tries the ciphers from one on; a failure of one does not keep the next from its turn (upstream). */
  #openFrom(from: number, value: Stored, failures: unknown[]): Awaitable<Opened> {
    const { key, stored, ciphers, counts } = value;
    for (let at = from; at < ciphers.length; at++) {
      const cipher = ciphers[at] as Cipher;
      if (!beginsWith(stored, cipher.prefix)) continue;
      // Upstream: what another provider encrypted is never taken for plain.
      if (cipher === identityCipher && beginsWith(stored, sealedMark)) continue;
      const startMs = performance.now();
      const settle = (error?: unknown): void => {
        if (counts) this.#count("from_storage", cipher, startMs, error);
        if (error !== undefined) failures.push(error);
      };
      try {
        const opened = cipher.open(key, stored.subarray(cipher.prefix.length));
        if (opened instanceof Promise) {
          return opened.then(
            (now) => {
              settle();
              return { bytes: now.bytes, stale: now.stale || at > 0 };
            },
            (error: unknown) => {
              settle(error);
              return this.#openFrom(at + 1, value, failures);
            },
          );
        }
        settle();
        return at > 0 && !opened.stale ? { bytes: opened.bytes, stale: true } : opened;
      } catch (error) {
        settle(error);
      }
    }
    if (counts && failures.length === 0) this.#options.meter.transformed("from_storage", "unknown", "", 0);
    throw this.#openError(value, failures);
  }

  #openError({ prefix, key, stored }: Stored, failures: readonly unknown[]): TransformError {
    const passing = failures.find((failure) => failure instanceof KmsFailure);
    if (passing !== undefined) return new TransformError(key, "open", messageOf(passing), passing);
    const named = headerOf(stored);
    const of = this.#options.resourceAt(prefix) ?? "this resource";
    if (failures.length > 0) {
      const why = `it was encrypted as ${named} with another key of that name, or was altered (${messageOf(failures.at(-1))})`;
      return new TransformError(key, "open", why, failures.at(-1));
    }
    const { config } = this.#options;
    const lacking = config === undefined ? "there is no --encryption-provider-config" : `${of} has no such provider`;
    const why =
      named === undefined
        ? `it is not encrypted, and identity is not among the providers of ${of}`
        : `it was encrypted as ${named}, and ${lacking}`;
    return new TransformError(key, "open", why, undefined);
  }

  /** Calls `listener` when objects that were stored before are stale from now on. */
  onOutdated(listener: OutdatedListener): void {
    this.#listeners.add(listener);
  }

  /**
   * Goes over to another configuration. Returns an error message when nothing changed: a KMS plugin of it that was not
   * there before does not answer.
   */
  async reload(config: EncryptionConfig): Promise<string | undefined> {
    const before = this.#setup;
    const setup = await setUp({ ...this.#options, config });
    await Promise.all(setup.kms.map(({ probe }) => probe.start()));
    const failing = setup.kms.find(({ probe }) => probe.failure !== undefined);
    if (failing !== undefined) {
      for (const cipher of setup.kms) cipher.close();
      return failing.probe.failure;
    }
    const former = (prefix: string): string =>
      (ciphersOf(before, this.#options.resourceAt(prefix))?.[0] ?? identityCipher).print;
    this.#setup = setup;
    this.#byPrefix.clear();
    this.#follow(setup);
    this.#outdate((prefix) => former(prefix) !== (this.#ciphersOf(prefix)?.[0] ?? identityCipher).print);
    this.onHealth(undefined);
    // Calls under way have their time limit.
    const endMs = Math.max(0, ...before.kms.map(({ timeoutMs }) => timeoutMs));
    setTimeout(() => closeAll(before), 2 * endMs).unref();
    return undefined;
  }

  close(): void {
    closeAll(this.#setup);
  }

  #follow(setup: Setup): void {
    for (const cipher of setup.kms) {
      cipher.probe.onLook = (news) => {
        if (this.#setup === setup) this.onHealth(news);
      };
      cipher.onRotated = () => {
        if (this.#setup === setup) this.#outdate((prefix) => this.#ciphersOf(prefix)?.[0] === cipher);
      };
    }
  }

  #outdate(isOutdated: (prefix: string) => boolean): void {
    this.generation += 1;
    for (const listener of this.#listeners) listener(isOutdated);
  }

  #ciphersOf(prefix: string): readonly Cipher[] | undefined {
    const known = this.#byPrefix.get(prefix);
    if (known !== undefined || this.#byPrefix.has(prefix)) return known;
    const ciphers = ciphersOf(this.#setup, this.#options.resourceAt(prefix));
    if (this.#byPrefix.size >= knownMax) this.#byPrefix.clear();
    this.#byPrefix.set(prefix, ciphers);
    return ciphers;
  }

  #count(type: "to_storage" | "from_storage", { label }: Cipher, startMs: number, error: unknown): void {
    const failure = error === undefined ? undefined : error instanceof KmsFailure ? error.code : "";
    this.#options.meter.transformed(type, label, failure, performance.now() - startMs);
  }
}

/** A value that is opened. */
interface Stored {
  readonly prefix: string;
  readonly key: string;
  readonly stored: Uint8Array;
  readonly ciphers: readonly Cipher[];
  readonly counts: boolean;
}

/** Of resources the file says nothing about. */
const plainOnly: readonly Cipher[] = [identityCipher];

/** What the file says of a resource: its own line, then that of its group, then that of all. */
function ciphersOf({ ciphers }: Setup, resource: string | undefined): readonly Cipher[] | undefined {
  if (resource === undefined) return ciphers.get("*.*");
  const dot = resource.indexOf(".");
  const group = dot === -1 ? "" : resource.slice(dot + 1);
  return ciphers.get(resource) ?? ciphers.get(`*.${group}`) ?? ciphers.get("*.*");
}

async function setUp({ config, meter, clock = systemClock }: TransformersOptions): Promise<Setup> {
  const kms: KmsCipher[] = [];
  const made = new Map<ProviderConfig, readonly Cipher[]>();
  const ciphers = new Map<string, readonly Cipher[]>();
  for (const [resource, providers] of config?.providers ?? []) {
    const own: Cipher[] = [];
    for (const provider of providers) {
      const known = made.get(provider) ?? (await ciphersFor(provider, meter, clock, kms));
      made.set(provider, known);
      own.push(...known);
    }
    ciphers.set(resource, own);
  }
  return { ciphers, kms };
}

async function ciphersFor(
  provider: ProviderConfig,
  meter: EncryptionMeter,
  clock: Clock,
  kms: KmsCipher[],
): Promise<readonly Cipher[]> {
  if (provider.kind === "identity") return plainOnly;
  if (provider.kind !== "kms") return localCiphers(provider);
  const cipher = await kmsCipher(provider, meter, clock);
  kms[provider.index] = cipher;
  return [cipher];
}

/** Libraries are loaded where the file needs them. */
async function localCiphers({ kind, keys }: LocalProvider): Promise<readonly Cipher[]> {
  switch (kind) {
    case "aescbc":
      return keys.map(cbcCipher);
    case "aesgcm":
      return keys.map(gcmCipher);
    case "secretbox": {
      const { secretboxCipher } = await import("./secretbox.ts");
      return keys.map(secretboxCipher);
    }
  }
}

async function kmsCipher(provider: KmsProvider, meter: EncryptionMeter, clock: Clock): Promise<KmsCipher> {
  if (provider.version === "v1") return new (await import("./kmsv1.ts")).KmsV1Cipher(provider, meter);
  return new (await import("./kmsv2.ts")).KmsV2Cipher(provider, meter, clock);
}

function closeAll({ kms }: Setup): void {
  for (const cipher of kms) cipher.close();
}

/** Characters of a stored value's header that are shown at most. */
const headerMax = 200;

/** `k8s:enc:aescbc:v1:key1:` of an encrypted value: names only; undefined: it is not encrypted. */
function headerOf(stored: Uint8Array): string | undefined {
  if (!beginsWith(stored, sealedMark)) return undefined;
  const text = Buffer.from(stored.subarray(0, headerMax)).toString("latin1");
  return /^k8s:enc:[a-z]{1,20}:v[0-9]:[\w.-]{1,100}:/.exec(text)?.[0] ?? `${sealedMark}…`;
}
