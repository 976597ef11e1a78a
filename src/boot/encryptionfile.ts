// --encryption-provider-config: read and checked by the main thread before anything is opened, and again when it changes,
// where that is asked for. The store thread alone gets the keys.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { type Identity, identities } from "../api/identity.ts";
import type { Scheme } from "../api/scheme.ts";
import { plainOf } from "../api/value.ts";
import { Fault } from "../codec/engine/json.ts";
import { parseYaml } from "../codec/yaml/yaml.ts";
import type { Config } from "../config/config.ts";
import { loadFileCheck } from "../config/filecheck.ts";
import type { EncryptionDocument } from "../config/files/encryption.ts";
import { limits } from "../config/limits.ts";
import type { Logger } from "../observe/log.ts";
import type { Registry } from "../observe/metrics.ts";
import { prefixLabels } from "../request/watch/watchmetrics.ts";
import { type EncryptionConfig, readEncryption } from "../storage/encryption/configuration.ts";
import { KmsHealth } from "../storage/encryption/kmsprobe.ts";
import { BootFault, mending } from "./fault.ts";
import { changeOf } from "./filechanges.ts";
import { schemeOf } from "./scheme.ts";

const flag = "--encryption-provider-config";

/** What the store thread encrypts by. */
export interface Encryption {
  readonly config: EncryptionConfig;
  readonly health: KmsChecks;
}

/** Health checks of KMS plugins. */
export interface KmsChecks {
  /** Names, as probes ask for them (upstream): one for each plugin, or one for all where plugins may change. */
  readonly names: readonly string[];
  /** For KmsHealth. */
  readonly memory: SharedArrayBuffer;
}

/** How the store thread takes a file that changed: an error message when it stays with the former one. */
export type Reload = (config: EncryptionConfig) => Promise<string | undefined>;

/** The file of a server. */
export class EncryptionFile {
  /** As it was read first. */
  readonly encryption: Encryption;
  readonly #path: string;
  readonly #identity: Identity;
  readonly #isReloaded: boolean;
  readonly #changed: () => boolean;
  /** Of the text that was read last. */
  #hash: string;

  private constructor({ encryption: { file, reloads }, identity }: Config, read: Read, changed: () => boolean) {
    this.#path = file;
    this.#identity = identities[identity];
    this.#isReloaded = reloads;
    this.#changed = changed;
    this.#hash = read.hash;
    const plugins = new Set([...read.config.providers.values()].flat().filter(({ kind }) => kind === "kms"));
    const names = reloads ? ["kms-providers"] : Array.from(plugins, (_, at) => `kms-provider-${at}`);
    this.encryption = { config: read.config, health: { names, memory: KmsHealth.memory(names.length) } };
  }

  /** Reads the file; undefined: none is named. Throws BootFault, with one line for the operator. */
  static async open(config: Config, log: Logger): Promise<EncryptionFile | undefined> {
    const { file, reloads } = config.encryption;
    if (file === "") return undefined;
    // Before it is read: what changes in between is seen later.
    const changed = changeOf([file]);
    const read = await readFile(file, identities[config.identity], reloads);
    for (const name of unknownResources(read.config, schemeOf(config))) {
      log.warn({ resource: name }, `${flag}: nothing is stored by this name`);
    }
    return new EncryptionFile(config, read, changed);
  }

  /** Has `reload` take the file whenever it changes, where that is asked for. Does not keep the thread alive. */
  follow(reload: Reload, registry: Registry, holder: string, log: Logger): void {
    if (!this.#isReloaded) return;
    const count = reloadMeter(registry, holder);
    let isBusy = false;
    let isRefused = false;
    const look = async (): Promise<void> => {
      if (isBusy || !(this.#changed() || isRefused)) return;
      isBusy = true;
      try {
        const { config, hash } = await readFile(this.#path, this.#identity, true);
        if (hash === this.#hash && !isRefused) return;
        this.#hash = hash;
        const fault = await reload(config);
        // A KMS plugin that did not answer may do so at the next look.
        isRefused = fault !== undefined;
        count(fault === undefined);
        if (fault === undefined) log.info({ file: this.#path }, "The encryption configuration was read again");
        else log.error({ file: this.#path, fault }, "The former encryption configuration stays");
      } catch (error) {
        isRefused = false;
        count(false);
        log.error({ fault: (error as Error).message }, "The former encryption configuration stays");
      } finally {
        isBusy = false;
      }
    };
    setInterval(() => void look(), limits.fileLookMs).unref();
  }
}

/** A file that was read, and a hash of its text. */
interface Read {
  readonly config: EncryptionConfig;
  readonly hash: string;
}

async function readFile(path: string, { spell }: Identity, reloads: boolean): Promise<Read> {
  const bytes = mending(`cannot read ${flag} ${path}`, () => readFileSync(path));
  const document = parseYaml(bytes);
  if (document instanceof Fault) throw new BootFault(`${flag} ${path}: ${document.message}`);
  const plain = plainOf(document);
  const check = await loadFileCheck(spell);
  const wrong = check("encryption-configuration", plain);
  if (wrong !== undefined) throw new BootFault(`${flag} ${path}: ${wrong}`);
  const config = readEncryption(plain as EncryptionDocument, reloads);
  if (typeof config === "string") throw new BootFault(`${flag} ${path}: ${config}`);
  return { config, hash: createHash("sha256").update(bytes).digest("hex") };
}

/**
 * Names of the file that no resource is stored by: misspelled, or of another version of a kind. Custom resources are not
 * known yet.
 */
function unknownResources({ providers }: EncryptionConfig, scheme: Scheme): string[] {
  const stored = new Set([...prefixLabels(scheme).values()].map(({ resource }) => resource));
  const groups = new Set(scheme.resources.map(({ group }) => group));
  return [...providers.keys()].filter((name) => {
    const dot = name.indexOf(".");
    const group = dot === -1 ? "" : name.slice(dot + 1);
    if (name.startsWith("*.")) return false;
    return groups.has(group) || !group.includes(".") ? !stored.has(name) : false;
  });
}

/** Counts reloads by upstream's names. */
function reloadMeter(registry: Registry, holder: string): (succeeded: boolean) => void {
  const server = `sha256:${createHash("sha256").update(holder).digest("hex")}`;
  const labels = ["status", "apiserver_id_hash"];
  const named = "apiserver_encryption_config_controller_automatic_reload";
  const total = registry.counter(`${named}s_total`, "Reloads of the encryption configuration, by result.", ...labels);
  const last = registry.gauge(`${named}_last_timestamp_seconds`, "When it was reloaded last, by result.", ...labels);
  return (succeeded) => {
    const key = `${succeeded ? "success" : "failure"}\0${server}`;
    total.add(key);
    last.set(key, Date.now() / 1000);
  };
}
