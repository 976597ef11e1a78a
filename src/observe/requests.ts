// Metrics and log lines of requests: upstream's metric names, and a log line for slow and failed ones.
import { AssertionFailure } from "../base/assert.ts";
import type { Logger } from "./log.ts";
import type { Family, Registry } from "./metrics.ts";
import type { Timing } from "./trace.ts";

/** Labels of a request: texts of the scheme, never of the path. */
export interface RequestTarget {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  readonly scope: "cluster" | "namespace" | "resource" | "";
  /** LIST, WATCH, GET, POST, PUT, PATCH, APPLY, DELETE, DELETECOLLECTION, CONNECT; the method for anything else. */
  readonly verb: string;
}

/** One finished request. Texts that become labels come from our own tables. */
export interface RequestRecord extends RequestTarget {
  readonly id: string;
  readonly user: string;
  readonly method: string;
  readonly path: string;
  /** Refused because too many requests were under way. */
  readonly dropped: boolean;
  readonly dryRun: boolean;
  /** Of the audit event; undefined: none. */
  readonly annotations: ReadonlyMap<string, string> | undefined;
  readonly code: number;
  /** Bytes of the answer's body; -1 for streams. */
  readonly bytes: number;
  readonly durationMs: number;
  readonly agent: string;
  /** Address of the peer, where it was asked for while the connection was there (Exchange.remote). */
  readonly remote: string;
  /** Bytes of its body that were sent, of a stream as well; before compression, as far as it is done on the way out. */
  readonly sentBytes: number;
  /** Milliseconds by stage, when a trace was requested. */
  readonly timing: Timing | undefined;
  /** The same of a request that took long, asked or not. */
  readonly stages: Timing | undefined;
}

/** What decides whether a request is logged. */
export type RequestEnd = Pick<RequestRecord, "code" | "dropped" | "durationMs">;

/** How a request counts while it is in flight. */
export type RequestKind = "readOnly" | "mutating" | "long";

/** Observer of requests. */
export interface Observer {
  /** A request was resolved: in flight until `finished`. */
  started(kind: RequestKind, target: RequestTarget): void;
  finished(kind: RequestKind, record: RequestRecord): void;
  /** Whether a request that ends like this is logged, with the address of its peer, which has to be asked for in time. */
  logs(kind: RequestKind, end: RequestEnd): boolean;
  /** A request for a deprecated version was served. */
  deprecated(group: string, version: string, resource: string, subresource: string, removedIn: string): void;
  /** A list was answered from the log of a prefix. */
  listed(prefix: string, objects: number): void;
  /** A fault of ours or of a dependency; never shown to the client. `id`: the request's, empty for a watch. */
  fault(id: string, error: unknown): void;
}

/** Upper bounds in seconds, upstream's. */
const secondBuckets = [0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60];
const byteBuckets = [1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];

/** Requests slower than this are logged at the default level. */
const slowMs = 1000;

/** The families of requests. */
interface RequestFamilies {
  readonly total: Family;
  readonly duration: Family;
  /** Without long-running requests. */
  readonly short: Family;
  readonly sizes: Family;
  readonly inflight: Family;
  readonly long: readonly Family[];
  readonly aborts: Family;
  readonly outdated: Family;
  readonly dropped: Family;
  readonly terminated: Family;
  readonly lists: Family;
  readonly listed: Family;
  readonly faults: Family;
}

/** Names upstream gave up in the release served. */
function deprecated(family: Family): Family {
  family.deprecatedIn = 23;
  return family;
}

/** The name of their durations changed with 1.26. */
function shortName(release: number): string {
  return `apiserver_request_${release < 26 ? "slo" : "sli"}_duration_seconds`;
}

function shortDurations(registry: Registry, release: number, target: readonly string[]): Family {
  const help = "The same without long-running requests.";
  return registry.histogram(shortName(release), help, secondBuckets, "verb", ...target);
}

/** Registers the families, by the names of upstream's release 1.`release`. */
function families(registry: Registry, release: number): RequestFamilies {
  const where = ["group", "version", "resource", "subresource", "scope"];
  const target = [...where, "component"];
  const seconds = (name: string, help: string, ...labels: string[]): Family =>
    registry.histogram(name, help, secondBuckets, ...labels, ...target);
  const watches = (name: string): Family => registry.gauge(name, "Watches being served.", "verb", ...target);
  return {
    total: registry.counter(
      "apiserver_request_total",
      "Requests by verb, resource and code.",
      "verb",
      "dry_run",
      ...target,
      "code",
    ),
    duration: seconds(
      "apiserver_request_duration_seconds",
      "Seconds from the request to the end of its answer.",
      "verb",
      "dry_run",
    ),
    short: shortDurations(registry, release, target),
    sizes: registry.histogram("apiserver_response_sizes", "Bytes of answers.", byteBuckets, "verb", ...target),
    inflight: registry.gauge("apiserver_current_inflight_requests", "Requests being served.", "request_kind"),
    long: [deprecated(watches("apiserver_longrunning_gauge")), watches("apiserver_longrunning_requests")],
    aborts: registry.counter(
      "apiserver_request_aborts_total",
      "Requests whose client went away before the answer.",
      "verb",
      ...where,
    ),
    outdated: registry.fact(
      "apiserver_requested_deprecated_apis",
      "Deprecated versions that were asked for.",
      "group",
      "removed_release",
      "resource",
      "subresource",
      "version",
    ),
    dropped: registry.counter(
      "apiserver_dropped_requests_total",
      "Requests refused because too many were under way.",
      "request_kind",
    ),
    terminated: registry.counter(
      "apiserver_request_terminations_total",
      "Requests the server ended to protect itself.",
      "verb",
      ...target,
      "code",
    ),
    lists: registry.counter(
      "apiserver_cache_list_total",
      "Lists answered from a log in memory.",
      "resource_prefix",
      "index",
    ),
    listed: registry.counter(
      "apiserver_cache_list_returned_objects_total",
      "Objects in lists answered from a log in memory.",
      "resource_prefix",
    ),
    faults: registry.counter("orch_request_faults_total", "Requests and watches that met a fault of ours.", "kind"),
  };
}

