// The mode Node: a node agent may read the objects its pods reference and no others of those kinds; for the
// rest it has the rules of the role `system:node`. Decisions and their texts are upstream's (node authorizer), with
// one step where upstream walks a graph: from a claim to its volume by the claim's own word.
import type { PersistentVolume, PersistentVolumeClaim } from "../api/gen/core/v1.ts";
import type { PolicyRule } from "../api/gen/rbac/v1.ts";
import type { VolumeAttachment } from "../api/gen/storage/v1.ts";
import { quote } from "../api/gotext.ts";
import type { Identity } from "../api/identity.ts";
import type { ApiObject } from "../api/object.ts";
import type { User } from "../api/user.ts";
import type { Objects } from "../cache/view/objects.ts";
import type { Attributes, Authorizer, Decision } from "./authorizer.ts";
import { NodePods } from "./nodepods.ts";
import { volumeNeedsSecret } from "./noderefs.ts";
import { policyObjects } from "./policy/objects.ts";
import { type HeldRules, type RuleResolver, ruleAllows } from "./rules.ts";

const prefix = "system:node:";
const nodesGroup = "system:nodes";

const allowed: Decision = { verdict: "allow", reason: "" };
const nothing: Decision = { verdict: "none", reason: "" };

/** Group (canonical spelling) and resource to the question that is asked about it. */
type Asks = (node: string, asked: Attributes) => Decision;

/** Decides for node agents; has no opinion about other users. */
export class NodeAuthorizer implements Authorizer, RuleResolver {
  readonly #objects: Objects;
  readonly #pods: NodePods;
  readonly #rules: readonly PolicyRule[];
  readonly #leaseNamespace: string;
  /** By `group/resource`. */
  readonly #asks: ReadonlyMap<string, Asks>;

