// The audit entry of one request, from its arrival to the end of its response: collected while the request runs, made
// into one line of JSON per stage. Fields, their order and their values are upstream's (audit.k8s.io/v1 Event).
import type { ApiObject } from "../api/object.ts";
import type { Message } from "../api/schema.ts";
import type { Status } from "../api/status.ts";
import { statusJson } from "../api/statusjson.ts";
import { formatMicroTime } from "../api/time.ts";
import type { User } from "../api/user.ts";
import type { Decision } from "../authz/authorizer.ts";
import type { Owner } from "../base/shares.ts";
import { encode, Fault, parseJson, quote, TooManyValues, textOf, writeValue } from "../codec/engine/json.ts";
import { parseYaml } from "../codec/yaml/yaml.ts";
import { limits } from "../config/limits.ts";
import type { Asked, Coverage, Stage } from "./event.ts";
import { redactQuery, tokensIn, withoutManagers, withoutTokens } from "./redact.ts";
import { sourcesOf } from "./sources.ts";

/** The parts of a request in an event. */
export interface Incoming {
  readonly exchange: IncomingExchange;
  /** The Audit-ID. */
  readonly id: string;
  /** On the monotonic clock. */
  readonly startedMs: number;
}

/** The part of an exchange that is looked at. */
export interface IncomingExchange {
  /** Raw, as it was sent. */
  readonly path: string;
  readonly query: string;
  /** Address of the peer. */
  readonly remote: string;
  header(name: string): string | undefined;
}

/** Shared by every entry of a front. */
export interface EntryContext {
  /** Names in the identity's spelling. */
  readonly names: EntryNames;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Milliseconds on the clock `startedMs` was read from. */
  readonly monotonic: () => number;
  readonly put: (event: string, owner: Owner) => void;
}

/** Names in events. */
export interface EntryNames {
  readonly apiVersion: string;
  readonly decision: string;
  readonly reason: string;
  readonly truncated: string;
}

/** The answer's status as far as it is known. */
interface Answered {
  code: number;
  status: string;
  message: string;
  reason: string;
}

/** One request under audit. */
export class Entry {
  /** Annotations of admission and others; authorization's are separate, because they are always present. */
  readonly annotations = new Map<string, string>();
  readonly coverage: Coverage;
  /** The owner its events are charged to. */
  readonly owner: Owner;
  /** Whether the bodies of the request, and of the answer, are wanted. */
  readonly wantsRequest: boolean;
  readonly wantsResponse: boolean;
  readonly #context: EntryContext;
  readonly #asked: Asked;
  /** JSON from the kind to the id, and from the URI to the agent, for every event of the request. */
  readonly #opening: string;
  readonly #uri: string;
  readonly #origin: string;
  readonly #receivedMs: number;
  readonly #startedMs: number;
  #acting = "";
  #reference = "";
  #decision = "";
  #reason: string | undefined;
  #answer: Answered | undefined;
  #request = "";
  #response = "";

  constructor(
    context: EntryContext,
    coverage: Coverage,
    { exchange, id, startedMs }: Incoming,
    asked: Asked,
    user: User | undefined,
    owner: Owner,
  ) {
    this.#context = context;
    this.coverage = coverage;
    this.owner = owner;
    this.wantsRequest = coverage.level !== "Metadata" && asked.isResource;
    this.wantsResponse = coverage.level === "RequestResponse" && asked.isResource;
    this.#asked = asked;
    this.#startedMs = startedMs;
    this.#receivedMs = context.now() - Math.max(0, context.monotonic() - startedMs);
    if (asked.isResource) this.#reference = referenceText(asked, asked.namespace, asked.name, "", "");
    const { apiVersion } = context.names;
    this.#opening = `{"kind":"Event","apiVersion":"${apiVersion}","level":"${coverage.level}","auditID":${quote(id)},"stage":"`;
    const { path, query, remote } = exchange;
    const uri = query === "" ? path : `${path}?${redactQuery(query)}`;
    const who = user === undefined ? "{}" : userText(user);
    this.#uri = `","requestURI":${quote(uri)},"verb":${quote(asked.verb)},"user":${who}`;
    const sources = sourcesOf(exchange.header("x-forwarded-for"), exchange.header("x-real-ip"), remote);
    this.#origin = originText(sources, exchange.header("user-agent") ?? "");
  }

