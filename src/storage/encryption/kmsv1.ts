// KMS v1: a data key of its own encrypts a value, and the plugin encrypts the data key.
//
//   2 bytes length, big-endian │ encrypted data key │ AES-CBC with the data key, as aes.ts has it
//
// Later releases of upstream write AES-GCM there; both are read. The values of one transaction share a data key: the
// plugin is called once for them.
import { createSecretKey, type KeyObject, randomBytes } from "node:crypto";
import { Recent } from "../../base/recent.ts";
import { limits } from "../../config/limits.ts";
import { openCbc, openGcm, printOf, sealCbc } from "./aes.ts";
import { type Awaitable, type KmsCipher, type Opened, sealedMark } from "./cipher.ts";
import type { KmsProvider } from "./configuration.ts";
import { KmsClient } from "./kmsclient.ts";
import { ReadMessage, writeMessage } from "./kmscodec.ts";
import { KmsFailure } from "./kmsfailure.ts";
import { Probe } from "./kmsprobe.ts";
import type { EncryptionMeter } from "./meter.ts";

/** The version every message names. */
const version = "v1beta1";
const service = "/v1beta1.KeyManagementService";
const dataKeyBytes = 32;
const lengthBytes = 2;

/** A data key, and what its values begin with. */
interface DataKey {
  readonly key: KeyObject;
  readonly head: Buffer;
}

/** The cipher of a plugin that speaks v1. */
export class KmsV1Cipher implements KmsCipher {
  readonly prefix: Buffer;
  readonly label: string;
  readonly print: string;
  readonly probe: Probe;
  readonly timeoutMs: number;
  onRotated: () => void = () => undefined;
  readonly #client: KmsClient;
  readonly #meter: EncryptionMeter;
  /** Decrypted data keys by the encrypted ones; undefined: none is kept. */
  readonly #keys: Recent<string, KeyObject> | undefined;
  /** Those being decrypted. */
  readonly #decrypting = new Map<string, Promise<KeyObject>>();
  #making: Promise<DataKey> | undefined;

  constructor(provider: KmsProvider, meter: EncryptionMeter) {
    this.prefix = Buffer.from(`${sealedMark}kms:v1:${provider.name}:`);
    this.label = this.prefix.toString();
    this.print = printOf(this.prefix, Buffer.from(provider.path));
    this.timeoutMs = provider.timeoutMs;
    this.#meter = meter;
    this.#client = new KmsClient(provider, service, meter);
    this.#keys = provider.cacheMax === 0 ? undefined : new Recent(provider.cacheMax);
    const times = { wellMs: limits.kmsV1ProbeMs, illMs: limits.kmsV1RetryMs };
    this.probe = new Probe(provider.name, () => this.#look(), times);
  }

  seal(_stored: string, plain: Uint8Array): Promise<Uint8Array> {
    this.#making ??= this.#make().finally(() => {
      this.#making = undefined;
    });
    return this.#making.then(({ key, head }) => sealCbc(key, head, plain));
  }

  open(stored: string, rest: Uint8Array): Awaitable<Opened> {
    const bytes = Buffer.from(rest.buffer, rest.byteOffset, rest.byteLength);
    const keyEnd = bytes.length < lengthBytes ? 0 : lengthBytes + bytes.readUInt16BE(0);
    if (keyEnd <= lengthBytes || keyEnd > bytes.length) throw new Error("it is too short");
    const name = bytes.toString("latin1", lengthBytes, keyEnd);
    const sealed = bytes.subarray(keyEnd);
    const known = this.#keys?.get(name);
    if (known !== undefined) return openEither(known, stored, sealed);
    const decrypting = this.#decrypting.get(name) ?? this.#decrypt(name);
    return decrypting.then((key) => openEither(key, stored, sealed));
  }

  async #make(): Promise<DataKey> {
    const startMs = performance.now();
    const plain = randomBytes(dataKeyBytes);
    try {
      const encrypted = await this.#encrypt(plain, false);
      const length = Buffer.alloc(lengthBytes);
      length.writeUInt16BE(encrypted.length);
      const key = createSecretKey(plain);
      this.#keys?.set(encrypted.toString("latin1"), key);
      this.#meter.madeKey(performance.now() - startMs, false);
      return { key, head: Buffer.concat([this.prefix, length, encrypted]) };
    } catch (error) {
      this.#meter.madeKey(performance.now() - startMs, true);
      throw error;
    }
  }

  async #encrypt(plain: Buffer, probes: boolean): Promise<Buffer> {
    const request = writeMessage([
      [1, version],
      [2, plain],
    ] as const);
    const cipher = this.#read(await this.#client.call("Encrypt", request, probes)).bytes(1);
    if (cipher.length === 0 || cipher.length > 0xffff) {
      throw this.#failure(`Encrypt: an encrypted key of ${cipher.length} bytes`);
    }
    return cipher;
  }

  #decrypt(name: string): Promise<KeyObject> {
    this.#meter.missed();
    const decrypting = this.#askPlain(Buffer.from(name, "latin1"), false)
      .then((plain) => {
        if (![16, 24, dataKeyBytes].includes(plain.length))
          throw this.#failure(`Decrypt: a key of ${plain.length} bytes`);
        const key = createSecretKey(plain);
        this.#keys?.set(name, key);
        return key;
      })
      .finally(() => this.#decrypting.delete(name));
    this.#decrypting.set(name, decrypting);
    return decrypting;
  }

  async #askPlain(cipher: Buffer, probes: boolean): Promise<Buffer> {
    const request = writeMessage([
      [1, version],
      [2, cipher],
    ] as const);
    return this.#read(await this.#client.call("Decrypt", request, probes)).bytes(1);
  }

  /** What upstream's health check does: a word there and back. */
  async #look(): Promise<void> {
    const answer = this.#read(await this.#client.call("Version", writeMessage([[1, version]]), true));
    if (answer.text(1) !== version)
      throw this.#failure(`Version: it speaks ${JSON.stringify(answer.text(1))}, not ${version}`);
    const word = Buffer.from("ping");
    const back = await this.#askPlain(await this.#encrypt(word, true), true);
    if (!back.equals(word)) throw this.#failure("Decrypt: not what was encrypted");
  }

  #read(answer: Buffer): ReadMessage {
    try {
      return new ReadMessage(answer);
    } catch {
      throw this.#failure("its answer is no message");
    }
  }

  #failure(what: string): KmsFailure {
    return new KmsFailure(`KMS plugin ${JSON.stringify(this.probe.name)}: ${what}`, "Unknown");
  }

  close(): void {
    this.probe.close();
    this.#client.close();
  }
}

function openEither(key: KeyObject, stored: string, sealed: Uint8Array): Opened {
  try {
    return { bytes: openCbc(key, sealed), stale: false };
  } catch {
    return { bytes: openGcm(key, stored, sealed), stale: false };
  }
}
