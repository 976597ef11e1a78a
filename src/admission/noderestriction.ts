// NodeRestriction: the agent of a node acts for its own node and the pods on it, and for nothing else. Off by default.
// Every check that reads a node's own word is made on create, on update and on status alike (CVE-2025-4563), and a
// node may not change who owns it (CVE-2025-5187).
import type { TokenRequest } from "../api/gen/authentication/v1.ts";
import type { Node, PersistentVolumeClaim, Pod, Taint } from "../api/gen/core/v1.ts";
import { compareBytes, quote } from "../api/gotext.ts";
import type { Identity } from "../api/identity.ts";
import type { ApiObject, OwnerReference } from "../api/object.ts";
import { notFound, type Status } from "../api/status.ts";
import type { User } from "../api/user.ts";
import { configMapNames, secretNames } from "../kinds/core/podrefs.ts";
import { equal } from "../kinds/validation/equal.ts";
import type { AdmissionPlugin, Attributes, Environment } from "./plugin.ts";
import { forbid } from "./plugin.ts";

const userPrefix = "system:node:";
const nodesGroup = "system:nodes";

type Verdict = Status | undefined;
type Check = (node: string, attributes: Attributes) => Verdict;

/** The name of the node a user is the agent of, empty when the user does not say; undefined: no agent at all. */
export function nodeOf({ name, groups }: User): string | undefined {
  if (!groups.includes(nodesGroup)) return undefined;
  return name.startsWith(userPrefix) ? name.slice(userPrefix.length) : "";
}

/** Builds the plugin. */
export function nodeRestriction(environment: Environment): AdmissionPlugin {
  const { identity } = environment;
  const rules = new Rules(environment);
  const checks = new Map<string, Check>([
    ["/pods", (node, attributes) => rules.pod(node, attributes)],
    ["/nodes", (node, attributes) => rules.node(node, attributes)],
    ["/persistentvolumeclaims", checkClaim],
    ["/serviceaccounts", (node, attributes) => rules.token(node, attributes)],
    [`${identity.spell("coordination.k8s.io")}/leases`, (node, attributes) => rules.lease(node, attributes)],
    [`${identity.spell("storage.k8s.io")}/csinodes`, checkCsiNode],
  ]);
  return {
    mutate(attributes) {
      const { operation, resource, user } = attributes;
      const node = operation === "connect" ? undefined : nodeOf(user);
      if (node === undefined) return undefined;
      if (node === "") return forbid(attributes, `could not determine node from user ${quote(user.name)}`);
      return checks.get(`${resource.group}/${resource.resource}`)?.(node, attributes);
    },
  };
}

class Rules {
  readonly #objects: Environment["objects"];
  readonly #labels: NodeLabels;
  readonly #mirror: string;
  readonly #leases: string;

  constructor({ objects, identity }: Environment) {
    this.#objects = objects;
    this.#labels = new NodeLabels(identity);
    this.#mirror = identity.spell("kubernetes.io/config.mirror");
    this.#leases = identity.spell("kube-node-lease");
  }

  pod(node: string, attributes: Attributes): Verdict {
    const { operation, subresource } = attributes;
    if (subresource === "status") return operation === "update" ? this.#podStatus(node, attributes) : undefined;
    if (subresource === "eviction") return this.#ownPod(node, attributes, `node ${node} can only evict pods`);
    if (subresource !== "") {
      const why = `unexpected pod subresource ${quote(subresource)}, only 'status' and 'eviction' are allowed`;
      return forbid(attributes, why);
    }
    if (operation === "create") return this.#newPod(node, attributes);
    if (operation === "delete") return this.#ownPod(node, attributes, `node ${quote(node)} can only delete pods`);
    const why = `unexpected operation "UPDATE", node ${quote(node)} can only create and delete mirror pods`;
    return forbid(attributes, why);
  }