function kindOfFault(error: unknown): string {
  return error instanceof AssertionFailure ? "assertion" : "error";
}

/** Counts into `registry`, by the names of release 1.`release`, and logs to `log`. */
export function createObserver(registry: Registry, log: Logger, release = 23): Observer {
  const { inflight, long, outdated, lists, listed, faults, ...others } = families(registry, release);
  const counted: Counted = { ...others, known: new Map() };
  for (const kind of ["readOnly", "mutating"]) inflight.set(kind, 0);
  const moved = (kind: RequestKind, target: RequestTarget, by: number): void => {
    if (kind !== "long") return inflight.add(kind, by);
    for (const family of long) family.add(`${target.verb}\0${keyOf(target)}\0apiserver`, by);
  };
  return {
    started: (kind, target) => moved(kind, target, 1),
    finished: (kind, record) => {
      moved(kind, record, -1);
      count(counted, record, kind);
      logRequest(log, record, kind);
    },
    logs: (kind, end) => isNotable(kind, end) || log.isLevelEnabled("debug"),
    deprecated: (group, version, resource, subresource, removedIn) => {
      outdated.set(`${group}\0${removedIn}\0${resource}\0${subresource}\0${version}`, 1);
    },
    listed: (prefix, objects) => {
      lists.add(`${prefix}\0`);
      listed.add(prefix, objects);
    },
    fault: (id, error) => {
      faults.add(kindOfFault(error));
      log.error({ id, err: error }, "A request met a fault");
    },
  };
}

type Counted = Pick<RequestFamilies, "total" | "duration" | "short" | "sizes" | "aborts" | "dropped" | "terminated"> & {
  readonly known: Map<string, Keys>;
};

function count(to: Counted, record: RequestRecord, kind: RequestKind): void {
  const keys = keysOf(to.known, record);
  const seconds = record.durationMs / 1000;
  to.total.add(keys.total);
  to.duration.observe(keys.duration, seconds);
  if (kind !== "long") {
    to.short.observe(keys.target, seconds);
  }
  if (record.bytes >= 0 && kind === "readOnly") to.sizes.observe(keys.target, record.bytes);
  if (record.code === 499) to.aborts.add(`${record.verb}\0${keyOf(record)}`);
  if (!record.dropped) return;
  to.dropped.add(kind);
  to.terminated.add(`${keys.target}\0${record.code}`);
}

/** Label values of the families every request counts in. */
interface Keys {
  readonly total: string;
  readonly duration: string;
  readonly target: string;
}

/** Kinds of requests that are alike; as many as one family has series. */
const keysMax = 10_000;

/** Joined once for requests that are alike: a text that is put together anew is hashed anew. */
function keysOf(known: Map<string, Keys>, record: RequestRecord): Keys {
  const { verb, code } = record;
  const at = keyOf(record);
  const dry = record.dryRun ? "All" : "";
  const alike = `${verb}\0${dry}\0${at}\0${code}`;
  let keys = known.get(alike);
  if (keys === undefined) {
    const component = record.resource === "" ? "" : "apiserver";
    const target = `${verb}\0${at}\0${component}`;
    const duration = `${verb}\0${dry}\0${at}\0${component}`;
    keys = { total: `${duration}\0${code}`, duration, target };
    if (known.size >= keysMax) known.clear();
    known.set(alike, keys);
  }
  return keys;
}

function keyOf({ group, version, resource, subresource, scope }: RequestTarget): string {
  return `${group}\0${version}\0${resource}\0${subresource}\0${scope}`;
}

/** Whether a request is logged at the default level: a refusal takes long when it is held back. */
function isNotable(kind: RequestKind, { code, dropped, durationMs }: RequestEnd): boolean {
  return code >= 500 || (kind !== "long" && !dropped && durationMs > slowMs);
}

function logRequest(log: Logger, record: RequestRecord, kind: RequestKind): void {
  const notable = isNotable(kind, record);
  if (!notable && !log.isLevelEnabled("debug")) return;
  const line = {
    id: record.id,
    user: record.user,
    verb: record.verb,
    path: record.path,
    code: record.code,
    latencyMs: Math.round(record.durationMs * 10) / 10,
    agent: record.agent,
    remote: record.remote,
    ...(record.timing === undefined ? {} : { timing: record.timing }),
  };
  if (notable) log.info(line, "Request");
  else log.debug(line, "Request");
}
