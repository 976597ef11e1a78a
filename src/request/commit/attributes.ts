// What the write path tells admission: one place makes the attributes of every operation, so that no plugin sees a
// write in another light than its neighbours.
import { AdmissionResult, type Attributes } from "../../admission/plugin.ts";
import type { ApiObject } from "../../api/object.ts";
import type { Value } from "../../api/value.ts";
import type { WriteRequest } from "./writerequest.ts";

const noOptions: Value = new Map();

/** Attributes of one try of a write. A name that is made on the way is put in before the validating plugins see it. */
export interface TryAttributes extends Attributes {
  name: string;
}

/** The attributes of one try of a write. `object` and `old` as Attributes has them. */
export function attributesOf(
  request: WriteRequest,
  operation: Attributes["operation"],
  object: ApiObject | undefined,
  old: ApiObject | undefined,
  notes: AdmissionResult = new AdmissionResult(request.heard, request.annotations),
): TryAttributes {
  const { resource, subresource, namespace, name, user, dryRun, deadline, options = noOptions } = request;
  const { spans } = request.trace;
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
    ...(spans === undefined ? {} : { spans }),
  };
}
