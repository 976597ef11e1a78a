// A front's side of merges in the pool: which are worth the way, what they take along and what comes back.
// A write of an object whose fields are owned one by one takes 40 to 60 µs per KiB, and must not hold up a front.
import type { ApiObject } from "../api/object.ts";
import { internalError, type Reason, Status, timedOut } from "../api/status.ts";
import type { Clock } from "../base/clock.ts";
import { decodeStored } from "../codec/stored.ts";
import { limits } from "../config/limits.ts";
import { Pool } from "../pool/pool.ts";
import type { MergeResult, MergeSetup, MergeTask } from "../pool/tasks.ts";
import type { MergePool, Sent, WriteRequest } from "./writerequest.ts";

const encoder = new TextEncoder();

/** What tests have otherwise. */
export interface MergesOptions {
  /** The script of a thread. */
  readonly script?: URL;
  readonly bytesMin?: number;
  readonly msMax?: number;
}

/** Merges what is big on other threads. */
export class Merges implements MergePool {
  readonly #pool: Pool<MergeTask, MergeResult>;
  readonly #clock: Clock;
  readonly #bytesMin: number;
  readonly #msMax: number;

  /** Nothing is started yet. */
  constructor(setup: MergeSetup, clock: Clock, options: MergesOptions = {}) {
    this.#clock = clock;
    this.#bytesMin = options.bytesMin ?? limits.mergeHereBytesMax;
    this.#msMax = options.msMax ?? limits.mergeMsMax;
    this.#pool = new Pool({
      script: options.script ?? new URL("../../workers/merge.js", import.meta.url),
      setup,
      threadsMax: limits.mergeThreadsMax,
      queueMax: limits.mergeQueueMax,
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
   * What mergeHere() would answer. Also 429 when too many wait, 504 past the request's deadline or limits.mergeMsMax, and
   * 500 when the thread ended.
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
    const msMax = Math.min(this.#msMax, request.deadline - this.#clock.monotonic());
    const result = await this.#pool.run(task, buffers as ArrayBuffer[], msMax);
    trace.done("merge");
    if ("fault" in result) {
      if (result.fault === "full") return tooMany;
      return result.fault === "late" ? timedOut : internalError(result.error);
    }
    fields?.take(result.fieldWarnings);
    if (result.refusal !== undefined) {
      const { code, reason, message, details } = result.refusal;
      return new Status(code, reason as Reason, message, details);
    }
    warnings.push(...result.warnings);
    return decodeStored(request.resource, result.object);
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

const tooMany = new Status(
  429,
  "TooManyRequests",
  "The server has too many large writes waiting, please try again later.",
  { retryAfterSeconds: 1 },
);
