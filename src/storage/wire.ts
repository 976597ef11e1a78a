// @hot The messages between a front's StoreClient and the store thread: one buffer per turn with all its changes, one
// array back with the outcomes, each at the index of its change. Copying a change into the buffer is cheaper than cloning
// it. Requests are numbered; replies carry the number, and may come in another order.
//
//   change   0  4  type, and sampled 24  4  versionAt
//            4  4  bytes of prefix   28  4  bytes of the key
//            8  8  expected          32  4  bytes of the guard's key; 0: there is no guard
//           16  4  bytes of the      36  8  the guard's revision
//                  selection        44     prefix, key, selection, body, key of the guard
//           20  4  bytes of the body       and of a sampled request: 16 bytes of its trace, 8 of its span
//
//   outcome  two float64: a code of `codes`, and the revision committed, the actual one or the guard's; for a refusal the
//            index of its message in `messages`
import { assertShared } from "../base/assert.ts";
import type { TraceParent, TraceSpans } from "../observe/spans.ts";
import type { PackedPage } from "./past.ts";
import {
  type Change,
  type ChangeType,
  changeTypes,
  type Outcome,
  type PastRequest,
  type Refusal,
  type StoreError,
} from "./store.ts";

const headBytes = 44;
/** In the type of a change: behind its last byte stand a trace and a span. */
const sampled = 0x100;
const traceBytes = 16;
const spanBytes = 8;
const bufferBytesMin = 16 * 1024;
/** A larger buffer is not kept. */
const bufferBytesMax = 1024 * 1024;
const codes = [
  "revision",
  "actual",
  "guarded",
  "full",
  "too-large",
  "invalid-key",
  "busy",
  "unavailable",
  "no-log",
  "in-doubt",
  "not-encrypted",
] as const;
/** Codes below are no refusals. */
const refusedFrom = 3;

/** Changes that a front gathered. */
export interface ChangesRequest {
  readonly kind: "changes";
  readonly number: number;
  readonly count: number;
  /** The changes' bytes; transferred. */
  readonly bytes: ArrayBuffer;
}

/** What a front asks besides: whether the loop runs, how recent it must be, and for a page of the past. */
export type Question =
  | { readonly kind: "probe"; readonly number: number }
  | { readonly kind: "recent"; readonly number: number; readonly parent?: TraceParent }
  | { readonly kind: "past"; readonly number: number; readonly request: PastRequest; readonly parent?: TraceParent };

/** Front to store. */
export type Request = ChangesRequest | Question;

/** The outcomes of a ChangesRequest. */
export interface OutcomesReply {
  readonly kind: "outcomes";
  readonly number: number;
  /** Two numbers per change; transferred. */
  readonly outcomes: Float64Array<ArrayBuffer>;
  readonly messages: readonly string[];
}

/** Store to front: to the request of that number. */
export type Reply =
  | OutcomesReply
  /** To a question: nothing, a revision, or a page. */
  | { readonly kind: "answer"; readonly number: number; readonly value: undefined | number | PackedPage }
  /** To a question: a StoreError. */
  | { readonly kind: "failed"; readonly number: number; readonly error: StoreError["kind"]; readonly message: string };

/** Collects changes for one request. */
export class RequestWriter {
  #bytes = Buffer.allocUnsafeSlow(bufferBytesMin);
  #end = 0;
  #count = 0;

  /** Changes collected. */
  get count(): number {
    return this.#count;
  }

