// What a front keeps for the console besides its metrics, all of it bounded: the heaviest clients, the newest slow
// requests, the watchers that are furthest behind. Nothing here comes from a query, a header or a body.
import type { RequestKind, RequestRecord } from "../requests.ts";
import { type HeavyClient, HeavyClients } from "./heavy.ts";

/** A request that took long. */
export interface SlowRequest {
  /** When it ended, milliseconds of the wall clock. */
  readonly at: number;
  readonly ms: number;
  readonly user: string;
  readonly verb: string;
  /** Without its query. */
  readonly path: string;
  readonly code: number;
  readonly thread: string;
  /** Milliseconds by stage, in the order they were passed. */
  readonly stages: readonly (readonly [stage: string, ms: number])[];
}

/** A watcher that is not in step with its log. */
export interface SlowWatcher {
  readonly user: string;
  readonly resource: string;
  readonly thread: string;
  readonly state: "initial" | "waiting" | "lagging" | "blocked";
  /** Changes of its log that it has not got, of its selector or not. */
  readonly behind: number;
  /** Since when its client takes nothing, milliseconds. */
  readonly blockedMs: number;
}

/** What clients of a front use. */
export interface ClientUse {
  /** Of how many seconds requests and bytes are. */
  readonly seconds: number;
  readonly requests: readonly HeavyClient[];
  readonly listBytes: readonly HeavyClient[];
  /** Open now. */
  readonly watches: readonly HeavyClient[];
}

/** What a front tells of itself. */
export interface FrontDetail {
  readonly clients: ClientUse;
  readonly slowRequests: readonly SlowRequest[];
  readonly slowWatchers: readonly SlowWatcher[];
}

/** Slow requests a front keeps, and how long a request is that is one, milliseconds. */
const slowRequestsMax = 64;
export const slowRequestMs = 250;
/** Clients a front tells of, for each of what they use. */
export const clientsShown = 20;
/** Characters of a path that are kept. */
const pathCharsMax = 200;

/** Takes note of what the console shows of requests. */
export class FrontNotes {
  readonly #thread: string;
  readonly #requests: HeavyClients;
  readonly #listBytes: HeavyClients;
  /** The newest is at the end. */
  readonly #slow: SlowRequest[] = [];

  /** `now` is a monotonic clock in milliseconds. */
  constructor(thread: string, now: () => number) {
    this.#thread = thread;
    this.#requests = new HeavyClients(now);
    this.#listBytes = new HeavyClients(now);
  }

  /** A request ended; `at`: the wall clock. */
  finished(kind: RequestKind, record: RequestRecord, at: number): void {
    const { user, verb, code } = record;
    this.#requests.add(user);
    if (kind === "long") return;
    if (verb === "LIST" && record.sentBytes > 0) this.#listBytes.add(user, record.sentBytes);
    // The console's own profiles last as long as was asked for.
    if (record.durationMs < slowRequestMs || record.path.startsWith("/debug/")) return;
    // Its refusal was held back.
    if (record.dropped) return;
    const path = record.path.slice(0, pathCharsMax);
    const stages = Object.entries(record.stages ?? {}).filter(([stage]) => stage !== "total");
    const rest = record.durationMs - stages.reduce((sum, [, ms]) => sum + ms, 0);
    // Stages end where the answer begins.
    if (rest > 1) stages.push(["send", rest]);
    if (this.#slow.length >= slowRequestsMax) this.#slow.shift();
    this.#slow.push({ at, ms: record.durationMs, user, verb, path, code, thread: this.#thread, stages });
  }

  /** What to show; `watches` and `slowWatchers` are read where they are kept. */
  detail(watches: readonly HeavyClient[], slowWatchers: readonly SlowWatcher[]): FrontDetail {
    const { seconds, clients: requests } = this.#requests.top(clientsShown);
    const { clients: listBytes } = this.#listBytes.top(clientsShown);
    return { clients: { seconds, requests, listBytes, watches }, slowRequests: [...this.#slow], slowWatchers };
  }
}
