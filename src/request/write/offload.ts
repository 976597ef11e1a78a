// A front's side of the pool: which merges and answers are worth the way, what they take along and what comes back.
// A write of an object whose fields are owned one by one takes 40 to 60 µs per KiB, and must not hold up a front.

import { type Identity, identities } from "../../api/identity.ts";
import type { ApiObject } from "../../api/object.ts";
import type { Message } from "../../api/schema.ts";
import { internalError, type Reason, refuse, Status, timedOut } from "../../api/status.ts";
import { ownerOf } from "../../authz/owner.ts";
import { assert } from "../../base/assert.ts";
import type { Clock } from "../../base/clock.ts";
import type { Owner } from "../../base/shares.ts";
import { decodeStored } from "../../codec/engine/stored.ts";
import { limits } from "../../config/limits.ts";
import { shareLabels } from "../../kinds/batch/joblabels.ts";
import { strategyOf } from "../../kinds/table.ts";
import { Pool, type PoolFault } from "../../pool/pool.ts";
import type { MergeResult, MergeSetup, MergeTask, PoolTask, PrintResult, PrintTask } from "../../pool/tasks.ts";
import type { Sent } from "../body/body.ts";
import { objectTooLarge } from "../commit/objectstore.ts";
import type { MergePool, WriteRequest } from "../commit/writerequest.ts";
import { exceeded } from "../exchange/exceeded.ts";
import type { PrintFormat } from "../route/negotiate.ts";

const encoder = new TextEncoder();

/** What tests have otherwise. */
export interface MergesOptions {
  /** The script of a thread. */
  readonly script?: URL;
  readonly bytesMin?: number;
  readonly msMax?: number;
  readonly pauseMs?: number;
}

/** Merges, and prints answers, that are big on other threads. */
export class Merges implements MergePool {
  readonly #pool: Pool<PoolTask, MergeResult | PrintResult>;
  readonly #clock: Clock;
  readonly #identity: Identity;
  readonly #bytesMin: number;

  /** Nothing is started yet. */
  constructor(setup: MergeSetup, clock: Clock, options: MergesOptions = {}) {
    this.#clock = clock;
    this.#bytesMin = options.bytesMin ?? limits.mergeHereBytesMax;
    this.#identity = identities[setup.identity];
    this.#pool = new Pool({
      script: options.script ?? new URL("../../../workers/merge.js", import.meta.url),
      setup,
      threadsMax: limits.mergeThreadsMax,
      queueMax: limits.mergeQueueMax,
      taskMsMax: options.msMax ?? limits.mergeMsMax,
      startMsMax: limits.mergeStartMsMax,
      pauseMs: options.pauseMs ?? limits.mergePauseMs,
      idleMs: limits.mergeThreadIdleMs,
      heapMiBMax: limits.mergeHeapMiBMax,
    });
  }

  /** Whether there are threads. */
  get isStarted(): boolean {
    return this.#pool.isStarted;
  }

  /** Whether a merge of so many bytes, body and stored object together, is better done elsewhere. */
  takes(bytes: number): boolean {
    return bytes >= this.#bytesMin;
  }

  /**
   * What mergeHere() would answer. Also 429 when too many of the user's writes wait or one of them ended a thread lately,
   * 504 past the request's deadline or limits.mergeMsMax, and 500 when the thread ended.
   */
  async merge(
    request: WriteRequest,
    sent: Sent,
    current: { readonly text: string } | undefined,
    warnings: string[],
  ): Promise<ApiObject | Status> {
    const { fields, trace } = request;
    const task = this.#task(request, sent, current);
    const buffers = [task.body, ...(task.current === undefined ? [] : [task.current])].map(({ buffer }) => buffer);
    const owner = ownerOf(this.#identity, request.user);
    const msMax = request.deadline - this.#clock.monotonic();
    const result = await this.#pool.run(task, buffers as ArrayBuffer[], owner, msMax);
    trace.done("merge");
    if ("fault" in result) return this.#refusalOf(result, owner);
    assert(!("printed" in result), "A merge is answered as a merge");
    fields?.take(result.fieldWarnings);
    if (result.refusal !== undefined) {
      const { code, reason, message, details } = result.refusal;
      return new Status(code, reason as Reason, message, details);
    }
    const { boundsSize = false } = strategyOf(request.resource, this.#identity);
    if (!boundsSize && result.object.length > limits.objectBytesMax) return objectTooLarge;
    for (const warning of result.warnings) warnings.push(warning);
    const object = decodeStored(request.resource, result.object);
    if (result.sharesLabels) shareLabels(object);
    return object;
  }

  /** JSON of ours in another format; the bytes are copied. Refusals as those of merge(). */
  async print(
    format: PrintFormat,
    message: Message,
    json: Uint8Array,
    owner: Owner,
    msMax: number,
  ): Promise<Uint8Array | Status> {
    const task: PrintTask = { kind: "print", format, message: message.name, body: json };
    const result = await this.#pool.run(task, [], owner, msMax);
    if ("fault" in result) return this.#refusalOf(result, owner);
    assert("printed" in result, "A print is answered as a print");
    return result.printed;
  }

  #refusalOf(fault: PoolFault, owner: Owner): Status {
    if (fault.fault === "full") return exceeded(this.#pool.waiting, owner);
    if (fault.fault === "paused") return paused;
    return fault.fault === "late" ? timedOut : internalError(fault.error);
  }

  #task(
    request: WriteRequest,
    { kind, format, force, bytes }: Sent,
    current: { readonly text: string } | undefined,
  ): MergeTask {
    const { subresource, namespace, name, manager, fields } = request;
    const { group, version, resource } = request.resource;
    return {
      group,
      version,
      resource,
      subresource,
      namespace,
      name,
      manager,
      kind,
      format,
      force,
      validation: fields === undefined ? "" : fields.isStrict ? "Strict" : "Warn",
      nowMs: this.#clock.now(),
      // Bytes of their own: they are handed over, and the write may have to be tried again.
      body: Uint8Array.from(bytes),
      current: current && encoder.encode(current.text),
    };
  }

  /** Ends the threads. */
  close(): Promise<void> {
    return this.#pool.close();
  }
}

const paused = refuse(
  "TooManyRequests",
  "a large request of this user ended the thread that worked on it, please try again later",
  { retryAfterSeconds: Math.ceil(limits.mergePauseMs / 1000) },
);
