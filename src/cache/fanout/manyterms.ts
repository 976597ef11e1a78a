// Selectors of many requirements, at the cost of few: requirements of one label or field are merged into one rule when
// the selector is compiled, and a record is judged by the labels it has, not by the requirements there are. A thousand
// requirements of labels a record does not have cost it nothing.
// @hot
import { type FieldRequirement, type LabelRequirement, labelHolds, parseInteger } from "../../api/selector.ts";
import {
  entryOf,
  findField,
  isKey,
  keyHashOf,
  labelCountOf,
  namespaceText,
  nameText,
  type SelectionSource,
  type SelectionText,
  selectionText,
  valueText,
} from "../shared/selection.ts";

type Match = (source: SelectionSource, table: number) => boolean;

/** All that is required of one label. */
interface LabelRule {
  readonly key: SelectionText;
  /** It must be there. */
  present: boolean;
  /** It must not. */
  absent: boolean;
  /** Undefined: any value. */
  allowed: ReadonlySet<string> | undefined;
  readonly refused: Set<string>;
  /** The strictest bounds of numbers. */
  above: LabelRequirement | undefined;
  below: LabelRequirement | undefined;
}

/** Compiles requirements of labels. Agrees with matchesLabels() of api/selector.ts. */
export function manyLabels(requirements: readonly LabelRequirement[]): Match {
  const rules = new Map<string, LabelRule>();
  for (const requirement of requirements) {
    let rule = rules.get(requirement.key);
    if (rule === undefined) {
      rule = emptyRule(requirement.key);
      rules.set(requirement.key, rule);
    }
    addLabel(rule, requirement);
  }
  const byHash = new Map<number, LabelRule[]>();
  let presentCount = 0;
  for (const rule of rules.values()) {
    if (rule.present) presentCount += 1;
    const alike = byHash.get(rule.key.hash);
    if (alike === undefined) byHash.set(rule.key.hash, [rule]);
    else alike.push(rule);
  }
  return (source, table) => {
    const labels = labelCountOf(source, table);
    if (labels < presentCount) return false;
    let found = 0;
    for (let index = 0; index < labels; index += 1) {
      const entry = entryOf(table, index);
      const alike = byHash.get(keyHashOf(source, entry));
      if (alike === undefined) continue;
      for (const rule of alike) {
        if (!isKey(source, table, entry, rule.key.bytes)) continue;
        if (!holds(rule, source, table, entry)) return false;
        if (rule.present) found += 1;
      }
    }
    return found === presentCount;
  };
}

function emptyRule(key: string): LabelRule {
  const refused = new Set<string>();
  const bounds = { above: undefined, below: undefined };
  return { key: selectionText(key), present: false, absent: false, allowed: undefined, refused, ...bounds };
}

function addLabel(rule: LabelRule, requirement: LabelRequirement): void {
  const { operator, values } = requirement;
  if (operator === "!") rule.absent = true;
  else if (operator === "!=" || operator === "notin") for (const value of values) rule.refused.add(value);
  else rule.present = true;
  if (operator === "=" || operator === "in") {
    const { allowed } = rule;
    rule.allowed = new Set(allowed === undefined ? values : values.filter((value) => allowed.has(value)));
  } else if (operator === ">") {
    if (rule.above === undefined || boundOf(requirement) > boundOf(rule.above)) rule.above = requirement;
  } else if (operator === "<") {
    if (rule.below === undefined || boundOf(requirement) < boundOf(rule.below)) rule.below = requirement;
  }
}

/** The parser lets only integers through. */
function boundOf({ values }: LabelRequirement): bigint {
  return parseInteger(values[0] ?? "") ?? 0n;
}

/** Whether a label that is there may be, with its value. */
function holds(rule: LabelRule, source: SelectionSource, table: number, entry: number): boolean {
  if (rule.absent) return false;
  const { allowed, refused, above, below } = rule;
  if (allowed === undefined && refused.size === 0 && above === undefined && below === undefined) return true;
  const value = valueText(source, table, entry);
  if (refused.has(value) || allowed?.has(value) === false) return false;
  return (above === undefined || labelHolds(above, value)) && (below === undefined || labelHolds(below, value));
}

/** All that is required of one field; one that is absent is empty. */
interface FieldRule {
  /** Undefined: any value. More than one: none. */
  readonly wanted: Set<string>;
  readonly refused: Set<string>;
}

/** Compiles requirements of fields. Agrees with matchesFields() of api/selector.ts. */
export function manyFields(requirements: readonly FieldRequirement[]): Match {
  const rules = new Map<string, FieldRule>();
  for (const { field, operator, value } of requirements) {
    let rule = rules.get(field);
    if (rule === undefined) {
      rule = { wanted: new Set(), refused: new Set() };
      rules.set(field, rule);
    }
    (operator === "=" ? rule.wanted : rule.refused).add(value);
  }
  const each = [...rules].map(([field, rule]) => ({ value: reader(field), ...rule }));
  if (each.some(({ wanted }) => wanted.size > 1)) return () => false;
  return (source, table) => {
    for (const { value, wanted, refused } of each) {
      const text = value(source, table);
      if (refused.has(text) || (wanted.size > 0 && !wanted.has(text))) return false;
    }
    return true;
  };
}

function reader(field: string): (source: SelectionSource, table: number) => string {
  if (field === "metadata.name") return nameText;
  if (field === "metadata.namespace") return namespaceText;
  const key = selectionText(field);
  return (source, table) => {
    const entry = findField(source, table, key);
    return entry < 0 ? "" : valueText(source, table, entry);
  };
}
