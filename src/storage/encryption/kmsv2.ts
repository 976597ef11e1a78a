// KMS v2, as upstream has it from 1.29 on: the plugin encrypts one seed, and each value has a data key derived from it.
//
//   EncryptedObject { data (1), keyID (2), seed, encrypted (3), annotations (4), type of the seed (5) }
//   data   32 bytes info │ AES-GCM with HKDF-SHA256-expand(seed, info), as aes.ts has it
//
// Where the type is 0 (upstream 1.25 to 1.28) the seed is the data key, and data is AES-GCM alone; that is read, too. The
// plugin is asked for its status again and again: another key ID means another seed, and that what was encrypted before is
// stale. Without an answer the seed is used for some minutes more, and then nothing is written (upstream).
import { createHash, createHmac, createSecretKey, randomBytes, randomUUID } from "node:crypto";
import type { Clock } from "../../base/clock.ts";
import { Recent } from "../../base/recent.ts";
import { limits } from "../../config/limits.ts";
import { openGcm, printOf, sealGcm } from "./aes.ts";
import { type Awaitable, type KmsCipher, type Opened, sealedMark } from "./cipher.ts";
import type { KmsProvider } from "./configuration.ts";
import { KmsClient } from "./kmsclient.ts";
import { ReadMessage, writeMessage } from "./kmscodec.ts";
import { KmsFailure } from "./kmsfailure.ts";
import { Probe } from "./kmsprobe.ts";
import type { EncryptionMeter } from "./meter.ts";

const service = "/v2.KeyManagementService";
const versions = ["v2", "v2beta1"];
const seedBytes = 32;
const infoBytes = 32;
/** Upstream's bounds of what a plugin makes. */
const keyIdBytesMax = 1024;
const encryptedBytesMax = 1024;
const annotationBytesMax = 32 * 1024;
/** Types of seeds. */
const isKey = 0;
const isSeed = 1;
/** A domain name of two labels at least, as upstream wants keys of annotations. */
const label = "[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?";
const domain = new RegExp(`^${label}(?:\\.${label})+\\.?$`);

/** What a plugin made of a seed. */
interface Sealed {
  readonly keyId: string;
  readonly encrypted: Buffer;
  readonly annotations: ReadonlyMap<string, Buffer>;
}

/** The seed values are encrypted with. */
interface State extends Sealed {
  readonly seed: Buffer;
  /** Monotonic ms until which values are encrypted with it. */
  readonly endMs: number;
}

/** A decrypted seed. */
interface Seed {
  readonly bytes: Buffer;
}

/** The cipher of a plugin that speaks v2. */
export class KmsV2Cipher implements KmsCipher {
  readonly prefix: Buffer;
  readonly label: string;
  readonly print: string;
  readonly probe: Probe;
  readonly timeoutMs: number;
  onRotated: () => void = () => undefined;
  readonly #client: KmsClient;
  readonly #meter: EncryptionMeter;
  readonly #clock: Clock;
  readonly #seeds = new Recent<string, Seed>(limits.kmsSeedsMax);
  readonly #decrypting = new Map<string, Promise<Seed>>();
  #state: State | undefined;
  /** Values were opened before it was known which key is the present one. */
  #isUnjudged = false;

