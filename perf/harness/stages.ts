// Where a request's time goes, by what servers of this API tell at /metrics: sums of durations, before a round and after it.
import type { Connection } from "./connection.ts";

/** Sums of durations at one moment, seconds, and what threads say of themselves. */
export interface Reading {
  /** In handlers, watches and other long answers left out. */
  readonly handlerSeconds: number;
  readonly handled: number;
  readonly admissionSeconds: number;
  /** Requests of the server to its storage. */
  readonly storageSeconds: number;
  /** Share of the time that the loop of a thread was busy; of servers that tell it. */
  readonly busyLoops: ReadonlyMap<string, number>;
}

/** Stages of an average request, milliseconds; together what its client waited. */
export interface Stages {
  readonly storageMs: number;
  readonly admissionMs: number;
  readonly handlerMs: number;
  /** Not in the server's handler: network, TLS, queues of both sides. */
  readonly outsideMs: number;
}

const families = {
  handler: "apiserver_request_duration_seconds",
  admission: "apiserver_admission_step_admission_duration_seconds",
  storage: "etcd_request_duration_seconds",
} as const;
const isLong = /verb="(WATCH|CONNECT|WATCHLIST)"|subresource="(log|exec|attach|portforward|proxy)"/;

/** Reads them; undefined: the server does not tell, or not this user. */
export async function readMetrics(connection: Connection): Promise<Reading | undefined> {
  const { code, text } = await connection.ask({ method: "GET", path: "/metrics", accept: "text/plain" });
  if (code !== 200) return undefined;
  let [handlerSeconds, handled, admissionSeconds, storageSeconds] = [0, 0, 0, 0];
  const busyLoops = new Map<string, number>();
  for (const line of text.split("\n")) {
    const [, name = "", labels = "", value = ""] = /^(\w+?)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    const number = Number(value);
    if (name === `${families.handler}_sum` && !isLong.test(labels)) handlerSeconds += number;
    else if (name === `${families.handler}_count` && !isLong.test(labels)) handled += number;
    else if (name === `${families.admission}_sum`) admissionSeconds += number;
    else if (name === `${families.storage}_sum` && !labels.includes('operation="list"')) storageSeconds += number;
    else if (name === "orch_event_loop_utilization") {
      busyLoops.set(/thread="([^"]*)"/.exec(labels)?.[1] ?? "", number);
    }
  }
  return { handlerSeconds, handled, admissionSeconds, storageSeconds, busyLoops };
}

/** Stages between two readings, of requests whose clients waited so long on average. */
export function stagesBetween(before: Reading, after: Reading, waitedMs: number): Stages | undefined {
  const handled = after.handled - before.handled;
  if (handled <= 0) return undefined;
  const each = (what: "handlerSeconds" | "admissionSeconds" | "storageSeconds"): number =>
    Math.max(0, ((after[what] - before[what]) * 1000) / handled);
  const storageMs = Math.min(each("storageSeconds"), each("handlerSeconds"));
  const admissionMs = Math.min(each("admissionSeconds"), each("handlerSeconds") - storageMs);
  return {
    ...{ storageMs, admissionMs },
    handlerMs: each("handlerSeconds") - storageMs - admissionMs,
    outsideMs: Math.max(0, waitedMs - each("handlerSeconds")),
  };
}
