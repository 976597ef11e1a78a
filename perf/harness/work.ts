// What the processes of a load are told and tell: kinds of requests, and what became of them.
import type { Endpoint } from "./connection.ts";

/** The media type of protobuf that servers of upstream's identity take. */
export const protobufType = "application/vnd.kubernetes.protobuf";

/** One kind of requests; plain data, with templates for what differs (template.ts). */
export interface Work {
  readonly name: string;
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly accept?: string;
  readonly body?: string;
  /** The body is bytes, one for each character: protobuf. */
  readonly isBinary?: boolean;
  readonly type?: string;
  /** Further header lines, each with its end. */
  readonly more?: string;
  /** The code of a good answer. */
  readonly wanted: number;
  /** Bytes of the body of a good answer; left out: any. */
  readonly bodyBytes?: number;
  /** How far from that it may be; left out: not at all. */
  readonly bodySlackBytes?: number;
  readonly connections: number;
  /** Requests per second, whatever the answers take; 0: each connection sends when it has its answer. */
  readonly rate: number;
  /** Seconds before the first request; left out: none. */
  readonly delaySeconds?: number;
  /** The number of the first request. */
  readonly from: number;
  /** How many are sent at most; left out: until the time is over. */
  readonly countMax?: number;
  /** Objects that are changed in turn: none is changed again before its last change was answered. */
  readonly objects?: number;
}

/** What became of one kind of requests. */
export interface WorkResult {
  readonly name: string;
  /** Good answers. */
  readonly count: number;
  readonly bytes: number;
  /** From the first request to the last answer. */
  readonly seconds: number;
  /** Other outcomes, by what they were. */
  readonly failures: Readonly<Record<string, number>>;
  /** Due when the time was over and not sent: the server, or the client, did not keep up. */
  readonly unsent: number;
  /** The number of the next request. */
  readonly next: number;
  /** From when a request was due (at a rate) or sent to the end of its answer; encoded. */
  readonly latency: string;
  /** To the head of its answer. */
  readonly firstByte: string;
}

/** What happened in a second, of one kind of requests or of watches. */
export interface Tick {
  readonly name: string;
  readonly count: number;
  readonly failures: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** Watches of one path. */
export interface WatchWork {
  readonly path: string;
  readonly protobuf: boolean;
  readonly count: number;
  /** These clients read the head of the answer and then nothing. */
  readonly stuck: boolean;
  /** What is counted: marks that must be without gap (marks.ts), or events whose versions must rise. */
  readonly reads: "marks" | "versions";
}

/** What watches of a process saw so far. */
export interface WatchResult {
  readonly open: number;
  readonly events: number;
  readonly bytes: number;
  readonly gaps: number;
  readonly torn: number;
  readonly errors: number;
  /** Ended without being told to. */
  readonly closed: number;
  /** How often opening one was tried again, by what stood against it. */
  readonly retries: Readonly<Record<string, number>>;
  /** From when a change was sent to when its event was here; encoded. */
  readonly latency: string;
  /** From the begin of a connection to the head of the answer; encoded. */
  readonly opening: string;
  /** Of each change: object, change, when it was first and last here (us), and by how many watches. */
  readonly spans: Float64Array<ArrayBuffer>;
}

/** What a process of a load is asked. */
export type Question =
  | { readonly ask: "run"; readonly works: readonly Work[]; readonly seconds: number; readonly changes: Int32Array }
  | { readonly ask: "watch"; readonly watches: readonly WatchWork[]; readonly last: Int32Array }
  | { readonly ask: "report"; readonly isReset: boolean }
  | { readonly ask: "drop" }
  | { readonly ask: "stop" };

/** How a process answers, and what it tells meanwhile. */
export type Message =
  | { readonly tell: "ready" }
  | { readonly tell: "tick"; readonly ticks: readonly Tick[] }
  | { readonly tell: "ran"; readonly results: readonly WorkResult[]; readonly changes: Int32Array }
  | { readonly tell: "report"; readonly report: WatchResult }
  | { readonly tell: "failed"; readonly why: string };

/** What a process is started with. */
export interface ProcessData {
  readonly endpoint: Endpoint;
}

/** Why results of requests void a round: everything that was not answered as it should be. */
export function faultsOf(results: readonly WorkResult[]): string[] {
  return results.flatMap(({ name, failures, unsent, count }) => {
    const failed = Object.entries(failures).map(([what, times]) => `${name}: ${times} requests failed: ${what}`);
    const late = unsent === 0 ? [] : [`${name}: ${unsent} requests were due and not answered in time`];
    return [...failed, ...late, ...(count === 0 && failed.length === 0 ? [`${name}: nothing was answered`] : [])];
  });
}
