// Values this server did not write, as objects: upstream's protobuf and JSON, at any version upstream reads, with the
// defaults a read from its store applies. Reasons never repeat what is in a value.
import type { Identity } from "../../api/identity.ts";
import type { ApiObject } from "../../api/object.ts";
import type { Resource } from "../../api/scheme.ts";
import type { Value } from "../../api/value.ts";
import { decode, encode, isFault, parseJson } from "../../codec/engine/json.ts";
import { settleNullBytes } from "../../codec/engine/nullbytes.ts";
import { decodeProto, encodeProto, envelopePrefix, openEnvelope } from "../../codec/proto/protobuf.ts";
import { coerceMetadata } from "../../kinds/custom/metadata.ts";
import { openMessage } from "../../kinds/custom/openmessage.ts";
import { type StorableVersion, type StorableVersions, storableKey, storableVersions } from "../../kinds/older/table.ts";
import type { ClusterFacts } from "../../kinds/strategy.ts";

/** An object as it was read. */
export interface ForeignObject {
  /** At the version its kind is stored in. */
  readonly object: ApiObject;
  /** Upstream would store it otherwise now: at another version, or with defaults it had not. */
  readonly isUnsettled: boolean;
}

/** Why a value cannot be read. */
export class Unreadable {
  readonly reason: string;
  constructor(reason: string) {
    this.reason = reason;
  }
}

/** Objects of any custom resource: nothing but their metadata has a type. */
export const customMessage = openMessage("custom/v1.CustomResource", "CustomResource");

const encryptedPrefix = Buffer.from("k8s:enc:");
const newline = 0x0a;

/** Reads values in the names of one identity. */
export class ForeignValues {
  readonly #versions: StorableVersions;
  readonly #cluster: ClusterFacts;

  /** `builtIn`: every kind there is, served or not. */
  constructor(builtIn: readonly Resource[], identity: Identity, cluster: ClusterFacts) {
    this.#versions = storableVersions(builtIn, identity);
    this.#cluster = cluster;
  }

  /** The object of a built-in kind. */
  readBuiltIn(bytes: Buffer, stored: Resource): ForeignObject | Unreadable {
    return startsWith(bytes, envelopePrefix) ? this.#readProtobuf(bytes, stored) : this.#readJson(bytes, stored);
  }

  /** The object of a custom resource, at the version it was stored in; whatever it has is kept. */
  readCustom(bytes: Buffer, group: string): ForeignObject | Unreadable {
    const value = documentOf(bytes);
    if (value instanceof Unreadable) return value;
    const { apiVersion, kind } = typeOf(value);
    if (kind === "" || !apiVersion.startsWith(`${group}/`)) return new Unreadable(`is no object of the group ${group}`);
    value.set("metadata", coerceMetadata(value.get("metadata") ?? null, true) as Value);
    const object = decode<ApiObject>(customMessage, value);
    return isFault(object) ? new Unreadable("is no object of a custom resource") : { object, isUnsettled: false };
  }

  #readProtobuf(bytes: Buffer, stored: Resource): ForeignObject | Unreadable {
    const envelope = openEnvelope(bytes);
    if (isFault(envelope)) return new Unreadable("is no protobuf document");
    const { apiVersion, kind, raw } = envelope;
    const version = this.#versionOf(apiVersion, kind, stored);
    if (version instanceof Unreadable) return version;
    const object = decodeProto<ApiObject>(version.message, raw, Number.POSITIVE_INFINITY);
    if (isFault(object)) return new Unreadable(`is no ${kind} of ${apiVersion}`);
    object.kind = kind;
    object.apiVersion = apiVersion;
    const present = version.present(object, this.#cluster);
    const isSame = version.isKept || bytes.equals(encodeProto(stored.message, present));
    return { object: present, isUnsettled: settleNullBytes(stored.message, present) || !isSame };
  }

  #readJson(bytes: Buffer, stored: Resource): ForeignObject | Unreadable {
    const value = documentOf(bytes);
    if (value instanceof Unreadable) return value;
    const { apiVersion, kind } = typeOf(value);
    const version = this.#versionOf(apiVersion, kind, stored);
    if (version instanceof Unreadable) return version;
    const object = decode<ApiObject>(version.message, value);
    if (isFault(object)) return new Unreadable(`is no ${kind} of ${apiVersion}`);
    const present = version.present(object, this.#cluster);
    const end = bytes[bytes.length - 1] === newline ? bytes.length - 1 : bytes.length;
    const isSame = version.isKept || Buffer.from(encode(stored.message, present)).compare(bytes, 0, end) === 0;
    return { object: present, isUnsettled: settleNullBytes(stored.message, present) || !isSame };
  }

  /** Names come from the value: they are repeated only where they are those of a known kind. */
  #versionOf(apiVersion: string, kind: string, stored: Resource): StorableVersion | Unreadable {
    const version = this.#versions.get(storableKey(apiVersion, kind));
    if (version === undefined) return new Unreadable(`is of no version of ${stored.kind} that can be read`);
    return version.stored === stored ? version : new Unreadable(`is a ${kind} of ${apiVersion}, and no ${stored.kind}`);
  }
}

function documentOf(bytes: Buffer): Map<string, Value> | Unreadable {
  if (startsWith(bytes, encryptedPrefix)) {
    return new Unreadable("is encrypted; --encryption-provider-config has to name what it was encrypted with");
  }
  const value = parseJson(bytes);
  if (isFault(value)) return new Unreadable("is neither JSON nor protobuf");
  return value instanceof Map ? value : new Unreadable("is JSON, but no object");
}

function typeOf(value: ReadonlyMap<string, Value>): { readonly apiVersion: string; readonly kind: string } {
  const text = (key: string): string => {
    const found = value.get(key);
    return typeof found === "string" ? found : "";
  };
  return { apiVersion: text("apiVersion"), kind: text("kind") };
}

function startsWith(bytes: Buffer, prefix: Uint8Array): boolean {
  return bytes.length >= prefix.length && bytes.compare(prefix, 0, prefix.length, 0, prefix.length) === 0;
}
