// CustomResourceDefinition: a kind that clients define.
import type { CustomResourceDefinition } from "../../api/gen/apiextensions/v1.ts";
import type { Identity } from "../../api/identity.ts";
import type { Resource } from "../../api/scheme.ts";
import type { OwnBehaviour } from "../behaviour.ts";
import { cleanupFinalizer, type DefinitionCondition, withCondition } from "../custom/names.ts";
import { hasRules, rulesGate, withoutRules } from "../custom/rules/gate.ts";
import { workAhead } from "../custom/schemawork.ts";
import { strategyFor } from "../generic.ts";
import { specAndMetadata } from "../resetfields.ts";
import type { Strategy, StrategyContext } from "../strategy.ts";
import { validateDefinition, validateDefinitionUpdate } from "./validation/customresourcedefinition.ts";

/** Behaviour of definitions of custom resources. */
export function customResourceDefinitionBehaviour(resource: Resource, identity: Identity): OwnBehaviour {
  return {
    strategy: definitionStrategy(resource, identity),
    resetFields: specAndMetadata,
    metaRules: { update: [0, 1], anyFinalizer: true },
  };
}

/** A delete says this at once: no object is created any more. */
const deletionPending: DefinitionCondition = {
  type: "Terminating",
  status: "True",
  reason: "InstanceDeletionPending",
  message: "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
};

/** Definitions of custom resources: every version ever stored is remembered, and they go when their objects are gone. */
function definitionStrategy(resource: Resource, identity: Identity): Strategy<CustomResourceDefinition> {
  const finalizer = identity.spell(cleanupFinalizer);
  const storeds = ({ spec }: CustomResourceDefinition) =>
    (spec.versions ?? [])
      .filter((version) => version.storage)
      .map((version) => version.name)
      .slice(0, 1);
  return strategyFor<CustomResourceDefinition>(resource, {
    counts: ["spec"],
    nameFormat: "dns1123-subdomain",
    allowUnconditionalUpdate: false,
    ahead: ({ spec }) => workAhead(spec),
    validate: validateDefinition,
    validateUpdate: validateDefinitionUpdate,
    prepareForCreate(context, definition) {
      dropRules(context, definition, undefined);
      definition.status.storedVersions = storeds(definition);
    },
    prepareForUpdate(context, definition, old) {
      dropRules(context, definition, old);
      const known = definition.status.storedVersions ?? [];
      const names = new Set(known);
      const added = storeds(definition).filter((name) => !names.has(name));
      if (added.length > 0) definition.status = { ...definition.status, storedVersions: [...known, ...added] };
    },
    termination: {
      begin({ metadata, status }, now) {
        const finalizers = metadata.finalizers ?? [];
        if (!finalizers.includes(finalizer)) metadata.finalizers = [...finalizers, finalizer];
        status.conditions = withCondition(status.conditions ?? [], deletionPending, now);
      },
    },
  });
}

/** Rules in CEL are behind a gate: while it is off they are dropped, unless the definition had some before. */
function dropRules(
  { gates }: StrategyContext,
  definition: CustomResourceDefinition,
  old: CustomResourceDefinition | undefined,
): void {
  if (gates.has(rulesGate)) return;
  if (old === undefined || !hasRules(old.spec)) withoutRules(definition.spec);
}
