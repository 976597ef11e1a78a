// Figures of flow control, by upstream's names. What a request adds is a number in an object; families are filled from those
// at a scrape, so that a request pays for no look-up of labels.
import type { Family, Registry } from "./metrics.ts";

/** Why a request is rejected (upstream's words). */
export type RejectReason = "queue-full" | "concurrency-limit" | "time-out" | "cancelled";

const secondsBuckets = [0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30];
const lengthBuckets = [0, 10, 25, 50, 100, 250, 500, 1000];
const shareBuckets = [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1];

/** Observations of a histogram. */
class Observed {
  readonly counts: number[];
  sum = 0;
  readonly #bounds: readonly number[];

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.counts = new Array<number>(bounds.length + 1).fill(0);
  }

  add(value: number): void {
    let at = 0;
    while (at < this.#bounds.length && value > (this.#bounds[at] as number)) at++;
    (this.counts[at] as number)++;
    this.sum += value;
  }
}

/** Figures of the requests of one flow schema at one level. */
export class FlowCounts {
  dispatched = 0;
  executing = 0;
  seats = 0;
  waiting = 0;
  /** A request waited: the gauge of those who wait is shown. */
  queued = false;
  readonly rejected: Record<RejectReason, number> = {
    "queue-full": 0,
    "concurrency-limit": 0,
    "time-out": 0,
    cancelled: 0,
  };
  readonly execution = new Observed(secondsBuckets);
  readonly lengths = new Observed(lengthBuckets);
  readonly waits = new Observed(secondsBuckets);
  readonly waitsRejected = new Observed(secondsBuckets);
}

/** How much a level has in use, for samples. */
export interface LevelFigures {
  readonly name: string;
  /** Seats of the level. */
  readonly max: number;
  /** What this front has: requests and seats. */
  readonly waiting: number;
  readonly waitingSeats: number;
  readonly executing: number;
  readonly executingSeats: number;
  /** Requests that may wait. */
  readonly waitingMax: number;
  /** Virtual times: of the level, and of its queues with requests that wait. */
  readonly now: number;
  readonly next: readonly number[];
}

/** What is sampled, besides levels: requests by kind. */
export interface KindFigures {
  readonly kind: "mutating" | "readOnly";
  readonly executing: number;
  readonly waiting: number;
  readonly max: number;
}

/** Where figures of flow control are counted. */
export interface FlowMeter {
  /** The figures of a schema at a level. */
  counts(schema: string, level: string): FlowCounts;
  /** Looks at how full levels are; called at a steady pace. */
  sample(levels: readonly LevelFigures[], kinds: readonly KindFigures[]): void;
}

/** Counts into `registry`, once per registry. `read`: the levels there are, at a scrape. */
export function flowMeter(
  registry: Registry,
  read: () => readonly LevelFigures[],
  kinds: () => readonly KindFigures[],
): FlowMeter {
  const name = (rest: string): string => `apiserver_flowcontrol_${rest}`;
  const flow = ["flow_schema", "priority_level"];
  const gauge = (rest: string, help: string, ...labels: string[]): Family =>
    registry.gauge(name(rest), help, ...(labels.length === 0 ? flow : labels));
  const fact = (rest: string, help: string, ...labels: string[]): Family => registry.fact(name(rest), help, ...labels);
  const histogram = (rest: string, help: string, buckets: readonly number[], ...labels: string[]): Family =>
    registry.histogram(name(rest), help, buckets, ...labels);
  const level = "priority_level";
  const families = {
    executing: gauge("current_executing_requests", "Requests being executed."),
    inqueue: gauge("current_inqueue_requests", "Requests that wait in queues."),
    dispatched: registry.counter(name("dispatched_requests_total"), "Requests that were let through.", ...flow),
    rejected: registry.counter(name("rejected_requests_total"), "Requests that were rejected.", ...flow, "reason"),
    inUse: gauge("request_concurrency_in_use", "Seats in use."),
    limit: fact("request_concurrency_limit", "Seats of a priority level.", level),
    execution: histogram("request_execution_seconds", "Seconds of execution.", secondsBuckets, ...flow),
    lengths: histogram(
      "request_queue_length_after_enqueue",
      "Length of its queue with each request.",
      lengthBuckets,
      ...flow,
    ),
    waits: histogram("request_wait_duration_seconds", "Seconds in a queue.", secondsBuckets, "execute", ...flow),
    currentR: fact("current_r", "Virtual time of a level.", level),
    dispatchR: fact("dispatch_r", "Virtual time at the last dispatch.", level),
    latestS: fact("latest_s", "Virtual start time of the request dispatched last.", level),
    nextS: fact("next_s_bounds", "Bounds of the virtual start times that come next.", "bound", level),
    discountedS: fact("next_discounted_s_bounds", "The same, less the work in progress.", "bound", level),
  };
  const samples = sampleFamilies(histogram);
  const inqueue = registry.gauge("apiserver_current_inqueue_requests", "Requests that wait in queues.", "request_kind");
  const known = new Map<string, FlowCounts>();
  registry.onCollect(() => {
    for (const [key, counts] of known) fillFlow(families, key, counts);
    for (const figures of read()) fillLevel(families, figures);
    for (const { kind, waiting } of kinds()) inqueue.set(kind, waiting);
  });
  return {
    counts: (schema, of) => {
      const key = `${schema}\0${of}`;
      let counts = known.get(key);
      if (counts === undefined) {
        counts = new FlowCounts();
        known.set(key, counts);
      }
      return counts;
    },
    sample: (levels, of) => sample(samples, levels, of),
  };
}

