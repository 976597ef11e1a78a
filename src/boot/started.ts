// Whether what a server starts with is there, step by step: looked up in the logs, because the thread of the controllers
// makes it and any front is asked. What was there once counts as done, for all fronts and as long as the process lives: a
// word of each step says so.
import type { APIService } from "../api/gen/apiregistration/v1.ts";
import { builtInRegistrations, isOrdered } from "../api/groups.ts";
import type { ApiObject } from "../api/object.ts";
import type { Registry } from "../api/registry.ts";
import type { Objects } from "../cache/view/objects.ts";
import type { OpenViews } from "../cache/view/views.ts";
import { authenticationMap } from "../controllers/authentication.ts";
import { hasPolicy } from "../controllers/rbacpolicy.ts";
import { flowGroup, servedVersion } from "../flowcontrol/objects.ts";
import { apiServicesKind, conditionOf } from "../kinds/apiregistration/apiservice.ts";
import { type BootStep, bootSteps } from "../observe/health.ts";

/** Words: one for each step, and one for the APIServices of built-in group versions. */
const words = bootSteps.length + 1;
const registeredWord = bootSteps.length;

/** Memory of what is done; all zero: nothing is. */
export function startedMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer(words * Int32Array.BYTES_PER_ELEMENT);
}

/** What the steps are looked up in. */
export interface StartedOptions {
  readonly memory: SharedArrayBuffer;
  readonly scheme: Registry;
  readonly views: OpenViews;
  readonly objects: Objects;
  /** What other servers are told of authentication; empty: nothing is published. */
  readonly published: () => ReadonlyMap<string, string>;
}

/** The steps of a start, as one thread sees them. */
export class Started {
  readonly #options: StartedOptions;
  readonly #words: Int32Array<SharedArrayBuffer>;
  /** APIServices of built-in group versions that were not seen available; undefined: not looked up yet. */
  #pending: Set<string> | undefined;

  constructor(options: StartedOptions) {
    this.#options = options;
    this.#words = new Int32Array(options.memory);
  }

  /** Whether what `step` makes is there. */
  has(step: BootStep): boolean {
    const word = bootSteps.indexOf(step);
    if (Atomics.load(this.#words, word) === 1) return true;
    const isDone = this.#look(step);
    if (isDone) Atomics.store(this.#words, word, 1);
    return isDone;
  }

  /** Says that a step is done, which leaves nothing to look up. */
  mark(step: BootStep): void {
    Atomics.store(this.#words, bootSteps.indexOf(step), 1);
  }

  /** An error message that names the APIServices of built-in group versions that were not available yet; undefined: all were. */
  unregistered(): string | undefined {
    if (Atomics.load(this.#words, registeredWord) === 1) return undefined;
    const { scheme, objects } = this.#options;
    // A kind that is switched off holds nothing up.
    if (objects.view(...apiServicesKind) === undefined) return undefined;
    const wanted = [...builtInRegistrations(scheme.builtIn)].filter(([, each]) => isOrdered(each));
    this.#pending ??= new Set(wanted.map(([name]) => name));
    const table = objects.table<ApiObject & APIService>(...apiServicesKind);
    for (const name of this.#pending) {
      const found = table.get("", name);
      if (found !== undefined && conditionOf(found.status)?.status === "True") this.#pending.delete(name);
    }
    if (this.#pending.size > 0) return `missing APIService: [${[...this.#pending].join(" ")}]`;
    Atomics.store(this.#words, registeredWord, 1);
    return undefined;
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
      case "priority-and-fairness-config-producer":
        return this.#exists(spell(flowGroup), "flowschemas", "", "catch-all", servedVersion(scheme, "flowschemas"));
      case "start-cluster-authentication-info-controller":
        return published().size === 0 || this.#exists("", "configmaps", spell("kube-system"), authenticationMap);
      // The thread of the controllers marks them.
      case "apiservice-status-available-controller":
      case "kube-apiserver-autoregistration":
        return objects.view(...apiServicesKind) === undefined;
    }
  }

  /** A kind that is switched off holds nothing up. */
  #exists(group: string, resource: string, namespace: string, name: string, version = "v1"): boolean {
    const { scheme, views } = this.#options;
    const prefix = scheme.find(group, version, resource)?.prefix;
    if (prefix === undefined) return true;
    const view = views.log(prefix);
    view.drain();
    return view.get(namespace, name) !== 0;
  }
}
