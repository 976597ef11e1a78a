// A front's side of the pool: which merges and answers are worth the way, what they take along and what comes back.
// A write of an object whose fields are owned one by one takes 40 to 60 µs per KiB, and must not hold up a front.

import type { Identity } from "../../api/identity.ts";
import type { ApiObject } from "../../api/object.ts";
import type { Message } from "../../api/schema.ts";
import { internalError, type Reason, refuse, Status, timedOut } from "../../api/status.ts";
import { ownerOf } from "../../authz/owner.ts";
import type { Clock } from "../../base/clock.ts";
import { copyOf } from "../../base/copy.ts";
import type { Owner } from "../../base/shares.ts";
import { decodeStored } from "../../codec/engine/stored.ts";
import { limits } from "../../config/limits.ts";
import { shareLabels } from "../../kinds/batch/joblabels.ts";
import { storedDefinitionOf } from "../../kinds/custom/definition.ts";
import { strategyOf } from "../../kinds/table.ts";
import type { Pool, PoolFault } from "../../pool/pool.ts";
import type { ItemOf, TextFormat } from "../answer/print.ts";
import { type PrintInput, printTask } from "../answer/printtask.ts";
import type { Sent } from "../body/body.ts";
import { objectTooLarge } from "../commit/objectstore.ts";
import type { MergePool, WriteRequest } from "../commit/writerequest.ts";
import { exceeded } from "../exchange/exceeded.ts";
import { unknownResource } from "../route/info.ts";
import type { PrintFormat } from "../route/negotiate.ts";
import { type MergeInput, mergeTask } from "./mergetask.ts";

const encoder = new TextEncoder();

/** Merges, and prints answers, that are big on other threads. */
export class Merges implements MergePool {
  readonly #pool: Pool;
  readonly #clock: Clock;
  readonly #identity: Identity;
  readonly #bytesMin: number;

  /** `bytesMin`: what is big. */
  constructor(pool: Pool, identity: Identity, clock: Clock, bytesMin: number = limits.mergeHereBytesMax) {
    this.#pool = pool;
    this.#identity = identity;
    this.#clock = clock;
    this.#bytesMin = bytesMin;
  }

  /** Whether a merge of so many bytes, body and stored object together, is better done elsewhere. */
  takes(bytes: number): boolean {
    return bytes >= this.#bytesMin;
  }

  /**
   * What mergeHere() would answer. Also 429 when too many of the user's writes wait or one of them ended a thread lately,
   * 504 past the request's deadline or limits.poolTaskMsMax, and 500 when the thread ended.
   */
  async merge(
    request: WriteRequest,
    sent: Sent,
    current: { readonly text: string; readonly isOutdated: boolean } | undefined,
    warnings: string[],
  ): Promise<ApiObject | Status> {
    const { fields, trace } = request;
    const { resource } = request;
    const definition = resource.provided === true ? storedDefinitionOf(resource) : undefined;
    if (resource.provided === true && definition === undefined) return unknownResource;
    const input = this.#inputOf(request, sent, current, definition);
    const owner = ownerOf(this.#identity, request.user);
    const msMax = request.deadline - this.#clock.monotonic();
    const result = await this.#pool.run(mergeTask, input, { owner, msMax, transfer: buffersOf(input) });
    trace.done("merge");
    if ("fault" in result) return this.#refusalOf(result, owner);
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
  print(
    format: PrintFormat,
    message: Message,
    json: Uint8Array,
    owner: Owner,
    msMax: number,
  ): Promise<Uint8Array | Status> {
    return this.#print({ format, message: message.open === true ? undefined : message.name, body: json }, owner, msMax);
  }

  /** The same for an item of a list. */
  printItem(
    format: TextFormat,
    json: Uint8Array,
    item: ItemOf,
    owner: Owner,
    msMax: number,
  ): Promise<Uint8Array | Status> {
    return this.#print({ format, message: undefined, item, body: json }, owner, msMax);
  }

  async #print(input: PrintInput, owner: Owner, msMax: number): Promise<Uint8Array | Status> {
    // Refusals of the pool come before its own look at the time.
    if (msMax <= 0) return timedOut;
    const result = await this.#pool.run(printTask, input, { owner, msMax });
    return "fault" in result ? this.#refusalOf(result, owner) : result.printed;
  }

  #refusalOf(fault: PoolFault, owner: Owner): Status {
    if (fault.fault === "full") return exceeded(this.#pool.waiting, owner);
    if (fault.fault === "paused") return paused;
    return fault.fault === "late" ? timedOut : internalError(fault.error);
  }

  #inputOf(
    request: WriteRequest,
    { kind, format, force, bytes }: Sent,
    current: { readonly text: string; readonly isOutdated: boolean } | undefined,
    definition: Uint8Array | undefined,
  ): MergeInput {
    const { subresource, namespace, name, manager, fields } = request;
    const { group, version, resource, definedAs = "" } = request.resource;
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
      body: copyOf(bytes),
      current: current && encoder.encode(current.text),
      isOutdated: current?.isOutdated === true,
      definedAs,
      definition,
    };
  }
}

function buffersOf({ body, current, definition }: MergeInput): ArrayBuffer[] {
  return [body, current, definition].flatMap((bytes) => (bytes === undefined ? [] : [bytes.buffer as ArrayBuffer]));
}

const paused = refuse(
  "TooManyRequests",
  "a large request of this user ended the thread that worked on it, please try again later",
  { retryAfterSeconds: Math.ceil(limits.poolPauseMs / 1000) },
);
