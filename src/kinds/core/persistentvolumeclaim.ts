// PersistentVolumeClaim: asks for a volume, and uses storage of a quota.
import type { PersistentVolumeClaim, TypedLocalObjectReference } from "../../api/gen/core/v1.ts";
import type { Identity } from "../../api/identity.ts";
import type { ApiObject } from "../../api/object.ts";
import type { Resource } from "../../api/scheme.ts";
import type { OwnBehaviour } from "../behaviour.ts";
import { ageColumn, type Columns, column, nameColumn, unset, wide } from "../columns.ts";
import { strategyFor } from "../generic.ts";
import { type AmountMap, countOf, readAmounts } from "../quota/amounts.ts";
import type { Evaluator } from "../quota/evaluator.ts";
import type { Strategy, StrategyContext } from "../strategy.ts";
import { namesOf } from "../validation/names.ts";
import {
  validatePersistentVolumeClaim,
  validatePersistentVolumeClaimStatusUpdate,
  validatePersistentVolumeClaimUpdate,
} from "./validation/persistentvolumeclaim.ts";
import { accessModes, phase, storageClassOf } from "./volumecells.ts";

/** Behaviour of claims. */
export function persistentVolumeClaimBehaviour(resource: Resource, identity: Identity): OwnBehaviour {
  return {
    strategy: persistentVolumeClaimStrategy(resource, identity),
    columns: persistentVolumeClaimColumns(identity),
    evaluator: claimEvaluator(identity),
    metaRules: { update: [2, 1] },
  };
}

function persistentVolumeClaimStrategy(resource: Resource, identity: Identity): Strategy<PersistentVolumeClaim> {
  const snapshots = identity.spell("snapshot.storage.k8s.io");
  const clones = (source: TypedLocalObjectReference | undefined) => {
    if (source?.kind === "PersistentVolumeClaim") return !source.apiGroup;
    return source?.kind === "VolumeSnapshot" && source.apiGroup === snapshots;
  };
  // Without the gate volumes are filled from claims and snapshots only.
  const drop = (
    { gates }: StrategyContext,
    { spec }: PersistentVolumeClaim,
    old: PersistentVolumeClaim | undefined,
  ) => {
    if (gates.has("AnyVolumeDataSource")) return;
    if (old?.spec.dataSourceRef === undefined) spec.dataSourceRef = undefined;
    if (old?.spec.dataSource === undefined && !clones(spec.dataSource)) spec.dataSource = undefined;
  };
  return strategyFor<PersistentVolumeClaim>(resource, {
    returnsDeletedObject: true,
    prepareForCreate(context, claim) {
      claim.status = { phase: "Pending" };
      drop(context, claim, undefined);
    },
    prepareForUpdate: (context, claim, old) => drop(context, claim, old),
    prepareForStatus({ gates }, { status }, old) {
      if (gates.has("RecoverVolumeExpansionFailure")) return;
      if (old.status.allocatedResources === undefined) status.allocatedResources = undefined;
      if (old.status.resizeStatus === undefined) status.resizeStatus = undefined;
    },
    settlesLate: true,
    validate: validatePersistentVolumeClaim,
    validateUpdate: validatePersistentVolumeClaimUpdate,
    validateStatus: validatePersistentVolumeClaimStatusUpdate,
  });
}

/** Columns of volume claims. */
function persistentVolumeClaimColumns(identity: Identity): Columns<PersistentVolumeClaim> {
  const classOf = storageClassOf(identity);
  return {
    columns: [
      nameColumn,
      column("Status", "Phase of the claim", (claim) => phase(claim, claim.status.phase)),
      column("Volume", "Volume the claim is bound to", ({ spec }) => spec.volumeName ?? ""),
      column("Capacity", "Size of the bound volume", ({ spec, status }) =>
        spec.volumeName ? (status.capacity?.get("storage") ?? "0") : "",
      ),
      column("Access Modes", "Ways the bound volume can be mounted", ({ spec, status }) =>
        spec.volumeName ? accessModes(status.accessModes) : "",
      ),
      column("StorageClass", "Storage class of the claim", (claim) => classOf(claim, claim.spec.storageClassName)),
      ageColumn,
      column("VolumeMode", "File system or raw block device", ({ spec }) => spec.volumeMode ?? unset, wide),
    ],
  };
}

const claimNames = ["count/persistentvolumeclaims", "persistentvolumeclaims", "requests.storage"];

/** How claims are counted. */
function claimEvaluator(identity: Identity): Evaluator {
  const suffix = identity.spell(".storageclass.storage.k8s.io/");
  const suffixes = ["requests.storage", "persistentvolumeclaims"].map((name) => `${suffix}${name}`);
  const { betaStorageClass } = namesOf(identity);
  const isClaimName = (name: string): boolean =>
    claimNames.includes(name) || suffixes.some((ending) => name.endsWith(ending));
  return {
    onUpdate: true,
    matching: (bounded) => [...bounded].filter(isClaimName),
    usage(object) {
      const { metadata, spec } = object as ApiObject & PersistentVolumeClaim;
      const used: AmountMap = new Map([
        ["count/persistentvolumeclaims", countOf(1)],
        ["persistentvolumeclaims", countOf(1)],
      ]);
      const storageClass = metadata.annotations?.get(betaStorageClass) ?? spec.storageClassName ?? "";
      if (storageClass !== "") used.set(`${storageClass}${suffix}persistentvolumeclaims`, countOf(1));
      const storage = readAmounts(spec.resources.requests).get("storage");
      if (storage === undefined) return used;
      used.set("requests.storage", storage);
      if (storageClass !== "") used.set(`${storageClass}${suffix}requests.storage`, storage);
      return used;
    },
  };
}
