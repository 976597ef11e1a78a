// PodSecurity: pods are held to the level their namespace enforces; what it audits and warns of is told. Workloads are
// only warned about: their pods will be refused. A namespace that becomes stricter is told which of its pods would be.
import { invalidObject } from "../../api/fielderror.ts";
import type { Namespace, Pod, PodSpec, PodTemplateSpec } from "../../api/gen/core/v1.ts";
import { compareBytes, quote } from "../../api/gotext.ts";
import type { ApiObject, ObjectMeta } from "../../api/object.ts";
import { notFound, type Status } from "../../api/status.ts";
import { laneOf } from "../../authz/owner.ts";
import { assert } from "../../base/assert.ts";
import type { Awaitable } from "../../base/awaitable.ts";
import { decodeStored } from "../../codec/engine/stored.ts";
import { limits } from "../../config/limits.ts";
import { longWork } from "../../config/longwork.ts";
import { type AdmissionPlugin, type Attributes, type Environment, forbid } from "../plugin.ts";
import { type Subject, subjectOf } from "./checks.ts";
import {
  detailText,
  isNoStricter,
  type Policy,
  policyOf,
  type Rule,
  reasonText,
  ruleText,
  violationsOf,
} from "./policy.ts";
import { readSettings, type Settings } from "./settings.ts";

/** Subresources of pods that do not change what a pod may. */
const harmless = new Set(["exec", "attach", "binding", "eviction", "log", "portforward", "proxy", "status"]);

/** Kinds with a pod template, as `group resource`. */
const workloads = new Set([
  " replicationcontrollers",
  " podtemplates",
  "apps replicasets",
  "apps deployments",
  "apps statefulsets",
  "apps daemonsets",
  "batch jobs",
  "batch cronjobs",
]);

/** Builds the plugin. */
export function podSecurity(environment: Environment): AdmissionPlugin {
  const settings = readSettings(environment.settings);
  assert(typeof settings !== "string", "Main checked the settings");
  const plugin = new PodSecurity(environment, settings);
  return { validate: (attributes) => plugin.validate(attributes) };
}

class PodSecurity {
  readonly #environment: Environment;
  readonly #settings: Settings;

  constructor(environment: Environment, settings: Settings) {
    this.#environment = environment;
    this.#settings = settings;
  }

  validate(attributes: Attributes): Awaitable<Status | undefined> {
    const { operation, resource } = attributes;
    if (operation !== "create" && operation !== "update") return undefined;
    if (resource.group === "" && resource.resource === "pods") return this.#pod(attributes);
    if (resource.group === "" && resource.resource === "namespaces") return this.#namespace(attributes);
    return workloads.has(`${resource.group} ${resource.resource}`) ? this.#workload(attributes) : undefined;
  }

  #pod(attributes: Attributes): Status | undefined {
    const { subresource, object, old } = attributes;
    if (harmless.has(subresource) || this.#isExempt(attributes)) return undefined;
    const policy = this.#policyFor(attributes);
    if (policy === undefined) return notFound({ group: "", resource: "namespaces" }, attributes.namespace);
    if (isOpen(policy.enforce) && isOpen(policy.audit) && isOpen(policy.warn)) return undefined;
    const pod = object as ApiObject & Pod;
    if (old !== undefined && !this.#matters(pod, old as ApiObject & Pod)) return undefined;
    return this.#judge(attributes, policy, subjectOf(pod.metadata, pod.spec), true);
  }

  #workload(attributes: Attributes): undefined {
    if (attributes.subresource !== "" || this.#isExempt(attributes)) return undefined;
    const policy = this.#policyFor(attributes);
    if (policy === undefined || (isOpen(policy.audit) && isOpen(policy.warn))) return undefined;
    const template = templateOf(attributes.object);
    if (template !== undefined) this.#judge(attributes, policy, subjectOf(template.metadata, template.spec), false);
    return undefined;
  }

  #isExempt({ namespace, user }: Attributes): boolean {
    const { namespaces, users } = this.#settings.exemptions;
    return namespaces.has(namespace) || users.has(user.name);
  }

  /** What holds in the namespace of a write; undefined: there is none. */
  #policyFor({ namespace, notes }: Attributes): Policy | undefined {
    const { objects, identity } = this.#environment;
    const found = objects.table<ApiObject & Namespace>("", "v1", "namespaces").get("", namespace);
    if (found === undefined) return undefined;
    const { policy, errors } = policyOf(found.metadata.labels, this.#settings.defaults, identity);
    if (errors.length > 0) {
      const texts = errors.map(({ field, text }) => `${field}: ${text}`);
      this.#annotate(notes, "error", `Failed to parse policy: ${texts.join(", ")}`);
    }
    return policy;
  }

