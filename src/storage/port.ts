// A front's StoreClient over a message port: all changes of a turn go as one message, and so do those of its requests
// that want to know how recent they must be. Where the store has enough to do, changes gather until it has made a commit, or
// are many: a commit costs more than a change. Replies carry the number of what they answer.
// The queue is divided among users: deletes of many large objects leave room for another user's write.
import type { MessagePort } from "node:worker_threads";
import { assert, assertShared } from "../base/assert.ts";
import { type Listed, Roster } from "../base/roster.ts";
import { type Owner, Shares, takeBoth } from "../base/shares.ts";
import { within } from "../base/within.ts";
import { limits } from "../config/limits.ts";
import type { TraceParent, TraceSpans } from "../observe/spans.ts";
import type { StoreClient } from "./client.ts";
import { type PackedPage, unpackPage } from "./past.ts";
import { SharedQuestion } from "./sharedquestion.ts";
import { type Change, changeTypes, type EngineTraits, type Outcome, type PastRequest, StoreError } from "./store.ts";
import { type OutcomesReply, type Question, type Reply, RequestWriter, readReply } from "./wire.ts";

/** Bounds of one front's queue to the store. */
export interface QueueLimits {
  readonly storeQueueMax: number;
  readonly storeQueueBytesMax: number;
}

/** What a front has to know of the store. */
export interface StoreTraits extends Pick<EngineTraits, "overlap" | "isShared"> {
  /** It can be asked for pages of the past. */
  readonly hasPast: boolean;
}

const ownStore: StoreTraits = { isShared: false, hasPast: false, overlap: 1 };

/** Changes the server makes for itself. */
const ownChanges: Owner = { name: "", level: "masters" };

interface Waiting {
  /** Releases its share of the queue. */
  readonly leave: () => void;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: Error) => void;
}

/** A message with changes. */
interface Posted extends Listed {
  readonly number: number;
  readonly changes: readonly Waiting[];
}

/** A question that was sent. */
interface Asked {
  readonly resolve: (value: undefined | number | PackedPage) => void;
  readonly reject: (error: Error) => void;
}

