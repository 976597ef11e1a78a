// Binding: the scheduler's word on where a pod runs. It goes past the rules of pod updates, which forbid exactly that,
// and is conditional on no other node being set before (upstream: BindingREST of the pod registry).
import { admit } from "../../admission/table.ts";
import type { Binding, Pod } from "../../api/gen/core/v1.ts";
import { messageOf } from "../../api/messages.ts";
import type { ApiObject } from "../../api/object.ts";
import { badRequest, conflict, isStatus, notFound, Status } from "../../api/status.ts";
import { assert } from "../../base/assert.ts";
import { outlineOf } from "../../codec/engine/outline.ts";
import { partsOf } from "../../codec/engine/parts.ts";
import { decodeStoredText } from "../../codec/engine/stored.ts";
import { validateBinding } from "../../kinds/core/validation/pod/pod.ts";
import type { Server } from "../call/context.ts";
import { changed, onNewest, tries } from "../commit/attempts.ts";
import { attributesOf } from "../commit/attributes.ts";
import { commitObject, preconditionFailed, readCurrent, storedAs, strategyContext } from "../commit/objectstore.ts";
import type { WriteRequest, WriteServices } from "../commit/writerequest.ts";
import { unknownResource } from "../route/info.ts";

const bindings = { group: "", resource: "pods/binding" };

/**
 * Assigns the pod a binding names to its target. 404 for no such pod, 409 for one that is assigned, is being deleted,
 * or is not the one the binding means.
 */
export async function bindPod({ writers }: Server, asked: WriteRequest, body: ApiObject): Promise<Status> {
  const binding = body as ApiObject & Binding;
  const sent = binding.metadata.name ?? "";
  const pods = writers.scheme.find("", "v1", "pods");
  if (pods === undefined) return unknownResource;
  const request = { ...asked, resource: pods, subresource: "binding", name: asked.name === "" ? sent : asked.name };
  const namespace = binding.metadata.namespace ?? "";
  if (namespace !== "" && namespace !== request.namespace) {
    return badRequest("the namespace of the provided object does not match the namespace sent on the request");
  }
  const shown = { ...asked, name: request.name };
  return onNewest(writers, request.deadline, () => bind(writers, shown, request, binding));
}

/** `asked`: what plugins see, which may be the kind of old that names no pod in its path. */
async function bind(
  writers: WriteServices,
  asked: WriteRequest,
  request: WriteRequest,
  binding: ApiObject & Binding,
): Promise<Status> {
  const { name } = request;
  const sent = binding.metadata.name ?? "";
  const attributes = attributesOf(asked, "create", binding, undefined);
  const refused = await admit(writers.admission, attributes, () => {
    if (sent !== name) return badRequest("name in URL does not match name in Binding object");
    const texts = validateBinding(binding, strategyContext(writers, request)).map(
      ({ field, text }) => `${field}: ${text}`,
    );
    if (texts.length === 0) return undefined;
    // Upstream forgets to wrap these, which makes them a 500.
    return badRequest(texts.length === 1 ? (texts[0] ?? "") : `[${texts.join(", ")}]`);
  });
  if (refused !== undefined) return refused;
  const done = await tries(writers, request.deadline, () => attempt(writers, request, binding));
  return isStatus(done) ? done : new Status(201, "", "");
}

async function attempt(writers: WriteServices, request: WriteRequest, binding: Binding) {
  const { resource, namespace, name } = request;
  const current = readCurrent(writers, resource, namespace, name);
  if (current === undefined) return notFound(resource, name);
  const pod = decodeStoredText({ message: podOutline }, current.text) as ApiObject & Pod;
  const { uid = "", resourceVersion = "" } = binding.metadata;
  if (uid !== "" && uid !== pod.metadata.uid) {
    return preconditionFailed(request, "UID", uid, pod.metadata.uid ?? "");
  }
  const version = String(current.revision);
  if (resourceVersion !== "" && resourceVersion !== version) {
    return preconditionFailed(request, "ResourceVersion", resourceVersion, version);
  }
  if (pod.metadata.deletionTimestamp !== undefined) {
    return conflict(bindings, name, `pod ${name} is being deleted, cannot be assigned to a host`);
  }
  const node = pod.spec.nodeName ?? "";
  if (node !== "") return conflict(bindings, name, `pod ${name} is already assigned to node "${node}"`);
  assign(pod, binding, strategyContext(writers, request).now);
  const done = await commitObject(
    writers,
    { ...request, resource: storedAs(resource).stored, outline: podOutline },
    name,
    pod,
    current,
  );
  return done === changed || isStatus(done) ? done : undefined;
}

/** What a binding looks at and changes, and what side-tables are made of (a list, too); scalars are read anyway. */
const concerned = partsOf([["metadata"], ["status", "conditions"], ["status", "podIPs"]], [["spec"]]);
assert(concerned !== undefined, "A path has a key");
/** Pods of which the rest stays text: nine tenths of a pod, which cost a third of a binding. */
export const podOutline = outlineOf(messageOf("core/v1.Pod"), concerned);

/** Node, annotations, and the condition that says a node was found. */
function assign(pod: Pod, { metadata, target }: Binding, now: string): void {
  pod.spec.nodeName = target.name;
  for (const [key, value] of metadata.annotations ?? []) {
    pod.metadata.annotations ??= new Map();
    pod.metadata.annotations.set(key, value);
  }
  const conditions = pod.status.conditions ?? [];
  const before = conditions.find(({ type }) => type === "PodScheduled");
  const since = before?.status === "True" ? before.lastTransitionTime : now;
  const scheduled = { type: "PodScheduled", status: "True", lastTransitionTime: since };
  pod.status.conditions =
    before === undefined ? [...conditions, scheduled] : conditions.map((one) => (one === before ? scheduled : one));
}
