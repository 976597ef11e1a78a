// A namespace of a run, with what its pods need, and the questions a scenario asks of a server.
import { randomBytes } from "node:crypto";
import { podAccount } from "../corpus/pod.ts";
import { Connection } from "./connection.ts";
import type { Target } from "./target.ts";

/** Namespaces of runs that are there, by the server they are on. */
const scopes = new WeakMap<Target, Set<Scope>>();

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

  /** How many objects a collection has, and the version of that state. */
  async size(path: string): Promise<{ count: number; version: string }> {
    const { code, text } = await this.#target.connection.ask({ method: "GET", path: `${path}?limit=1` });
    if (code !== 200) throw new Error(`A list of ${path} was answered ${code}: ${text.slice(0, 300)}`);
    const { items, metadata } = JSON.parse(text) as {
      items: unknown[];
      metadata: { resourceVersion: string; remainingItemCount?: number };
    };
    return { count: items.length + (metadata.remainingItemCount ?? 0), version: metadata.resourceVersion };
  }

  /** Deletes objects of these collections, then the namespace. */
  async close(collections: readonly string[]): Promise<void> {
    scopes.get(this.#target)?.delete(this);
    // Of its own: where a run was ended, an exchange may be under way on the other one.
    const connection = new Connection(this.#target.endpoint);
    for (const path of [...collections, this.path]) {
      await connection.ask({ method: "DELETE", path: `${path}?gracePeriodSeconds=0` });
    }
    connection.close();
  }

  /** Deletes the namespaces that are left on a server, of scenarios that did not get as far as to close them. */
  static async closeAll(target: Target): Promise<void> {
    for (const scope of scopes.get(target) ?? []) await scope.close([]);
  }
}
