// ConfigMap: keys, sizes, and what `immutable` freezes.
import { type FieldError, forbiddenField, invalid, tooLong } from "../../api/fielderror.ts";
import type { ConfigMap } from "../../api/gen/core/v1.ts";
import type { Resource } from "../../api/scheme.ts";
import type { OwnBehaviour } from "../behaviour.ts";
import { ageColumn, type Columns, column, nameColumn } from "../columns.ts";
import { bytesOf, isConfigMapKey } from "../formats.ts";
import { strategyFor } from "../generic.ts";
import { countEvaluator } from "../quota/evaluator.ts";
import type { Strategy, StrategyContext } from "../strategy.ts";
import { addAll, type Errors, faults, isFull } from "../validation/check.ts";
import { type Bag, decodedBytes, frozen, sameBag, valueBytesMax } from "./configdata.ts";

/** Behaviour of config maps. */
export function configMapBehaviour(resource: Resource): OwnBehaviour {
  return {
    strategy: configMapStrategy(resource),
    columns: configMapColumns(),
    evaluator: countEvaluator(resource, resource.resource),
    metaRules: { update: [1, 1] },
  };
}

function configMapStrategy(resource: Resource): Strategy<ConfigMap> {
  return strategyFor<ConfigMap>(resource, {
    boundsSize: true,
    validate: validateConfigMap,
    validateUpdate: validateConfigMapUpdate,
  });
}

/** Columns of config maps. */
function configMapColumns(): Columns<ConfigMap> {
  return {
    columns: [
      nameColumn,
      column("Data", "Number of keys", ({ data, binaryData }) => (data?.size ?? 0) + (binaryData?.size ?? 0)),
      ageColumn,
    ],
  };
}

const noData: Bag = new Map();

/** Rules of a new config map. */
export function validateConfigMap(object: ConfigMap, _context: StrategyContext): FieldError[] {
  const out: Errors = [];
  let bytes = 0;
  for (const [key, value] of object.data ?? []) {
    if (isFull(out)) return out;
    faults(out, `data[${key}]`, key, isConfigMapKey(key));
    if (object.binaryData?.has(key)) out.push(invalid(`data[${key}]`, key, "duplicate of key present in binaryData"));
    bytes += bytesOf(value);
  }
  for (const [key, value] of object.binaryData ?? []) {
    if (isFull(out)) return out;
    faults(out, `binaryData[${key}]`, key, isConfigMapKey(key));
    bytes += decodedBytes(value);
  }
  if (bytes > valueBytesMax) out.push(tooLong("", valueBytesMax));
  return out;
}

/** Rules of a changed config map. */
export function validateConfigMapUpdate(object: ConfigMap, old: ConfigMap, context: StrategyContext): FieldError[] {
  const out: Errors = [];
  if (old.immutable === true) {
    if (object.immutable !== true) out.push(forbiddenField("immutable", frozen));
    // Here nothing is as good as an empty bag: defaults make the one of the other.
    if (!sameBag(object.data ?? noData, old.data ?? noData)) out.push(forbiddenField("data", frozen));
    if (!sameBag(object.binaryData, old.binaryData)) out.push(forbiddenField("binaryData", frozen));
  }
  addAll(out, validateConfigMap(object, context));
  return out;
}
