// Where a request's time goes, by what servers of this API tell at /metrics: sums of durations, before a round and after it.
import type { Connection } from "./connection.ts";

/** Sums of durations at one moment, seconds, and what threads say of themselves. */
export interface Reading {
  /** In handlers, watches and other long answers left out. */
  readonly handlerSeconds: number;
  readonly handled: number;
  /** In queues of flow control, of requests that were executed or not. */
  readonly queueSeconds: number;
  readonly admissionSeconds: number;
  /** Requests of the server to its storage. */
  readonly storageSeconds: number;
  /** Share of the time that the loop of a thread was busy; of servers that tell it. */
  readonly busyLoops: ReadonlyMap<string, number>;
  /** Requests that flow control rejected, by priority level. */
  readonly rejected: ReadonlyMap<string, number>;
}

/** Stages of an average request, milliseconds; together what its client waited. */
export interface Stages {
  readonly queueMs: number;
  readonly storageMs: number;
  readonly admissionMs: number;
  readonly handlerMs: number;
  /** Not in the server's handler: network, TLS, queues of sockets. */
  readonly outsideMs: number;
}

const families = {
  handler: "apiserver_request_duration_seconds",
  queue: "apiserver_flowcontrol_request_wait_duration_seconds",
  rejected: "apiserver_flowcontrol_rejected_requests_total",
  admission: "apiserver_admission_step_admission_duration_seconds",
  storage: "etcd_request_duration_seconds",
} as const;
const isLong = /verb="(WATCH|CONNECT|WATCHLIST)"|subresource="(log|exec|attach|portforward|proxy)"/;

/** Reads them; undefined: the server does not tell, or not this user. */
export async function readMetrics(connection: Connection): Promise<Reading | undefined> {
  const { code, text } = await connection.ask({ method: "GET", path: "/metrics", accept: "text/plain" });
  if (code !== 200) return undefined;
  let [handlerSeconds, handled, queueSeconds, admissionSeconds, storageSeconds] = [0, 0, 0, 0, 0];
  const busyLoops = new Map<string, number>();
  const rejected = new Map<string, number>();
  for (const line of text.split("\n")) {
    const [, name = "", labels = "", value = ""] = /^(\w+?)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    const number = Number(value);
    if (name === `${families.handler}_sum` && !isLong.test(labels)) handlerSeconds += number;
    else if (name === `${families.handler}_count` && !isLong.test(labels)) handled += number;
    else if (name === `${families.queue}_sum`) queueSeconds += number;
    else if (name === families.rejected) {
      const level = /priority_level="([^"]*)"/.exec(labels)?.[1] ?? "";
      rejected.set(level, (rejected.get(level) ?? 0) + number);
    } else if (name === `${families.admission}_sum`) admissionSeconds += number;
    else if (name === `${families.storage}_sum` && !labels.includes('operation="list"')) storageSeconds += number;
    else if (name === "orch_event_loop_utilization") {
      busyLoops.set(/thread="([^"]*)"/.exec(labels)?.[1] ?? "", number);
    }
  }
  return { handlerSeconds, handled, queueSeconds, admissionSeconds, storageSeconds, busyLoops, rejected };
}

/** Stages between two readings, of requests whose clients waited so long on average. */
export function stagesBetween(before: Reading, after: Reading, waitedMs: number): Stages | undefined {
  const handled = after.handled - before.handled;
  if (handled <= 0) return undefined;
  const perRequest = (seconds: (reading: Reading) => number): number =>
    Math.max(0, ((seconds(after) - seconds(before)) * 1000) / handled);
  const wholeMs = perRequest(({ handlerSeconds }) => handlerSeconds);
  let leftMs = wholeMs;
  // What lies within the handler cannot be more than what is left of it.
  const part = (ms: number): number => {
    const taken = Math.min(ms, leftMs);
    leftMs -= taken;
    return taken;
  };
  const queueMs = part(perRequest(({ queueSeconds }) => queueSeconds));
  const storageMs = part(perRequest(({ storageSeconds }) => storageSeconds));
  const admissionMs = part(perRequest(({ admissionSeconds }) => admissionSeconds));
  return { queueMs, storageMs, admissionMs, handlerMs: leftMs, outsideMs: Math.max(0, waitedMs - wholeMs) };
}