  /** Sets the impersonated user. */
  impersonates(user: User): void {
    this.#acting = `,"impersonatedUser":${userText(user)}`;
  }

  /** Sets authorization's decision. */
  decided({ verdict, reason, error }: Decision): void {
    const unknown = verdict === "none" && error !== undefined;
    this.#decision = unknown ? "" : verdict === "allow" ? "allow" : "forbid";
    this.#reason = unknown ? "internal error" : reason;
  }

  /** The object that was sent, before anything was done to it; it is not kept. */
  requested(message: Message, object: ApiObject | object): void {
    const { metadata } = object as Partial<ApiObject>;
    if (metadata !== undefined && this.#asked.isResource) {
      const { namespace = "", name = "", uid = "", resourceVersion = "" } = metadata;
      const asked = this.#asked;
      this.#reference = referenceText(asked, asked.namespace || namespace, asked.name || name, uid, resourceVersion);
    }
    if (!this.wantsRequest) return;
    this.#request = this.#body(encode(message, object), "requestObject");
  }

  /** The patch of the request, as JSON or YAML; anything else is omitted, since its request is rejected. */
  patched(bytes: Uint8Array): void {
    if (!this.wantsRequest) return;
    const json = parseJson(bytes, limits.bodyValuesMax);
    if (json instanceof TooManyValues) return;
    const value = json instanceof Fault ? parseYaml(bytes, undefined, limits.bodyValuesMax) : json;
    if (value instanceof Fault) return;
    this.#request = this.#body(writeValue(value), "requestObject");
  }

  /** The answer is a refusal, or a Status that says all is well. */
  refused(status: Status): void {
    if (this.wantsResponse) this.#response = `,"responseObject":${statusJson(status)}`;
    const { success, reason, code } = status;
    this.#answer = { code, status: success ? "Success" : "Failure", message: "", reason };
  }

  /** The answer is this document, JSON of ours. */
  responded(json: Uint8Array): void {
    if (startsLikeStatus(json)) this.#answer = { code: 200, status: "Success", message: "", reason: "" };
    if (!this.wantsResponse) return;
    if (json.length > limits.auditObjectBytesMax) this.tooLarge();
    else this.#response = this.#body(textOf(json).trimEnd(), "responseObject");
  }

