// componentstatuses: computed on read, never stored. It tells of the parts around an API server; this process is the
// only one it can speak for, and says so of the others.
import type { ApiObject } from "../../api/object.ts";
import type { Resource } from "../../api/scheme.ts";
import { matchesFields, matchesLabels, type Selector } from "../../api/selector.ts";
import { notFound, type Status } from "../../api/status.ts";
import { encode } from "../../codec/engine/json.ts";

interface ComponentStatus extends ApiObject {
  conditions: { type: string; status: string; message?: string; error?: string }[];
}

const elsewhere = "this server does not run it and does not know its address";

/** The components, by name. `storage` says what is wrong with the store; undefined: nothing. */
function components(resource: Resource, storage: string | undefined): ComponentStatus[] {
  const of = (name: string, fault: string | undefined): ComponentStatus => ({
    kind: resource.kind,
    apiVersion: resource.apiVersion,
    metadata: { name },
    conditions: [
      fault === undefined
        ? { type: "Healthy", status: "True", message: '{"health":"true","reason":""}' }
        : { type: "Healthy", status: "False", message: fault },
    ],
  });
  return [of("controller-manager", elsewhere), of("etcd-0", storage), of("scheduler", elsewhere)];
}

/** One component's JSON, or 404. */
export function readComponent(resource: Resource, name: string, storage: string | undefined): string | Status {
  const found = components(resource, storage).find((c) => c.metadata.name === name);
  return found === undefined ? notFound(resource, name) : encode(resource.message, found);
}

/** The JSON of all that a selector lets through. They have no labels. */
export function componentDocuments(resource: Resource, selector: Selector, storage: string | undefined): string[] {
  if (!matchesLabels(selector.labels, new Map())) return [];
  return components(resource, storage)
    .filter(({ metadata }) => matchesFields(selector.fields, new Map([["metadata.name", metadata.name ?? ""]])))
    .map((component) => encode(resource.message, component));
}