  constructor(identity: Identity, objects: Objects) {
    this.#objects = objects;
    this.#pods = new NodePods(identity, objects);
    this.#rules = policyObjects(identity).find(({ name }) => name === "system:node")?.rules ?? [];
    this.#leaseNamespace = identity.spell("kube-node-lease");
    const reads = (needs: Asks): Asks =>
      this.#whole(["get", "list", "watch"], "can only read resources of this type", needs);
    const gets = (needs: Asks): Asks => this.#whole(["get"], "can only get individual resources of this type", needs);
    this.#asks = new Map([
      ["/secrets", reads((node, asked) => this.#secret(node, asked))],
      ["/configmaps", reads((node, asked) => this.#referred(node, asked, "configMaps"))],
      [
        "/persistentvolumeclaims",
        (node, asked) =>
          this.#claim(
            node,
            asked,
            gets((...more) => this.#referred(...more, "claims")),
          ),
      ],
      ["/persistentvolumes", gets((node, asked) => this.#volume(node, asked))],
      [`${identity.spell("storage.k8s.io")}/volumeattachments`, gets((node, asked) => this.#attachment(node, asked))],
      ["/serviceaccounts", (node, asked) => this.#token(node, asked)],
      [`${identity.spell("coordination.k8s.io")}/leases`, (node, asked) => this.#lease(node, asked)],
      [`${identity.spell("storage.k8s.io")}/csinodes`, (node, asked) => this.#csiNode(node, asked)],
    ]);
  }

  authorize(asked: Attributes): Decision {
    const node = nodeOf(asked.user);
    if (node === undefined) return nothing;
    if (node === "") return no(`unknown node for user ${quote(asked.user.name)}`);
    const ask = asked.isResource ? this.#asks.get(`${asked.group}/${asked.resource}`) : undefined;
    if (ask !== undefined) return ask(node, asked);
    return this.#rules.some((rule) => ruleAllows(rule, asked)) ? allowed : nothing;
  }

  rulesFor(user: User): HeldRules {
    if (nodeOf(user) === undefined) return { rules: [], errors: [] };
    return { rules: [], errors: ["node authorizer does not support user rule resolution"], incomplete: true };
  }

  /** A question about whole objects with one of some verbs. Secrets and config maps are asked for in a namespace. */
  #whole(verbs: readonly string[], otherwise: string, needs: Asks): Asks {
    const lists = verbs.length > 1;
    return (node, asked) => {
      if (!verbs.includes(asked.verb)) return no(otherwise);
      if (asked.subresource !== "") return no(lists ? "cannot read subresource" : "cannot get subresource");
      if (lists && asked.namespace === "") return no("can only read namespaced object of this type");
      return asked.name === "" ? no("No Object name found") : needs(node, asked);
    };
  }

  #referred(node: string, { namespace, name }: Attributes, kind: "secrets" | "configMaps" | "claims"): Decision {
    return decide(
      node,
      this.#pods.some(node, namespace, (refs) => refs[kind].has(name)),
    );
  }

  /** Named by a pod, or by the volume of a claim that a pod names. */
  #secret(node: string, asked: Attributes): Decision {
    const byPod = this.#referred(node, asked, "secrets");
    if (byPod.verdict === "allow") return byPod;
    const { namespace, name } = asked;
    return decide(
      node,
      this.#pods.someClaim(node, (home, claim) => {
        const volume = this.#volumeOf(home, claim);
        return volume !== undefined && volumeNeedsSecret(volume, namespace, name);
      }),
    );
  }

  /** The volume a claim is bound to, when the volume says so, too. */
  #volumeOf(namespace: string, claim: string): PersistentVolume | undefined {
    const found = this.#objects.read<ApiObject & PersistentVolumeClaim>(
      "",
      "v1",
      "persistentvolumeclaims",
      namespace,
      claim,
    );
    const name = found?.spec.volumeName ?? "";
    if (name === "") return undefined;
    const volume = this.#objects.read<ApiObject & PersistentVolume>("", "v1", "persistentvolumes", "", name);
    const ref = volume?.spec.claimRef;
    return ref?.namespace === namespace && ref.name === claim ? volume : undefined;
  }

  #claim(node: string, asked: Attributes, gets: Asks): Decision {
    if (asked.subresource !== "status") return gets(node, asked);
    if (asked.verb !== "update" && asked.verb !== "patch") return no("can only get/update/patch this type");
    return asked.name === "" ? no("No Object name found") : this.#referred(node, asked, "claims");
  }

  #volume(node: string, { name }: Attributes): Decision {
    const volume = this.#objects.read<ApiObject & PersistentVolume>("", "v1", "persistentvolumes", "", name);
    const { namespace = "", name: claim = "" } = volume?.spec.claimRef ?? {};
    return decide(node, claim !== "" && this.#pods.some(node, namespace, ({ claims }) => claims.has(claim)));
  }

  #attachment(node: string, { name }: Attributes): Decision {
    const group = "storage.k8s.io";
    const found = this.#objects.read<ApiObject & VolumeAttachment>(group, "v1", "volumeattachments", "", name);
    return decide(node, found?.spec.nodeName === node);
  }

  #token(node: string, { verb, namespace, name, subresource }: Attributes): Decision {
    if (verb !== "create" || name === "") return no("can only create tokens for individual service accounts");
    if (subresource !== "token") return no("can only create token subresource of serviceaccount");
    return decide(
      node,
      this.#pods.some(node, namespace, ({ account }) => account === name),
    );
  }

  #lease(node: string, { verb, namespace, name }: Attributes): Decision {
    if (!ownVerbs.has(verb)) return no("can only get, create, update, patch, or delete a node lease");
    if (namespace !== this.#leaseNamespace) {
      return no(`can only access leases in the ${quote(this.#leaseNamespace)} system namespace`);
    }
    if (verb === "create" || name === node) return allowed;
    return no("can only access node lease with the same name as the requesting node");
  }

  #csiNode(node: string, { verb, name, subresource }: Attributes): Decision {
    if (!ownVerbs.has(verb)) return no("can only get, create, update, patch, or delete a CSINode");
    if (subresource !== "") return no("cannot authorize CSINode subresources");
    if (verb === "create" || name === node) return allowed;
    return no("can only access CSINode with the same name as the requesting node");
  }
}

/** The verbs of a node on its own lease and CSI node. */
const ownVerbs = new Set(["get", "create", "update", "patch", "delete"]);

/** The node of a user that is a node agent: empty when it names none, undefined for other users. */
function nodeOf({ name, groups }: User): string | undefined {
  return name.startsWith(prefix) && groups.includes(nodesGroup) ? name.slice(prefix.length) : undefined;
}

function decide(node: string, related: boolean): Decision {
  return related ? allowed : no(`no relationship found between node '${node}' and this object`);
}

function no(reason: string): Decision {
  return { verdict: "none", reason };
}
