// Protobuf of records that were asked for before. A record never changes and its location is never given to another,
// so its message is encoded once per front and version, for all lists and groups of watchers that want it, as long as
// it is wanted. Two generations: what is found in the old one moves to the young one; when that is full it becomes the
// old one, and the old one is forgotten.
import type { Identity } from "../api/identity.ts";
import type { Resource } from "../api/scheme.ts";
import type { Location, LogView } from "../cache/view.ts";
import { encodeMessage } from "../codec/protobuf.ts";
import { limits } from "../config/limits.ts";
import { objectOf } from "./protoanswer.ts";
import { represent } from "./represent.ts";

type Messages = Map<Location, Uint8Array>;
type Generation = Map<LogView, Map<Resource, Messages>>;

/** Messages of records, by log and version. */
export class ProtoCache {
  readonly #bytesMax: number;
  #young: Generation = new Map();
  #old: Generation = new Map();
  /** Bytes of the young generation. */
  #bytes = 0;

  /** Keeps at most `bytesMax`, both generations together. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** The message of a record at the version of `resource`, without an envelope. Nobody changes it. */
  message(view: LogView, at: Location, resource: Resource, identity: Identity): Uint8Array {
    const young = messagesOf(this.#young, view, resource);
    const known = young.get(at);
    if (known !== undefined) return known;
    const message =
      this.#old.get(view)?.get(resource)?.get(at) ??
      encodeMessage(resource.message, objectOf(resource.message, represent(resource, identity, view.object(at))));
    young.set(at, message);
    this.#bytes += message.length + overheadBytes;
    if (this.#bytes > this.#bytesMax / 2) {
      this.#old = this.#young;
      this.#young = new Map();
      this.#bytes = 0;
    }
    return message;
  }
}

/** What an entry costs besides its bytes. */
const overheadBytes = 200;

function messagesOf(generation: Generation, view: LogView, resource: Resource): Messages {
  let byResource = generation.get(view);
  if (byResource === undefined) {
    byResource = new Map();
    generation.set(view, byResource);
  }
  let messages = byResource.get(resource);
  if (messages === undefined) {
    messages = new Map();
    byResource.set(resource, messages);
  }
  return messages;
}

/** The cache of this front. */
export const protoCache = new ProtoCache(limits.protoCacheBytesMax);
