// The record of one request: its id, what its answer carries besides its own, and the one report at its end.
import { randomUUID } from "node:crypto";
import { minorOf, type Resource, type Scheme } from "../../api/scheme.ts";
import { isStatus, type Status } from "../../api/status.ts";
import type { Entry } from "../../audit/entry.ts";
import type { Stage } from "../../audit/event.ts";
import type { Question } from "../../authz/authorizer.ts";
import { assert } from "../../base/assert.ts";
import { slowRequestMs } from "../../observe/console/detail.ts";
import type { RequestKind, RequestRecord, RequestTarget } from "../../observe/requests.ts";
import { endRequest } from "../../observe/requestspan.ts";
import type { TraceSpans } from "../../observe/spans.ts";
import { noTrace, type Trace } from "../../observe/trace.ts";
import { asksUpgrade, type Exchange } from "../exchange/transport.ts";
import { isConnect, lasts, type RequestInfo, type ResourceInfo, type Route, resolve } from "../route/info.ts";
import type { Server } from "./context.ts";

/** Keeps the record of one request and reports it once. */
export class Book {
  /** The client's own Audit-ID, or one of ours. */
  readonly id: string;
  user = "";
  /** What is written down of the request; undefined: nothing. */
  audit: Entry | undefined;
  trace: Trace = noTrace;
  done = false;
  readonly headers: (readonly [string, string])[];
  readonly #server: Server;
  /** Undefined once the answer outlives the handler: a watch keeps its request's record, not the request. */
  #exchange: Exchange | undefined;
  #info: RequestInfo | Status | undefined;
  readonly #target: RequestTarget;
  readonly #agent: string;
  /** On the monotonic clock. */
  readonly startedMs: number;
  readonly kind: RequestKind;
  #code = 0;
  #bytes = 0;
  #sentBytes = 0;
  #gone = false;
  #dropped = false;
  #closed = false;

