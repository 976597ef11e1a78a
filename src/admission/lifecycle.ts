// NamespaceLifecycle: nothing is created in a namespace that is missing or going away, and the namespaces the system
// lives in stay. Upstream runs this before the kind's own rules, so a wrong name in a missing namespace is a 404.
import { forbidden, notFound, refuse, type Status } from "../api/status.ts";
import { assert } from "../base/assert.ts";
import { compileSelector } from "../cache/fanout/select.ts";
import { type AdmissionPlugin, type Attributes, type Environment, forbid } from "./plugin.ts";

const namespaces = { group: "", resource: "namespaces" };

/** Builds the plugin over the log of namespaces. */
export function lifecycle({ objects, identity }: Environment): AdmissionPlugin {
  const view = objects.view("", "v1", "namespaces");
  assert(view !== undefined, "Namespaces are stored");
  const reviews = identity.spell("authorization.k8s.io");
  const immortal = new Set(["default", "kube-system", "kube-public"].map(identity.spell));
  const isTerminating = compileSelector({
    labels: [],
    fields: [{ field: "status.phase", operator: "=", value: "Terminating" }],
  });
  return {
    mutate(attributes) {
      const { operation, resource, namespace, name } = attributes;
      const isNamespace = resource.group === "" && resource.resource === "namespaces";
      if (operation === "delete") {
        if (!isNamespace || !immortal.has(name)) return undefined;
        return forbidden(namespaces, name, "this namespace may not be deleted");
      }
      if (operation !== "create" || isNamespace || namespace === "") return undefined;
      // Whether a user may do something in a namespace can be asked before there is one.
      if (resource.resource === "localsubjectaccessreviews" && resource.group === reviews) return undefined;
      view.drain();
      const at = view.get("", namespace);
      if (at === 0) return notFound(namespaces, namespace);
      return isTerminating?.(view, at) === true ? terminating(attributes) : undefined;
    },
  };
}

function terminating(attributes: Attributes): Status {
  const { namespace } = attributes;
  const why = `unable to create new content in namespace ${namespace} because it is being terminated`;
  const status = forbid(attributes, why);
  const cause = {
    reason: "NamespaceTerminating",
    message: `namespace ${namespace} is being terminated`,
    field: "metadata.namespace",
  };
  return refuse("Forbidden", status.message, { ...status.details, causes: [cause] });
}
