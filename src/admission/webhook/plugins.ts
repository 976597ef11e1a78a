// The plugins MutatingAdmissionWebhook and ValidatingAdmissionWebhook. Mutating webhooks are asked one after the other,
// each with what the one before made of the object; validating ones all at once.
import type {
  MutatingWebhook,
  MutatingWebhookConfiguration,
  ValidatingWebhookConfiguration,
} from "../../api/gen/admissionregistration/v1.ts";
import type { Namespace } from "../../api/gen/core/v1.ts";
import type { ApiObject } from "../../api/object.ts";
import type { Message } from "../../api/schema.ts";
import type { Resource } from "../../api/scheme.ts";
import { badRequest, internalError, isStatus, notFound, Status } from "../../api/status.ts";
import type { Value } from "../../api/value.ts";
import { ownerOf } from "../../authz/owner.ts";
import type { ObjectTable } from "../../cache/view/objects.ts";
import { decode, Fault } from "../../codec/engine/json.ts";
import { limits } from "../../config/limits.ts";
import { convert } from "../../kinds/convert.ts";
import { applyDefaults } from "../../kinds/defaults.ts";
import { converted, remoteOf } from "../../kinds/remote.ts";
import { PatchFault } from "../../merge/document.ts";
import { applyJsonPatch } from "../../merge/jsonpatch.ts";
import type { AskedHook, RejectionCause } from "../../observe/admission.ts";
import type { AdmissionPlugin, AdmissionResult, Attributes, Environment } from "../plugin.ts";
import { HookCaller, HookFailure } from "./caller.ts";
import { type Hook, Hooks, isSelected, type Match } from "./hooks.ts";
import { documentOf, type Reviewed, type Verdict } from "./review.ts";

/** What came of asking a webhook. */
interface Outcome {
  readonly refusal?: Status;
  /** As WebhookMeter counts it. */
  readonly code: number;
  readonly cause?: RejectionCause;
  readonly failedOpen?: boolean;
}

/** What both plugins do alike. */
class Webhooks {
  readonly environment: Environment;
  readonly #hooks: Hooks;
  readonly #namespaces: ObjectTable<ApiObject & Namespace>;
  readonly #caller: HookCaller;
  readonly #type: AskedHook["type"];

  constructor(environment: Environment, resource: string, type: AskedHook["type"]) {
    this.environment = environment;
    this.#type = type;
    type Configuration = ApiObject & (MutatingWebhookConfiguration | ValidatingWebhookConfiguration);
    const table = environment.objects.table<Configuration>("admissionregistration.k8s.io", "v1", resource);
    this.#hooks = new Hooks(table, environment.scheme);
    this.#namespaces = environment.objects.table("", "v1", "namespaces");
    this.#caller = new HookCaller(environment);
  }

  close(): void {
    this.#caller.close();
  }

  matching(attributes: Attributes): readonly Match[] {
    return this.#hooks.matching(attributes);
  }

  /** Why a webhook is not to be asked (a Status refuses the write); undefined: it is. */
  skips(hook: Hook, attributes: Attributes): Status | "not selected" | undefined {
    const selected = isSelected(hook, attributes, (name) => this.#labelsOf(name));
    if (selected === false) return "not selected";
    if (selected === "no namespace") {
      // The namespace is gone or not there yet: others say so in better words, unless nothing runs that does.
      return notFound({ group: "", resource: "namespaces" }, attributes.namespace);
    }
    const { sideEffects, name } = hook.hook;
    if (attributes.dryRun && sideEffects !== "None" && sideEffects !== "NoneOnDryRun") {
      return badRequest(`admission webhook ${JSON.stringify(name)} does not support dry run`);
    }
    return undefined;
  }

  #labelsOf(name: string): ReadonlyMap<string, string> | undefined {
    const namespace = this.#namespaces.get("", name);
    return namespace === undefined ? undefined : (namespace.metadata.labels ?? new Map());
  }

  /**
   * Asks; a Status refuses the write. `use` makes use of what was allowed. Undefined: all is well, or the webhook failed
   * and that is to be overlooked.
   */
  async ask(
    hook: Hook,
    attributes: Attributes,
    reviewed: Reviewed,
    use?: (verdict: Verdict) => Status | undefined,
  ): Promise<Status | undefined> {
    const { webhooks: meter, clock } = this.environment;
    const start = clock.monotonic();
    const verdict = await this.#caller.call(hook, attributes, reviewed);
    const weigh = (): Outcome => this.#outcome(hook, attributes, verdict, use);
    const weighed = remoteOf(attributes.resource) === undefined ? weigh() : await this.#converted(attributes, weigh);
    const outcome = isStatus(weighed)
      ? ({ refusal: weighed, code: weighed.code, cause: "apiserver_internal_error" } as const)
      : weighed;
    if (meter !== undefined) {
      const { cause, code, failedOpen } = outcome;
      const asked = { name: hook.hook.name, type: this.#type, operation: attributes.operation };
      meter.asked(asked, code, cause, (clock.monotonic() - start) / 1000);
      if (failedOpen === true) meter.failedOpen(asked);
    }
    return outcome.refusal;
  }

  #outcome(
    hook: Hook,
    { notes }: Attributes,
    verdict: Verdict | HookFailure,
    use: ((verdict: Verdict) => Status | undefined) | undefined,
  ): Outcome {
    if (verdict instanceof HookFailure) {
      const { code } = verdict;
      const refusal = failed(hook, verdict);
      return refusal === undefined ? { code, failedOpen: true } : { refusal, code, cause: "calling_webhook_error" };
    }
    const { refusal } = verdict;
    // It may have to wait for a conversion, and is asked again.
    const unusable = refusal === undefined ? use?.(verdict) : undefined;
    for (const warning of verdict.warnings.slice(0, limits.webhookWarningsMax)) notes.warnings.push(warning);
    for (const [key, value] of verdict.annotations) notes.annotations.set(`${hook.hook.name}/${key}`, value);
    if (refusal !== undefined) return { refusal, code: refusal.code, cause: "no_error" };
    return unusable === undefined ? { code: 200 } : { refusal: unusable, code: 0, cause: "apiserver_internal_error" };
  }

