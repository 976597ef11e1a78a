// A namespace of a run, with what its pods need, and the questions a scenario asks of a server.
import { randomBytes } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { podAccount } from "../corpus/pod.ts";
import { Connection } from "./connection.ts";
import type { Target } from "./target.ts";

/** Namespaces of runs that are there, by the server they are on. */
const scopes = new WeakMap<Target, Set<Scope>>();

/** How often a namespace is deleted before it is given up, and the pause between. */
const [closingRounds, closingPauseMs] = [20, 500];

/** A namespace that a run has to itself. */
export class Scope {
  readonly namespace: string;
  readonly #target: Target;

  private constructor(target: Target, namespace: string) {
    this.#target = target;
    this.namespace = namespace;
  }

  /** Makes one, with the service account that pods name. */
  static async open(target: Target, prefix = "perf"): Promise<Scope> {
    const scope = new Scope(target, `${prefix}-${randomBytes(4).toString("hex")}`);
    scopes.set(target, (scopes.get(target) ?? new Set()).add(scope));
    await scope.create("/api/v1/namespaces", { metadata: { name: scope.namespace } });
    await scope.create(`${scope.path}/serviceaccounts`, podAccount);
    return scope;
  }

  /** Of the namespace. */
  get path(): string {
    return `/api/v1/namespaces/${this.namespace}`;
  }

  /** Creates an object. */
  async create(path: string, object: object): Promise<void> {
    const body = JSON.stringify(object);
    const { code, text } = await this.#target.connection.ask({ method: "POST", path, body });
    if (code !== 201) throw new Error(`A create at ${path} was answered ${code}: ${text.slice(0, 300)}`);
  }

  /**
   * How many objects a collection has, and the version of that state. Of one with a selector it is only told whether there
   * are some: servers do not count those.
   */
  async size(path: string): Promise<{ count: number; version: string }> {
    const { code, text } = await this.#target.connection.ask({
      method: "GET",
      path: `${path}${path.includes("?") ? "&" : "?"}limit=1`,
    });
    if (code !== 200) throw new Error(`A list of ${path} was answered ${code}: ${text.slice(0, 300)}`);
    const { items, metadata } = JSON.parse(text) as {
      items: unknown[];
      metadata: { resourceVersion: string; remainingItemCount?: number };
    };
    return { count: items.length + (metadata.remainingItemCount ?? 0), version: metadata.resourceVersion };
  }

  /**
   * Deletes objects of these collections, then the namespace, then its pods without grace: it would wait for those that are
   * bound to nodes until their agents say that they have ended, and there are none. Pods come last, and again: creates that
   * were sent before the load ended are refused from the deletion of the namespace on. Rejects when the server keeps any.
   */
  async close(collections: readonly string[] = []): Promise<void> {
    scopes.get(this.#target)?.delete(this);
    // Of its own: where a run was ended, an exchange may be under way on the other one.
    const connection = new Connection(this.#target.endpoint);
    const remove = (path: string): Promise<{ code: number; text: string }> =>
      connection.ask({ method: "DELETE", path: `${path}?gracePeriodSeconds=0` });
    try {
      for (const path of collections) await remove(path);
      const pods = `${this.path}/pods`;
      let last = { code: 0, text: "" };
      for (let round = 0; round < closingRounds; round++) {
        if (round > 0) await setTimeout(closingPauseMs);
        last = await remove(this.path);
        // It is gone, or its end has begun.
        if (last.code === 404) return;
        if (last.code !== 200 && last.code !== 202 && last.code !== 409) continue;
        last = await remove(pods);
        const { code, text } = await connection.ask({ method: "GET", path: `${pods}?limit=1` });
        if (code === 200 && (JSON.parse(text) as { items: unknown[] }).items.length === 0) return;
      }
      throw new Error(
        `namespace ${this.namespace} was not deleted, the last answer was ${last.code}: ${last.text.slice(0, 300)}`,
      );
    } finally {
      connection.close();
    }
  }

  /** Deletes the namespaces that are left on a server, of scenarios that did not get as far as to close them. */
  static async closeAll(target: Target): Promise<void> {
    for (const scope of scopes.get(target) ?? []) await scope.close();
  }
}
