// Where the rules of `x-kubernetes-validations` hold: each object, list or scalar whose schema has some, with the value it
// replaces. Evaluating them is the caller's.
import type { ValidationRule } from "../../api/gen/apiextensions/v1.ts";
import type { Value, ValueMap } from "../../api/value.ts";
import { Place } from "./place.ts";
import type { ListRules, Node } from "./plan.ts";
import { canonicalText } from "./texts.ts";

/** A value that has rules. */
export interface RuledValue {
  readonly rules: readonly ValidationRule[];
  readonly value: Value;
  /** What it replaces; undefined: it is new, or stands in a list whose items are not told apart. */
  readonly old: Value | undefined;
  /** Tells the type of the value: one per schema. */
  readonly node: Node;
  /** As errors name it (`spec.list[2]`), put together when it is asked for. */
  readonly path: () => string;
}

/** What is done with a value; true: no further value is visited. */
export type Visit = (value: RuledValue) => boolean;

/** Calls `visit` with each value of an object that has rules, outermost first. */
export function eachRuled(root: Node, object: ValueMap, old: ValueMap | undefined, visit: Visit): void {
  if (root.hasExpressions) descend(root, object, old, new Place(), visit);
}

function descend(node: Node, value: Value, old: Value | undefined, place: Place, visit: Visit): boolean {
  const rules = node.rules?.expressions;
  if (rules !== undefined && visit({ rules, value, old, node, path: () => place.field() })) return true;
  if (Array.isArray(value)) {
    const { items } = node;
    if (items?.hasExpressions !== true) return false;
    const former = formerItems(node.rules?.list, old);
    for (const [index, item] of value.entries()) {
      place.enterIndex(index);
      if (descend(items, item, former(item), place, visit)) return true;
      place.leave();
    }
  } else if (value instanceof Map) {
    for (const [key, item] of value) {
      const property = node.properties?.get(key);
      const below = property ?? node.additional;
      if (typeof below !== "object" || !below.hasExpressions) continue;
      if (property === undefined) place.enterKey(key);
      else place.enterProperty(key);
      if (descend(below, item, old instanceof Map ? old.get(key) : undefined, place, visit)) return true;
      place.leave();
    }
  }
  return false;
}

/** Finds the item that another one replaces: the one with the same keys. */
function formerItems(rules: ListRules | undefined, old: Value | undefined): (item: Value) => Value | undefined {
  if (rules?.kind !== "map" || !Array.isArray(old)) return () => undefined;
  const known = new Map<string, Value>();
  for (const item of old) known.set(identityOf(item, rules), item);
  return (item) => known.get(identityOf(item, rules));
}

function identityOf(item: Value, { keys }: ListRules): string {
  if (!(item instanceof Map)) return "";
  return canonicalText(
    keys.map((key) => item.get(key) ?? null),
    false,
  );
}
