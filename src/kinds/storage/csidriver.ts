// CSIDriver: how a driver of volumes is used.
import { duplicate, type FieldError, invalid, required } from "../../api/fielderror.ts";
import type { CSIDriver, CSIDriverSpec, TokenRequest } from "../../api/gen/storage/v1.ts";
import type { Resource } from "../../api/scheme.ts";
import type { OwnBehaviour } from "../behaviour.ts";
import { ageColumn, boolean, type Columns, column, nameColumn, none, unset } from "../columns.ts";
import { immutableMessage } from "../formats.ts";
import { countUp, strategyFor } from "../generic.ts";
import type { Strategy } from "../strategy.ts";
import { type Errors, eachItem, isFull } from "../validation/check.ts";
import { equal } from "../validation/equal.ts";
import { checkDriverName, checkSet } from "./drivers.ts";

/** Behaviour of CSI drivers. */
export function csiDriverBehaviour(resource: Resource): OwnBehaviour {
  return {
    strategy: csiDriverStrategy(resource),
    columns: csiDriverColumns(),
  };
}

/** CSI drivers: only what may change after creation is counted. */
function csiDriverStrategy(resource: Resource): Strategy<CSIDriver> {
  return strategyFor<CSIDriver>(resource, {
    allowUnconditionalUpdate: false,
    returnsDeletedObject: true,
    prepareForUpdate(_context, driver, old) {
      const { tokenRequests, requiresRepublish } = old.spec;
      const before = { ...driver.spec, tokenRequests, requiresRepublish };
      if (!equal("storage/v1.CSIDriverSpec", driver.spec, before)) countUp(driver, old);
    },
    validate: validateCsiDriver,
    validateUpdate: validateCsiDriverUpdate,
  });
}

/** Columns of CSI drivers. */
function csiDriverColumns(): Columns<CSIDriver> {
  return {
    columns: [
      nameColumn,
      column("AttachRequired", "Volumes must be attached first", ({ spec }) => spec.attachRequired ?? true, boolean),
      column("PodInfoOnMount", "The driver is told of the pod", ({ spec }) => spec.podInfoOnMount ?? false, boolean),
      column("StorageCapacity", "The driver tells its capacity", ({ spec }) => spec.storageCapacity ?? false, boolean),
      column("TokenRequests", "Audiences of the tokens the driver gets", ({ spec }) =>
        spec.tokenRequests === undefined ? unset : spec.tokenRequests.map(({ audience }) => audience).join(","),
      ),
      column(
        "RequiresRepublish",
        "Volumes are published again from time to time",
        ({ spec }) => spec.requiresRepublish ?? false,
        boolean,
      ),
      column("Modes", "Life cycles of volumes it supports", ({ spec }) =>
        (spec.volumeLifecycleModes ?? []).length === 0 ? none : (spec.volumeLifecycleModes ?? []).join(","),
      ),
      ageColumn,
    ],
  };
}

/** Rules of a new CSI driver. */
export function validateCsiDriver({ metadata, spec }: CSIDriver): FieldError[] {
  const out: Errors = [];
  checkDriverName(out, "metadata.name", metadata.name ?? "");
  if (spec.attachRequired === undefined) out.push(required("spec.attachedRequired"));
  if (spec.podInfoOnMount === undefined) out.push(required("spec.podInfoOnMount"));
  if (spec.storageCapacity === undefined) out.push(required("spec.storageCapacity"));
  checkSet(out, "spec.fsGroupPolicy", spec.fsGroupPolicy, ["File", "None", "ReadWriteOnceWithFSType"]);
  checkTokenRequests(out, spec.tokenRequests ?? []);
  for (const mode of spec.volumeLifecycleModes ?? []) {
    if (isFull(out)) break;
    checkSet(out, "spec.volumeLifecycleModes", mode, ["Persistent", "Ephemeral"]);
  }
  return out;
}

function checkTokenRequests(out: Errors, requests: readonly TokenRequest[]): void {
  const audiences = new Set<string>();
  eachItem(out, requests, "spec.tokenRequests", ({ audience, expirationSeconds }, path) => {
    if (audiences.has(audience)) out.push(duplicate(`${path}.audience`, audience));
    audiences.add(audience);
    if (expirationSeconds === undefined) return;
    const place = `${path}.expirationSeconds`;
    if (expirationSeconds < 600)
      out.push(invalid(place, expirationSeconds, "may not specify a duration less than 10 minutes"));
    if (expirationSeconds > 2 ** 32)
      out.push(invalid(place, expirationSeconds, "may not specify a duration larger than 2^32 seconds"));
  });
}

/** Rules of a changed CSI driver. */
export function validateCsiDriverUpdate(object: CSIDriver, old: CSIDriver): FieldError[] {
  const out = validateCsiDriver(object);
  const [now, before] = [object.spec, old.spec];
  const keep = (path: string, same: boolean, value: unknown) => {
    if (!same) out.push(invalid(path, value, immutableMessage));
  };
  keep("spec.attachedRequired", now.attachRequired === before.attachRequired, now.attachRequired);
  keep("spec.fsGroupPolicy", now.fsGroupPolicy === before.fsGroupPolicy, now.fsGroupPolicy);
  keep("spec.podInfoOnMount", now.podInfoOnMount === before.podInfoOnMount, now.podInfoOnMount);
  const modes = (spec: CSIDriverSpec) => (spec.volumeLifecycleModes ?? []).join("\n");
  keep("spec.volumeLifecycleModes", modes(now) === modes(before), now.volumeLifecycleModes);
  return out;
}
