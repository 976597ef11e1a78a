// Builds writes to watchers that are not slices of the log: the frames a filter passes, one after
// the other in one buffer, with the type rewritten where a selector was entered or left.
// @hot
//
//   as stored     {"type":"MODIFIED","object":{…}}\n      copied
//   entered       {"type":"ADDED","object":{…}}\n         the object as it is now
//   left          {"type":"DELETED","object":{…}}\n       the object as it last matched, at the new resource version
import type { Status } from "../../api/status.ts";
import { assertShared } from "../../base/assert.ts";
import { copyBytes } from "../../base/copy.ts";
import { limits } from "../../config/limits.ts";
import { type Location, recordTypes } from "../shared/record.ts";
import type { LogView } from "../view/view.ts";

/** How a record appears to one group. */
export const eventForms = { none: 0, stored: 1, entered: 2, left: 3, unknown: 4 } as const;

/**
 * Another form of objects than the stored bytes: another version of the kind, or a reduced object. `at` is the record
 * the object is of, 0 when the object is that of no record.
 */
export type Transform = (object: Uint8Array, view: LogView, at: Location) => Uint8Array;

/**
 * Has everything there that the transforms of these records need, where that may take a while. Undefined: it is, for the
 * rest of this turn; else resolves when it is worth another try, with a Status when there is none. Never rejects.
 */
export type Ahead = (view: LogView, records: readonly Location[]) => Promise<Status | undefined> | undefined;

/** Another framing of events than lines of JSON. */
export interface Framing {
  /** What stands before an object of so many bytes, in the watchers' form, in an event of `type`; valid until the next one. */
  head(type: string, bytes: number): Uint8Array;
  /** What stands behind it. */
  readonly foot: Uint8Array;
  /** The framed ERROR event. */
  error(status: Status): Uint8Array;
}

/** The form of events that are not slices of the log. */
export interface Look {
  /** From the stored object; undefined: the stored bytes themselves. */
  readonly transform: Transform | undefined;
  /** Asked before records are transformed; left out: nothing has to be waited for. */
  readonly ahead?: Ahead | undefined;
  /** Undefined: the log's own, lines of JSON. */
  readonly framing?: Framing | undefined;
}

const encoder = new TextEncoder();
const quote = 0x22;

/** The start of a line of JSON. */
interface Head {
  readonly type: string;
  readonly bytes: Uint8Array;
}

const added = headFor("ADDED");
const modified = headFor("MODIFIED");
const deleted = headFor("DELETED");
const tail = encoder.encode("}\n");

/** Bytes of a slice when so many watchers share `bytesMax`. */
export function sliceBytesFor(bytesMax: number, watchers: number): number {
  return Math.min(limits.sliceBytesMax, Math.max(limits.sliceBytesMin, Math.floor(bytesMax / watchers)));
}

/** A slice ends with the object that reaches its size, which most of the time is no larger than another slice. */
const bufferBytes = 2 * limits.sliceBytesMax;

/** Frames of one write. Owned by one thread and reused: the result of bytes() is valid until the next reset(). */
export class Gather {
  #buffer = new Uint8Array(bufferBytes);
  /** Bytes gathered. */
  length = 0;
  /** Events gathered. */
  count = 0;
  /** Transformed objects of the records of one pass, while several groups want them. */
  #shared: Map<Transform, Map<Location, Uint8Array>> | undefined;

  /** Starts over. A buffer that had to grow for a huge object is given back. */
  reset(): void {
    this.length = 0;
    this.count = 0;
    if (this.#buffer.length > bufferBytes) this.#buffer = new Uint8Array(bufferBytes);
  }

  /** From here on a record is transformed once for all groups of one look; until unshare(), in the same pass. */
  share(): void {
    this.#shared = new Map();
  }

  /** Ends share(). */
  unshare(): void {
    this.#shared = undefined;
  }

  /** The gathered bytes. */
  bytes(): Uint8Array<ArrayBuffer> {
    return this.#buffer.subarray(0, this.length);
  }

  /** Adds a record in one of the eventForms. */
  addEvent(view: LogView, at: Location, form: number, look: Look): void {
    if (form === eventForms.left) this.#addLeft(view, at, look);
    else if (look.transform === undefined && look.framing === undefined && form === eventForms.stored) {
      this.addBytes(view.frame(at));
    } else {
      const head = form === eventForms.entered ? added : headOf(view.typeOf(at));
      this.#addShown(head, this.#show(view, at, look), look);
    }
    this.count += 1;
  }

  /** A record's object in the watchers' form. */
  #show(view: LogView, at: Location, { transform }: Look): Uint8Array {
    if (transform === undefined) return view.object(at);
    if (this.#shared === undefined) return transform(view.object(at), view, at);
    let known = this.#shared.get(transform);
    if (known === undefined) {
      known = new Map();
      this.#shared.set(transform, known);
    }
    let shown = known.get(at);
    if (shown === undefined) {
      shown = transform(view.object(at), view, at);
      known.set(at, shown);
    }
    return shown;
  }

  /** Adds a live record as the synthetic ADDED of an initial state. */
  addInitial(view: LogView, at: Location, look: Look): void {
    this.#addShown(added, look.transform?.(view.object(at), view, at) ?? view.object(at), look);
    this.count += 1;
  }

  /** Adds bytes as they are: not an event of the log. */
  addBytes(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.length = copyBytes(this.#buffer, this.length, bytes);
  }

  #addShown(head: Head, shown: Uint8Array, { framing }: Look): void {
    const before = framing === undefined ? head.bytes : framing.head(head.type, shown.length);
    const behind = framing === undefined ? tail : framing.foot;
    this.#reserve(before.length + shown.length + behind.length);
    this.addBytes(before);
    this.addBytes(shown);
    this.addBytes(behind);
  }

  /** The state before `at`, with the resource version of `at`, as upstream sends it when a selector is left. */
  #addLeft(view: LogView, at: Location, look: Look): void {
    const previous = view.previousOf(at);
    assertShared(previous !== 0, "A record left a selector without a state before it");
    const object = view.object(previous);
    const digitsAt = view.versionAt(previous);
    const digitsEnd = digitsAt + String(view.revisionOf(previous)).length;
    assertShared(object[digitsAt - 1] === quote, "No quote before the version digits of a record");
    assertShared(object[digitsEnd] === quote, "No quote after the version digits of a record");
    const digits = encoder.encode(String(view.revisionOf(at)));
    if (look.transform !== undefined || look.framing !== undefined) {
      const spliced = new Uint8Array(object.length - (digitsEnd - digitsAt) + digits.length);
      spliced.set(object.subarray(0, digitsAt), 0);
      spliced.set(digits, digitsAt);
      spliced.set(object.subarray(digitsEnd), digitsAt + digits.length);
      this.#addShown(deleted, look.transform?.(spliced, view, 0) ?? spliced, look);
      return;
    }
    this.addBytes(deleted.bytes);
    this.addBytes(object.subarray(0, digitsAt));
    this.addBytes(digits);
    this.addBytes(object.subarray(digitsEnd));
    this.addBytes(tail);
  }

  #reserve(bytes: number): void {
    const needed = this.length + bytes;
    if (needed <= this.#buffer.length) return;
    const larger = new Uint8Array(Math.max(needed, this.#buffer.length * 2));
    larger.set(this.#buffer.subarray(0, this.length));
    this.#buffer = larger;
  }
}

function headFor(type: string): Head {
  return { type, bytes: encoder.encode(`{"type":"${type}","object":`) };
}

function headOf(type: number): Head {
  if (type === recordTypes.create) return added;
  return type === recordTypes.delete ? deleted : modified;
}
