// The keywords that look at one value: type, format, bounds, enum. Each returns how much of a schema a value matched, in
// upstream's count, by which the closest of several schemas is found when none of them holds (its validators count
// themselves, and once more where they are content).
import { type FieldError, invalid, notSupported } from "../../api/fielderror.ts";
import { quote } from "../../api/gotext.ts";
import { NumberText, type Value } from "../../api/value.ts";
import type { Faults } from "./faults.ts";
import { floatOf, floatText, integerBound, integerOf, isIntegral, type JsonNumber } from "./numbers.ts";
import { makeRoom } from "./patterns.ts";
import type { Place } from "./place.ts";
import { enumKey, type Node, type NumberRules, type Rules, type SizeRules, type TextRules, types } from "./plan.ts";
import { canonicalText, shown } from "./texts.ts";

/** Where a check is, what it may still cost, and what it found. */
export interface Check {
  readonly place: Place;
  readonly faults: Faults;
  /** Takes steps off what the walk may cost. */
  spend(steps: number): void;
}

/** The type of a value, as messages name it. */
export function typeName(value: Value): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (value instanceof Map) return "object";
  if (typeof value === "string" || typeof value === "boolean") return typeof value;
  return integerOf(value as JsonNumber) === undefined ? "number" : "integer";
}

function typeBit(value: Value): number {
  if (typeof value === "string") return types.string;
  if (typeof value === "boolean") return types.boolean;
  if (Array.isArray(value)) return types.array;
  if (value instanceof Map) return types.object;
  const number = value as JsonNumber;
  // Every integer is a number, and a float without a fraction is an integer.
  if (integerOf(number) !== undefined) return types.integer | types.number;
  return isIntegral(floatOf(number)) ? types.integer | types.number : types.number;
}

/** Reports a value that breaks a rule; `says` ends the sentence that begins with the path. */
export function report({ place, faults }: Check, value: unknown, says: string): void {
  if (faults.isFull) return;
  const name = place.name();
  const message = `${name} in body ${says}`;
  faults.add(message, invalid(place.fieldOf(name), value, message));
}

/** Reports something about all of what is walked. */
export function reportWhole({ place, faults }: Check, says: string): void {
  if (faults.isFull) return;
  const message = `${quote(place.name())} ${says}`;
  faults.add(message, invalid(place.whole(), "", message));
}

/** Null. */
export function checkNull(check: Check, node: Node): number {
  if (node.types === 0 || node.nullable) return 1;
  const text = "null";
  report(check, text, `must be of type ${node.typeText}: "${text}"`);
  return 0;
}

/** Type, where the schema says one; upstream looks at texts and lists that have a format in its own way. */
export function checkType(check: Check, node: Node, value: Value): number {
  const format = node.rules?.format;
  if (node.types === 0 && format === undefined) return 0;
  const bit = typeBit(value);
  if (format !== undefined) {
    const isTextual = bit === types.string || bit === types.array;
    if (!isTextual && (node.types & bit) === 0) {
      const found =
        typeof value === "boolean" || value instanceof Map
          ? ""
          : integerOf(value as JsonNumber) === undefined
            ? "float64"
            : "int64";
      report(check, found, `must be of type ${format.name}: "${found}"`);
      return 1;
    }
    if (isTextual && (node.types & (types.integer | types.number)) === 0) return 2;
  }
  if ((node.types & bit) !== 0) return 2;
  const found = typeName(value);
  report(check, found, `must be of type ${node.typeText}: "${found}"`);
  return 1;
}

/** What the rules say of a text. */
export function checkText(check: Check, rules: Rules | undefined, value: string): number {
  if (rules?.texts !== undefined) checkTextBounds(check, rules.texts, value);
  const format = rules?.format;
  if (format === undefined) return 1;
  check.spend(1 + (value.length >> 6));
  if (!format.test(value)) report(check, value, `must be of type ${format.name}: ${quote(value)}`);
  return 2;
}

function checkTextBounds(check: Check, { lengthMax, lengthMin, pattern }: TextRules, value: string): void {
  if (lengthMax !== undefined && value.length > lengthMax && charsIn(value) > lengthMax) {
    report(check, value, `should be at most ${lengthMax} chars long`);
  } else if (lengthMin !== undefined && (value.length < lengthMin || charsIn(value) < lengthMin)) {
    report(check, value, `should be at least ${lengthMin} chars long`);
  } else if (pattern !== undefined) {
    check.spend(pattern.steps(value));
    makeRoom(pattern, value);
    if (!pattern.test(value)) report(check, value, `should match '${pattern.text}'`);
  }
}

/** Characters of a text: pairs of surrogates are one. */
function charsIn(text: string): number {
  let count = text.length;
  for (let index = 1; index < text.length; index += 1) {
    if ((text.charCodeAt(index) & 0xfc00) === 0xdc00 && (text.charCodeAt(index - 1) & 0xfc00) === 0xd800) count -= 1;
  }
  return count;
}