  constructor(provider: KmsProvider, meter: EncryptionMeter, clock: Clock) {
    this.prefix = Buffer.from(`${sealedMark}kms:v2:${provider.name}:`);
    this.label = this.prefix.toString();
    this.print = printOf(this.prefix, Buffer.from(provider.path));
    this.timeoutMs = provider.timeoutMs;
    this.#meter = meter;
    this.#clock = clock;
    this.#client = new KmsClient(provider, service, meter);
    const times = { wellMs: limits.kmsV2ProbeMs, illMs: limits.kmsV2RetryMs };
    this.probe = new Probe(provider.name, () => this.#look(), times);
  }

  seal(stored: string, plain: Uint8Array): Uint8Array {
    const state = this.#state;
    if (state === undefined) throw this.#failure(`it made no key yet: ${this.probe.failure}`, "Unavailable");
    if (this.#clock.monotonic() > state.endMs)
      throw this.#failure(`its key is too old: ${this.probe.failure}`, "Unavailable");
    const info = randomBytes(infoBytes);
    const data = sealGcm(createSecretKey(derive(state.seed, info)), stored, info, plain);
    const { keyId, encrypted, annotations } = state;
    const object = writeMessage([
      [1, data],
      [2, keyId],
      [3, encrypted],
      [4, annotations],
      [5, isSeed],
    ]);
    return Buffer.concat([this.prefix, object]);
  }

  open(stored: string, rest: Uint8Array): Awaitable<Opened> {
    const object = new ReadMessage(rest);
    const sealed: Sealed = { keyId: object.text(2), encrypted: object.bytes(3), annotations: object.map(4) };
    const data = object.bytes(1);
    const type = object.number(5);
    const wrong = faultOf(sealed) ?? (data.length === 0 || type > isSeed ? "it is not complete" : undefined);
    if (wrong !== undefined) throw new Error(wrong);
    const name = nameOf(sealed);
    const known = this.#seeds.get(name) ?? this.#decrypting.get(name) ?? this.#decrypt(name, sealed);
    const open = (seed: Seed): Opened => ({
      bytes: openWith(seed, type, stored, data),
      stale: this.#isStale(sealed.keyId, type),
    });
    return known instanceof Promise ? known.then(open) : open(known);
  }

  #isStale(keyId: string, type: number): boolean {
    if (this.#state === undefined) this.#isUnjudged = true;
    return type === isKey || (this.#state !== undefined && keyId !== this.#state.keyId);
  }

  #decrypt(name: string, { keyId, encrypted, annotations }: Sealed): Promise<Seed> {
    this.#meter.missed();
    const request = writeMessage([
      [1, encrypted],
      [2, randomUUID()],
      [3, keyId],
      [4, annotations],
    ]);
    const decrypting = this.#client
      .call("Decrypt", request)
      .then((answer) => {
        const seed = { bytes: Buffer.from(this.#read(answer).bytes(1)) };
        if (seed.bytes.length < seedBytes) throw this.#failure(`Decrypt: a key of ${seed.bytes.length} bytes`);
        this.#seeds.set(name, seed);
        return seed;
      })
      .finally(() => this.#decrypting.delete(name));
    this.#decrypting.set(name, decrypting);
    return decrypting;
  }

  async #look(): Promise<void> {
    // What follows may take a while; the seed lasts from the question, not from the answer.
    const endMs = this.#clock.monotonic() + limits.kmsSeedMsMax;
    const status = this.#read(await this.#client.call("Status", writeMessage([]), true));
    const [version, health, keyId] = [status.text(1), status.text(2), status.text(3)];
    if (health !== "ok")
      throw this.#failure(`Status: it is not well: ${JSON.stringify(health.slice(0, limits.kmsFailureCharsMax))}`);
    if (!versions.includes(version))
      throw this.#failure(`Status: it speaks ${JSON.stringify(version.slice(0, limits.kmsFailureCharsMax))}, not v2`);
    const wrong = keyIdFault(keyId);
    if (wrong !== undefined) throw this.#failure(`Status: ${wrong}`);
    const before = this.#state;
    if (before?.keyId === keyId) {
      this.#state = { ...before, endMs };
      return;
    }
    const made = await this.#make(endMs);
    // A plugin between two keys: the present seed goes on, and the next look decides.
    if (made.keyId !== keyId) throw this.#failure("Encrypt: another key ID than Status has");
    this.#state = made;
    this.#seeds.set(nameOf(made), { bytes: made.seed });
    if (before === undefined && !this.#isUnjudged) return;
    this.onRotated();
  }

  async #make(endMs: number): Promise<State> {
    const startMs = performance.now();
    const seed = randomBytes(seedBytes);
    try {
      const request = writeMessage([
        [1, seed],
        [2, randomUUID()],
      ]);
      const answer = this.#read(await this.#client.call("Encrypt", request, true));
      const encrypted = Buffer.from(answer.bytes(1));
      const annotations = new Map([...answer.map(3)].map(([key, value]) => [key, Buffer.from(value)]));
      const made = { seed, encrypted, keyId: answer.text(2), annotations, endMs };
      const wrong = faultOf(made);
      if (wrong !== undefined) throw this.#failure(`Encrypt: ${wrong}`);
      this.#meter.madeKey(performance.now() - startMs, false);
      return made;
    } catch (error) {
      this.#meter.madeKey(performance.now() - startMs, true);
      throw error;
    }
  }

  #read(answer: Buffer): ReadMessage {
    try {
      return new ReadMessage(answer);
    } catch {
      throw this.#failure("its answer is no message");
    }
  }

  #failure(what: string, code = "Unknown"): KmsFailure {
    return new KmsFailure(`KMS plugin ${JSON.stringify(this.probe.name)}: ${what}`, code);
  }

  close(): void {
    this.probe.close();
    this.#client.close();
  }
}

function openWith({ bytes }: Seed, type: number, stored: string, data: Buffer): Buffer {
  if (type === isKey) return openGcm(createSecretKey(bytes), stored, data);
  if (data.length < infoBytes) throw new Error("it is too short");
  return openGcm(createSecretKey(derive(bytes, data.subarray(0, infoBytes))), stored, data.subarray(infoBytes));
}

/** The first 32 bytes of HKDF-SHA256-expand (RFC 5869): one block of it. */
function derive(seed: Buffer, info: Uint8Array): Buffer {
  return createHmac("sha256", seed).update(info).update(Uint8Array.of(1)).digest();
}

/** A seed's name among those kept. */
function nameOf({ keyId, encrypted, annotations }: Sealed): string {
  const hash = createHash("sha256");
  const parts = [...annotations].sort(([a], [b]) => (a < b ? -1 : 1)).flat();
  for (const part of [keyId, encrypted, ...parts]) {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(Buffer.byteLength(part));
    hash.update(length).update(part);
  }
  return hash.digest("base64");
}

function keyIdFault(keyId: string): string | undefined {
  if (keyId === "") return "it has no key ID";
  return Buffer.byteLength(keyId) > keyIdBytesMax ? "its key ID is too long" : undefined;
}

/** Upstream's rules for what a plugin makes. */
function faultOf({ keyId, encrypted, annotations }: Sealed): string | undefined {
  const wrong = keyIdFault(keyId);
  if (wrong !== undefined) return wrong;
  if (encrypted.length === 0 || encrypted.length > encryptedBytesMax)
    return `its encrypted key has ${encrypted.length} bytes`;
  let bytes = 0;
  for (const [key, value] of annotations) {
    if (key.length > 253 || !domain.test(key)) return "a key of its annotations is no domain name";
    bytes += key.length + value.length;
  }
  return bytes > annotationBytesMax ? "its annotations are too long" : undefined;
}
