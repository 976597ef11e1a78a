// What the write path tells admission: one place makes the attributes of every operation, so that no plugin sees a
// write in another light than its neighbours.
import { AdmissionResult, type Attributes, type Environment } from "../../admission/plugin.ts";
import type { ApiObject } from "../../api/object.ts";
import { isStatus } from "../../api/status.ts";
import type { Value } from "../../api/value.ts";
import { noTrace } from "../../observe/trace.ts";
import { serverPermit } from "../exchange/permit.ts";
import { changed, commitObject, readCurrent } from "./objectstore.ts";
import type { StoreAccess, WriteRequest } from "./writerequest.ts";

const noOptions: Value = new Map();

/** The attributes of one try of a write. `object` and `old` as Attributes has them. */
export function attributesOf(
  request: WriteRequest,
  operation: Attributes["operation"],
  object: ApiObject | undefined,
  old: ApiObject | undefined,
  notes: AdmissionResult = new AdmissionResult(request.heard, request.annotations),
): Attributes {
  const { resource, subresource, namespace, name, user, dryRun, deadline, options = noOptions } = request;
  const called = name || (object?.metadata.name ?? "");
  return {
    operation,
    resource,
    subresource,
    namespace,
    name: called,
    object,
    old,
    user,
    dryRun,
    deadline,
    options,
    notes,
  };
}

/** Makes Environment.commit of a front's writers. */
export function committer(writers: StoreAccess): Environment["commit"] {
  return async (object, group, version, resource) => {
    const { scheme } = writers;
    const stored = scheme.find(group === "" ? "" : scheme.identity.spell(group), version, resource)?.stored;
    const { name = "", namespace = "", resourceVersion } = object.metadata;
    if (stored === undefined) return "gone";
    const current = readCurrent(writers, stored, namespace, name);
    if (current === undefined) return "gone";
    if (String(current.revision) !== resourceVersion) return "conflict";
    const deadline = Number.POSITIVE_INFINITY;
    const request = { resource: stored, namespace, dryRun: false, permit: serverPermit, deadline, trace: noTrace };
    const done = await commitObject(writers, request, name, object, current);
    if (done === changed) return "conflict";
    return isStatus(done) ? done : "done";
  };
}
