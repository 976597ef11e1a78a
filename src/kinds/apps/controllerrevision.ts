// ControllerRevision: a state of a controller's template that may be gone back to.
import { type FieldError, invalid, required } from "../../api/fielderror.ts";
import type { ControllerRevision } from "../../api/gen/apps/v1.ts";
import type { Resource } from "../../api/scheme.ts";
import type { OwnBehaviour } from "../behaviour.ts";
import { ageColumn, type Columns, column, nameColumn, none } from "../columns.ts";
import { immutableMessage } from "../formats.ts";
import { strategyFor } from "../generic.ts";
import type { Strategy, StrategyContext } from "../strategy.ts";
import { checkNonNegative, type Errors } from "../validation/check.ts";
import { goRaw } from "../validation/gostruct.ts";

/** Behaviour of controller revisions. */
export function controllerRevisionBehaviour(resource: Resource): OwnBehaviour {
  return {
    strategy: controllerRevisionStrategy(resource),
    columns: controllerRevisionColumns(),
    metaRules: { update: [1, 1] },
  };
}

function controllerRevisionStrategy(resource: Resource): Strategy<ControllerRevision> {
  return strategyFor<ControllerRevision>(resource, {
    validate: validateControllerRevision,
    validateUpdate: validateControllerRevisionUpdate,
  });
}

/** Columns of controller revisions. */
function controllerRevisionColumns(): Columns<ControllerRevision> {
  return {
    columns: [
      nameColumn,
      column("Controller", "What the revision belongs to", ({ metadata }) => {
        const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
        if (owner === undefined) return none;
        const slash = owner.apiVersion.indexOf("/");
        const group = slash < 0 ? "" : `.${owner.apiVersion.slice(0, slash)}`;
        return `${`${owner.kind}${group}`.toLowerCase()}/${owner.name}`;
      }),
      column("Revision", "Number of the revision", ({ revision }) => revision),
      ageColumn,
    ],
  };
}

/** Rules of a new ControllerRevision. */
export function validateControllerRevision(object: ControllerRevision, _context: StrategyContext): FieldError[] {
  const out: Errors = [];
  if (object.data === undefined) out.push(required("data", "data is mandatory"));
  checkNonNegative(out, "revision", object.revision);
  return out;
}

/** Rules of a changed ControllerRevision: its data stays. */
export function validateControllerRevisionUpdate(
  object: ControllerRevision,
  old: ControllerRevision,
  context: StrategyContext,
): FieldError[] {
  const out = validateControllerRevision(object, context);
  if (object.data?.text !== old.data?.text) out.push(invalid("data", goRaw(object.data), immutableMessage));
  return out;
}
