// The connection to an etcd cluster: calls go to one member at a time, and to the next one when it does not answer. What
// may be asked twice is asked again; what may have been done is not done again, the caller hears that it is in doubt.
import { assertShared, passShared } from "../../base/assert.ts";
import { messageOf } from "../../base/thrown.ts";
import type { SpanAttribute, TraceSpans } from "../../observe/spans.ts";
import type { Endpoints } from "../store.ts";
import { GrpcError, grpcCodes } from "./grpc/answer.ts";
import { type CallEvents, Channel, type StreamingCall } from "./grpc/channel.ts";
import type { Field } from "./grpc/fields.ts";

/**
 * Why a call failed. `unavailable`: no member took it; `in-doubt`: it may have been executed; `full`: the quota of the
 * cluster is used up; `too-large`: the cluster takes no request of that size; `compacted`: it asks for a revision that is
 * compacted; `refused`: anything else, as a wrong certificate.
 */
export type CallFault = "unavailable" | "in-doubt" | "full" | "too-large" | "compacted" | "refused";

/** A call that failed. */
export class CallError extends Error {
  override name = "CallError";
  readonly fault: CallFault;
  constructor(fault: CallFault, message: string, cause?: unknown) {
    super(message, { cause });
    this.fault = fault;
  }
}

/** Time a member has to answer what can be asked of another one, ms; a quarter of the call's time where that is more. */
const attemptMs = 1500;
/** Time a member has to accept a connection, ms. */
const connectMs = 1000;
/** Pause after every member failed, ms. */
const pauseMs = 50;

/** How far a call has come. */
export interface Sending {
  /** A member may have it. */
  isSent: boolean;
  /** Called before each attempt, when a member has accepted the connection. */
  readonly sends: () => void;
}

/** The path of a call, and how its answer is read. */
export interface Call<T> {
  readonly path: string;
  readonly request: Uint8Array;
  readonly read: (bytes: Buffer) => T;
  /** Executing it twice is as well as once. */
  readonly isRead: boolean;
  readonly timeoutMs: number;
}

/** A member without a leader says so at once instead of holding the call. */
const metadata = [["hasleader", "true"]] as const;

/** A cluster. */
export class EtcdClient {
  readonly #members: readonly Channel[];
  readonly #switched = new Set<() => void>();
  #active = 0;
  #closed = false;

  constructor({ urls, authority, certificate, key }: Endpoints) {
    assertShared(urls.length > 0, "A cluster has no members");
    this.#members = urls.map((url) => new Channel({ url: new URL(url), authority, certificate, key, metadata }));
  }

  /** The member calls go to, as an index of its URL. */
  get active(): number {
    return this.#active;
  }

  /** Calls `work` when calls go to another member; returns how to stop that. */
  onSwitch(work: () => void): () => void {
    this.#switched.add(work);
    return () => void this.#switched.delete(work);
  }

  /** The member at `index` does not answer: calls go to the next one, unless they do already. */
  leave(index: number): void {
    if (index !== this.#active || this.#members.length === 1) return;
    this.#active = (index + 1) % this.#members.length;
    for (const work of this.#switched) work();
  }

  /**
   * Makes a call, and tells by `sending` whether a member may have it. Each attempt is a span of `spans`. Rejects with
   * CallError.
   */
  async call<T>(call: Call<T>, sending?: Sending, spans?: TraceSpans): Promise<T> {
    const endMs = performance.now() + call.timeoutMs;
    for (let tried = 0; ; tried += 1) {
      if (this.#closed) throw new CallError("unavailable", "The connection to etcd is closed");
      const index = this.#active;
      const leftMs = endMs - performance.now();
      try {
        await this.#ready(index, Math.min(leftMs, connectMs));
        const limitMs = endMs - performance.now();
        if (sending !== undefined) {
          sending.isSent = true;
          sending.sends();
        }
        const timeMs = call.isRead ? Math.min(limitMs, Math.max(attemptMs, call.timeoutMs / 4)) : limitMs;
        return spans === undefined
          ? await this.#attempt(index, call, timeMs)
          : await this.#traced(index, call, timeMs, spans);
      } catch (error) {
        assertShared(error instanceof CallError, `A call to etcd fails with ${String(error)}`);
        const again = error.fault === "unavailable" || (call.isRead && error.fault === "in-doubt");
        if (again) this.leave(index);
        if (sending !== undefined && error.fault === "unavailable") sending.isSent = false;
        if (!again || endMs - performance.now() < pauseMs) throw error;
        if (tried % this.#members.length === this.#members.length - 1) await pause(pauseMs);
      }
    }
  }

  /** Opens a call of many messages on the active member; the path is that of Watch. */
  stream(path: string, events: CallEvents): StreamingCall {
    return this.#member(this.#active).stream(path, events);
  }

  /** Ends all connections. */
  close(): void {
    this.#closed = true;
    for (const member of this.#members) member.close();
  }

  #member(index: number): Channel {
    const member = this.#members[index];
    assertShared(member !== undefined, `No member has index ${index}`);
    return member;
  }

  async #ready(index: number, timeoutMs: number): Promise<void> {
    try {
      await this.#member(index).ready(timeoutMs);
    } catch (error) {
      throw new CallError("unavailable", `etcd does not accept a connection: ${messageOf(error)}`, error);
    }
  }

  /** The span has the names of gRPC's own; etcd's spans are within it. */
  async #traced<T>(index: number, call: Call<T>, timeoutMs: number, spans: TraceSpans): Promise<T> {
    const span = spans.begin(call.path.slice(1));
    const about: SpanAttribute[] = [["rpc.system", "grpc"]];
    let fault = "";
    try {
      return await this.#attempt(index, call, timeoutMs, [["traceparent", span.traceparent]]);
    } catch (error) {
      fault = error instanceof CallError ? error.fault : "error";
      throw error;
    } finally {
      span.end(fault === "" ? about : [...about, ["error.type", fault]], fault !== "");
    }
  }

  async #attempt<T>(
    index: number,
    { path, request, read }: Call<T>,
    timeoutMs: number,
    more?: readonly Field[],
  ): Promise<T> {
    let answer: Buffer;
    try {
      answer = await this.#member(index).unary(path, request, Math.max(1, timeoutMs), more);
    } catch (error) {
      throw error instanceof GrpcError ? faultOf(error) : error;
    }
    try {
      return read(answer);
    } catch (error) {
      throw new CallError("in-doubt", `etcd answers what cannot be read: ${messageOf(passShared(error))}`, error);
    }
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** What a failed call means: the texts are those of etcd's published error list. */
export function faultOf(error: GrpcError): CallError {
  const { code, message, isUntouched } = error;
  const fault = (): CallFault => {
    if (isUntouched) return "unavailable";
    switch (code) {
      case grpcCodes.outOfRange:
        return "compacted";
      case grpcCodes.resourceExhausted:
        // A member that is behind takes no proposal; nothing was proposed.
        return message.includes("too many requests") ? "unavailable" : "full";
      case grpcCodes.invalidArgument:
        return message.includes("too large") ? "too-large" : "refused";
      case grpcCodes.unavailable:
        return message.includes("no leader") ? "unavailable" : "in-doubt";
      case grpcCodes.unauthenticated:
      case grpcCodes.permissionDenied:
      case grpcCodes.unimplemented:
      case grpcCodes.notFound:
      case grpcCodes.failedPrecondition:
        return "refused";
      default:
        return "in-doubt";
    }
  };
  return new CallError(fault(), message === "" ? `etcd answers with the code ${code} of gRPC` : message, error);
}
