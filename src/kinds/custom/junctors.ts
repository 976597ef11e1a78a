// Schemas within a schema that only narrow values: anyOf, oneOf, allOf and not. They look at a value when all below it is
// settled, and down into it as far as they say anything.
import type { Value } from "../../api/value.ts";
import { Faults } from "./faults.ts";
import {
  type Check,
  checkEnum,
  checkListSize,
  checkNoOthers,
  checkNull,
  checkNumber,
  checkObjectSize,
  checkRequired,
  checkText,
  checkType,
  reportWhole,
} from "./keywords.ts";
import { isNumber } from "./numbers.ts";
import type { JunctorRules, Node } from "./plan.ts";

/** A value against a whole schema, all below included; how much of it matched. */
function judge(check: Check, node: Node, value: Value): number {
  check.spend(1);
  if (value === null) {
    const count = checkNull(check, node);
    checkEnum(check, node.rules, value);
    return count;
  }
  let count = 4 + checkOwn(check, node, value);
  if (Array.isArray(value)) count += judgeItems(check, node, value);
  checkEnum(check, node.rules, value);
  if (value instanceof Map) count += judgeProperties(check, node, value);
  return count;
}

/** Type, junctors and the keywords of scalars: what comes before items, enum and properties. */
export function checkOwn(check: Check, node: Node, value: Value): number {
  let count = checkType(check, node, value);
  const junctors = node.rules?.junctors;
  if (junctors !== undefined) count += checkJunctors(check, junctors, value);
  if (typeof value === "string") return count + checkText(check, node.rules, value);
  return isNumber(value) ? count + checkNumber(check, node.rules?.numbers, value) : count;
}

function judgeItems(check: Check, node: Node, list: readonly Value[]): number {
  const { items } = node;
  let count = 2;
  if (items !== undefined) {
    for (let index = 0; index < list.length && !check.faults.isFull; index += 1) {
      check.place.enterIndex(index);
      count += judge(check, items, list[index] as Value);
      check.place.leave();
    }
  }
  checkListSize(check, node.rules?.sizes, list);
  return count;
}

function judgeProperties(check: Check, node: Node, object: ReadonlyMap<string, Value>): number {
  if (!checkObjectSize(check, node.rules?.sizes, object)) return 1;
  let count = 1;
  const { properties, additional } = node;
  checkNoOthers(check, node, object);
  if (properties !== undefined && properties.size < object.size && additional === undefined) {
    for (const [name, property] of properties) {
      const item = object.get(name);
      if (item !== undefined) count += judgeProperty(check, name, property, item);
    }
  } else if (properties !== undefined || additional !== undefined) {
    for (const [key, item] of object) {
      const property = properties?.get(key);
      if (property !== undefined) count += judgeProperty(check, key, property, item);
      else if (typeof additional === "object") {
        check.place.enterKey(key);
        count += judge(check, additional, item);
        check.place.leave();
      }
    }
  }
  checkRequired(check, node, object);
  return count;
}

function judgeProperty(check: Check, name: string, property: Node, item: Value): number {
  check.place.enterProperty(name);
  const count = judge(check, property, item);
  check.place.leave();
  return count;
}

/** What a part found, and how close it came. */
interface Verdict {
  readonly faults: Faults;
  readonly count: number;
}

function judgeApart(check: Check, node: Node, value: Value): Verdict {
  const faults = new Faults();
  const { place } = check;
  const count = judge({ place, faults, spend: (steps) => check.spend(steps) }, node, value);
  return { faults, count };
}

function checkJunctors(check: Check, { anyOf, oneOf, allOf, not }: JunctorRules, value: Value): number {
  let count = 0;
  if (anyOf.length > 0) count += checkAnyOf(check, anyOf, value);
  if (oneOf.length > 0) count += checkOneOf(check, oneOf, value);
  if (allOf.length > 0) count += checkAllOf(check, allOf, value);
  if (not !== undefined && judgeApart(check, not, value).faults.isEmpty) {
    reportWhole(check, "must not validate the schema (not)");
  }
  return count;
}

/** The first that holds; where none does, the faults of the closest. */
function checkAnyOf(check: Check, parts: readonly Node[], value: Value): number {
  let closest: Verdict | undefined;
  for (const part of parts) {
    const verdict = judgeApart(check, part, value);
    if (verdict.faults.isEmpty) return verdict.count;
    if (closest === undefined || verdict.count > closest.count) closest = verdict;
  }
  reportWhole(check, "must validate at least one schema (anyOf)");
  return take(check, closest);
}

function checkOneOf(check: Check, parts: readonly Node[], value: Value): number {
  let closest: Verdict | undefined;
  let first: Verdict | undefined;
  let held = 0;
  for (const part of parts) {
    const verdict = judgeApart(check, part, value);
    if (verdict.faults.isEmpty) {
      held += 1;
      first ??= verdict;
    } else if (closest === undefined || verdict.count > closest.count) closest = verdict;
  }
  if (held === 1) return first?.count ?? 0;
  const found = held === 0 ? "Found none valid" : `Found ${held} valid alternatives`;
  reportWhole(check, `must validate one and only one schema (oneOf). ${found}`);
  return held === 0 ? take(check, closest) : 0;
}

function checkAllOf(check: Check, parts: readonly Node[], value: Value): number {
  let held = 0;
  let count = 0;
  for (const part of parts) {
    const verdict = judgeApart(check, part, value);
    if (verdict.faults.isEmpty) held += 1;
    count += take(check, verdict);
  }
  if (held < parts.length) {
    reportWhole(check, `must validate all the schemas (allOf)${held === 0 ? ". None validated" : ""}`);
  }
  return count;
}

function take(check: Check, verdict: Verdict | undefined): number {
  if (verdict === undefined) return 0;
  check.faults.merge(verdict.faults);
  return verdict.count;
}