/** What the rules say of a number. */
export function checkNumber(check: Check, rules: NumberRules | undefined, value: JsonNumber): number {
  if (rules === undefined) return 2;
  const { maximum, minimum, multipleOf } = rules;
  const integer = integerOf(value);
  const float = integer === undefined ? floatOf(value) : 0;
  if (multipleOf !== undefined) checkMultiple(check, multipleOf, value);
  if (minimum !== undefined) {
    const bound = integer === undefined ? minimum : integerBound(minimum);
    const number = integer ?? float;
    if (rules.exclusiveMinimum ? number <= bound : number < bound) {
      const than = rules.exclusiveMinimum ? "greater than" : "greater than or equal to";
      report(check, shown(value), `should be ${than} ${boundText(bound)}`);
    }
  }
  if (maximum !== undefined) {
    const bound = integer === undefined ? maximum : integerBound(maximum);
    const number = integer ?? float;
    if (rules.exclusiveMaximum ? number >= bound : number > bound) {
      const than = rules.exclusiveMaximum ? "less than" : "less than or equal to";
      report(check, shown(value), `should be ${than} ${boundText(bound)}`);
    }
  }
  return 2;
}

function boundText(bound: number | bigint): string {
  return typeof bound === "bigint" ? String(bound) : floatText(bound);
}

function checkMultiple(check: Check, factor: number, value: JsonNumber): void {
  if (factor < 0) {
    const { place, faults } = check;
    const name = place.name();
    const text = integerOf(value) === undefined ? floatText(factor) : String(integerBound(factor));
    const message = `factor MultipleOf declared for ${name} must be positive: ${text}`;
    const shownFactor = shown(new NumberText(text));
    faults.add(message, invalid(place.fieldOf(name), shownFactor, message));
    return;
  }
  const integer = integerOf(value);
  // A factor below one is no integer that could be divided by.
  const whole = factor >= 1 && integer !== undefined ? integerBound(factor) : undefined;
  if (whole !== undefined) {
    if (BigInt(integer as number | bigint) % whole !== 0n) report(check, integer, `should be a multiple of ${whole}`);
    return;
  }
  const float = floatOf(value);
  if (isIntegral(factor < 1 ? (1 / factor) * float : float / factor)) return;
  report(check, shown(value), `should be a multiple of ${floatText(factor)}`);
}

/** Counts of items. */
export function checkListSize(check: Check, rules: SizeRules | undefined, list: readonly Value[]): void {
  if (rules === undefined) return;
  const { itemsMax, itemsMin, uniqueItems } = rules;
  if (itemsMin !== undefined && list.length < itemsMin) {
    report(check, list.length, `should have at least ${itemsMin} items`);
  }
  if (itemsMax !== undefined && list.length > itemsMax) {
    report(check, list.length, `should have at most ${itemsMax} items`);
  }
  if (uniqueItems && new Set(list.map((item) => canonicalText(item, true))).size < list.length) {
    report(check, "", "shouldn't contain duplicates");
  }
}

/** Counts of properties; upstream looks no further into an object that has too few or too many. True: fine. */
export function checkObjectSize(
  check: Check,
  rules: SizeRules | undefined,
  object: ReadonlyMap<string, Value>,
): boolean {
  if (rules === undefined) return true;
  const { propertiesMin, propertiesMax } = rules;
  if (propertiesMin !== undefined && object.size < propertiesMin) {
    report(check, propertiesMin, `should have at least ${propertiesMin} properties`);
    return false;
  }
  if (propertiesMax !== undefined && object.size > propertiesMax) {
    report(check, propertiesMax, `should have at most ${propertiesMax} properties`);
    return false;
  }
  return true;
}

/** A closed set of values. */
export function checkEnum(check: Check, rules: Rules | undefined, value: Value): void {
  if (rules?.enum === undefined) return;
  const { keys, listed, number } = rules.enum;
  const key = enumKey(value);
  if (key !== undefined) check.spend(key.length >> 4);
  if (key !== undefined && keys.has(key)) return;
  const { place, faults } = check;
  if (faults.isFull) return;
  const name = place.name();
  faults.add(`${name} in body should be one of ${number}`, notSupported(place.fieldOf(name), shown(value), listed));
}

/** Keys where there may be no others than the properties. */
export function checkNoOthers(check: Check, node: Node, object: ReadonlyMap<string, Value>): void {
  if (node.additional !== false) return;
  const { place, faults } = check;
  for (const key of object.keys()) {
    if (faults.isFull) return;
    if (node.properties?.has(key) === true) continue;
    const name = place.name();
    const message = `${name}.${key} in body is a forbidden property`;
    faults.add(message, invalid(place.fieldOf(name), key, message));
  }
}

/** Properties that must be there. */
export function checkRequired({ place, faults }: Check, node: Node, object: ReadonlyMap<string, Value>): void {
  if (node.required === undefined) return;
  for (const key of node.required) {
    if (object.has(key) || faults.isFull) continue;
    const name = `${place.name()}.${key}`;
    const error: FieldError = { reason: "Required", field: place.fieldOf(name), text: "Required value" };
    faults.add(`${name} in body is required`, error);
  }
}
