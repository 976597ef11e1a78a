// CSINode: which drivers of volumes a node has.
import { duplicate, type FieldError, invalid, required } from "../../api/fielderror.ts";
import type { CSINode } from "../../api/gen/storage/v1.ts";
import type { Resource } from "../../api/scheme.ts";
import type { OwnBehaviour } from "../behaviour.ts";
import { ageColumn, type Columns, column, integer, nameColumn } from "../columns.ts";
import { bytesOf, immutableMessage, isQualifiedName } from "../formats.ts";
import { strategyFor } from "../generic.ts";
import type { Strategy } from "../strategy.ts";
import { checkNonNegative, type Errors, eachItem, faults, isFull } from "../validation/check.ts";
import { equal } from "../validation/equal.ts";
import { checkDriverName } from "./drivers.ts";

/** Behaviour of CSI nodes. */
export function csiNodeBehaviour(resource: Resource): OwnBehaviour {
  return {
    strategy: csiNodeStrategy(resource),
    columns: csiNodeColumns(),
    metaRules: { update: [2, 0] },
  };
}

function csiNodeStrategy(resource: Resource): Strategy<CSINode> {
  return strategyFor<CSINode>(resource, {
    allowUnconditionalUpdate: false,
    returnsDeletedObject: true,
    validate: validateCsiNode,
    validateUpdate: validateCsiNodeUpdate,
  });
}

/** Columns of CSI nodes. */
function csiNodeColumns(): Columns<CSINode> {
  return {
    columns: [
      nameColumn,
      column("Drivers", "Number of drivers on the node", ({ spec }) => spec.drivers?.length ?? 0, integer),
      ageColumn,
    ],
  };
}

const nodeIdBytesMax = 192;

/** Rules of a new CSI node. */
export function validateCsiNode({ spec }: CSINode): FieldError[] {
  const out: Errors = [];
  const names = new Set<string>();
  eachItem(out, spec.drivers, "spec.drivers", (driver, path) => {
    checkDriverName(out, `${path}.name`, driver.name);
    if (driver.nodeID === "") out.push(required(`${path}.nodeID`));
    if (bytesOf(driver.nodeID) > nodeIdBytesMax) {
      out.push(invalid(`${path}.nodeID`, driver.nodeID, `nodeID must be ${nodeIdBytesMax} characters or less`));
    }
    checkNonNegative(out, `${path}.allocatable.count`, driver.allocatable?.count);
    checkTopologyKeys(out, path, driver.topologyKeys ?? []);
    if (names.has(driver.name)) out.push(duplicate(`${path}.name`, driver.name));
    names.add(driver.name);
  });
  return out;
}

function checkTopologyKeys(out: Errors, path: string, keys: readonly string[]): void {
  const seen = new Set<string>();
  for (const key of keys) {
    if (isFull(out)) return;
    if (key === "") out.push(required(path));
    if (seen.has(key)) out.push(duplicate(path, key));
    seen.add(key);
    faults(out, path, key, isQualifiedName(key));
  }
}

/** Rules of a changed CSI node: drivers come and go but do not change. */
export function validateCsiNodeUpdate(object: CSINode, old: CSINode): FieldError[] {
  const out = validateCsiNode(object);
  const drivers = new Map(object.spec.drivers?.map((driver) => [driver.name, driver]));
  for (const before of old.spec.drivers ?? []) {
    const now = drivers.get(before.name);
    if (now !== undefined && !equal("storage/v1.CSINodeDriver", now, before)) {
      out.push(invalid("CSINodeDriver", now, immutableMessage));
    }
  }
  return out;
}
