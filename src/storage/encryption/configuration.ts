// What an EncryptionConfiguration asks for, as plain data that main reads and the store thread gets. The schema
// (config/files/encryption.ts) says what fields there are; here stands what it cannot say, by upstream's rules.
import { copyOf } from "../../base/copy.ts";
import { parseDuration } from "../../config/duration.ts";
import type { EncryptionDocument } from "../../config/files/encryption.ts";
import { limits } from "../../config/limits.ts";

/** A key of a local cipher. */
export interface LocalKey {
  readonly name: string;
  readonly secret: Uint8Array;
}

/** A provider that encrypts with keys of the file. */
export interface LocalProvider {
  readonly kind: "aescbc" | "aesgcm" | "secretbox";
  readonly keys: readonly LocalKey[];
}

/** A provider whose keys a key management service encrypts. */
export interface KmsProvider {
  readonly kind: "kms";
  /** Its place among the plugins of the file, from 0. */
  readonly index: number;
  readonly version: "v1" | "v2";
  readonly name: string;
  /** Of the socket the plugin listens on. */
  readonly path: string;
  readonly timeoutMs: number;
  /** Data keys kept decrypted, with v1; 0: none. */
  readonly cacheMax: number;
}

/** One item of `providers`. */
export type ProviderConfig = { readonly kind: "identity" } | LocalProvider | KmsProvider;

/** What encrypts which resources. */
export interface EncryptionConfig {
  /**
   * Providers of `secrets`, `deployments.apps`, `*.` (the core group), `*.apps` or `*.*`: the first one encrypts, all
   * decrypt. A provider of several resources is the same object in all their lists.
   */
  readonly providers: ReadonlyMap<string, readonly ProviderConfig[]>;
}

type Rule = EncryptionDocument["resources"][number];
type ProviderItem = Rule["providers"][number];
type Kms = NonNullable<ProviderItem["kms"]>;

const aesKeyBytes = [16, 24, 32];
const keyBytes = { aescbc: aesKeyBytes, aesgcm: aesKeyBytes, secretbox: [32] };
const localKinds = ["aescbc", "aesgcm", "secretbox"] as const;
const providerNames = "aescbc, aesgcm, secretbox, kms, identity";
const scheme = "unix://";
const timeoutMsDefault = 3_000;
const cacheMaxDefault = 1_000;

/**
 * What a file that fits its schema asks for; an error message of one line that names each field at fault, and shows
 * nothing of keys. `reloads`: the file is read again while the server runs; names of KMS plugins are then unique.
 */
export function readEncryption(file: EncryptionDocument, reloads: boolean): EncryptionConfig | string {
  const reader = new Reader(reloads);
  const providers = new Map<string, ProviderConfig[]>();
  for (const [index, rule] of file.resources.entries()) {
    const at = `resources[${index}]`;
    const own = rule.providers.map((item, i) => reader.provider(item, `${at}.providers[${i}]`));
    for (const [i, text] of rule.resources.entries()) {
      const name = reader.resource(text, [...providers.keys()], `${at}.resources[${i}]`);
      // A resource that is listed again has the providers of both (upstream).
      providers.set(name, [...(providers.get(name) ?? []), ...own]);
    }
  }
  const { faults } = reader;
  const shown = faults.slice(0, limits.fileFaultsMax);
  if (shown.length === 0) return { providers };
  return faults.length > shown.length ? `${shown.join("; ")}; and more` : shown.join("; ");
}

class Reader {
  readonly faults: string[] = [];
  readonly #reloads: boolean;
  readonly #kmsNames = new Set<string>();
  #plugins = 0;

  constructor(reloads: boolean) {
    this.#reloads = reloads;
  }

