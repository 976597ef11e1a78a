// Whether what a server starts with is there, step by step: looked up in the logs, because the thread of the controllers
// makes it and any front is asked. What was there once counts as done.
import type { Scheme } from "../api/scheme.ts";
import type { Objects } from "../cache/view/objects.ts";
import type { OpenViews } from "../cache/view/views.ts";
import { authenticationMap } from "../controllers/authentication.ts";
import { hasPolicy } from "../controllers/rbacpolicy.ts";
import type { BootStep } from "../observe/health.ts";

/** What the steps are looked up in. */
export interface StartedOptions {
  readonly scheme: Scheme;
  readonly views: OpenViews;
  readonly objects: Objects;
  /** What other servers are told of authentication; empty: nothing is published. */
  readonly published: () => ReadonlyMap<string, string>;
}

/** The steps of a start, as a front sees them. */
export class Started {
  readonly #options: StartedOptions;
  readonly #done = new Set<BootStep>();

  constructor(options: StartedOptions) {
    this.#options = options;
  }

  /** Whether what `step` makes is there. */
  has(step: BootStep): boolean {
    if (this.#done.has(step)) return true;
    const done = this.#look(step);
    if (done) this.#done.add(step);
    return done;
  }

  #look(step: BootStep): boolean {
    const { scheme, objects, published } = this.#options;
    const { spell } = scheme.identity;
    switch (step) {
      // Plugins and views are open before a front listens.
      case "start-kube-apiserver-admission-initializer":
      case "generic-apiserver-start-informers":
        return true;
      case "bootstrap-controller":
        return this.#exists("", "namespaces", "", spell("kube-node-lease"));
      case "rbac/bootstrap-roles":
        return hasPolicy(scheme, objects);
      case "scheduling/bootstrap-system-priority-classes":
        return this.#exists(spell("scheduling.k8s.io"), "priorityclasses", "", "system-cluster-critical");
      case "start-cluster-authentication-info-controller":
        return published().size === 0 || this.#exists("", "configmaps", spell("kube-system"), authenticationMap);
    }
  }

  /** A kind that is switched off holds nothing up. */
  #exists(group: string, resource: string, namespace: string, name: string): boolean {
    const { scheme, views } = this.#options;
    const prefix = scheme.find(group, "v1", resource)?.prefix;
    if (prefix === undefined) return true;
    const view = views.log(prefix);
    view.drain();
    return view.get(namespace, name) !== 0;
  }
}
