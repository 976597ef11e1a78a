// StorageClass: how volumes are made for claims.
import { type FieldError, forbiddenField, invalid, required, tooLong } from "../../api/fielderror.ts";
import type { StorageClass } from "../../api/gen/storage/v1.ts";
import type { Identity } from "../../api/identity.ts";
import type { Resource } from "../../api/scheme.ts";
import type { OwnBehaviour } from "../behaviour.ts";
import { ageColumn, type Columns, column, nameColumn } from "../columns.ts";
import { bytesOf, immutableMessage, isQualifiedName } from "../formats.ts";
import { strategyFor } from "../generic.ts";
import type { Strategy } from "../strategy.ts";
import { type Errors, empty, faults } from "../validation/check.ts";
import { equalStrings } from "../validation/equal.ts";
import { checkSet } from "./drivers.ts";

/** Behaviour of storage classes. */
export function storageClassBehaviour(resource: Resource, identity: Identity): OwnBehaviour {
  return {
    strategy: storageClassStrategy(resource),
    columns: storageClassColumns(identity),
    metaRules: { update: [1, 1] },
  };
}

function storageClassStrategy(resource: Resource): Strategy<StorageClass> {
  return strategyFor<StorageClass>(resource, {
    returnsDeletedObject: true,
    validate: validateStorageClass,
    validateUpdate: validateStorageClassUpdate,
  });
}

/** Columns of storage classes. */
function storageClassColumns(identity: Identity): Columns<StorageClass> {
  const marks = ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"];
  const annotations = marks.map((mark) => identity.spell(mark));
  return {
    columns: [
      {
        ...nameColumn,
        cell: ({ metadata }) => {
          const isDefault = annotations.some((key) => metadata.annotations?.get(key) === "true");
          return `${metadata.name ?? ""}${isDefault ? " (default)" : ""}`;
        },
      },
      column("Provisioner", "Who makes the volumes", ({ provisioner }) => provisioner),
      column("ReclaimPolicy", "What becomes of a volume when its claim goes", ({ reclaimPolicy }) => {
        return reclaimPolicy ?? "Delete";
      }),
      column("VolumeBindingMode", "When volumes are made and bound", ({ volumeBindingMode }) => {
        return volumeBindingMode ?? "Immediate";
      }),
      column("AllowVolumeExpansion", "Volumes may grow", ({ allowVolumeExpansion }) => allowVolumeExpansion ?? false),
      ageColumn,
    ],
  };
}

const parametersMax = 512;
const parametersBytesMax = 262_144;

/** Rules of a new storage class. */
export function validateStorageClass(object: StorageClass): FieldError[] {
  const out: Errors = [];
  if (empty(object.provisioner)) out.push(required("provisioner"));
  else faults(out, "provisioner", object.provisioner, isQualifiedName(object.provisioner.toLowerCase()));
  checkParameters(out, object.parameters);
  checkSet(out, "reclaimPolicy", object.reclaimPolicy, ["Delete", "Retain"]);
  if (object.volumeBindingMode === undefined) out.push(required("volumeBindingMode"));
  checkSet(out, "volumeBindingMode", object.volumeBindingMode, ["Immediate", "WaitForFirstConsumer"]);
  return out;
}

/** Rules of a changed storage class. */
export function validateStorageClassUpdate(object: StorageClass, old: StorageClass): FieldError[] {
  const out: Errors = [];
  const refuse = (field: string) => out.push(forbiddenField(field, `updates to ${field} are forbidden.`));
  if (!equalStrings(object.parameters, old.parameters)) refuse("parameters");
  if (object.provisioner !== old.provisioner) refuse("provisioner");
  if (object.reclaimPolicy !== old.reclaimPolicy) refuse("reclaimPolicy");
  if (object.volumeBindingMode !== old.volumeBindingMode) {
    out.push(invalid("volumeBindingMode", object.volumeBindingMode, immutableMessage));
  }
  return out;
}

function checkParameters(out: Errors, parameters: ReadonlyMap<string, string> | undefined): void {
  let bytes = 0;
  if ((parameters?.size ?? 0) > parametersMax) {
    out.push(tooLong("parameters", parametersMax));
    return;
  }
  for (const [key, value] of parameters ?? []) {
    if (key === "") out.push(invalid("parameters", key, "field can not be empty."));
    bytes += bytesOf(key) + bytesOf(value);
  }
  if (bytes > parametersBytesMax) out.push(tooLong("parameters", parametersBytesMax));
}
