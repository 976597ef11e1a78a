// What a request may do to storage. The tuple the authorizer allowed (verb, group, resource, subresource, namespace,
// name) says which changes of which keys may follow from it, and every commit and every read names its own: what was
// not authorized cannot be written, whichever code forgot to ask. A verb that a request turns out to need besides its
// own, the create of an apply or a PUT that finds no object, is asked for here.
import type { Resource, Scheme } from "../../api/scheme.ts";
import type { Status } from "../../api/status.ts";
import type { User } from "../../api/user.ts";
import { type Authorizer, askedBy, type Decision, type Question } from "../../authz/authorizer.ts";
import { refusalOf } from "../../authz/denial.ts";
import { AssertionFailure } from "../../base/assert.ts";
import type { TraceSpans } from "../../observe/spans.ts";

/**
 * What is done to one object. `release`: an update that took the last finalizer removes it, which the verb of the update
 * allows (upstream: ShouldDeleteDuringUpdate).
 */
export type Operation = "read" | "create" | "update" | "release" | "delete";

/** One operation on one key. `resource` at any version; a read of a collection has no name. */
export interface Access {
  readonly operation: Operation;
  readonly resource: Resource;
  readonly namespace: string;
  readonly name: string;
}

/** What one request, or the server itself, may do to storage. */
export interface Permit {
  /** Asks whether the object a request names may be created; the 403, or a 500 where no authorizer could tell. */
  mayCreate(): Promise<Status | undefined>;
  /** Throws UnauthorizedAccess for an operation that follows from nothing that was allowed. */
  check(access: Access): void;
}

/** An operation that was not authorized: a bug that ends its request with a 500 and changes nothing. */
export class UnauthorizedAccess extends AssertionFailure {
  override name = "UnauthorizedAccess";
}

/** The permit of what the server does by itself: controllers, budgets, addresses, what goes with a deleted object. */
export const serverPermit: Permit = {
  mayCreate: () => Promise.resolve(undefined),
  check: () => undefined,
};

/** Operations that follow from an allowed verb on the object itself. */
const operations: ReadonlyMap<string, readonly Operation[]> = new Map([
  ["get", ["read"]],
  ["list", ["read"]],
  ["watch", ["read"]],
  ["create", ["create"]],
  ["update", ["update", "release"]],
  ["patch", ["update", "release"]],
  // An object with a grace period or finalizers is marked first.
  ["delete", ["update", "delete"]],
  ["deletecollection", ["update", "delete"]],
]);

/** Creates that do something to the object they name instead. */
const actions: ReadonlyMap<string, readonly Operation[]> = new Map([
  ["pods/binding", ["update"]],
  ["pods/eviction", ["update", "delete"]],
]);

const none: readonly Operation[] = [];

/** The permit of a request: made once its verb was allowed. */
export class RequestPermit implements Permit {
  readonly #scheme: Scheme;
  readonly #authorizer: Authorizer;
  readonly #user: User;
  readonly #asked: Question;
  readonly #told: ((decision: Decision) => void) | undefined;
  readonly #spans: TraceSpans | undefined;
  #created = false;

  /** `asked` was allowed to `user`; `told` hears what is decided from here on, for the audit event. */
  constructor(
    scheme: Scheme,
    authorizer: Authorizer,
    user: User,
    asked: Question,
    told: ((decision: Decision) => void) | undefined,
    spans?: TraceSpans,
  ) {
    this.#scheme = scheme;
    this.#authorizer = authorizer;
    this.#user = user;
    this.#asked = asked;
    this.#told = told;
    this.#spans = spans;
  }

  async mayCreate(): Promise<Status | undefined> {
    const question = { ...askedBy(this.#user, this.#asked, this.#spans), verb: "create" };
    const refused = await refusalOf(this.#authorizer, question, this.#told);
    this.#created = refused === undefined;
    return refused;
  }

  check(access: Access): void {
    if (this.#covers(access)) return;
    const { operation, resource, namespace, name } = access;
    const { verb, subresource } = this.#asked;
    const asked = `${verb} ${this.#asked.resource}${subresource === "" ? "" : `/${subresource}`}`;
    const where = JSON.stringify(`${this.#asked.namespace}/${this.#asked.name}`);
    const done = `${operation} of ${resource.resource} ${JSON.stringify(`${namespace}/${name}`)}`;
    throw new UnauthorizedAccess(`${done} does not follow from ${asked} ${where}`);
  }

  #covers({ operation, resource, namespace, name }: Access): boolean {
    const asked = this.#asked;
    // Pods are bound through a kind of their own, too, which names them in its body.
    const bound = asked.group === "" && asked.resource === "bindings" && asked.verb === "create";
    const about = this.#scheme.find(asked.group, asked.version, bound ? "pods" : asked.resource);
    // Versions and groups of one kind share what is stored.
    if (about?.stored === undefined || about.stored !== resource.stored) return false;
    if (namespace !== (about.namespaced ? asked.namespace : "")) return false;
    // A name is made with its object; collections are authorized as a whole.
    if (asked.name !== "" && name !== "" && asked.name !== name) return false;
    if (bound) return operation === "update";
    if (operation === "create" && this.#created) return asked.subresource === "" && asked.name === name;
    return this.#following().includes(operation);
  }

  #following(): readonly Operation[] {
    const { verb, group, resource, subresource } = this.#asked;
    if (subresource === "") return operations.get(verb) ?? none;
    if (verb === "create") return group === "" ? (actions.get(`${resource}/${subresource}`) ?? none) : none;
    return verb === "delete" || verb === "deletecollection" ? none : (operations.get(verb) ?? none);
  }
}
