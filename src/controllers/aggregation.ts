// Fills in the rules of aggregated cluster roles: those of every role its selectors choose, in the order of the
// selectors and of names, each once (upstream: the cluster role aggregation controller). Follows the log of cluster
// roles; a role that is gathered into one that is gathered itself takes two passes. Rules are applied: those another
// manager wrote into a role that gathers nothing stay.
import type { ClusterRole, PolicyRule } from "../api/gen/rbac/v1.ts";
import { compareBytes } from "../api/gotext.ts";
import type { ApiObject } from "../api/object.ts";
import type { Resource } from "../api/scheme.ts";
import { isStatus, type Status } from "../api/status.ts";
import type { ObjectTable } from "../cache/view/objects.ts";
import { toValue } from "../codec/engine/json.ts";
import { selects } from "../kinds/validation/selector.ts";
import type { Server } from "../request/call/context.ts";
import type { Written } from "../request/commit/writerequest.ts";
import { Actor, type Target } from "./actor.ts";
import type { Controller, Failure, Follows, Queue, Result } from "./reconciler.ts";

type Role = ApiObject & ClusterRole;

const group = "rbac.authorization.k8s.io";
const manager = "clusterrole-aggregation-controller";

/** What it works on: all roles together, because any of them may be gathered into any other. */
const rolesKey = "clusterroles";

/** Works on all cluster roles as one. Follows their log. */
export class AggregationController implements Controller {
  readonly follows: Follows;
  readonly #actor: Actor;
  /** Undefined: cluster roles are switched off, and there is nothing to do. */
  readonly #resource: Resource | undefined;
  readonly #roles: ObjectTable<Role>;
  /** Of the table when all was well. */
  #settled = -1;

  constructor(server: Server) {
    const account = "system:serviceaccount:kube-system:clusterrole-aggregation-controller";
    this.#actor = new Actor(server.writers, manager, account);
    this.#resource = server.scheme.find(server.identity.spell(group), "v1", "clusterroles");
    this.#roles = server.objects.table(group, "v1", "clusterroles");
    const view = server.objects.view(group, "v1", "clusterroles");
    this.follows = view === undefined ? [] : [[view, (queue) => queue.add(rolesKey)]];
  }

  all(queue: Queue): void {
    if (this.#resource !== undefined) queue.add(rolesKey);
  }

  /** Fills in what is to be filled in; the news of that have it look again. */
  async work(_key: string, queue: Queue): Promise<Result> {
    const version = this.#roles.refresh();
    if (version === this.#settled) return undefined;
    // In the order of names, as rules are to be gathered.
    const roles = this.#roles.all().sort((a, b) => compareBytes(a.metadata.name ?? "", b.metadata.name ?? ""));
    const labelled = roles.filter(({ metadata }) => (metadata.labels?.size ?? 0) > 0);
    let result: Result;
    for (const role of roles) {
      await queue.giveWay();
      if (queue.signal.aborted) return undefined;
      const rules = gathered(role, labelled);
      if (rules === undefined || sameRules(rules, role.rules ?? [])) continue;
      result = (await this.#fill(role, rules)) ?? result;
    }
    if (result === undefined) this.#settled = version;
    return result;
  }

  /** Writes the rules of one role. */
  async #fill({ metadata }: Role, rules: PolicyRule[]): Promise<Failure | undefined> {
    if (this.#resource === undefined) return undefined;
    const target = { resource: this.#resource, name: metadata.name ?? "" };
    // What former releases of this server wrote was no apply: an apply without rules would leave it.
    const isFormer = metadata.managedFields?.some((one) => one.manager === manager && one.operation === "Update");
    const done = await (isFormer === true
      ? this.#actor.update<Role>(target, (role) => {
          // The rule was taken away meanwhile: the next pass sees that.
          if (role.aggregationRule !== undefined) role.rules = rules;
          return undefined;
        })
      : this.#apply(target, rules));
    if (!isStatus(done) || done.success || done.reason === "NotFound") return undefined;
    return { cause: done, message: `The rules of the cluster role ${JSON.stringify(target.name)} cannot be filled in` };
  }

  #apply(target: Target, rules: readonly PolicyRule[]): Promise<Written | Status> {
    const role = toValue(target.resource.message, { metadata: {}, rules });
    const list = role instanceof Map && rules.length > 0 ? role.get("rules") : undefined;
    return this.#actor.apply(target, new Map(list === undefined ? [] : [["rules", list]]));
  }
}

/** The rules a role is to have; undefined: it gathers none, or by a selector that means nothing. */
function gathered(role: Role, labelled: readonly Role[]): PolicyRule[] | undefined {
  if (role.aggregationRule === undefined) return undefined;
  const rules = new Map<string, PolicyRule>();
  for (const selector of role.aggregationRule.clusterRoleSelectors ?? []) {
    for (const other of labelled) {
      if (other.metadata.name === role.metadata.name) continue;
      const chosen = selects(selector, other.metadata.labels);
      if (chosen === undefined) return undefined;
      if (!chosen) continue;
      for (const rule of other.rules ?? []) {
        const key = keyOf(rule);
        if (!rules.has(key)) rules.set(key, rule);
      }
    }
  }
  return [...rules.values()];
}

function sameRules(a: readonly PolicyRule[], b: readonly PolicyRule[]): boolean {
  return a.length === b.length && a.every((rule, index) => keyOf(rule) === keyOf(b[index] as PolicyRule));
}

/** A rule as text; an absent list is an empty one. */
function keyOf({ verbs = [], apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] }: PolicyRule) {
  return JSON.stringify([verbs, apiGroups, resources, resourceNames, nonResourceURLs]);
}