  #ownPod(node: string, attributes: Attributes, what: string): Verdict {
    const { namespace, name, resource } = attributes;
    // All of a collection: each pod is asked about by its name.
    if (name === "") return undefined;
    const pod = this.#objects.read<ApiObject & Pod>("", "v1", "pods", namespace, name);
    if (pod === undefined) return notFound({ group: resource.group, resource: "pods" }, name);
    return pod.spec.nodeName === node ? undefined : forbid(attributes, `${what} with spec.nodeName set to itself`);
  }

  #podStatus(node: string, attributes: Attributes): Verdict {
    const [pod, old] = [attributes.object as ApiObject & Pod, attributes.old as ApiObject & Pod];
    if (old.spec.nodeName !== node) {
      const why = `node ${quote(node)} can only update pod status for pods with spec.nodeName set to itself`;
      return forbid(attributes, why);
    }
    if (changedKeys(pod.metadata.labels, old.metadata.labels).length === 0) return undefined;
    return forbid(attributes, `node ${quote(node)} cannot update labels through pod status`);
  }

  #newPod(node: string, attributes: Attributes): Verdict {
    const { metadata, spec } = attributes.object as ApiObject & Pod;
    const may = `node ${quote(node)} can only create`;
    if (metadata.annotations?.has(this.#mirror) !== true) {
      return forbid(attributes, `pod does not have ${quote(this.#mirror)} annotation, ${may} mirror pods`);
    }
    if (spec.nodeName !== node) return forbid(attributes, `${may} pods with spec.nodeName set to itself`);
    const owners = metadata.ownerReferences ?? [];
    if (owners.length > 1) return forbid(attributes, `${may} pods with a single owner reference set to itself`);
    const refused = this.#owner(node, attributes, owners[0], may);
    if (refused !== undefined) return refused;
    const not = `node ${quote(node)} can not create pods that reference`;
    if (spec.serviceAccountName) return forbid(attributes, `${not} a service account`);
    if (secretNames(spec).next().done !== true) return forbid(attributes, `${not} secrets`);
    if (configMapNames(spec).next().done !== true) return forbid(attributes, `${not} configmaps`);
    const claims = (spec.volumes ?? []).some((volume) => volume.persistentVolumeClaim !== undefined);
    return claims ? forbid(attributes, `${not} persistentvolumeclaims`) : undefined;
  }

  #owner(node: string, attributes: Attributes, owner: OwnerReference | undefined, may: string): Verdict {
    if (owner === undefined || owner.apiVersion !== "v1" || owner.kind !== "Node" || owner.name !== node) {
      return forbid(attributes, `${may} pods with an owner reference set to itself`);
    }
    if (owner.controller !== true) {
      return forbid(attributes, `${may} pods with a controller owner reference set to itself`);
    }
    if (owner.blockOwnerDeletion === true) {
      return forbid(attributes, `node ${quote(node)} must not set blockOwnerDeletion on an owner reference`);
    }
    const found = this.#objects.read<ApiObject & Node>("", "v1", "nodes", "", node);
    if (found === undefined) return notFound({ group: "", resource: "nodes" }, node);
    const uid = found.metadata.uid ?? "";
    if (owner.uid === uid) return undefined;
    return forbid(attributes, `node ${node} UID mismatch: expected ${owner.uid} got ${uid}`);
  }

  node(node: string, attributes: Attributes): Verdict {
    const { operation, name } = attributes;
    if (name !== node) {
      return forbid(attributes, `node ${quote(node)} is not allowed to modify node ${quote(name)}`);
    }
    if (operation === "delete") return undefined;
    const [object, old] = [attributes.object as ApiObject & Node, attributes.old as (ApiObject & Node) | undefined];
    const refused = old === undefined ? undefined : checkNodeUpdate(node, attributes, object, old);
    if (refused !== undefined) return refused;
    const bad = this.#labels.forbidden(changedKeys(object.metadata.labels, old?.metadata.labels));
    if (bad.length === 0) return undefined;
    const list = bad.join(", ");
    if (old !== undefined) return forbid(attributes, `is not allowed to modify labels: ${list}`);
    return forbid(attributes, `node ${quote(node)} is not allowed to set the following labels: ${list}`);
  }

  token(node: string, attributes: Attributes): Verdict {
    const { operation, subresource, namespace, object } = attributes;
    if (operation !== "create" || subresource !== "token") return undefined;
    const bound = (object as (ApiObject & TokenRequest) | undefined)?.spec.boundObjectRef;
    if (bound?.apiVersion !== "v1" || bound.kind !== "Pod" || !bound.name) {
      return forbid(attributes, "node requested token not bound to a pod");
    }
    if (!bound.uid) return forbid(attributes, "node requested token with a pod binding without a uid");
    const pod = this.#objects.read<ApiObject & Pod>("", "v1", "pods", namespace, bound.name);
    if (pod === undefined) return notFound({ group: "", resource: "pods" }, bound.name);
    if (bound.uid !== pod.metadata.uid) {
      const why = `the UID in the bound object reference (${bound.uid}) does not match the UID in record. The object might have been deleted and then recreated`;
      return forbid(attributes, why);
    }
    if (pod.spec.nodeName === node) return undefined;
    return forbid(attributes, "node requested token bound to a pod scheduled on a different node");
  }

  lease(node: string, attributes: Attributes): Verdict {
    if (attributes.namespace !== this.#leases) {
      return forbid(attributes, `can only access leases in the ${quote(this.#leases)} system namespace`);
    }
    if (attributes.name === node) return undefined;
    return forbid(attributes, "can only access node lease with the same name as the requesting node");
  }
}