/** The front's end of `port`; the other end belongs to serveStore(). */
export class PortClient implements StoreClient {
  readonly recent: StoreClient["recent"];
  readonly past: StoreClient["past"];
  readonly #port: MessagePort;
  readonly #places: Shares;
  readonly #bytes: Shares;
  /** Messages with changes that are on their way at once: as many as are committed at once. Those behind share a commit. */
  readonly #postedMax: number;
  readonly #writer = new RequestWriter();
  /** Changes that were not posted yet, in the order they were given to the writer, and the bytes they take there. */
  #gathered: Waiting[] = [];
  #gatheredBytes = 0;
  /** A flush is to come at the end of the turn. */
  #isScheduled = false;
  /** Messages that were posted. */
  readonly #posted = new Roster<Posted>();
  readonly #asked = new Map<number, Asked>();
  #queued = 0;
  #number = 0;
  /** How recent requests must be: one question for those of a turn. */
  readonly #recent = new SharedQuestion(
    async (spans) => {
      const revision = await this.#ask({ kind: "recent", number: ++this.#number, ...parentOf(spans) });
      assertShared(typeof revision === "number", "The store answers with no revision");
      return revision;
    },
    limits.recentQuestionsMax,
    (work) => void setImmediate(work),
  );
  #dead = false;

  constructor(port: MessagePort, queue: QueueLimits = limits, { isShared, hasPast, overlap } = ownStore) {
    this.#port = port;
    this.#postedMax = overlap;
    this.#places = new Shares("changes waiting for the store", queue.storeQueueMax);
    this.#bytes = new Shares("bytes of changes waiting for the store", queue.storeQueueBytesMax);
    if (isShared) this.recent = (msMax, spans) => this.#askRecent(msMax, spans);
    if (hasPast) this.past = async (request, spans) => unpackPage(await this.#askPast(request, spans), request.prefix);
    port.on("message", (reply: Reply) => this.#take(reply));
    port.on("close", () => this.#die());
  }

  /** Changes without an outcome yet. */
  get queued(): number {
    return this.#queued;
  }

  commit(change: Change, owner: Owner = ownChanges): Promise<Outcome> {
    assert(
      (change.type === changeTypes.create) === (change.expected === 0),
      `Type ${change.type} expects ${change.expected}`,
    );
    if (this.#dead) return Promise.resolve({ refused: "unavailable", message: "The store thread has ended" });
    const leave = takeBoth(this.#places, this.#bytes, owner, change.body.length + change.selection.length);
    if (leave === undefined) {
      const { name } = owner;
      const held = `${this.#places.heldBy(name)} of ${this.queued} changes, ${this.#bytes.heldBy(name)} of ${this.#bytes.used} bytes`;
      return Promise.resolve({
        refused: "busy",
        message: `of the changes that wait for the store, the user has ${held}`,
      });
    }
    this.#gatheredBytes += this.#writer.add(change);
    this.#queued++;
    if (!this.#isScheduled && !this.#isHeld) {
      this.#isScheduled = true;
      setImmediate(() => {
        this.#isScheduled = false;
        this.#flush();
      });
    }
    return new Promise((resolve, reject) => this.#gathered.push({ leave, resolve, reject }));
  }

  /** Checks that the store thread runs: resolves when its loop handles the probe, rejects when the thread ended. */
  async probe(): Promise<void> {
    await this.#ask({ kind: "probe", number: ++this.#number });
  }

  /** Ends the connection; waiting changes are rejected. */
  close(): void {
    this.#port.close();
  }

  /** What has gathered goes with a later message; outcomes come by message, so that none is to be large or of many. */
  get #isHeld(): boolean {
    if (this.#posted.size < this.#postedMax) return false;
    return this.#writer.count < limits.gatheredChangesMax && this.#gatheredBytes < limits.gatheredBytesMax;
  }

  /** Posts what has gathered, once the store has use for it. */
  #flush(): void {
    if (this.#dead || this.#writer.count === 0 || this.#isHeld) return;
    const request = this.#writer.take(++this.#number);
    const gathered = this.#gathered;
    this.#gathered = [];
    this.#gatheredBytes = 0;
    assertShared(request.count > 0, "A request without changes");
    assertShared(request.count === gathered.length, "A request has other changes than wait for their outcome");
    this.#posted.add({ number: request.number, changes: gathered, listedAt: -1 });
    this.#port.postMessage(request, [request.bytes]);
  }

  #ask(question: Question): Promise<undefined | number | PackedPage> {
    if (this.#dead) return Promise.reject(new StoreError("unavailable", "The store thread has ended"));
    return new Promise((resolve, reject) => {
      this.#asked.set(question.number, { resolve, reject });
      this.#port.postMessage(question);
    });
  }

  async #askPast(request: PastRequest, spans?: TraceSpans): Promise<PackedPage> {
    const page = await this.#ask({ kind: "past", number: ++this.#number, request, ...parentOf(spans) });
    assertShared(typeof page === "object", "The store answers with no page");
    return page;
  }

  async #askRecent(msMax: number, spans?: TraceSpans): Promise<number> {
    const revision = await within(this.#recent.ask(spans), msMax);
    if (revision !== "late") return revision;
    throw new StoreError("unavailable", `The store has not said for ${msMax} ms what its newest revision is`);
  }

  #take(reply: Reply): void {
    if (reply.kind === "outcomes") return this.#settle(reply);
    const asked = this.#asked.get(reply.number);
    this.#asked.delete(reply.number);
    assertShared(asked !== undefined || this.#dead, "The store answers a question that was not asked");
    if (reply.kind === "answer") asked?.resolve(reply.value);
    else asked?.reject(new StoreError(reply.error, reply.message));
  }

  #settle(reply: OutcomesReply): void {
    const posted = this.#posted.members.find(({ number }) => number === reply.number);
    const outcomes = readReply(reply);
    assertShared(posted !== undefined, "Outcomes without a request");
    this.#posted.delete(posted);
    const { changes } = posted;
    assertShared(outcomes.length === changes.length, `${outcomes.length} outcomes of ${changes.length} changes`);
    this.#queued -= changes.length;
    this.#flush();
    outcomes.forEach((outcome, index) => {
      const waiting = changes[index] as Waiting;
      waiting.leave();
      waiting.resolve(outcome);
    });
  }

  #die(): void {
    if (this.#dead) return;
    this.#dead = true;
    const error = new StoreError("unavailable", "The store went away before it answered");
    const posted = [...this.#posted];
    for (const one of posted) this.#posted.delete(one);
    for (const { leave, reject } of [...posted.map(({ changes }) => changes), this.#gathered].flat()) {
      leave();
      reject(error);
    }
    for (const { reject } of this.#asked.values()) reject(error);
    this.#asked.clear();
    this.#gathered = [];
    this.#queued = 0;
  }
}

/** What names a trace to the store thread: a question without one has no such field. */
function parentOf(spans: TraceSpans | undefined): { readonly parent?: TraceParent } {
  const parent = spans?.handOn();
  return parent === undefined ? {} : { parent };
}