  /** Copies a change in. Returns the bytes it takes. */
  add(change: Change): number {
    const { guard } = change;
    const keyBytes = Buffer.byteLength(change.key);
    const prefixBytes = Buffer.byteLength(change.prefix);
    const guardBytes = guard === undefined ? 0 : Buffer.byteLength(guard.key);
    assertShared(guard === undefined || guardBytes > 0, "A guard has no key");
    const parent = change.spans?.handOn();
    const parentBytes = parent === undefined ? 0 : traceBytes + spanBytes;
    const parts = prefixBytes + keyBytes + change.selection.length + change.body.length + guardBytes;
    const size = headBytes + parts + parentBytes;
    if (this.#end + size > this.#bytes.length) this.#grow(this.#end + size);
    const bytes = this.#bytes;
    const at = this.#end;
    bytes.writeUInt32LE(parent === undefined ? change.type : change.type | sampled, at);
    bytes.writeUInt32LE(prefixBytes, at + 4);
    bytes.writeDoubleLE(change.expected, at + 8);
    bytes.writeUInt32LE(change.selection.length, at + 16);
    bytes.writeUInt32LE(change.body.length, at + 20);
    bytes.writeUInt32LE(change.versionAt, at + 24);
    bytes.writeUInt32LE(keyBytes, at + 28);
    bytes.writeUInt32LE(guardBytes, at + 32);
    bytes.writeDoubleLE(guard === undefined ? 0 : guard.revision, at + 36);
    let end = at + headBytes;
    end += bytes.write(change.prefix, end);
    end += bytes.write(change.key, end);
    bytes.set(change.selection, end);
    bytes.set(change.body, end + change.selection.length);
    end += change.selection.length + change.body.length;
    if (guard !== undefined) end += bytes.write(guard.key, end);
    if (parent !== undefined) end += bytes.write(parent.traceId + parent.spanId, end, "hex");
    assertShared(end === at + size, `A change of ${size} bytes takes ${end - at}`);
    this.#end = at + size;
    this.#count++;
    return size;
  }

  /**
   * The collected request, to be posted with its bytes transferred; starts over. They are copied into a buffer of their
   * size: what the store thread is given counts there as garbage until it is collected.
   */
  take(number: number): ChangesRequest {
    const bytes = Buffer.allocUnsafeSlow(this.#end);
    bytes.set(this.#bytes.subarray(0, this.#end));
    const request = { kind: "changes", number, count: this.#count, bytes: bytes.buffer as ArrayBuffer } as const;
    if (this.#bytes.length > bufferBytesMax) this.#bytes = Buffer.allocUnsafeSlow(bufferBytesMin);
    this.#end = 0;
    this.#count = 0;
    return request;
  }

  #grow(bytesMin: number): void {
    const bytes = Buffer.allocUnsafeSlow(Math.max(bytesMin, 2 * this.#bytes.length));
    bytes.set(this.#bytes.subarray(0, this.#end));
    this.#bytes = bytes;
  }
}

/** The changes of a request; their bytes are slices of it. `within` goes on with a trace; left out: none is kept. */
export function readRequest(request: ChangesRequest, within?: (parent: TraceParent) => TraceSpans): Change[] {
  const bytes = Buffer.from(request.bytes);
  const changes: Change[] = [];
  let at = 0;
  for (let i = 0; i < request.count; i++) {
    const prefixAt = at + headBytes;
    const keyAt = prefixAt + bytes.readUInt32LE(at + 4);
    const selectionAt = keyAt + bytes.readUInt32LE(at + 28);
    const bodyAt = selectionAt + bytes.readUInt32LE(at + 16);
    const guardAt = bodyAt + bytes.readUInt32LE(at + 20);
    const end = guardAt + bytes.readUInt32LE(at + 32);
    const marked = bytes.readUInt32LE(at);
    const type = (marked & ~sampled) as ChangeType;
    const next = marked === type ? end : end + traceBytes + spanBytes;
    assertShared(next <= bytes.length, `Change ends at byte ${next} of ${bytes.length}`);
    assertShared(type >= changeTypes.create && type <= changeTypes.delete, `Change of unknown type ${type}`);
    const guard =
      end === guardAt
        ? undefined
        : { key: bytes.toString("utf8", guardAt, end), revision: bytes.readDoubleLE(at + 36) };
    changes.push({
      prefix: bytes.toString("utf8", prefixAt, keyAt),
      key: bytes.toString("utf8", keyAt, selectionAt),
      expected: bytes.readDoubleLE(at + 8),
      type,
      guard,
      selection: bytes.subarray(selectionAt, bodyAt),
      body: bytes.subarray(bodyAt, guardAt),
      versionAt: bytes.readUInt32LE(at + 24),
      spans: next === end ? undefined : within?.(readParent(bytes, end)),
    });
    at = next;
  }
  return changes;
}

function readParent(bytes: Buffer, at: number): TraceParent {
  const spanAt = at + traceBytes;
  return { traceId: bytes.toString("hex", at, spanAt), spanId: bytes.toString("hex", spanAt, spanAt + spanBytes) };
}

/** Collects the outcomes of one request, in any order. */
export class ReplyWriter {
  readonly #outcomes: Float64Array<ArrayBuffer>;
  readonly #messages: string[] = [];
  #missing: number;

  constructor(count: number) {
    this.#outcomes = new Float64Array(2 * count).fill(-1);
    this.#missing = count;
  }

  /** Whether every change has its outcome. */
  get complete(): boolean {
    return this.#missing === 0;
  }

  /** Places the outcome of a change, once. */
  put(index: number, outcome: Outcome): void {
    const at = 2 * index;
    assertShared(this.#outcomes[at] === -1, "A change has an outcome already, or is none of the request's");
    this.#missing--;
    if ("revision" in outcome) {
      this.#outcomes[at] = 0;
      this.#outcomes[at + 1] = outcome.revision;
    } else if ("refused" in outcome) {
      this.#outcomes[at] = codes.indexOf(outcome.refused);
      this.#outcomes[at + 1] = this.#messages.push(outcome.message) - 1;
    } else {
      const isActual = "actual" in outcome;
      this.#outcomes[at] = isActual ? 1 : 2;
      this.#outcomes[at + 1] = isActual ? outcome.actual : outcome.guarded;
    }
  }

  /** The reply, to be posted with its outcomes transferred. */
  take(number: number): OutcomesReply {
    assertShared(this.complete, "Fewer outcomes than changes");
    return { kind: "outcomes", number, outcomes: this.#outcomes, messages: this.#messages };
  }
}

/** The outcomes of a reply, in the order of the request's changes. */
export function readReply({ outcomes, messages }: Pick<OutcomesReply, "outcomes" | "messages">): Outcome[] {
  const read: Outcome[] = [];
  let refusals = 0;
  assertShared(outcomes.length % 2 === 0, `A reply of ${outcomes.length} numbers`);
  for (let i = 0; i < outcomes.length; i += 2) {
    const code = outcomes[i] as number;
    const value = outcomes[i + 1] as number;
    const name = codes[code];
    assertShared(name !== undefined, "Outcome has an unknown code");
    if (name === "revision") read.push({ revision: value });
    else if (name === "actual") read.push({ actual: value });
    else if (name === "guarded") read.push({ guarded: value });
    else read.push({ refused: name satisfies Refusal["refused"], message: messages[value] ?? "" });
    if (code >= refusedFrom) refusals++;
  }
  assertShared(refusals === messages.length, `${refusals} refusals with ${messages.length} messages`);
  return read;
}
