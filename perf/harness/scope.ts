// A namespace of a run, with what its pods need, and the questions a scenario asks of a server.
import { randomBytes } from "node:crypto";
import { eventually } from "../../test/support/server.ts";
import { podAccount } from "../corpus/pod.ts";
import { Connection } from "./connection.ts";
import type { Target } from "./target.ts";

/** Namespaces of runs that are there, by the server they are on. */
const scopes = new WeakMap<Target, Set<Scope>>();

/** Answers to the deletion of a namespace that is gone, or whose end has begun. */
const endingCodes = new Set([200, 202, 404, 409]);
/** How long a namespace is deleted before it is given up. */
const closingMsMax = 10_000;

/** A namespace that a run has to itself. */
export class Scope {
  readonly namespace: string;
  readonly #target: Target;
  #connection: Connection;

  private constructor(target: Target, namespace: string) {
    this.#target = target;
    this.#connection = target.connection;
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
    const { code, text } = await this.#connection.ask({ method: "POST", path, body });
    if (code !== 201) throw new Error(`A create at ${path} was answered ${code}: ${text.slice(0, 300)}`);
  }

  /**
   * How many objects a collection has, and the version of that state. Of one with a selector it is only told whether there
   * are some: servers do not count those.
   */
  async size(path: string): Promise<{ count: number; version: string }> {
    const { code, text } = await this.#connection.ask({
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

  /** Deletes its pods without grace: nodes of a run have no agents, which would end them. Tells whether none is left. */
  async clearPods(): Promise<boolean> {
    const path = `${this.path}/pods`;
    await this.#remove(path);
    return (await this.size(path)).count === 0;
  }

  /**
   * Deletes objects of these collections, then the namespace, then its pods: it would wait for those that are bound. They
   * come last, and again: creates that were sent before the load ended are refused from the deletion of the namespace on.
   * Rejects when the server keeps any.
   */
  async close(collections: readonly string[] = []): Promise<void> {
    scopes.get(this.#target)?.delete(this);
    // Of its own: where a run was ended, an exchange may be under way on the other one.
    this.#connection = new Connection(this.#target.endpoint);
    try {
      for (const path of collections) await this.#remove(path);
      let last = "";
      const isDeleted = async (): Promise<boolean> => {
        const { code, text } = await this.#remove(this.path);
        last = `${code}: ${text.slice(0, 300)}`;
        return endingCodes.has(code) && (await this.clearPods());
      };
      if (await eventually(isDeleted, closingMsMax)) return;
      throw new Error(`namespace ${this.namespace} was not deleted, its deletion was answered ${last}`);
    } finally {
      this.#connection.close();
    }
  }

  #remove(path: string): Promise<{ code: number; text: string }> {
    return this.#connection.ask({ method: "DELETE", path: `${path}?gracePeriodSeconds=0` });
  }

  /** Deletes the namespaces that are left on a server, of scenarios that did not get as far as to close them. */
  static async closeAll(target: Target): Promise<void> {
    for (const scope of scopes.get(target) ?? []) await scope.close();
  }
}
