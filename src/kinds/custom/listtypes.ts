// Lists that are sets or maps: no item twice. Each item is put into one text, so that the time is that of the list.
import { duplicate, type FieldError, invalid } from "../../api/fielderror.ts";
import type { Value } from "../../api/value.ts";
import { integerOf, isNumber } from "./numbers.ts";
import type { ListRules } from "./plan.ts";
import { canonicalText, shown } from "./texts.ts";

/** The duplicates of a list, each once, at `path`. */
export function checkListType(rules: ListRules, list: readonly Value[], path: () => string): FieldError[] {
  if (rules.kind === "set") return duplicatesOf(list, list, path);
  for (const [index, item] of list.entries()) {
    if (item === null || item instanceof Map) continue;
    const why = "must be an object for an array of list-type map";
    return [invalid(`${path()}[${index}]`, shown(item), why)];
  }
  const { keys } = rules;
  const values = list.map((item) => keysOf(item, keys));
  return duplicatesOf(values, values, path);
}

/** The keys an item has. */
function keysOf(item: Value, keys: readonly string[]): Value {
  const found = new Map<string, Value>();
  if (!(item instanceof Map)) return found;
  for (const key of keys) {
    const value = item.get(key);
    if (value !== undefined) found.set(key, value);
  }
  return found;
}

/** Errors at the second place each value has; `values` are shown. */
function duplicatesOf(items: readonly Value[], values: readonly Value[], path: () => string): FieldError[] {
  if (items.length < 2) return [];
  const times = new Map<string, number>();
  const errors: FieldError[] = [];
  for (const [index, item] of items.entries()) {
    const key = keyOf(item);
    const before = times.get(key) ?? 0;
    times.set(key, before + 1);
    if (before === 1) errors.push(duplicate(`${path()}[${index}]`, shown(values[index] as Value)));
  }
  return errors;
}

/** Scalars are one by kind and value, objects and lists by the JSON they are written as. */
function keyOf(item: Value): string {
  if (isNumber(item) && integerOf(item) === undefined) return canonicalText(item, true);
  return canonicalText(item, false);
}
