// Writes to watchers besides events: bookmarks ("all changes up to this resource version were sent") and the
// ERROR that ends a watch whose position in the log was recycled. Both go through the stream of the events, after them.

import { refuse, type Status } from "../../api/status.ts";
import { statusJson } from "../../api/statusjson.ts";
import type { Framing } from "./gather.ts";

const encoder = new TextEncoder();

/** Bookmarks of one kind and representation. */
export interface Bookmark {
  /** The framed event that says: everything up to `revision` was sent. */
  at(revision: number): Uint8Array;
}

/** A bookmark as a line of JSON; the bytes of one revision are made once for all watchers. */
export class BookmarkText implements Bookmark {
  readonly #head: string;
  readonly #tail: string;
  #revision = -1;
  #bytes = new Uint8Array(0);

  /** `object` is the kind's empty object with an empty resource version, `versionAt` where its digits belong. */
  constructor(object: Uint8Array, versionAt: number) {
    const decoder = new TextDecoder();
    this.#head = `{"type":"BOOKMARK","object":${decoder.decode(object.subarray(0, versionAt))}`;
    this.#tail = `${decoder.decode(object.subarray(versionAt))}}\n`;
  }

  /** The framed event that says: everything up to `revision` was sent. */
  at(revision: number): Uint8Array {
    if (revision !== this.#revision) {
      this.#revision = revision;
      this.#bytes = encoder.encode(`${this.#head}${revision}${this.#tail}`);
    }
    return this.#bytes;
  }
}

/** The framed ERROR event of a watch that asks for, or is at, a revision the log no longer holds. */
export function expiredEvent(revision: number, floor: number, framing?: Framing): Uint8Array {
  return errorEvent(refuse("Expired", `too old resource version: ${revision} (${floor})`), framing);
}

/** The framed ERROR event of a Status. */
export function errorEvent(status: Status, framing?: Framing): Uint8Array {
  if (framing !== undefined) return framing.error(status);
  return encoder.encode(`{"type":"ERROR","object":${statusJson(status)}}\n`);
}
