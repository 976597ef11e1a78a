// Watches in protobuf: how the fan-out frames events and bookmarks for them.
import type { ApiObject } from "../../api/object.ts";
import type { Message } from "../../api/schema.ts";
import type { Bookmark } from "../../cache/fanout/bookmark.ts";
import type { Framing } from "../../cache/fanout/gather.ts";
import {
  encodeProto,
  encodeWatchEvent,
  envelopeFoot,
  type ObjectType,
  watchEventHead,
} from "../../codec/proto/protobuf.ts";
import { protoStatus } from "../answer/protoanswer.ts";

/** Frames of protobuf, for watchers whose objects are messages of `object`: four bytes of length, then a WatchEvent. */
export function protoFraming(object: ObjectType): Framing {
  return {
    head: (type, bytes) => watchEventHead(type, bytes, object),
    foot: envelopeFoot,
    error: (status) => encodeWatchEvent("ERROR", protoStatus(status)),
  };
}

/** Bookmarks of one kind in protobuf; the bytes of one revision are made once for all watchers. */
export class ProtoBookmark implements Bookmark {
  readonly #message: Message;
  readonly #object: ApiObject;
  #revision = -1;
  #bytes = new Uint8Array(0);

  /** `object` is the kind's empty object; this bookmark owns it. */
  constructor(message: Message, object: ApiObject) {
    this.#message = message;
    this.#object = object;
  }

  at(revision: number): Uint8Array {
    if (revision !== this.#revision) {
      this.#revision = revision;
      this.#object.metadata.resourceVersion = String(revision);
      this.#bytes = encodeWatchEvent("BOOKMARK", encodeProto(this.#message, this.#object));
    }
    return this.#bytes;
  }
}