/** A gauge of labels as the flow has them. */
type FlowFamilies = Record<
  "executing" | "inqueue" | "dispatched" | "rejected" | "inUse" | "execution" | "lengths" | "waits",
  Family
>;

function fillFlow(families: FlowFamilies, key: string, counts: FlowCounts): void {
  families.executing.set(key, counts.executing);
  families.inUse.set(key, counts.seats);
  families.dispatched.set(key, counts.dispatched);
  if (counts.queued) families.inqueue.set(key, counts.waiting);
  families.execution.fill(key, counts.execution.counts, counts.execution.sum);
  for (const [reason, count] of Object.entries(counts.rejected)) {
    if (count > 0) families.rejected.set(`${key}\0${reason}`, count);
  }
  fillObserved(families.lengths, key, counts.lengths);
  fillObserved(families.waits, `true\0${key}`, counts.waits);
  fillObserved(families.waits, `false\0${key}`, counts.waitsRejected);
}

/** Nothing is shown of what never was. */
function fillObserved(family: Family, key: string, { counts, sum }: Observed): void {
  if (counts.some((count) => count > 0)) family.fill(key, counts, sum);
}

type LevelFamilies = Record<"limit" | "currentR" | "dispatchR" | "latestS" | "nextS" | "discountedS", Family>;

function fillLevel(families: LevelFamilies, { name, max, now, next }: LevelFigures): void {
  families.limit.set(name, max);
  for (const family of [families.currentR, families.dispatchR, families.latestS]) family.set(name, now / 1000);
  const bounds = next.length === 0 ? [0, 0] : [least(next), -least(next.map((one) => -one))];
  for (const family of [families.nextS, families.discountedS]) {
    family.set(`min\0${name}`, (bounds[0] ?? 0) / 1000);
    family.set(`max\0${name}`, (bounds[1] ?? 0) / 1000);
  }
}

function least(values: readonly number[]): number {
  return values.reduce((least, value) => Math.min(least, value), Number.POSITIVE_INFINITY);
}

type SampleFamilies = Record<"requests" | "requestMarks" | "seats" | "seatMarks" | "kinds" | "kindMarks", Family>;

function sampleFamilies(
  histogram: (name: string, help: string, buckets: readonly number[], ...labels: string[]) => Family,
): SampleFamilies {
  const of = (name: string, help: string, ...labels: string[]): Family =>
    histogram(name, help, shareBuckets, ...labels);
  const marks = "The highest and the lowest of the last seconds.";
  return {
    requests: of("priority_level_request_count_samples", "Requests as part of their limit.", "phase", "priority_level"),
    requestMarks: of("priority_level_request_count_watermarks", marks, "mark", "phase", "priority_level"),
    seats: of(
      "priority_level_seat_count_samples",
      "Seats in use as part of those there are.",
      "phase",
      "priority_level",
    ),
    seatMarks: of("priority_level_seat_count_watermarks", marks, "mark", "phase", "priority_level"),
    kinds: of("read_vs_write_request_count_samples", "Requests as part of their limit.", "phase", "request_kind"),
    kindMarks: of("read_vs_write_request_count_watermarks", marks, "mark", "phase", "request_kind"),
  };
}

function sample(families: SampleFamilies, levels: readonly LevelFigures[], kinds: readonly KindFigures[]): void {
  const observe = (samples: Family, marks: Family, key: string, count: number, max: number): void => {
    const part = max === 0 ? 0 : count / max;
    samples.observe(key, part);
    // One look is both: what was in between is not known.
    marks.observe(`high\0${key}`, part);
    marks.observe(`low\0${key}`, part);
  };
  for (const { name, max, waiting, executing, executingSeats, waitingMax } of levels) {
    observe(families.requests, families.requestMarks, `executing\0${name}`, executing, max);
    observe(families.requests, families.requestMarks, `waiting\0${name}`, waiting, waitingMax);
    observe(families.seats, families.seatMarks, `executing\0${name}`, executingSeats, max);
  }
  for (const { kind, executing, waiting, max } of kinds) {
    observe(families.kinds, families.kindMarks, `executing\0${kind}`, executing, max);
    observe(families.kinds, families.kindMarks, `waiting\0${kind}`, waiting, max);
  }
}