  /** The response is larger than the audited maximum. */
  tooLarge(): void {
    this.annotations.set(this.#context.names.truncated, "true");
  }

  /** The answer leaves with this code. */
  answered(code: number): void {
    if (this.#answer === undefined) this.#answer = { code, status: "", message: "", reason: "" };
    else this.#answer.code = code;
  }

  /** The answer is this, whatever was said about it before. */
  ends(code: number, status: string, message: string, reason: string): void {
    this.#answer = { code, status, message, reason };
  }

  /** Writes the event of a stage, unless the policy leaves that out. True: it was written. */
  reached(stage: Stage): boolean {
    if (this.coverage.omitStages.has(stage)) return false;
    // No response was sent, because the client had closed (upstream's words).
    if (stage !== "RequestReceived" && this.#answer === undefined)
      this.ends(200, "Success", "Connection closed early", "");
    this.#context.put(this.#text(stage), this.owner);
    return true;
  }

  #text(stage: Stage): string {
    const received = timeText(this.#receivedMs);
    const elapsed = this.#context.monotonic() - this.#startedMs;
    const reached = stage === "RequestReceived" ? received : timeText(this.#receivedMs + elapsed);
    return (
      `${this.#opening}${stage}${this.#uri}${this.#acting}${this.#origin}${this.#reference}` +
      `${stage === "RequestReceived" ? "" : this.#status()}${this.#request}${this.#response}` +
      `,"requestReceivedTimestamp":"${received}","stageTimestamp":"${reached}"${this.#notes()}}`
    );
  }

  #status(): string {
    if (this.#answer === undefined) return "";
    const { code, status, message, reason } = this.#answer;
    const said = `${field("status", status)}${field("message", message)}${field("reason", reason)}`;
    return `,"responseStatus":{"metadata":{}${said},"code":${code}}`;
  }

  #notes(): string {
    const { decision, reason } = this.#context.names;
    if (this.annotations.size === 0) {
      if (this.#reason === undefined) return "";
      const decided = this.#decision === "" ? "" : `"${decision}":"${this.#decision}",`;
      return `,"annotations":{${decided}"${reason}":${quote(this.#reason)}}`;
    }
    const all = new Map(this.annotations);
    if (this.#decision !== "") all.set(decision, this.#decision);
    if (this.#reason !== undefined) all.set(reason, this.#reason);
    const keys = [...all.keys()].sort();
    return `,"annotations":{${keys.map((key) => `${quote(key)}:${quote(all.get(key) ?? "")}`).join(",")}}`;
  }

  /** A body as a field; without tokens, and without managers where the policy says so. */
  #body(text: string, key: string): string {
    const { group, resource, subresource } = this.#asked;
    const tokens = tokensIn(group, resource, subresource);
    const safe = tokens === undefined ? text : withoutTokens(text, tokens);
    const shown = safe === undefined || !this.coverage.omitManagedFields ? safe : withoutManagers(safe);
    if (shown === undefined) return "";
    if (shown.length > limits.auditObjectBytesMax) {
      this.tooLarge();
      return "";
    }
    return `,"${key}":${shown}`;
  }
}

/** The object of the request, as far as path and body name it. */
function referenceText(asked: Asked, namespace: string, name: string, uid: string, resourceVersion: string): string {
  const { resource, group, version, subresource } = asked;
  const fields =
    field("resource", resource) +
    field("namespace", namespace) +
    field("name", name) +
    field("uid", uid) +
    field("apiGroup", group) +
    field("apiVersion", version) +
    field("resourceVersion", resourceVersion) +
    field("subresource", subresource);
  return `,"objectRef":{${fields.slice(1)}}`;
}

function field(key: string, value: string): string {
  return value === "" ? "" : `,"${key}":${quote(value)}`;
}

/** Users come from caches: the same object makes the same text. */
const userTexts = new WeakMap<User, string>();

function userText(user: User): string {
  const known = userTexts.get(user);
  if (known !== undefined) return known;
  const { name, uid, groups, extra } = user;
  const list = (values: readonly string[]): string => `[${values.map(quote).join(",")}]`;
  const extras = [...extra.keys()].sort().map((key) => `${quote(key)}:${list(extra.get(key) ?? [])}`);
  const fields =
    field("username", name) +
    field("uid", uid) +
    (groups.length === 0 ? "" : `,"groups":${list(groups)}`) +
    (extras.length === 0 ? "" : `,"extra":{${extras.join(",")}}`);
  const text = `{${fields.slice(1)}}`;
  userTexts.set(user, text);
  return text;
}

function originText(sources: readonly string[], userAgent: string): string {
  const from = sources.length === 0 ? "" : `,"sourceIPs":[${sources.map((source) => `"${source}"`).join(",")}]`;
  return userAgent === "" ? from : `${from},"userAgent":${quote(shorten(userAgent))}`;
}

/** Characters of a user agent that are written (upstream: 1024). */
const agentMax = 1024;

function shorten(agent: string): string {
  return agent.length > agentMax ? `${agent.slice(0, agentMax)}...TRUNCATED` : agent;
}

const statusHead = Buffer.from('{"kind":"Status","apiVersion":"v1",');

function startsLikeStatus(json: Uint8Array): boolean {
  return json[9] === 0x53 && json.length > statusHead.length && statusHead.equals(json.subarray(0, statusHead.length));
}

let second = Number.NaN;
let secondText = "";

/** Microseconds; the text of the second is made once. */
function timeText(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  if (seconds !== second) {
    second = seconds;
    secondText = formatMicroTime(seconds * 1000).slice(0, -7);
  }
  const micros = Math.floor((ms - seconds * 1000) * 1000);
  return `${secondText}${String(micros).padStart(6, "0")}Z`;
}