/** What a node's agent may not change about its node once it is there. */
function checkNodeUpdate(node: string, attributes: Attributes, object: Node, old: Node): Verdict {
  const may = `node ${quote(node)} is not allowed to`;
  const config = object.spec.configSource;
  if (config !== undefined && !equal("core/v1.NodeConfigSource", config, old.spec.configSource)) {
    return forbid(attributes, `${may} update configSource to a new non-nil configSource`);
  }
  const same = (a: readonly Taint[] = [], b: readonly Taint[] = []): boolean =>
    a.length === b.length && a.every((taint, index) => equal("core/v1.Taint", taint, b[index]));
  if (!same(object.spec.taints, old.spec.taints)) return forbid(attributes, `${may} modify taints`);
  const [owners, before] = [object.metadata.ownerReferences ?? [], old.metadata.ownerReferences ?? []];
  const owned =
    owners.length === before.length &&
    owners.every((owner, index) => equal("meta/v1.OwnerReference", owner, before[index]));
  return owned ? undefined : forbid(attributes, `${may} modify ownerReferences`);
}

/** Claims: the agent tells how large a volume is now, and that is all. */
function checkClaim(node: string, attributes: Attributes): Verdict {
  if (attributes.subresource !== "status") return forbid(attributes, "may only update PVC status");
  const bare = (object: ApiObject): object => {
    const { metadata, spec, status } = object as ApiObject & PersistentVolumeClaim;
    const { resourceVersion, managedFields, ...kept } = metadata;
    const { capacity, conditions, ...rest } = status;
    return { metadata: kept, spec, status: rest };
  };
  const { object, old } = attributes;
  if (object === undefined || old === undefined) return undefined;
  if (equal("core/v1.PersistentVolumeClaim", bare(object), bare(old))) return undefined;
  const why = `node ${quote(node)} is not allowed to update fields other than status.capacity and status.conditions`;
  return forbid(attributes, why);
}

function checkCsiNode(node: string, attributes: Attributes): Verdict {
  if (attributes.name === node) return undefined;
  return forbid(attributes, "can only access CSINode with the same name as the requesting node");
}

/** Keys that differ between two maps. */
function changedKeys(a: ReadonlyMap<string, string> = new Map(), b: ReadonlyMap<string, string> = new Map()): string[] {
  const keys = new Set([...a.keys(), ...b.keys()]);
  return [...keys].filter((key) => a.get(key) !== b.get(key));
}

/** Labels of the API's own domains that a node's agent may set itself (upstream: kubelet/pkg/apis). */
const agentLabels = [
  "kubernetes.io/hostname",
  "kubernetes.io/os",
  "kubernetes.io/arch",
  "beta.kubernetes.io/os",
  "beta.kubernetes.io/arch",
  "beta.kubernetes.io/instance-type",
  "node.kubernetes.io/instance-type",
  "topology.kubernetes.io/zone",
  "topology.kubernetes.io/region",
  "failure-domain.beta.kubernetes.io/zone",
  "failure-domain.beta.kubernetes.io/region",
];

/** Which labels of nodes are not the agent's. Both spellings of a branded domain are protected. */
class NodeLabels {
  readonly #agent: ReadonlySet<string>;
  readonly #agentDomains: readonly string[];
  readonly #restricted: readonly string[];
  readonly #own: readonly string[];

  constructor({ spell }: Identity) {
    const both = (names: readonly string[]): string[] => [...new Set([...names, ...names.map(spell)])];
    this.#agent = new Set(both(agentLabels));
    this.#agentDomains = both(["kubelet.kubernetes.io", "node.kubernetes.io"]);
    this.#restricted = both(["node-restriction.kubernetes.io"]);
    this.#own = both(["kubernetes.io", "k8s.io"]);
  }

  forbidden(keys: readonly string[]): string[] {
    return keys.filter((key) => this.#isForbidden(key)).sort(compareBytes);
  }

  #isForbidden(key: string): boolean {
    const slash = key.indexOf("/");
    const domain = slash === -1 ? "" : key.slice(0, slash);
    const within = (domains: readonly string[]): boolean =>
      domains.some((one) => domain === one || domain.endsWith(`.${one}`));
    if (within(this.#restricted)) return true;
    return within(this.#own) && !this.#agent.has(key) && !within(this.#agentDomains);
  }
}
