// Fields a write never comes to own, because the server puts them back: the status in writes of the object, everything
// else in writes of the status. One rule and its exceptions (reference: each strategy's reset fields).
import { type FieldSet, setOf } from "../merge/fieldset.ts";

const status = setOf(["f:status"]);
const spec = setOf(["f:spec"]);
const specAndMetadata = setOf(["f:metadata"], ["f:spec"]);

/** By resource and subresource, names alone: no two groups that are tracked share one with different rules. */
const exceptions: ReadonlyMap<string, FieldSet> = new Map([
  ["certificatesigningrequests", setOf(["f:spec"], ["f:status"])],
  ["certificatesigningrequests/status", setOf(["f:spec"], ["f:status", "f:conditions"])],
  ["certificatesigningrequests/approval", setOf(["f:spec"], ["f:status", "f:certificate"])],
  ["namespaces/finalize", status],
  ["deployments/status", setOf(["f:spec"], ["f:metadata", "f:labels"])],
  ["pods/status", setOf(["f:spec"], ["f:metadata", "f:deletionTimestamp"], ["f:metadata", "f:ownerReferences"])],
  ["volumeattachments/status", specAndMetadata],
  ["flowschemas/status", specAndMetadata],
  ["prioritylevelconfigurations/status", specAndMetadata],
  ["storageversions/status", specAndMetadata],
  ["apiservices/status", specAndMetadata],
  ["customresourcedefinitions/status", specAndMetadata],
]);

/** What a write of `resource` (or of its subresource) does not own; `hasStatus`: its status is written by itself. */
export function resetFields(resource: string, subresource: string, hasStatus: boolean): FieldSet | undefined {
  const exception = exceptions.get(subresource === "" ? resource : `${resource}/${subresource}`);
  if (exception !== undefined) return exception;
  if (subresource === "") return hasStatus ? status : undefined;
  return subresource === "status" ? spec : undefined;
}
