// NamespaceAutoProvision makes the namespace a new object is in, NamespaceExists asks that it is there for every write.
import { notFound, type Status } from "../api/status.ts";
import { assert } from "../base/assert.ts";
import type { AdmissionPlugin, Attributes, Environment } from "./plugin.ts";

const namespaces = { group: "", resource: "namespaces" };

/** NamespaceAutoProvision. A dry run makes none. */
export function namespaceAutoProvision({ objects, create }: Environment): AdmissionPlugin {
  const exists = existence(objects);
  return {
    async mutate(attributes) {
      const { operation, namespace, dryRun } = attributes;
      if (operation !== "create" || dryRun || !isInside(attributes) || exists(namespace)) return undefined;
      const metadata = new Map([["name", namespace]]);
      const done = await create(new Map([["metadata", metadata]]), "", "v1", "namespaces");
      return done?.reason === "AlreadyExists" ? undefined : done;
    },
  };
}

/** NamespaceExists. */
export function namespaceExists({ objects }: Environment): AdmissionPlugin {
  const exists = existence(objects);
  return {
    validate(attributes): Status | undefined {
      const { operation, namespace } = attributes;
      if (operation === "connect" || !isInside(attributes) || exists(namespace)) return undefined;
      return notFound(namespaces, namespace);
    },
  };
}

function existence(objects: Environment["objects"]): (name: string) => boolean {
  const view = objects.view("", "v1", "namespaces");
  assert(view !== undefined, "Namespaces are stored");
  return (name) => {
    view.drain();
    return view.get("", name) !== 0;
  };
}

function isInside({ namespace, resource }: Attributes): boolean {
  return namespace !== "" && !(resource.group === "" && resource.resource === "namespaces");
}
