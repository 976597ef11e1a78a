// PodSecurityPolicy: a pod runs only under a policy that its user or its service account may use (verb `use`). Off unless
// enabled. The first policy by name that allows the pod as it is wins; else the first that allows it after filling in.
import type { Pod } from "../../api/gen/core/v1.ts";
import type { PodSecurityPolicy } from "../../api/gen/policy/v1beta1.ts";
import { compareBytes } from "../../api/gotext.ts";
import type { ApiObject } from "../../api/object.ts";
import type { Status } from "../../api/status.ts";
import type { User } from "../../api/user.ts";
import { assert } from "../../base/assert.ts";
import { copyObject } from "../../codec/engine/copy.ts";
import { toValue } from "../../codec/engine/json.ts";
import { sameValue } from "../../merge/document.ts";
import { type AdmissionPlugin, type Attributes, type Environment, forbid, isAbout } from "../plugin.ts";
import { fillIn } from "./defaults.ts";
import { faultsOf } from "./rules.ts";

type Policy = ApiObject & PodSecurityPolicy;
type SomePod = ApiObject & Pod;

/** Builds the plugin. */
export function podSecurityPolicy(environment: Environment): AdmissionPlugin {
  const policies = new Policies(environment);
  return {
    mutate(attributes) {
      if (!isAbout(attributes, "", "pods") || attributes.subresource !== "") return undefined;
      return attributes.operation === "create" ? policies.admit(attributes) : undefined;
    },
    validate(attributes) {
      const { operation, subresource, object, old } = attributes;
      if (!isAbout(attributes, "", "pods") || (subresource !== "" && subresource !== "ephemeralcontainers"))
        return undefined;
      if (operation !== "create" && operation !== "update") return undefined;
      // What else changes on an update, labels say, runs nowhere.
      if (old !== undefined && policies.isSameSpec(object as SomePod, old as SomePod)) return undefined;
      return policies.check(attributes);
    },
  };
}

interface Found {
  readonly policyName: string;
  readonly pod: SomePod;
}

class Policies {
  readonly #environment: Environment;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  isSameSpec(pod: SomePod, old: SomePod): boolean {
    const message = this.#message;
    const bare = (one: SomePod) => toValue(message, { ...one, metadata: {}, status: {} });
    return sameValue(bare(pod), bare(old));
  }

  async admit(attributes: Attributes): Promise<Status | undefined> {
    const { notes, object } = attributes;
    const found = await this.#find(attributes, true);
    if (typeof found === "string") return forbid(attributes, `PodSecurityPolicy: unable to admit pod: ${found}`);
    const { spell } = this.#environment.identity;
    const pod = object as SomePod;
    pod.spec = found.pod.spec;
    const key = spell("kubernetes.io/psp");
    pod.metadata.annotations = new Map([...(found.pod.metadata.annotations ?? []), [key, found.policyName]]);
    notes.annotations.set(spell("podsecuritypolicy.policy.k8s.io/admit-policy"), found.policyName);
    return undefined;
  }

  async check(attributes: Attributes): Promise<Status | undefined> {
    const found = await this.#find(attributes, false);
    if (typeof found === "string") return forbid(attributes, `PodSecurityPolicy: unable to validate pod: ${found}`);
    const { spell } = this.#environment.identity;
    attributes.notes.annotations.set(spell("podsecuritypolicy.policy.k8s.io/validate-policy"), found.policyName);
    return undefined;
  }

  get #message() {
    const pods = this.#environment.scheme.find("", "v1", "pods");
    assert(pods !== undefined, "Pods are served");
    return pods.message;
  }

  /** The policy a pod falls under; a text lists why none does. */
  async #find(attributes: Attributes, mayFill: boolean): Promise<Found | string> {
    const { identity } = this.#environment;
    const original = attributes.object as SomePod;
    const before = toValue(this.#message, original);
    const faults: string[] = [];
    let filled: Found | undefined;
    for (const policy of this.#sorted(original)) {
      if (!(await this.#mayUse(attributes, policy))) continue;
      const pod = mayFill ? copyObject(this.#message, original) : original;
      if (mayFill) fillIn(policy, pod, identity);
      const found = faultsOf(policy, pod, identity);
      faults.push(...found.map(({ field, text }) => `${field}: ${text}`));
      if (found.length > 0) continue;
      const policyName = policy.metadata.name ?? "";
      if (!mayFill || sameValue(toValue(this.#message, pod), before)) return { policyName, pod };
      filled ??= { policyName, pod };
    }
    return filled ?? `[${faults.join(" ")}]`;
  }

  /** By name; the one that admitted the pod first. */
  #sorted({ metadata }: SomePod): Policy[] {
    const { objects, identity } = this.#environment;
    const all = objects.table<Policy>("policy", "v1beta1", "podsecuritypolicies").list("");
    const admitted = metadata.annotations?.get(identity.spell("kubernetes.io/psp"));
    const rank = (policy: Policy): number => (policy.metadata.name === admitted ? 0 : 1);
    const nameOf = (policy: Policy): string => policy.metadata.name ?? "";
    return all.toSorted((a, b) => rank(a) - rank(b) || compareBytes(nameOf(a), nameOf(b)));
  }

  async #mayUse({ user, namespace, object }: Attributes, policy: Policy): Promise<boolean> {
    const account = (object as SomePod).spec.serviceAccountName ?? "";
    const users = account === "" ? [user] : [accountUser(namespace, account), user];
    for (const one of users) {
      const decision = await this.#environment.authorizer.authorize({
        user: one,
        verb: "use",
        isResource: true,
        group: "policy",
        version: "*",
        resource: "podsecuritypolicies",
        subresource: "",
        namespace,
        name: policy.metadata.name ?? "",
        path: "",
      });
      if (decision.verdict === "allow") return true;
    }
    return false;
  }
}

/** The user a service account is. */
function accountUser(namespace: string, account: string): User {
  const groups = ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"];
  return { name: `system:serviceaccount:${namespace}:${account}`, uid: "", groups, extra: new Map() };
}