  /** As review(), where a conversion webhook may have to be asked first; a Status says why that failed. */
  reviewed(attributes: Attributes, resource: Resource): Reviewed | Promise<Reviewed | Status> {
    const review = (): Reviewed => this.review(attributes, resource);
    return remoteOf(resource) === undefined ? review() : this.#converted(attributes, review);
  }

  #converted<T>({ user, deadline, spans }: Attributes, step: () => T): Promise<T | Status> {
    return converted({ owner: ownerOf(this.environment.identity, user), deadline, spans }, step);
  }

  /** Object and old object as the webhook wants them. */
  review(attributes: Attributes, resource: Resource): Reviewed {
    const { object, old } = attributes;
    const message = messageOf(attributes);
    const [now, before] = [documentOf(message, object), documentOf(message, old)];
    if (resource === attributes.resource || message !== attributes.resource.message) {
      return { resource, object: now, old: before };
    }
    return {
      resource,
      object: this.convert(now, attributes.resource, resource),
      old: this.convert(before, attributes.resource, resource),
    };
  }

  convert(document: Value, from: Resource, to: Resource): Value {
    if (document === null) return null;
    const object = decode<ApiObject>(from.message, document);
    if (object instanceof Fault) return document;
    return documentOf(to.message, convert(object, from, to, this.environment.identity));
  }
}

/** The schema of what is written: the kind's own, or that of a subresource with a kind of its own. */
function messageOf({ resource, subresource, object, old }: Attributes): Message {
  const kind = (object ?? old)?.kind;
  if (kind === undefined || kind === resource.kind) return resource.message;
  return resource.subresources.find(({ name }) => name === subresource)?.message ?? resource.message;
}

function failed({ hook }: Hook, { message, refusal }: HookFailure): Status | undefined {
  if (refusal !== undefined) return refusal;
  if (hook.failurePolicy === "Ignore") return undefined;
  return fault(`failed calling webhook ${JSON.stringify(hook.name)}: ${message}`);
}

/** 500 that says why: what failed is neither ours nor the client's. */
function fault(why: string): Status {
  const { code, reason } = internalError(undefined);
  return new Status(code, reason, `Internal error occurred: ${why}`, { causes: [{ message: why }] });
}

/** Builds ValidatingAdmissionWebhook. */
export function validatingWebhooks(environment: Environment): AdmissionPlugin {
  const webhooks = new Webhooks(environment, "validatingwebhookconfigurations", "validating");
  return {
    validate(attributes) {
      const matches = webhooks.matching(attributes);
      return matches.length === 0 ? undefined : validate(webhooks, matches, attributes);
    },
    close: () => webhooks.close(),
  };
}

async function validate(
  webhooks: Webhooks,
  matches: readonly Match[],
  attributes: Attributes,
): Promise<Status | undefined> {
  const reviews = new Map<Resource, Reviewed>();
  const asked: Promise<Status | undefined>[] = [];
  for (const { hook, resource } of matches) {
    const skips = webhooks.skips(hook, attributes);
    if (isStatus(skips)) return skips;
    if (skips !== undefined) continue;
    let reviewed = reviews.get(resource);
    if (reviewed === undefined) {
      const reviewing = webhooks.reviewed(attributes, resource);
      const made = reviewing instanceof Promise ? await reviewing : reviewing;
      if (isStatus(made)) return made;
      reviews.set(resource, (reviewed = made));
    }
    asked.push(webhooks.ask(hook, attributes, reviewed));
  }
  return (await Promise.all(asked)).find((refused) => refused !== undefined);
}

/** What the mutating plugin keeps while one try of a write lasts. */
interface Rounds {
  /** Webhooks asked so far that want to be asked again when the object changes. */
  readonly eligible: Set<string>;
  /** Those of them before which it did. */
  readonly again: Set<string>;
  /** The object as the last round left it; empty while no webhook is eligible. */
  left: string;
  round: number;
}

