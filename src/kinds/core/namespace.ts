// Namespace: held by a finalizer in its spec until its contents are gone.
import { type FieldError, invalid } from "../../api/fielderror.ts";
import type { Namespace } from "../../api/gen/core/v1.ts";
import type { Identity } from "../../api/identity.ts";
import type { Resource } from "../../api/scheme.ts";
import { setOf } from "../../merge/fieldset.ts";
import type { OwnBehaviour } from "../behaviour.ts";
import { ageColumn, type Columns, column, nameColumn } from "../columns.ts";
import { isQualifiedName } from "../formats.ts";
import { strategyFor } from "../generic.ts";
import type { Strategy, StrategyContext, UpdateStrategy } from "../strategy.ts";
import { type Errors, eachItem, faults, isFull } from "../validation/check.ts";
import { namesOf } from "../validation/names.ts";

/** Behaviour of namespaces. */
export function namespaceBehaviour(resource: Resource, identity: Identity): OwnBehaviour {
  return {
    strategy: namespaceStrategy(resource, identity),
    columns: namespaceColumns(),
    resetFields: new Map([["finalize", setOf(["f:status"])]]),
    metaRules: { update: [1, 1] },
  };
}

/** Namespaces: held by a finalizer in their spec until their contents are gone. */
function namespaceStrategy(resource: Resource, identity: Identity): Strategy<Namespace> {
  const finalizer = identity.spell("kubernetes");
  const nameLabel = identity.spell("kubernetes.io/metadata.name");
  return strategyFor<Namespace>(resource, {
    nameFormat: "dns1123-label",
    returnsDeletedObject: true,
    prepareForCreate(_context, namespace) {
      namespace.status = { phase: "Active" };
      // Defaults set it for a name that was given; a generated one is known only now.
      namespace.metadata.labels = (namespace.metadata.labels ?? new Map()).set(
        nameLabel,
        namespace.metadata.name ?? "",
      );
      const finalizers = namespace.spec.finalizers ?? [];
      namespace.spec.finalizers = finalizers.includes(finalizer) ? finalizers : [...finalizers, finalizer];
    },
    prepareForUpdate(_context, namespace, old) {
      namespace.spec = { ...namespace.spec, finalizers: old.spec.finalizers };
    },
    validate: validateNamespace,
    validateUpdate: validateNamespaceUpdate,
    validateStatus: validateNamespaceStatusUpdate,
    subresources: new Map([["finalize", finalize]]),
    selectableFields: ({ status }) => [["status.phase", status.phase ?? ""]],
    fieldLabels: ["status.phase"],
    termination: {
      begin(namespace) {
        namespace.status = { ...namespace.status, phase: "Terminating" };
      },
      isHeld: ({ spec }) => (spec.finalizers ?? []).length > 0,
    },
  });
}

/** Takes spec.finalizers; the caller removes the namespace when none is left and it is being deleted. */
const finalize: UpdateStrategy<Namespace> = {
  prepare(_context, namespace, old) {
    namespace.status = old.status;
  },
  validate: (context, namespace, old) => validateNamespaceFinalizeUpdate(namespace, old, context),
};

/** Columns of namespaces. */
function namespaceColumns(): Columns<Namespace> {
  return {
    columns: [
      nameColumn,
      column("Status", "Whether the namespace is in use or being deleted", ({ status }) => status.phase ?? ""),
      ageColumn,
    ],
  };
}

/** Rules of a new namespace. */
export function validateNamespace(object: Namespace, context: StrategyContext): FieldError[] {
  const out: Errors = [];
  for (const finalizer of object.spec.finalizers ?? [])
    if (!isFull(out)) checkFinalizer(out, "spec.finalizers", finalizer, context);
  return out;
}

/** Rules of a changed namespace. */
export function validateNamespaceUpdate(object: Namespace, _old: Namespace, context: StrategyContext): FieldError[] {
  return validateNamespace(object, context);
}

/** Rules of the status subresource: the phase says whether the namespace is being deleted. */
export function validateNamespaceStatusUpdate(
  object: Namespace,
  _old: Namespace,
  _context: StrategyContext,
): FieldError[] {
  const phase = object.status.phase ?? "";
  const wanted = object.metadata.deletionTimestamp === undefined ? "Active" : "Terminating";
  if (phase === wanted) return [];
  const when = wanted === "Active" ? "is empty" : "is not empty";
  return [invalid("status.Phase", phase, `may only be '${wanted}' if \`deletionTimestamp\` ${when}`)];
}

/** Rules of the finalize subresource. */
export function validateNamespaceFinalizeUpdate(
  object: Namespace,
  _old: Namespace,
  context: StrategyContext,
): FieldError[] {
  const out: Errors = [];
  eachItem(out, object.spec.finalizers, "spec.finalizers", (name, path) => checkFinalizer(out, path, name, context));
  return out;
}

function checkFinalizer(out: Errors, path: string, name: string, context: StrategyContext): void {
  faults(out, path, name, isQualifiedName(name));
  if (!name.includes("/") && !namesOf(context.identity).finalizers.has(name)) {
    out.push(invalid(path, name, "name is neither a standard finalizer name nor is it fully qualified"));
  }
}
