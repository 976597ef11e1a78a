// What an admission plugin is: it sees the attributes of a write, never the request, and what it needs of the server
// comes in an environment. One file per plugin in this folder, one line per plugin in table.ts.
import type { Identity } from "../api/identity.ts";
import type { ApiObject } from "../api/object.ts";
import type { Resource, Scheme } from "../api/scheme.ts";
import { forbidden, type Status } from "../api/status.ts";
import type { User } from "../api/user.ts";
import type { Value, ValueMap } from "../api/value.ts";
import type { Authorizer } from "../authz/authorizer.ts";
import type { Awaitable } from "../base/awaitable.ts";
import type { Clock } from "../base/clock.ts";
import type { Objects } from "../cache/view/objects.ts";
import type { AdmissionConfig } from "../config/config.ts";
import type { WebhookMeter } from "../observe/admission.ts";
import type { TraceSpans } from "../observe/spans.ts";

/** What is about to happen. */
export interface Attributes {
  readonly operation: "create" | "update" | "delete" | "connect";
  /** At the version of the request. */
  readonly resource: Resource;
  /** Empty for the object itself. */
  readonly subresource: string;
  readonly namespace: string;
  /** Empty while a name is still to be generated. */
  readonly name: string;
  /**
   * The new state; undefined for a delete. Plugins may change it in place while mutating. For a subresource with a kind
   * of its own (binding, eviction, scale, connections) an object of that kind.
   */
  readonly object: ApiObject | undefined;
  /** The state before; undefined for a create. */
  readonly old: ApiObject | undefined;
  readonly user: User;
  readonly dryRun: boolean;
  /** On the monotonic clock, in milliseconds: when the request must be answered. */
  readonly deadline: number;
  /** The request's options (CreateOptions and so on), as a document without kind and version. */
  readonly options: Value;
  /** What plugins leave for others; one per try of a write. */
  readonly notes: AdmissionResult;
  /** Of the request, where it is sampled: what webhooks are asked is part of them. */
  readonly spans?: TraceSpans | undefined;
}

/** What plugins have to say besides yes and no. */
export class AdmissionResult {
  /** Texts for Warning headers. */
  readonly warnings: string[];
  /** Annotations of the audit event, keys with the plugin's prefix. */
  readonly annotations: Map<string, string>;
  /** A webhook changed the object: every mutating plugin is asked once more (upstream: reinvocation). */
  changed = false;
  readonly #settled: ((committed: boolean) => void | Promise<void>)[] = [];

  /**
   * `warnings`: where the request gathers what is said to its client, refused or not; `annotations`: those of its audit
   * event. Left out: they are dropped.
   */
  constructor(warnings: string[] = [], annotations: Map<string, string> = new Map()) {
    this.warnings = warnings;
    this.annotations = annotations;
  }

  /** Calls `settled` once when the try is over: with false, what a plugin set aside for the write is to be given back. */
  onSettled(settled: (committed: boolean) => void | Promise<void>): void {
    this.#settled.push(settled);
  }

  /** Whether a callback waits for the end of the try. */
  get unsettled(): boolean {
    return this.#settled.length > 0;
  }

  /** Calls every callback, once. */
  async settle(committed: boolean): Promise<void> {
    for (const settled of this.#settled.splice(0)) await settled(committed);
  }
}

/** One plugin. Both methods return why the write is refused, or nothing. */
export interface AdmissionPlugin {
  /**
   * Asked before the kind's own rules; may change the object. `again`: the object was changed after the plugin had seen
   * it (upstream: reinvocation of in-tree plugins after a webhook's patch).
   */
  mutate?(attributes: Attributes, again: boolean): Awaitable<Status | undefined>;
  /** Asked after validation; changes nothing. */
  validate?(attributes: Attributes): Awaitable<Status | undefined>;
  /** Lets go of timers and connections. */
  close?(): void;
}

/** What a change on the server's own behalf came to. */
export type ChangeOutcome = "done" | "conflict" | "gone" | Status;

/** What plugins may use of a front. */
export interface Environment {
  readonly identity: Identity;
  readonly scheme: Scheme;
  readonly objects: Objects;
  readonly clock: Clock;
  readonly authorizer: Authorizer;
  readonly config: AdmissionConfig;
  /** The plugin's part of --admission-control-config-file, JSON text; undefined: none. */
  readonly settings: string | undefined;
  /** Counts what webhooks do; undefined: it is not counted. */
  readonly webhooks?: WebhookMeter | undefined;
  /**
   * Commits a changed copy of a stored object (as Objects reads it) if it still has the resource version in it.
   * Admission, rules of the kind and field managers are not asked: for the status a plugin keeps itself.
   */
  readonly commit: (object: ApiObject, group: string, version: string, resource: string) => Promise<ChangeOutcome>;
  /** Creates an object through the whole write path, as the server itself; why it was refused, or nothing. */
  readonly create: (content: ValueMap, group: string, version: string, resource: string) => Promise<Status | undefined>;
}

/** 403 for a write a plugin does not allow; `why` follows `<resource> "<name>" is forbidden: `. */
export function forbid(attributes: Attributes, why: string): Status {
  return forbidden(attributes.resource, shownName(attributes), why);
}

/** The name a refusal shows: while none is generated, what it will begin with. */
export function shownName({ name, object }: Attributes): string {
  const { metadata } = object ?? {};
  return name || metadata?.name || metadata?.generateName || "Unknown";
}

/** Whether something is about a resource or one of its subresources; `group` spelled in the identity. */
export function isAbout({ resource }: Attributes, group: string, plural: string): boolean {
  return resource.resource === plural && resource.group === group;
}