  constructor(server: Server, exchange: Exchange, route: Route) {
    const { info } = route;
    this.#server = server;
    this.#exchange = exchange;
    this.#info = info;
    this.#target = targetOf(server, exchange, route);
    this.#agent = exchange.header("user-agent") ?? "";
    this.startedMs = server.clock.monotonic();
    this.id = askedId(exchange.header("audit-id")) ?? randomUUID();
    this.headers = [["Audit-Id", this.id]];
    const asked = isRefusedMethod(info) ? resolve(server.scheme.current(), "GET", exchange.path, "").info : info;
    const warning = deprecation(asked, server.scheme.release);
    if (warning !== undefined) this.headers.push(["Warning", `299 - "${warning}"`]);
    this.kind = kindOf(exchange, route);
    server.observer.started(this.kind, this.#target);
  }

  /** Bytes of the answer that were sent so far. */
  get bytes(): number {
    return Math.max(this.#bytes, this.#sentBytes);
  }

  /** It is refused because too many requests are under way. */
  drop(): void {
    this.#dropped = true;
  }

  /** Told by the answering stage just before bytes leave. */
  answered(code: number, bytes: number): void {
    this.audit?.answered(code);
    // The handler need not know that the client is gone.
    if (this.#gone) return;
    assert(!this.done, "A request is answered twice");
    this.done = true;
    this.#code = code;
    this.#bytes = bytes;
    const end = { code, dropped: this.#dropped, durationMs: this.#server.clock.monotonic() - this.startedMs };
    // It is known from here on, also when the connection is gone.
    if (this.#server.observer.logs(this.kind, end)) this.#exchange?.noteRemote?.();
  }

  /** More of a streamed answer is on its way. */
  sent(bytes: number): void {
    this.#sentBytes += bytes;
  }

  /** The client went away before the answer. */
  gone(): void {
    if (this.done) return;
    this.#code = 499;
    this.#gone = true;
    this.done = true;
  }

  /** Reports the request, unless its answer lasts. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    const record = this.#record();
    this.#server.observer.finished(this.kind, record);
    if (this.trace.spans !== undefined) endRequest(this.trace.spans, record);
    this.#reportDeprecated();
    if (this.kind === "long" || this.#connects()) this.#reached("ResponseStarted", record);
    this.#reached("ResponseComplete", record);
  }

  /** Also refused, what might have lasted has two events of its answer (upstream). */
  #connects(): boolean {
    const info = this.#info;
    return info !== undefined && !isStatus(info) && info.isResource && isConnect({ info });
  }

  /** A fault of ours ends the request: the last that is written of it. */
  failed(error: unknown): void {
    const { audit } = this;
    if (audit === undefined) return;
    // What the error says may hold what was sent: the log line of the same id has it.
    const name = error instanceof Error ? error.name : "unknown";
    audit.ends(500, "Failure", `APIServer panic'd: ${name}`, "InternalError");
    this.#reached("Panic", this.#record());
    this.audit = undefined;
  }

  /** The answer was begun and goes on after the handler: call what is returned once, when it is over. */
  lasts(): () => void {
    assert(!this.#closed, "A request lasts after its report");
    this.#closed = true;
    this.#reportDeprecated();
    const record = this.#record();
    this.#exchange = undefined;
    this.#info = undefined;
    this.#reached("ResponseStarted", record);
    // A watch keeps nothing of it that will not be written.
    const audit = this.audit?.coverage.omitStages.has("ResponseComplete") ? undefined : this.audit;
    return report(this.#server, this.kind, record, this.startedMs, audit, this.trace.spans);
  }

  #reached(stage: Stage, { annotations }: RequestRecord): void {
    if (this.audit === undefined) return;
    for (const [key, value] of annotations ?? []) this.audit.annotations.set(key, value);
    this.audit.reached(stage);
  }

  #reportDeprecated(): void {
    const info = this.#info;
    if (info === undefined || isStatus(info) || !info.isResource || this.#code >= 400) return;
    if (!isDeprecated(info.resource, this.#server.scheme.release)) return;
    const { group, version, resource, removedIn } = info.resource;
    this.#server.observer.deprecated(group, version, resource, info.subresource?.name ?? "", removedIn ?? "");
  }

  #record(): RequestRecord {
    const info = this.#info;
    const exchange = this.#exchange;
    assert(info !== undefined && exchange !== undefined, "A request is reported after it was let go");
    const resource = isStatus(info) || !info.isResource ? undefined : info;
    const durationMs = this.#server.clock.monotonic() - this.startedMs;
    const { verb, group, version, resource: name, subresource, scope } = this.#target;
    // Named one by one: a spread costs as much as all else here.
    return {
      id: this.id,
      user: this.user,
      method: exchange.method,
      path: exchange.path,
      verb,
      group,
      version,
      resource: name,
      subresource,
      scope,
      dropped: this.#dropped,
      dryRun: resource?.query.has("dryRun") ?? false,
      annotations: resource && notesOf(resource, this.#server.scheme),
      code: this.#code,
      bytes: this.#bytes,
      sentBytes: this.bytes,
      durationMs,
      agent: this.#agent,
      remote: exchange.remote,
      timing: this.trace.timing,
      stages: durationMs >= slowRequestMs ? this.trace.stages : undefined,
    };
  }
}

const nothing: Omit<RequestTarget, "verb"> = { group: "", version: "", resource: "", subresource: "", scope: "" };

const pagePaths: ReadonlySet<string> = new Set([
  "/",
  "/api",
  "/apis",
  "/healthz",
  "/livez",
  "/metrics",
  "/openapi/v2",
  "/openapi/v3",
  "/readyz",
  "/version",
]);

function targetOf(server: Server, exchange: Exchange, { info, asked, remote }: Route): RequestTarget {
  if (remote !== undefined) return remoteTarget(server, exchange, asked);
  if (isStatus(info)) return { ...nothing, verb: knownMethod(exchange.method) };
  if (!info.isResource) {
    // Paths that are ours: what clients ask for besides is no label.
    const subresource = pagePaths.has(info.path) ? info.path : "";
    return { ...nothing, subresource, verb: knownMethod(exchange.method) };
  }
  const { group, version, resource } = info.resource;
  return {
    verb: isApply(exchange, info.verb) ? "APPLY" : metricVerb(info.verb),
    group,
    version,
    resource,
    subresource: info.subresource?.name ?? "",
    scope: scopeOf(info),
  };
}

function scopeOf({ name, namespace }: { readonly name: string; readonly namespace: string }): RequestTarget["scope"] {
  return name !== "" ? "resource" : namespace !== "" ? "namespace" : "cluster";
}

/** Of what is asked of extension servers, only what they are known to have is a label. */
function remoteTarget({ extensions }: Server, exchange: Exchange, asked: Question): RequestTarget {
  if (!asked.isResource) return { ...nothing, verb: knownMethod(exchange.method) };
  const { group, version } = asked;
  const isKnown = extensions.names.has(asked);
  const { resource, subresource } = isKnown ? asked : nothing;
  const isConnect = asksUpgrade(exchange) !== undefined;
  const verb = isConnect ? "CONNECT" : verbs.has(asked.verb) ? metricVerb(asked.verb) : knownMethod(exchange.method);
  return { verb, group, version, resource, subresource, scope: scopeOf(asked) };
}

const verbs: ReadonlySet<string> = new Set([
  "get",
  "list",
  "watch",
  "create",
  "update",
  "patch",
  "delete",
  "deletecollection",
]);

function report(
  server: Server,
  kind: RequestKind,
  record: RequestRecord,
  startedMs: number,
  audit: Entry | undefined,
  spans: TraceSpans | undefined,
): () => void {
  const { clock, observer } = server;
  return () => {
    observer.finished(kind, { ...record, durationMs: clock.monotonic() - startedMs });
    if (spans !== undefined) endRequest(spans, record);
    audit?.reached("ResponseComplete");
  };
}

function kindOf(exchange: Exchange, { info, asked, remote }: Route): RequestKind {
  if (!isStatus(info) && info.isResource && info.verb === "watch") return "long";
  if (remote !== undefined && (lasts(asked) || asksUpgrade(exchange) !== undefined)) return "long";
  const { method } = exchange;
  return method === "GET" || method === "HEAD" ? "readOnly" : "mutating";
}

const methods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

/** Methods as a metric label: all that are not defined are one value. */
function knownMethod(method: string): string {
  return methods.has(method) ? method : "other";
}

/** An apply is counted by itself (upstream). */
function isApply(exchange: Exchange, verb: string): boolean {
  return verb === "patch" && exchange.header("content-type")?.startsWith("application/apply-patch+yaml") === true;
}

function metricVerb(verb: string): string {
  switch (verb) {
    case "create":
      return "POST";
    case "update":
      return "PUT";
    default:
      return verb.toUpperCase();
  }
}

/** Deprecated as of the release served; later deprecations are not announced yet. */
function isDeprecated({ deprecatedIn }: Resource, release: number): boolean {
  return deprecatedIn !== undefined && minorOf(deprecatedIn) <= release;
}

/** What the audit event of a request is told: whether it asked for a deprecated version. */
function notesOf({ resource }: ResourceInfo, { identity, release }: Scheme): ReadonlyMap<string, string> | undefined {
  if (!isDeprecated(resource, release)) return undefined;
  const { removedIn } = resource;
  const notes = new Map([[identity.spell("k8s.io/deprecated"), "true"]]);
  if (removedIn !== undefined) notes.set(identity.spell("k8s.io/removed-release"), removedIn);
  return notes;
}

/** A resource that does not take the method is still a resource that may be deprecated. */
function isRefusedMethod(info: RequestInfo | Status): boolean {
  return isStatus(info) && info.code === 405;
}

/** The text of the Warning header for a deprecated version. */
function deprecation(info: RequestInfo | Status, release: number): string | undefined {
  if (isStatus(info) || !info.isResource) return undefined;
  if (info.resource.deprecationWarning !== undefined) return info.resource.deprecationWarning;
  if (!isDeprecated(info.resource, release)) return undefined;
  const { apiVersion, kind, deprecatedIn, removedIn, replacement } = info.resource;
  const gone = removedIn === undefined ? "" : `, unavailable in v${removedIn}+`;
  const use =
    replacement === undefined
      ? ""
      : `; use ${replacement.group === "" ? "" : `${replacement.group}/`}${replacement.version} ${replacement.kind}`;
  return `${apiVersion} ${kind} is deprecated in v${deprecatedIn}+${gone}${use}`;
}

/** The Audit-ID a client gave its request (upstream: kept as it is); it goes into a header and a log, so it must be plain. */
function askedId(id: string | undefined): string | undefined {
  return id !== undefined && /^[!-~]{1,256}$/.test(id) ? id : undefined;
}
