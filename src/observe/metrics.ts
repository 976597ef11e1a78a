// Metrics in Prometheus text. Each thread counts into a registry of its own, without locks; a scrape gathers the
// snapshots and adds them up. Label values come from our own tables, never from a request's text, and every family
// is bounded: beyond seriesMax a value is counted under "other".
import { assert } from "../base/assert.ts";

/** Types of metrics. */
export type MetricType = "counter" | "gauge" | "histogram" | "summary";

/** Series one family may have; upstream's widest (requests) stays below. */
const seriesMax = 10_000;

/** How the values of several threads become one. */
export type MetricMerge = "sum" | "max";

/**
 * One family as threads send it: plain data, and the numbers of all series in one array, which is copied to another
 * thread a hundred times faster than an array for each.
 */
export interface FamilySnapshot {
  readonly name: string;
  readonly help: string;
  readonly type: MetricType;
  readonly merge: MetricMerge;
  readonly deprecatedIn: number | undefined;
  readonly labels: readonly string[];
  readonly buckets: readonly number[];
  /** Label values of each series, joined by a zero byte. */
  readonly keys: readonly string[];
  /** Numbers of one series: counts per bucket, then count and sum (summaries as well), or the one value. */
  readonly width: number;
  /** Of all series, in the order of `keys`. */
  readonly values: Float64Array<ArrayBuffer>;
}

/** The series of a snapshot, one by one. */
export function seriesOf({ keys, values, width }: FamilySnapshot): readonly (readonly [key: string, number[]])[] {
  return keys.map((key, at) => [key, [...values.subarray(at * width, (at + 1) * width)]]);
}

/** Quantiles of a summary (upstream). */
const quantiles = [0.5, 0.9, 0.99];
/** Upper bounds a summary counts in, seconds: each a tenth above the one before, from 10 us to a minute. */
const summaryStep = 1.1;
const summaryBounds = Array.from({ length: 165 }, (_, at) => 1e-5 * summaryStep ** at);

/** A family of series that differ in their labels. */
export class Family {
  readonly name: string;
  readonly help: string;
  readonly type: MetricType;
  /** Counts and most gauges add up. */
  merge: MetricMerge = "sum";
  /** The release since which another family should be read: `1.<this>`. */
  deprecatedIn: number | undefined;
  readonly labels: readonly string[];
  readonly buckets: readonly number[];
  readonly #series = new Map<string, Float64Array>();

  constructor(
    type: MetricType,
    name: string,
    help: string,
    labels: readonly string[],
    buckets: readonly number[] = [],
  ) {
    this.type = type;
    this.name = name;
    this.help = help;
    this.labels = labels;
    this.buckets = buckets;
    if (labels.length === 0) this.series("");
  }

  /** Adds to a counter or gauge. `key`: label values joined by a zero byte, in the family's order. */
  add(key: string, amount = 1): void {
    const values = this.series(key);
    values[0] = (values[0] ?? 0) + amount;
  }

  /** Sets a gauge. */
  set(key: string, value: number): void {
    this.series(key)[0] = value;
  }

  /** Counts one observation of a histogram. */
  observe(key: string, value: number): void {
    this.observeIn(this.series(key), value);
  }

  /** Counts one observation of a histogram in a series of it. */
  observeIn(values: Float64Array, value: number): void {
    const { buckets } = this;
    let at = 0;
    while (at < buckets.length && value > (buckets[at] ?? 0)) at++;
    if (at < buckets.length) values[at] = (values[at] ?? 0) + 1;
    values[buckets.length] = (values[buckets.length] ?? 0) + 1;
    values[buckets.length + 1] = (values[buckets.length + 1] ?? 0) + value;
  }

