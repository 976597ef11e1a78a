// How a controller changes objects: through the write path that clients use, defaults, admission, validation and field
// managers included, under a user and a manager of its own. One Actor per controller; each call is one request with a
// deadline of its own, and its answer is what a client would read.
import type { DeleteOptions } from "../api/gen/meta/v1.ts";
import type { ApiObject } from "../api/object.ts";
import type { Resource } from "../api/scheme.ts";
import { badRequest, isStatus, notFound, type Status } from "../api/status.ts";
import { systemUser, type User } from "../api/user.ts";
import type { Value } from "../api/value.ts";
import type { Location } from "../cache/shared/record.ts";
import { type LogView, UnknownLog } from "../cache/view/view.ts";
import { Fault } from "../codec/engine/json.ts";
import { limits } from "../config/limits.ts";
import { spanKinds } from "../observe/spans.ts";
import { noTrace, StageTrace } from "../observe/trace.ts";
import { bodyOf } from "../request/body/body.ts";
import { requestedObject } from "../request/commit/objectstore.ts";
import type { WriteRequest, WriteServices, Written } from "../request/commit/writerequest.ts";
import { deleteItems, deleteObject } from "../request/delete/delete.ts";
import { serverPermit } from "../request/exchange/permit.ts";
import { writeMerged, writeObject } from "../request/write/write.ts";
import { spansOfPass } from "./passes.ts";
import type { Failure } from "./reconciler.ts";

/** What a call is about. A resource is taken at the version it is given in. */
export interface Target {
  readonly resource: Resource;
  /** Left out: the object is not in a namespace. */
  readonly namespace?: string | undefined;
  readonly name: string;
  /** Left out: the object itself. */
  readonly subresource?: string;
}

/** One controller's hands. All methods answer the Status a client would get; none throws for what it is given. */
export class Actor {
  readonly #writers: WriteServices;
  readonly #user: User;
  readonly #manager: string;

  /** `manager` owns in managedFields what is written; `userName` is left out for the server itself. Canonical spellings. */
  constructor(writers: WriteServices, manager: string, userName?: string) {
    const { identity } = writers.scheme;
    this.#writers = writers;
    this.#user = systemUser(identity, userName);
    this.#manager = identity.spell(manager);
  }

  /** The request a call makes, for what this class has no method for. */
  request({ resource, namespace = "", name, subresource = "" }: Target): WriteRequest {
    return {
      resource,
      subresource,
      namespace,
      name,
      user: this.#user,
      permit: serverPermit,
      manager: this.#manager,
      dryRun: false,
      deadline: this.#writers.clock.monotonic() + limits.requestMsMax,
      trace: noTrace,
    };
  }

  /** Makes a call; in a pass that is sampled it is a span, with its stages within. */
  async #call<T extends Written | Status | undefined>(
    verb: string,
    target: Target,
    write: (request: WriteRequest) => Promise<T>,
  ): Promise<T> {
    const request = this.request(target);
    const pass = spansOfPass();
    if (pass === undefined) return write(request);
    const { clock } = this.#writers;
    const span = pass.begin(`${verb} ${target.resource.resource}`, { kind: spanKinds.internal });
    const trace = new StageTrace(() => clock.monotonic(), clock.monotonic(), false, span.spans());
    let code = 500;
    try {
      const done = await write({ ...request, trace });
      code = done?.code ?? 200;
      return done;
    } finally {
      const { namespace = "", name } = target;
      const about = { "k8s.namespace": namespace, "k8s.name": name, "http.status_code": code };
      span.end(
        Object.entries(about).filter(([, value]) => value !== ""),
        code >= 500,
      );
    }
  }

  /** Creates an object; its name, or generateName, stands in `content`. 409 AlreadyExists when there is one. */
  async create(target: Omit<Target, "name">, content: Value): Promise<Written | Status> {
    const { resource } = target;
    const body = bodyOf(resource, content);
    if (body instanceof Fault) return badRequest(body.message);
    return this.#call("create", { ...target, name: "" }, (request) =>
      whileServed(request, () => writeObject(this.#writers, request, body)),
    );
  }

  /**
   * Changes an object: `change` is given a copy of its newest state, and another one when another client was faster.
   * A Status it answers ends the call. What it leaves as it was is not written. 404 when there is no such object.
   */
  update<T extends ApiObject>(target: Target, change: (object: T) => Status | undefined): Promise<Written | Status> {
    const { resource, name } = target;
    const written = (request: WriteRequest): Promise<Written | Status> =>
      writeMerged(this.#writers, request, (current) => {
        if (current === undefined) return notFound(resource, name);
        const object = requestedObject(this.#writers, resource, current);
        return change(object as T) ?? object;
      });
    return this.#call("update", target, (request) => whileServed(request, () => written(request)));
  }

  /** Applies a JSON merge patch to an object. */
  patch(target: Target, patch: Value): Promise<Written | Status> {
    return this.#call("patch", target, (request) =>
      whileServed(request, () => writeObject(this.#writers, request, { kind: "patch", type: "merge", patch })),
    );
  }

  /** Applies a configuration with force: fields this controller does not name any more go, those of others stay. */
  apply(target: Target, config: ReadonlyMap<string, Value>): Promise<Written | Status> {
    const { apiVersion, kind } = target.resource;
    const metadata = new Map([["name", target.name]]);
    const typed: Value = new Map<string, Value>([
      ["apiVersion", apiVersion],
      ["kind", kind],
      ["metadata", metadata],
      ...config,
    ]);
    const { resource: shape } = target;
    const sent = { kind: "config", shape, config: typed, force: true, duplicates: [] } as const;
    return this.#call("apply", target, (request) => writeObject(this.#writers, request, sent));
  }

  /** Deletes an object: a success Status, or the object where its kind answers that or it is still there. */
  delete(target: Target, options: DeleteOptions = {}): Promise<Written | Status> {
    return this.#call("delete", target, (request) =>
      whileServed(request, () => deleteObject(this.#writers, request, options)),
    );
  }

  /** Deletes the objects at `items` of `view`, several at a time; the first refusal, or undefined. */
  deleteItems(
    target: Omit<Target, "name">,
    view: LogView,
    items: readonly Location[],
    options: DeleteOptions = {},
  ): Promise<Status | undefined> {
    return this.#call("deletecollection", { ...target, name: "" }, (request) =>
      deleteItems(this.#writers, request, view, items, options),
    );
  }
}

/** A failure to change or delete an object: what is gone needs no more, and what changed meanwhile is news and comes as such. */
export function failureOf(done: Written | Status, message: string): Failure | undefined {
  if (!isStatus(done) || done.success || done.reason === "NotFound" || done.reason === "Conflict") return undefined;
  return { cause: done, message };
}

/** Whether something cannot be created because its namespace is being deleted: it is not needed any more. */
export function isOfEndingNamespace({ details }: Status): boolean {
  return details?.causes?.some(({ reason }) => reason === "NamespaceTerminating") === true;
}

/** A kind may end while one of its objects is written: then there is no such object. */
async function whileServed(
  { resource, name }: WriteRequest,
  write: () => Promise<Written | Status>,
): Promise<Written | Status> {
  try {
    return await write();
  } catch (error) {
    if (error instanceof UnknownLog) return notFound(resource, name);
    throw error;
  }
}
