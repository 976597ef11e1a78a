// One watch of a range, across members and disconnections: every event above a revision, once and in order. A stream that
// ends is opened again where it was, on whatever member is active then.
import { assertShared, passShared } from "../../base/assert.ts";
import { CallError, type EtcdClient } from "./client.ts";
import type { StreamingCall } from "./grpc/channel.ts";
import {
  type Header,
  progressRequest,
  type WatchAnswer,
  type WatchedEvent,
  watchAnswer,
  watchRequest,
} from "./messages.ts";

/** A range of keys: from `key`, below `end`. */
export interface KeyRange {
  readonly key: Uint8Array;
  readonly end: Uint8Array;
}

/** What a watch tells. */
export interface WatchTold {
  /** Events of whole revisions, in order, all above those told before. */
  events(events: readonly WatchedEvent[]): void;
  /** All events up to a revision were told. */
  progress(revision: number): void;
  /** Of every answer: who sent it. */
  header(header: Header): void;
  /** The stream has ended: what the cluster answers from now on may be of another history, until `resumes` has said no. */
  broken?(): void;
  /** A stream goes on after a revision. Resolves with false where another one is to be opened; the events wait until then. */
  resumes?(after: number): Promise<boolean>;
  /** The watch has ended for good: what comes next is compacted (CallError of that fault), or it is refused. */
  failed(error: CallError): void;
}

const path = "/etcdserverpb.Watch/Watch";
/** Pauses before a stream is opened again, ms; doubled up to the second. */
const reopenMsMin = 20;
const reopenMsMax = 500;

/** A watch that goes on until close(). */
export class WatchStream {
  readonly #client: EtcdClient;
  readonly #range: KeyRange;
  readonly #told: WatchTold;
  /** Newest revision of which all events were told. */
  #position: number;
  #stream: StreamingCall | undefined;
  #created = false;
  /** Events of a message whose rest is to come. */
  #parts: WatchedEvent[] = [];
  #reopenMs = reopenMsMin;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;
  readonly #unfollow: () => void;

  constructor(client: EtcdClient, range: KeyRange, after: number, told: WatchTold) {
    this.#client = client;
    this.#range = range;
    this.#position = after;
    this.#told = told;
    this.#unfollow = client.onSwitch(() => this.#reopen(0));
    this.#open();
  }

  /** Asks how far the watch has come; nothing happens while it is not connected. */
  askProgress(): void {
    if (this.#created) this.#stream?.send(progressRequest());
  }

  /** Ends the watch; nothing is told after it. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#unfollow();
    clearTimeout(this.#timer);
    this.#drop();
  }

  #drop(): void {
    const stream = this.#stream;
    if (stream !== undefined && !this.#closed) this.#told.broken?.();
    this.#stream = undefined;
    this.#created = false;
    this.#parts = [];
    stream?.cancel();
  }

  #open(): void {
    const stream = this.#client.stream(path, {
      message: (bytes) => {
        if (stream !== this.#stream) return;
        const answer = readable(bytes);
        if (answer === undefined) this.#reopen(this.#reopenMs);
        else this.#receive(answer);
      },
      ended: () => {
        if (stream === this.#stream) this.#reopen(this.#reopenMs);
      },
    });
    this.#stream = stream;
    stream.send(watchRequest({ ...this.#range, start: this.#position + 1 }));
  }

  #reopen(afterMs: number): void {
    this.#drop();
    if (this.#closed) return;
    clearTimeout(this.#timer);
    this.#reopenMs = Math.min(2 * this.#reopenMs, reopenMsMax);
    this.#timer = setTimeout(() => this.#open(), afterMs);
  }

  #follow(): void {
    this.#created = true;
    this.#reopenMs = reopenMsMin;
  }

  /** Holds the stream's messages until it is known to go on in the same history. */
  async #resume(resumes: (after: number) => Promise<boolean>): Promise<void> {
    const stream = this.#stream;
    stream?.pause();
    const isSame = await resumes(this.#position);
    if (stream === undefined || stream !== this.#stream) return;
    if (!isSame) return this.#reopen(this.#reopenMs);
    this.#follow();
    stream.resume();
  }

  #receive(answer: WatchAnswer): void {
    this.#told.header(answer.header);
    if (this.#closed) return;
    if (answer.canceled) return this.#cancelled(answer);
    if (answer.created) {
      if (this.#told.resumes === undefined) this.#follow();
      else void this.#resume(this.#told.resumes.bind(this.#told));
      return;
    }
    if (answer.events.length === 0 && !answer.fragment && this.#parts.length === 0) {
      // Progress. It may speak of the time before this stream caught up only if it is behind.
      if (answer.header.revision > this.#position) this.#told.progress(answer.header.revision);
      return;
    }
    // A message of one revision may come in parts, and a part may end within one.
    for (const event of answer.events) this.#parts.push(event);
    if (answer.fragment) return;
    const events = this.#parts;
    this.#parts = [];
    const last = events.at(-1);
    if (last === undefined) return;
    const first = events[0] as WatchedEvent;
    assertShared(
      first.kv.modRevision > this.#position,
      `A watch tells ${first.kv.modRevision} after ${this.#position}`,
    );
    this.#position = last.kv.modRevision;
    this.#told.events(events);
  }

  /** All events up to a revision were told, as the owner knows: progress it trusts. */
  passed(revision: number): void {
    this.#position = Math.max(this.#position, revision);
  }

  #cancelled({ compactRevision, reason }: WatchAnswer): void {
    if (compactRevision > 0) {
      this.close();
      const what = `Revision ${this.#position + 1} is compacted, the oldest one is ${compactRevision}`;
      return this.#told.failed(new CallError("compacted", what));
    }
    // The member has lost its leader, or its process ends: another one may go on.
    this.#client.leave(this.#client.active);
    if (reason.includes("permission denied")) {
      this.close();
      return this.#told.failed(new CallError("refused", `The watch is refused: ${reason}`));
    }
    this.#reopen(this.#reopenMs);
  }
}

/** Undefined: the message is none of a watch. */
function readable(bytes: Buffer): WatchAnswer | undefined {
  try {
    return watchAnswer(bytes);
  } catch (error) {
    passShared(error);
    return undefined;
  }
}

/** Newest compacted revision of a cluster of which the first revision is compacted: a watch from there is told. */
export function compactedRevision(client: EtcdClient, range: KeyRange, timeoutMs: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const fail = (why: string): void => {
      clearTimeout(timer);
      reject(new CallError("unavailable", `etcd does not say what is compacted: ${why}`));
    };
    const timer = setTimeout(() => {
      fail("no answer");
      stream.cancel();
    }, timeoutMs);
    const stream = client.stream(path, {
      ended: (error) => fail(error?.message ?? "the stream ended"),
      message: (bytes) => {
        const answer = readable(bytes);
        if (answer === undefined) {
          fail("an answer that cannot be read");
          return stream.cancel();
        }
        const { canceled, compactRevision } = answer;
        if (!canceled) return;
        clearTimeout(timer);
        resolve(compactRevision);
        stream.cancel();
      },
    });
    stream.send(watchRequest({ ...range, start: 1 }));
  });
}
