// Conversion by a webhook, as synchronous code sees it: what the webhook made of an object lately is there, or it is
// needed. Code that may wait asks for what is needed and does its step again. No I/O here.
import { createHash } from "node:crypto";
import type { ApiObject } from "../api/object.ts";
import type { Resource } from "../api/scheme.ts";
import { type Status, timedOut } from "../api/status.ts";
import type { Owner } from "../base/shares.ts";
import type { WithContent } from "../codec/engine/content.ts";
import { encode } from "../codec/engine/json.ts";
import { decodeStored } from "../codec/engine/stored.ts";
import { limits } from "../config/limits.ts";
import type { TraceSpans } from "../observe/spans.ts";

/** On whose behalf a webhook is asked. */
export interface ConversionTerms {
  /** The user it is charged to; left out: the server itself. */
  readonly owner?: Owner | undefined;
  /** On the monotonic clock, in milliseconds; left out: the webhook has its own time. */
  readonly deadline?: number | undefined;
  /** The trace of a request that is sampled; left out: none. */
  readonly spans?: TraceSpans | undefined;
}

/** The webhook of one generation of a definition, and what it made of objects lately. */
export interface RemoteConversion {
  /** An object's JSON without a resource version; undefined: ask() for it. Nothing goes away within a turn of the loop. */
  find(key: string): Uint8Array | undefined;
  /** Has objects converted; afterwards find() knows them. A Status says why not. Never rejects. */
  ask(needs: readonly ConversionNeeded[], terms: ConversionTerms): Promise<Status | undefined>;
}

/** Thrown by a conversion that has to wait: an object the webhook has not been asked about. */
export class ConversionNeeded {
  readonly remote: RemoteConversion;
  readonly to: Resource;
  /** Of the object and the version, whatever its resource version. */
  readonly key: string;
  /** The object's JSON without a resource version. */
  readonly sent: string;

  constructor(remote: RemoteConversion, to: Resource, key: string, sent: string) {
    this.remote = remote;
    this.to = to;
    this.key = key;
    this.sent = sent;
  }
}

const remotes = new WeakMap<Resource, RemoteConversion>();

/** Gives a version of a custom resource the webhook that converts to it. */
export function giveRemote(resource: Resource, remote: RemoteConversion): void {
  remotes.set(resource, remote);
}

/** The webhook that converts to a version; undefined: none does. */
export function remoteOf(resource: Resource): RemoteConversion | undefined {
  return resource.provided === true ? remotes.get(resource) : undefined;
}

/**
 * An object at the version of `to`, as the webhook made it: uid, names and everything else of its metadata but labels and
 * annotations are what they were. `object` stays as it is. Throws ConversionNeeded.
 */
export function convertRemotely(object: ApiObject, to: Resource, remote: RemoteConversion): ApiObject {
  if (object.apiVersion === to.apiVersion) return object;
  if (isEmpty(object)) return { ...object, apiVersion: to.apiVersion };
  const { resourceVersion, ...metadata } = object.metadata;
  const sent = encode(to.message, { ...object, metadata });
  // No client can make an object that has the key of another one.
  const key = createHash("sha256").update(to.apiVersion).update("\n").update(sent).digest("base64");
  const found = remote.find(key);
  if (found === undefined) throw new ConversionNeeded(remote, to, key, sent);
  const converted = decodeStored(to, found);
  if (resourceVersion !== undefined) converted.metadata.resourceVersion = resourceVersion;
  return converted;
}

/** Does a step, and again when a webhook was asked about an object that it needs; a Status says why that failed. */
export async function converted<T>(terms: ConversionTerms, step: () => T): Promise<T | Status> {
  for (let round = 0; round < limits.conversionRoundsMax; round += 1) {
    try {
      return step();
    } catch (error) {
      if (!(error instanceof ConversionNeeded)) throw error;
      const refused = await error.remote.ask([error], terms);
      if (refused !== undefined) return refused;
    }
  }
  return timedOut;
}

/** Upstream asks no webhook about what has nothing but its type. */
function isEmpty(object: ApiObject): boolean {
  const { content } = object as ApiObject & Partial<WithContent>;
  return (content?.size ?? 0) === 0 && Object.values(object.metadata).every((value) => value === undefined);
}
