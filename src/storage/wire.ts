// @hot The messages between a front's StoreClient and the store thread: one buffer per turn with all its changes, one
// array back with the outcomes, in the same order. Copying a change into the buffer is cheaper than cloning it.
//
//   change   0  4  type              16  4  bytes of the selection
//            4  4  bytes of prefix   20  4  bytes of the body
//            8  8  expected          24  4  versionAt
//                                    28  4  bytes of the key
//           32     prefix, key, selection, body
//
//   outcome  two float64: a code of `codes`, and the revision committed or the actual one; a refusal's message is the
//            next one of `messages`
import { assertShared } from "../base/assert.ts";
import { type Change, type ChangeType, changeTypes, type Outcome, type Refusal } from "./store.ts";

const headBytes = 32;
const bufferBytesMin = 16 * 1024;
const codes = ["revision", "actual", "full", "too-large", "invalid-key", "busy", "unavailable", "no-log"] as const;

/** Front to store. */
export interface Request {
  readonly count: number;
  /** The changes' bytes; transferred. */
  readonly bytes: ArrayBuffer;
}

/** Store to front: the answer to the oldest unanswered request. */
export interface Reply {
  /** Two numbers per change; transferred. */
  readonly outcomes: Float64Array<ArrayBuffer>;
  readonly messages: readonly string[];
}

/** Collects the changes of one turn. */
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
    const keyBytes = Buffer.byteLength(change.key);
    const prefixBytes = Buffer.byteLength(change.prefix);
    const size = headBytes + prefixBytes + keyBytes + change.selection.length + change.body.length;
    if (this.#end + size > this.#bytes.length) this.#grow(this.#end + size);
    const bytes = this.#bytes;
    const at = this.#end;
    bytes.writeUInt32LE(change.type, at);
    bytes.writeUInt32LE(prefixBytes, at + 4);
    bytes.writeDoubleLE(change.expected, at + 8);
    bytes.writeUInt32LE(change.selection.length, at + 16);
    bytes.writeUInt32LE(change.body.length, at + 20);
    bytes.writeUInt32LE(change.versionAt, at + 24);
    bytes.writeUInt32LE(keyBytes, at + 28);
    let end = at + headBytes;
    end += bytes.write(change.prefix, end);
    end += bytes.write(change.key, end);
    bytes.set(change.selection, end);
    bytes.set(change.body, end + change.selection.length);
    end += change.selection.length + change.body.length;
    assertShared(end === at + size, `A change of ${size} bytes takes ${end - at}`);
    this.#end = at + size;
    this.#count++;
    return size;
  }

  /** The collected request, to be posted with its bytes transferred; starts over. */
  take(): Request {
    const request = { count: this.#count, bytes: this.#bytes.buffer as ArrayBuffer };
    this.#bytes = Buffer.allocUnsafeSlow(Math.max(bufferBytesMin, this.#end));
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

/** The changes of a request; their bytes are slices of it. */
export function readRequest(request: Request): Change[] {
  const bytes = Buffer.from(request.bytes);
  const changes: Change[] = [];
  let at = 0;
  for (let i = 0; i < request.count; i++) {
    const prefixAt = at + headBytes;
    const keyAt = prefixAt + bytes.readUInt32LE(at + 4);
    const selectionAt = keyAt + bytes.readUInt32LE(at + 28);
    const bodyAt = selectionAt + bytes.readUInt32LE(at + 16);
    const end = bodyAt + bytes.readUInt32LE(at + 20);
    const type = bytes.readUInt32LE(at) as ChangeType;
    assertShared(end <= bytes.length, `Change ends at byte ${end} of ${bytes.length}`);
    assertShared(type >= changeTypes.create && type <= changeTypes.delete, `Change of unknown type ${type}`);
    changes.push({
      prefix: bytes.toString("utf8", prefixAt, keyAt),
      key: bytes.toString("utf8", keyAt, selectionAt),
      expected: bytes.readDoubleLE(at + 8),
      type,
      selection: bytes.subarray(selectionAt, bodyAt),
      body: bytes.subarray(bodyAt, end),
      versionAt: bytes.readUInt32LE(at + 24),
    });
    at = end;
  }
  return changes;
}

/** Collects the outcomes of one request. */
export class ReplyWriter {
  readonly #outcomes: Float64Array<ArrayBuffer>;
  readonly #messages: string[] = [];
  #count = 0;

  constructor(count: number) {
    this.#outcomes = new Float64Array(2 * count);
  }

  /** Whether every change has its outcome. */
  get complete(): boolean {
    return 2 * this.#count === this.#outcomes.length;
  }

  /** Adds the outcome of the next change. */
  add(outcome: Outcome): void {
    assertShared(!this.complete, "More outcomes than changes");
    const refused = "refused" in outcome;
    const code = refused ? outcome.refused : "revision" in outcome ? "revision" : "actual";
    this.#outcomes[2 * this.#count] = codes.indexOf(code);
    if (refused) this.#messages.push(outcome.message);
    else this.#outcomes[2 * this.#count + 1] = "revision" in outcome ? outcome.revision : outcome.actual;
    this.#count++;
  }

  /** The reply, to be posted with its outcomes transferred. */
  take(): Reply {
    assertShared(this.complete, "Fewer outcomes than changes");
    return { outcomes: this.#outcomes, messages: this.#messages };
  }
}

/** The outcomes of a reply, in the order of the request's changes. */
export function readReply(reply: Reply): Outcome[] {
  const outcomes: Outcome[] = [];
  let message = 0;
  assertShared(reply.outcomes.length % 2 === 0, `A reply of ${reply.outcomes.length} numbers`);
  for (let i = 0; i < reply.outcomes.length; i += 2) {
    const code = codes[reply.outcomes[i] as number];
    const value = reply.outcomes[i + 1] as number;
    assertShared(code !== undefined, "Outcome has an unknown code");
    if (code === "revision") outcomes.push({ revision: value });
    else if (code === "actual") outcomes.push({ actual: value });
    else outcomes.push({ refused: code satisfies Refusal["refused"], message: reply.messages[message++] ?? "" });
  }
  assertShared(message === reply.messages.length, `${message} refusals with ${reply.messages.length} messages`);
  return outcomes;
}