/** Builds MutatingAdmissionWebhook. */
export function mutatingWebhooks(environment: Environment): AdmissionPlugin {
  const webhooks = new Webhooks(environment, "mutatingwebhookconfigurations", "admit");
  const rounds = new WeakMap<AdmissionResult, Rounds>();
  return {
    mutate(attributes, again) {
      const matches = webhooks.matching(attributes);
      return matches.length === 0 ? undefined : mutate(webhooks, matches, attributes, again, rounds);
    },
    close: () => webhooks.close(),
  };
}

async function mutate(
  webhooks: Webhooks,
  matches: readonly Match[],
  attributes: Attributes,
  again: boolean,
  all: WeakMap<AdmissionResult, Rounds>,
): Promise<Status | undefined> {
  const { notes } = attributes;
  let rounds = all.get(notes);
  if (rounds === undefined || !again) {
    rounds = { eligible: new Set(), again: new Set(), left: "", round: 0 };
    all.set(notes, rounds);
  } else {
    rounds.round += 1;
    // Plugins that ran again changed the object after all webhooks had seen it.
    if (rounds.eligible.size > 0 && rounds.left !== snapshot(attributes)) {
      for (const key of rounds.eligible) rounds.again.add(key);
    }
  }
  for (const [index, { hook, resource }] of matches.entries()) {
    if (again && !rounds.again.has(hook.key)) continue;
    const skips = webhooks.skips(hook, attributes);
    if (isStatus(skips)) return skips;
    if (skips !== undefined) continue;
    const reviewing = webhooks.reviewed(attributes, resource);
    const reviewed = reviewing instanceof Promise ? await reviewing : reviewing;
    if (isStatus(reviewed)) return reviewed;
    let changed = false;
    const refused = await webhooks.ask(hook, attributes, reviewed, ({ patch: operations }) => {
      const done = operations !== undefined && patch(webhooks, hook, attributes, reviewed, operations);
      if (isStatus(done)) return done;
      changed = done;
      return undefined;
    });
    if (refused !== undefined) return refused;
    annotate(notes, hook, rounds.round, index, changed);
    if (changed) {
      notes.changed = true;
      for (const key of rounds.eligible) rounds.again.add(key);
    }
    rounds.again.delete(hook.key);
    if ((hook.hook as MutatingWebhook).reinvocationPolicy === "IfNeeded") rounds.eligible.add(hook.key);
  }
  if (rounds.eligible.size > 0) rounds.left = snapshot(attributes);
  return undefined;
}

/** Told at the level of requests (upstream: mutation annotations of the audit event). */
function annotate(
  notes: AdmissionResult,
  { configuration, hook }: Hook,
  round: number,
  index: number,
  mutated: boolean,
): void {
  const key = `mutation.webhook.admission.k8s.io/round_${round}_index_${index}`;
  notes.annotations.set(key, JSON.stringify({ configuration, webhook: hook.name, mutated }));
}

/** The object as text, to find out whether it changed. */
function snapshot(attributes: Attributes): string {
  return JSON.stringify(attributes.object, (_key, value: unknown) => {
    if (value instanceof Map) return [...value];
    return typeof value === "bigint" ? String(value) : value;
  });
}

/** Applies a webhook's patch to the object, in place. Whether it changed anything, or why it cannot be applied. */
function patch(
  webhooks: Webhooks,
  { hook }: Hook,
  attributes: Attributes,
  { resource, object: document }: Reviewed,
  operations: Value,
): boolean | Status {
  const { object } = attributes;
  if (object === undefined || document === null) {
    return fault(
      `admission webhook ${JSON.stringify(hook.name)} attempted to modify the object, which is not supported for this operation`,
    );
  }
  if (Array.isArray(operations) && operations.length === 0) return false;
  const patched = applyJsonPatch(document, operations, {
    operationsMax: limits.patchOperationsMax,
    copyBytesMax: limits.patchCopyBytesMax,
    depthMax: limits.depthMax,
    shiftedItemsMax: limits.patchShiftedItemsMax,
  });
  const refuse = (why: string): Status => fault(`the patch of admission webhook ${JSON.stringify(hook.name)} ${why}`);
  if (patched instanceof PatchFault) return refuse(`cannot be applied: ${patched.message}`);
  const message = messageOf(attributes);
  const whole = message === attributes.resource.message;
  const made = decode<ApiObject>(whole ? resource.message : message, patched.value);
  if (made instanceof Fault) return refuse(`makes no ${object.kind} of it: ${made.message}`);
  const { identity } = webhooks.environment;
  if (whole) applyDefaults(resource, made, identity);
  const back = whole ? convert(made, resource, attributes.resource, identity) : made;
  if (back.kind !== object.kind || back.apiVersion !== object.apiVersion) return refuse("changes the kind");
  replace(object, back);
  return true;
}

/** Makes `object` what `other` is: plugins and the write path hold on to it. */
function replace(object: ApiObject, other: ApiObject): void {
  for (const key of Object.keys(object)) Reflect.deleteProperty(object, key);
  Object.assign(object, other);
}
