// Fills in the rules of aggregated cluster roles: those of every role its selectors choose, in the order of the
// selectors and of names, each once (upstream: the cluster role aggregation controller). Follows the log of cluster
// roles; a role that is gathered into one that is gathered itself takes two passes.
import type { ClusterRole, PolicyRule } from "../api/gen/rbac/v1.ts";
import { compareBytes } from "../api/gotext.ts";
import type { ApiObject } from "../api/object.ts";
import type { Resource } from "../api/scheme.ts";
import { isStatus } from "../api/status.ts";
import type { ObjectTable } from "../cache/view/objects.ts";
import type { LogView } from "../cache/view/view.ts";
import { limits } from "../config/limits.ts";
import { selects } from "../kinds/validation/selector.ts";
import type { Server } from "../request/call/context.ts";
import { Actor } from "./actor.ts";
import { Reconciler, type Report } from "./reconciler.ts";

type Role = ApiObject & ClusterRole;

const group = "rbac.authorization.k8s.io";

/** Runs from start() to stop(). */
export class AggregationController {
  readonly #actor: Actor;
  readonly #report: Report;
  readonly #passes: Reconciler;
  /** Undefined: cluster roles are switched off, and there is nothing to do. */
  readonly #resource: Resource | undefined;
  readonly #view: LogView | undefined;
  readonly #roles: ObjectTable<Role>;
  /** Of the table when all was well. */
  #settled = -1;

  constructor(server: Server, report: Report) {
    const account = "system:serviceaccount:kube-system:clusterrole-aggregation-controller";
    this.#actor = new Actor(server.writers, "clusterrole-aggregation-controller", account);
    this.#report = report;
    this.#passes = new Reconciler(
      () => this.#pass(),
      (error) => report("Filling in aggregated cluster roles failed", error),
    );
    this.#resource = server.scheme.find(server.identity.spell(group), "v1", "clusterroles");
    this.#view = server.objects.view(group, "v1", "clusterroles");
    this.#roles = server.objects.table(group, "v1", "clusterroles");
  }

  /** Looks at every aggregated role, and again whenever a role changes. */
  start(): void {
    if (this.#view !== undefined) this.#passes.follow([this.#view]);
  }

  /** No pass starts after this. */
  stop(): void {
    this.#passes.stop();
  }

  /** Passes until nothing is left to fill in; what could not be written is tried again in a while. */
  look(): Promise<void> {
    return this.#passes.ask();
  }

  async #pass(): Promise<void> {
    const version = this.#roles.refresh();
    if (version === this.#settled) return;
    // In the order of names, as rules are to be gathered.
    const roles = this.#roles.all().sort((a, b) => compareBytes(a.metadata.name ?? "", b.metadata.name ?? ""));
    const labelled = roles.filter(({ metadata }) => (metadata.labels?.size ?? 0) > 0);
    let refused = false;
    for (const role of roles) {
      const rules = gathered(role, labelled);
      if (rules === undefined || sameRules(rules, role.rules ?? [])) continue;
      refused = !(await this.#fill(role.metadata.name ?? "", rules)) || refused;
    }
    if (!refused) {
      this.#settled = version;
      return;
    }
    this.#passes.askIn(limits.aggregationRetryMs);
  }

  /** Writes the rules of one role; false when that has to be tried again. */
  async #fill(name: string, rules: PolicyRule[]): Promise<boolean> {
    if (this.#resource === undefined) return true;
    const done = await this.#actor.update<Role>({ resource: this.#resource, name }, (role) => {
      // Somebody took the rule away meanwhile: the next pass sees that.
      if (role.aggregationRule !== undefined) role.rules = rules;
      return undefined;
    });
    if (!isStatus(done) || done.success || done.reason === "NotFound") return true;
    this.#report(`The rules of the cluster role ${JSON.stringify(name)} cannot be filled in`, done);
    return false;
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
