// A namespace of a run, with what its pods need, and the questions a scenario asks of a server.
import { randomBytes } from "node:crypto";
import { eventually } from "../../test/support/server.ts";
import { podAccount } from "../corpus/pod.ts";
import { Connection } from "./connection.ts";
import type { Target } from "./target.ts";

/** Namespaces of runs that are there, by the server they are on. */
const scopes = new WeakMap<Target, Set<Scope>>();

const namespaces = "/api/v1/namespaces";
/** Answers to the deletion of a namespace that is gone, or whose end has begun. */
const endingCodes = new Set([200, 202, 404, 409]);
/** How long a namespace is deleted before it is given up. */
const closingMsMax = 10_000;

/** An object as it is sent. */
interface Named {
  readonly metadata: { readonly name: string };
  readonly [field: string]: unknown;
}

/** A namespace that a run has to itself. */
export class Scope {
  readonly namespace: string;
  readonly #target: Target;
  /** Paths of its objects outside of the namespace. */
  readonly #outside: string[] = [];
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
    await scope.create(namespaces, { metadata: { name: scope.namespace } });
    await scope.create(`${scope.path}/serviceaccounts`, podAccount);
    return scope;
  }

  /** Of the namespace. */
  get path(): string {
    return `${namespaces}/${this.namespace}`;
  }

  /** Creates an object; one outside of the namespace is deleted with it. */
  async create(path: string, object: Named): Promise<void> {
    const isInside = path === namespaces || path.includes(`/namespaces/${this.namespace}/`);
    if (!isInside) this.own(`${path}/${object.metadata.name}`);
    const body = JSON.stringify(object);
    const { code, text } = await this.#connection.ask({ method: "POST", path, body });
    if (code !== 201) throw new Error(`A create at ${path} was answered ${code}: ${text.slice(0, 300)}`);
  }

  /** Takes note of an object outside of the namespace before it is made: it is deleted with it. */
  own(path: string): void {
    this.#outside.push(path);
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
   * Deletes objects of these collections and those outside of the namespace, then the namespace, then its pods: it would
   * wait for those that are bound. They come last, and again: creates that were sent before the load ended are refused from
   * the deletion of the namespace on. Rejects when the server keeps any.
   */
  async close(collections: readonly string[] = []): Promise<void> {
    scopes.get(this.#target)?.delete(this);
    // Of its own: where a run was ended, an exchange may be under way on the other one.
    this.#connection = new Connection(this.#target.endpoint);
    try {
      for (const path of collections) await this.#remove(path);
      const kept: string[] = [];
      for (const path of this.#outside) {
        const { code } = await this.#remove(path);
        if (code !== 404 && code >= 300) kept.push(`${path} (answered ${code})`);
      }
      let last = "";
      const isDeleted = async (): Promise<boolean> => {
        const { code, text } = await this.#remove(this.path);
        last = `${code}: ${text.slice(0, 300)}`;
        return endingCodes.has(code) && (await this.clearPods());
      };
      if (!(await eventually(isDeleted, closingMsMax))) kept.push(`namespace ${this.namespace} (answered ${last})`);
      if (kept.length > 0) throw new Error(`not deleted: ${kept.join(", ")}`);
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