  /** Counts one observation of a summary, in seconds. */
  summarize(key: string, value: number): void {
    const values = this.series(key);
    const { length } = summaryBounds;
    const at = Math.ceil(Math.log(value / 1e-5) / Math.log(summaryStep));
    const bucket = Math.min(Math.max(at, 0), length - 1);
    values[bucket] = (values[bucket] ?? 0) + 1;
    values[2 * length] = (values[2 * length] ?? 0) + 1;
    values[2 * length + 1] = (values[2 * length + 1] ?? 0) + value;
  }

  /** Quantiles of a summary drop observations from before the last call but one. */
  age(): void {
    const { length } = summaryBounds;
    for (const values of this.#series.values()) values.copyWithin(length, 0, length).fill(0, 0, length);
  }

  /** Sets a histogram that is counted elsewhere: observations per bucket and above the last one, and their sum. */
  fill(key: string, counts: readonly number[], sum: number): void {
    const values = this.series(key);
    const { length } = this.buckets;
    for (let at = 0; at < length; at++) values[at] = counts[at] ?? 0;
    values[length] = counts.reduce((total, count) => total + count, 0);
    values[length + 1] = sum;
  }

  /** Forgets all series of a gauge that is filled anew per scrape. */
  clear(): void {
    this.#series.clear();
  }

  /** Forgets series by their label values; a gauge that still counts something stays. */
  prune(isGone: (values: readonly string[]) => boolean): void {
    for (const [key, values] of this.#series) {
      if ((this.type !== "gauge" || values[0] === 0) && isGone(key.split("\0"))) this.#series.delete(key);
    }
  }

  snapshot(): FamilySnapshot {
    const { name, help, type, merge, deprecatedIn, labels, buckets } = this;
    const isSummary = type === "summary";
    const width = isSummary ? summaryBounds.length + 2 : sizeOf(this);
    const values = new Float64Array(width * this.#series.size);
    let at = 0;
    for (const one of this.#series.values()) {
      values.set(isSummary ? summarySnapshot(one) : one, at);
      at += width;
    }
    return { name, help, type, merge, deprecatedIn, labels, buckets, keys: [...this.#series.keys()], width, values };
  }

  /** The numbers of one series. Whoever counts in it often may keep them, but of a family that forgets series. */
  series(key: string): Float64Array {
    const known = this.#series.get(key);
    if (known !== undefined) return known;
    const other = Array(this.labels.length).fill("other").join("\0");
    // The one series beyond the bound takes everything that came too late.
    if (this.#series.size >= seriesMax && key !== other) return this.series(other);
    const values = new Float64Array(sizeOf(this));
    this.#series.set(key, values);
    return values;
  }
}

/** State of one series; a summary counts in two halves, of which age() drops one. */
function sizeOf({ type, buckets }: Family): number {
  if (type === "summary") return 2 * summaryBounds.length + 2;
  return type === "histogram" ? buckets.length + 2 : 1;
}

/** Both halves of a summary's counts added up, then count and sum. */
function summarySnapshot(values: Float64Array): number[] {
  const { length } = summaryBounds;
  const counts = Array.from({ length }, (_, at) => (values[at] ?? 0) + (values[length + at] ?? 0));
  return [...counts, ...values.subarray(2 * length)];
}

/** The families of one thread. */
export class Registry {
  readonly #families: Family[] = [];
  readonly #collectors: (() => void)[] = [];

  counter(name: string, help: string, ...labels: string[]): Family {
    return this.keep(new Family("counter", name, help, labels));
  }

  gauge(name: string, help: string, ...labels: string[]): Family {
    return this.keep(new Family("gauge", name, help, labels));
  }

  /** A gauge of facts that are the same for the whole server whichever thread knows them. */
  fact(name: string, help: string, ...labels: string[]): Family {
    const family = this.gauge(name, help, ...labels);
    family.merge = "max";
    return family;
  }

  histogram(name: string, help: string, buckets: readonly number[], ...labels: string[]): Family {
    return this.keep(new Family("histogram", name, help, labels, buckets));
  }

  /** Quantiles, count and sum of seconds. */
  summary(name: string, help: string, ...labels: string[]): Family {
    return this.keep(new Family("summary", name, help, labels));
  }

  /** Removes series of families with these labels for removed values, in the order of `labels`. */
  prune(labels: readonly string[], isGone: (values: readonly string[]) => boolean): void {
    for (const family of this.#families) {
      const at = labels.map((label) => family.labels.indexOf(label));
      if (at.includes(-1)) continue;
      family.prune((values) => isGone(at.map((place) => values[place] ?? "")));
    }
  }

  /** Calls `collect` before each snapshot, to fill gauges that are read rather than counted. */
  onCollect(collect: () => void): void {
    this.#collectors.push(collect);
  }

  snapshot(): FamilySnapshot[] {
    for (const collect of this.#collectors) collect();
    return this.#families.map((family) => family.snapshot());
  }

  /** Shows a family among the others, also one that is counted for longer than there is a registry. */
  keep(family: Family): Family {
    assert(!this.#families.some((f) => f.name === family.name), `Metric ${family.name} exists`);
    this.#families.push(family);
    return family;
  }
}

/** Which deprecated families are shown. */
export interface MetricLifecycle {
  /** `1.<this>` is the release served. */
  readonly release: number;
  /** Families that this release hides and `1.<this>` showed are shown as well. */
  readonly hiddenFor: number | undefined;
}

/** Releases for which a deprecated family is still shown (the document: three), and for one more on demand. */
const deprecatedReleases = 3;

function isShown({ deprecatedIn }: FamilySnapshot, { release, hiddenFor }: MetricLifecycle): boolean {
  if (deprecatedIn === undefined) return true;
  const age = release - deprecatedIn;
  return age < deprecatedReleases || (age === deprecatedReleases && hiddenFor === release - 1);
}

/** Adds up the snapshots of all threads and writes the exposition format, families by name. */
export function exposition(
  snapshots: readonly (readonly FamilySnapshot[])[],
  lifecycle: MetricLifecycle = { release: 0, hiddenFor: undefined },
): string {
  const merged = mergeSnapshots(snapshots, (family) => isShown(family, lifecycle));
  const lines: string[] = [];
  for (const name of [...merged.keys()].sort()) {
    const entry = merged.get(name);
    if (entry === undefined) continue;
    const { help, deprecatedIn } = entry.family;
    const since = deprecatedIn === undefined ? "" : `(Deprecated since 1.${deprecatedIn}.0) `;
    const prefix = `${stabilityOf(name)}${since}`;
    lines.push(`# HELP ${name} ${prefix}${help}`, `# TYPE ${name} ${entry.family.type}`);
    for (const [key, values] of entry.series) writeSeries(lines, entry.family, key, values);
  }
  return `${lines.join("\n")}\n`;
}

/** Families that upstream promises not to change; all others of its names may go. */
const stable: ReadonlySet<string> = new Set([
  "apiserver_admission_controller_admission_duration_seconds",
  "apiserver_admission_step_admission_duration_seconds",
  "apiserver_admission_webhook_admission_duration_seconds",
  "apiserver_current_inflight_requests",
  "apiserver_request_duration_seconds",
  "apiserver_request_total",
  "apiserver_requested_deprecated_apis",
  "apiserver_response_sizes",
  "apiserver_storage_objects",
]);

/** How upstream's families begin that have a stability; ours, and those of the process, have none. */
const upstreamName =
  /^(?:aggregator|apiextensions|apiserver|authenticated|authentication|endpoint_slice|etcd|kube|kubernetes|node|pod|rest|serviceaccount|watch|workqueue)_/;

/** What upstream says of a family's stability, in front of its help. */
function stabilityOf(name: string): string {
  if (stable.has(name)) return "[STABLE] ";
  return upstreamName.test(name) ? "[ALPHA] " : "";
}

/** A family of all threads: the values of each series, by its key. */
export interface MergedFamily {
  readonly family: FamilySnapshot;
  readonly series: ReadonlyMap<string, Float64Array>;
}

/** Adds up the snapshots of all threads, of families that `takes` wants; by name. */
export function mergeSnapshots(
  snapshots: readonly (readonly FamilySnapshot[])[],
  takes: (family: FamilySnapshot) => boolean = () => true,
): ReadonlyMap<string, MergedFamily> {
  const merged = new Map<string, { family: FamilySnapshot; series: Map<string, Float64Array> }>();
  for (const family of snapshots.flat()) {
    if (!takes(family)) continue;
    let entry = merged.get(family.name);
    if (entry === undefined) {
      entry = { family, series: new Map() };
      merged.set(family.name, entry);
    }
    const { keys, width, values } = family;
    for (const [at, key] of keys.entries()) {
      const own = values.subarray(at * width, (at + 1) * width);
      const sum = entry.series.get(key);
      // A copy: what is added to it must not change the snapshot.
      if (sum === undefined) entry.series.set(key, own.slice());
      else addTo(sum, own, family.merge);
    }
  }
  return merged;
}

function addTo(all: Float64Array, values: Float64Array, merge: MetricMerge): void {
  for (let i = 0; i < values.length; i++) {
    const [a = 0, b = 0] = [all[i], values[i]];
    all[i] = merge === "sum" ? a + b : Math.max(a, b);
  }
}

function writeSeries(lines: string[], family: FamilySnapshot, key: string, values: Float64Array): void {
  const { name, buckets } = family;
  const parts = family.labels.length === 0 ? [] : key.split("\0");
  // In the order of their names, as upstream's: whoever compares texts finds the same.
  const labels = family.labels.map((label, i) => `${label}="${escapeLabel(parts[i] ?? "")}"`).sort();
  const text = labels.length === 0 ? "" : `{${labels.join(",")}}`;
  if (family.type === "summary") return writeSummary(lines, name, labels, values);
  if (family.type !== "histogram") {
    lines.push(`${name}${text} ${values[0] ?? 0}`);
    return;
  }
  let cumulative = 0;
  for (let i = 0; i < buckets.length; i++) {
    cumulative += values[i] ?? 0;
    lines.push(`${name}_bucket{${[...labels, `le="${boundText(buckets[i] ?? 0)}"`].join(",")}} ${cumulative}`);
  }
  lines.push(`${name}_bucket{${[...labels, 'le="+Inf"'].join(",")}} ${values[buckets.length] ?? 0}`);
  lines.push(
    `${name}_sum${text} ${values[buckets.length + 1] ?? 0}`,
    `${name}_count${text} ${values[buckets.length] ?? 0}`,
  );
}

/** A bound as upstream writes it: `1e-08`. */
function boundText(bound: number): string {
  return bound > 0 && bound < 1e-4 ? bound.toExponential().replace(/e-(\d)$/, "e-0$1") : String(bound);
}

function writeSummary(lines: string[], name: string, labels: readonly string[], values: Float64Array): void {
  const counts = values.subarray(0, summaryBounds.length);
  const [count = 0, sum = 0] = values.subarray(summaryBounds.length);
  const all = counts.reduce((total, one) => total + one, 0);
  for (const quantile of quantiles) {
    const shown = [...labels, `quantile="${quantile}"`].join(",");
    lines.push(`${name}{${shown}} ${all === 0 ? "NaN" : valueAt(counts, quantile * all)}`);
  }
  const text = labels.length === 0 ? "" : `{${labels.join(",")}}`;
  lines.push(`${name}_sum${text} ${sum}`, `${name}_count${text} ${count}`);
}

/** The bound below which `rank` observations lie, three digits of it. */
function valueAt(counts: Float64Array, rank: number): number {
  let seen = 0;
  const at = counts.findIndex((count) => (seen += count) >= rank);
  return Number((summaryBounds[at] ?? 0).toPrecision(3));
}

function escapeLabel(value: string): string {
  return value.replace(/[\\"\n]/g, (c) => (c === "\n" ? "\\n" : `\\${c}`));
}