  #fault(at: string, text: string): void {
    this.faults.push(`${at}: ${text}`);
  }

  /** The name of a resource as EncryptionConfig has it; `earlier`: those before it. */
  resource(text: string, earlier: readonly string[], at: string): string {
    const dot = text.indexOf(".");
    const resource = dot === -1 ? text : text.slice(0, dot);
    const group = dot === -1 ? "" : text.slice(dot + 1);
    if (text !== text.toLowerCase()) this.#fault(at, "must be lower case");
    if (text === "*") this.#fault(at, "must be *. for the core group, *.GROUP for another, or *.* for all resources");
    else if (resource === "") this.#fault(at, "must be RESOURCE or RESOURCE.GROUP");
    else if (resource !== "*" && group.includes("*")) this.#fault(at, "must not have a wildcard for the group alone");
    const masking = [`*.${group}`, "*.*"].find((all) => earlier.includes(all) && all !== text);
    if (masking !== undefined)
      this.#fault(at, `the line of ${masking} above it holds for it, too; list it before that`);
    if (resource === "*") return `*.${group}`;
    return group === "" ? resource : `${resource}.${group}`;
  }

  provider(item: ProviderItem, at: string): ProviderConfig {
    const kinds = Object.keys(item) as (keyof ProviderItem)[];
    if (kinds.length !== 1) {
      const found = kinds.length === 0 ? "it is empty" : `it has ${kinds.join(", ")}; write an item for each`;
      this.#fault(at, `must be exactly one of ${providerNames}: ${found}`);
    }
    if (item.kms !== undefined) return this.#kms(item.kms, `${at}.kms`);
    const kind = localKinds.find((one) => item[one] !== undefined);
    if (kind === undefined) return { kind: "identity" };
    const keys = (item[kind]?.keys ?? []).map(({ name, secret }, i) => {
      return { name, secret: this.#secret(secret, keyBytes[kind], `${at}.${kind}.keys[${i}].secret`) };
    });
    return { kind, keys };
  }

  #secret(text: string, lengths: readonly number[], at: string): Uint8Array {
    // Go's decoder leaves out line ends, and nothing else.
    const base64 = text.replaceAll(/[\r\n]/g, "");
    const isBase64 = base64.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(base64);
    const secret = Buffer.from(base64, "base64");
    if (!isBase64) this.#fault(at, "must be base64");
    else if (!lengths.includes(secret.length)) {
      this.#fault(
        at,
        `must be a key of ${lengths.join(", ").replace(/, (?=\d+$)/, " or ")} bytes, not of ${secret.length}`,
      );
    }
    return copyOf(secret);
  }

  #kms({ apiVersion = "v1", name, cachesize, endpoint, timeout }: Kms, at: string): KmsProvider {
    const timeoutMs = timeout === undefined ? timeoutMsDefault : parseDuration(timeout);
    if (timeoutMs === undefined || !(timeoutMs > 0) || timeoutMs > limits.kmsTimeoutMsMax) {
      this.#fault(`${at}.timeout`, `must be a duration above 0s, at most ${limits.kmsTimeoutMsMax / 1000}s`);
    }
    const path = endpoint.startsWith(scheme) ? endpoint.slice(scheme.length) : "";
    if (!path.startsWith("/") || path.startsWith("/@")) {
      this.#fault(`${at}.endpoint`, `must be ${scheme}/PATH, the path of a socket in the file system`);
    }
    if (apiVersion === "v2" && cachesize !== undefined) this.#fault(`${at}.cachesize`, "is not supported with v2");
    if (cachesize === 0 || (cachesize ?? 0) > limits.kmsCacheMax) {
      this.#fault(`${at}.cachesize`, `must be from 1 to ${limits.kmsCacheMax}, or negative for no cache`);
    }
    // What is stored ends the name with a colon.
    if (apiVersion === "v2" && name.includes(":")) this.#fault(`${at}.name`, 'must not contain ":"');
    if ((apiVersion === "v2" || this.#reloads) && this.#kmsNames.has(name)) {
      this.#fault(`${at}.name`, "another KMS plugin has this name; names must be unique");
    }
    this.#kmsNames.add(name);
    const cacheMax = Math.max(0, cachesize ?? cacheMaxDefault);
    const index = this.#plugins++;
    return { kind: "kms", index, version: apiVersion, name, path, timeoutMs: timeoutMs ?? timeoutMsDefault, cacheMax };
  }
}