  #judge(
    { notes, ...attributes }: Attributes,
    policy: Policy,
    subject: Subject,
    enforces: boolean,
  ): Status | undefined {
    const { identity } = this.#environment;
    if (this.#settings.exemptions.runtimeClasses.has(subject.spec.runtimeClassName ?? "")) return undefined;
    const told = (rule: Rule): string | undefined => {
      const violations = violationsOf(rule, subject, identity);
      return violations.length === 0 ? undefined : `PodSecurity ${quote(ruleText(rule))}: ${detailText(violations)}`;
    };
    const audited = told(policy.audit);
    if (audited !== undefined) this.#annotate(notes, "audit-violations", `would violate ${audited}`);
    const forbidden = enforces ? told(policy.enforce) : undefined;
    if (enforces) this.#annotate(notes, "enforce-policy", ruleText(policy.enforce));
    if (forbidden !== undefined) return forbid({ ...attributes, notes }, `violates ${forbidden}`);
    const warned = told(policy.warn);
    if (warned !== undefined) notes.warnings.push(`would violate ${warned}`);
    return undefined;
  }

  #annotate(notes: Attributes["notes"], key: string, text: string): void {
    notes.annotations.set(`${this.#environment.identity.spell("pod-security.kubernetes.io/")}${key}`, text);
  }

  /** Whether an update changes anything a check looks at: images, seccomp annotations, debugging containers. */
  #matters(pod: ApiObject & Pod, old: ApiObject & Pod): boolean {
    const { spell } = this.#environment.identity;
    const prefix = spell("container.seccomp.security.alpha.kubernetes.io/");
    const before = old.metadata.annotations;
    const now = pod.metadata.annotations;
    const podKey = spell("seccomp.security.alpha.kubernetes.io/pod");
    if (now?.get(podKey) !== before?.get(podKey)) return true;
    const lists = ["containers", "initContainers", "ephemeralContainers"] as const;
    return lists.some((list) => {
      const former = new Map((old.spec[list] ?? []).map(({ name, image }) => [name, image]));
      const latter = pod.spec[list] ?? [];
      if (list !== "ephemeralContainers" && latter.length !== former.size) return true;
      return latter.some(({ name, image }) => {
        const key = `${prefix}${name}`;
        return !former.has(name) || former.get(name) !== image || now?.get(key) !== before?.get(key);
      });
    });
  }

  #namespace(attributes: Attributes): Awaitable<Status | undefined> {
    const { subresource, object, old, name } = attributes;
    if (subresource !== "" || object === undefined) return undefined;
    const { identity } = this.#environment;
    const { defaults, exemptions } = this.#settings;
    const now = policyOf(object.metadata.labels, defaults, identity);
    const before = old === undefined ? undefined : policyOf(old.metadata.labels, defaults, identity);
    const known = before?.errors.map(({ field, text }) => `${field} ${text}`) ?? [];
    if (now.errors.some(({ field, text }) => !known.includes(`${field} ${text}`))) {
      return invalidObject("", "Namespace", name, [...now.errors]);
    }
    if (before === undefined) return undefined;
    const [rule, former] = [now.policy.enforce, before.policy.enforce];
    if (isOpen(rule) || ruleText(rule) === ruleText(former) || exemptions.namespaces.has(name)) return undefined;
    if (rule.version === former.version && isNoStricter(rule, former)) return undefined;
    return this.#warnOfPods(attributes, name, rule);
  }

  /** Looks at the pods that are there, for a second at most and a little at a time. */
  async #warnOfPods({ notes, user }: Attributes, namespace: string, rule: Rule): Promise<undefined> {
    const { objects, identity, scheme } = this.#environment;
    const view = objects.view("", "v1", "pods");
    const stored = scheme.find("", "v1", "pods")?.stored;
    if (view === undefined || stored === undefined) return undefined;
    const found = new Map<string, string[]>();
    const until = performance.now() + limits.podSecurityLookMsMax;
    let checked = 0;
    let total = 0;
    for (let after: string | undefined = ""; after !== undefined; ) {
      let last: string | undefined;
      view.drain();
      view.scan(namespace, after, 0, (at, key) => {
        total += 1;
        if (checked === limits.podSecurityPodsMax || performance.now() > until) return true;
        checked += 1;
        const pod = decodeStored(stored, view.object(at)) as ApiObject & Pod;
        if (this.#settings.exemptions.runtimeClasses.has(pod.spec.runtimeClassName ?? "")) return true;
        const violations = violationsOf(rule, subjectOf(pod.metadata, pod.spec), identity);
        const why = reasonText(violations);
        if (why !== "") found.set(why, [...(found.get(why) ?? []), pod.metadata.name ?? ""]);
        if (!longWork.isOver) return true;
        last = key;
        return false;
      });
      after = last;
      if (after !== undefined) await longWork.later(laneOf(identity, user));
    }
    if (checked < total) {
      notes.warnings.push(
        `new PodSecurity enforce level only checked against the first ${checked} of ${total} existing pods`,
      );
    }
    if (found.size === 0) return undefined;
    const level = quote(ruleText(rule));
    notes.warnings.push(
      `existing pods in namespace ${quote(namespace)} violate the new PodSecurity enforce level ${level}`,
    );
    notes.warnings.push(...[...found].map(([why, names]) => `${podsText(names)}: ${why}`).toSorted(compareBytes));
    return undefined;
  }
}

/** The first pod by name, and how many others. */
function podsText(names: readonly string[]): string {
  const [first = ""] = names.toSorted(compareBytes);
  if (names.length === 1) return first;
  return names.length === 2 ? `${first} (and 1 other pod)` : `${first} (and ${names.length - 1} other pods)`;
}

function isOpen({ level }: Rule): boolean {
  return level === "privileged";
}

interface Workload {
  readonly template?: Template;
  readonly spec?: {
    readonly template?: Template;
    readonly jobTemplate?: { readonly spec?: { readonly template?: Template } };
  };
}

type Template = PodTemplateSpec;

/** The pod template of a workload, wherever its kind has it. */
function templateOf(object: ApiObject | undefined): { metadata: ObjectMeta | undefined; spec: PodSpec } | undefined {
  const { template, spec } = (object ?? {}) as Workload;
  const found = template ?? spec?.template ?? spec?.jobTemplate?.spec?.template;
  return found?.spec === undefined ? undefined : { metadata: found.metadata, spec: found.spec };
}
