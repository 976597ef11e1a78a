// The mode Webhook: a peer decides. Each question is a SubjectAccessReview to a peer; answers are kept for a
// while, allowances longer than refusals, and a peer that does not answer decides nothing. Shapes, times and retries are
// upstream's (authorization webhook of the server library).
import type { Identity } from "../api/identity.ts";
import type { Clock } from "../base/clock.ts";
import { Recent } from "../base/recent.ts";
import type { AuthorizationConfig } from "../config/config.ts";
import { limits } from "../config/limits.ts";
import { clientCalls } from "../observe/clientcalls.ts";
import { type SharedAnswer, waiting } from "../observe/spans.ts";
import { type Answer, type Asker, CallFailure, type Connection, OutboundClient } from "../outbound/client.ts";
import { post } from "../outbound/post.ts";
import type { Attributes, Authorizer, Decision } from "./authorizer.ts";
import { ownerOf } from "./owner.ts";
import type { HeldRules, RuleResolver } from "./rules.ts";

interface Kept {
  readonly decision: Decision;
  /** On the monotonic clock. */
  readonly endsMs: number;
}

/** Codes after which another try may help. */
const passing = new Set([429, 500, 502, 503, 504]);

function mayHelp(outcome: Answer | CallFailure): boolean {
  return outcome instanceof CallFailure ? outcome.failure === "unreachable" : passing.has(outcome.code);
}

/** Asks a webhook. */
export class WebhookAuthorizer implements Authorizer, RuleResolver {
  readonly #client: OutboundClient;
  readonly #identity: Identity;
  readonly #config: AuthorizationConfig;
  readonly #apiVersion: string;
  readonly #clock: Clock;
  /** By the spec of the review. */
  readonly #kept = new Recent<string, Kept>(limits.webhookDecisionsMax);
  /** Questions under way, by owner, so that many requests with one question ask it once. */
  readonly #asked = new Map<string, SharedAnswer<Decision>>();

  constructor(identity: Identity, clock: Clock, config: AuthorizationConfig, connection: Connection) {
    this.#client = new OutboundClient(connection, clientCalls);
    this.#identity = identity;
    this.#config = config;
    this.#clock = clock;
    this.#apiVersion = `${identity.spell("authorization.k8s.io")}/${config.webhookVersion}`;
  }

  authorize(attributes: Attributes): Decision | Promise<Decision> {
    const spec = JSON.stringify(specOf(attributes, this.#config.webhookVersion));
    const kept = this.#kept.get(spec);
    if (kept !== undefined && this.#clock.monotonic() < kept.endsMs) return kept.decision;
    const { owner = ownerOf(this.#identity, attributes.user), spans } = attributes;
    // A question of another owner may have to wait longer, or be refused.
    const key = `${owner.level} ${JSON.stringify(owner.name)} ${spec}`;
    const asked = this.#asked.get(key);
    if (asked !== undefined) return waiting(spans, "wait for the authorization webhook", asked);
    const answer = this.#ask(spec, { owner, spans }, isKept(attributes)).finally(() => this.#asked.delete(key));
    this.#asked.set(key, { answer, spans });
    return answer;
  }

  rulesFor(): HeldRules {
    return { rules: [], errors: ["webhook authorizer does not support user rule resolution"], incomplete: true };
  }

  async #ask(spec: string, sender: Asker, keeps: boolean): Promise<Decision> {
    const head = `{"kind":"SubjectAccessReview","apiVersion":${JSON.stringify(this.#apiVersion)}`;
    const body = `${head},"metadata":{"creationTimestamp":null},"spec":${spec},"status":{"allowed":false}}`;
    const answer = await this.#call(body, sender);
    // No client bypasses a webhook by filling its queue: a question that was not sent is not left to the next
    // authorizer.
    if (answer instanceof CallFailure) return { verdict: "deny", reason: answer.message, overloaded: true };
    const decision = typeof answer === "string" ? answer : this.#decisionOf(answer);
    if (typeof decision === "string") {
      return { verdict: "none", reason: "", error: `the authorization webhook does not decide: ${decision}` };
    }
    if (keeps) this.#keep(spec, decision);
    return decision;
  }

  /** The answer, or why there is none; tries again where that may help. A failure: too many questions wait. */
  async #call(body: string, { owner, spans }: Asker): Promise<Answer | CallFailure | string> {
    // A call lasts no longer than a request may.
    const endMs = this.#clock.monotonic() + limits.requestMsMax;
    const answer = await post(this.#client, body, {
      pauseMs: limits.webhookRetryMs,
      callMs: () => limits.webhookMsMax,
      leftMs: () => endMs - this.#clock.monotonic(),
      mayHelp,
      owner,
      traced: spans && { spans, name: "authorization webhook" },
    });
    if (answer instanceof CallFailure) return answer.failure === "busy" ? answer : answer.message;
    return answer.code === 200 || answer.code === 201 ? answer : `it answered ${answer.code}`;
  }

  /** Reads a response; an error message when it does not answer the question. */
  #decisionOf({ body }: Answer): Decision | string {
    const review = parse(body);
    if (review === undefined) return "its answer is not JSON";
    if (review["kind"] !== "SubjectAccessReview" || review["apiVersion"] !== this.#apiVersion) {
      return `its answer is no SubjectAccessReview in ${this.#apiVersion}`;
    }
    const status = review["status"];
    if (!isObject(status)) return "its answer has no status";
    const { allowed = false, denied = false, reason = "" } = status as Record<"allowed" | "denied" | "reason", unknown>;
    if (typeof allowed !== "boolean" || typeof denied !== "boolean" || typeof reason !== "string") {
      return "the status of its answer has fields of other types";
    }
    if (denied && allowed) {
      return { verdict: "deny", reason, error: "webhook subject access review returned both allow and deny response" };
    }
    return { verdict: denied ? "deny" : allowed ? "allow" : "none", reason };
  }

  #keep(spec: string, decision: Decision): void {
    const { webhookAllowedMs, webhookRefusedMs } = this.#config;
    const ms = decision.verdict === "allow" ? webhookAllowedMs : webhookRefusedMs;
    if (ms <= 0) return;
    this.#kept.set(spec, { decision, endsMs: this.#clock.monotonic() + ms });
  }
}

/** The spec of the review, in the fields and order of its version; empty fields are omitted. */
function specOf(attributes: Attributes, version: "v1" | "v1beta1"): object {
  const { user, verb, path, group, resource, subresource, namespace, name } = attributes;
  const about = { namespace, verb, group, version: attributes.version, resource, subresource, name };
  const groups = user.groups.length === 0 ? undefined : user.groups;
  const extra = user.extra.size === 0 ? undefined : Object.fromEntries(user.extra);
  return {
    ...(attributes.isResource
      ? { resourceAttributes: filled(about) }
      : { nonResourceAttributes: filled({ path, verb }) }),
    ...filled({ user: user.name }),
    ...(version === "v1" ? { groups } : { group: groups }),
    extra,
    ...filled({ uid: user.uid }),
  };
}

function filled(fields: Readonly<Record<string, string>>): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== ""));
}

/** Whether a decision may be cached: long questions are not (upstream: 10,000 characters). */
function isKept({ namespace, verb, group, version, resource, subresource, name, path }: Attributes): boolean {
  const parts = [namespace, verb, group, version, resource, subresource, name, path];
  return parts.reduce((sum, part) => sum + part.length, 0) < limits.webhookKeptCharsMax;
}

function parse(bytes: Buffer): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(bytes.toString());
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
