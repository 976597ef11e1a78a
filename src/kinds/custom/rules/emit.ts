// What parts of expressions are compiled to: functions that run their own parts, pass faults on, and pay for what they do.

import { isNumeric } from "./compare.ts";
import { itemAt, noSuchKey, valueUnder } from "./operators.ts";
import type { Action } from "./overloads.ts";
import {
  type CelValue,
  Fault,
  type Frame,
  keyOf,
  ListValue,
  type MapKey,
  MapValue,
  none,
  noOverload,
  ObjectValue,
  Optional,
  paid,
  type Result,
  type Run,
} from "./values.ts";

/** What takes a truth value and gets another one fails with this. */
export const noTruth = noOverload;

/** A call of an action with so many arguments. */
export function emitCall(action: Action, args: readonly Run[]): Run {
  const [first, second] = args;
  if (first !== undefined && args.length === 1) {
    return (frame) => {
      const a = first(frame);
      if (a instanceof Fault) return a;
      frame.spend(1);
      return action(frame, a);
    };
  }
  if (first !== undefined && second !== undefined && args.length === 2) {
    return (frame) => {
      const a = first(frame);
      if (a instanceof Fault) return a;
      const b = second(frame);
      if (b instanceof Fault) return b;
      frame.spend(1);
      return action(frame, a, b);
    };
  }
  return (frame) => {
    frame.spend(1 + args.length);
    const values = valuesOf(frame, args);
    return values instanceof Fault ? values : action(frame, ...values);
  };
}

function valuesOf(frame: Frame, runs: readonly Run[]): CelValue[] | Fault {
  const values: CelValue[] = [];
  for (const run of runs) {
    const value = run(frame);
    if (value instanceof Fault) return value;
    values.push(value);
  }
  return values;
}

/** A field of an object or map, or nothing. */
function fieldOf(value: CelValue, name: string): Result | undefined {
  if (value instanceof ObjectValue) return value.get(name);
  if (value instanceof MapValue) return value.get(name);
  return value === null ? undefined : noOverload;
}

/** A field; `wraps`: an optional of it, and also of an optional's. */
export function emitSelect(operand: Run, name: string, wraps: boolean): Run {
  if (wraps) return emitOptional(operand, (value) => fieldOf(value, name));
  const missing = noSuchKey(name);
  return (frame) => {
    const value = operand(frame);
    if (value instanceof Fault) return value;
    frame.spend(1);
    return paid(frame, fieldOf(value, name) ?? missing);
  };
}

function emitOptional(operand: Run, read: (value: CelValue, frame: Frame) => Result | undefined): Run {
  return (frame) => {
    const value = operand(frame);
    if (value instanceof Fault) return value;
    frame.spend(2);
    const held = value instanceof Optional ? value.value : value;
    const found = held === undefined ? undefined : read(held, frame);
    if (found === undefined) return none;
    return found instanceof Fault ? found : new Optional(paid(frame, found) as CelValue);
  };
}

function partOf(value: CelValue, key: CelValue): Result {
  if (value instanceof ListValue) return isNumeric(key) ? itemAt(value, key) : noOverload;
  if (value instanceof MapValue) return valueUnder(value, key);
  if (value instanceof ObjectValue && typeof key === "string") return value.get(key) ?? noSuchKey(key);
  return noOverload;
}

/** An item of a list or a value of a map; `wraps`: an optional of it, and also of an optional's. */
export function emitIndex(operand: Run, index: Run, wraps: boolean): Run {
  if (wraps) {
    return emitOptional(operand, (value, frame) => {
      const key = index(frame);
      if (key instanceof Fault) return key;
      return isPresent(value, key) ? partOf(value, key) : undefined;
    });
  }
  return (frame) => {
    const value = operand(frame);
    if (value instanceof Fault) return value;
    const key = index(frame);
    if (key instanceof Fault) return key;
    frame.spend(1);
    return paid(frame, partOf(value, key));
  };
}

function isPresent(value: CelValue, key: CelValue): boolean {
  if (value instanceof MapValue) {
    const found = keyOf(key);
    return found !== undefined && value.has(found);
  }
  // What is no list is refused where the part is read.
  return !(value instanceof ListValue) || (typeof key === "bigint" && key >= 0n && key < value.size);
}

/** Whether a field is there. */
export function emitHas(operand: Run, name: string): Run {
  return (frame) => {
    const value = operand(frame);
    if (value instanceof Fault) return value;
    frame.spend(1);
    const held = value instanceof Optional ? value.value : value;
    if (held === undefined || held === null) return false;
    return held instanceof ObjectValue || held instanceof MapValue ? held.has(name) : noOverload;
  };
}

/** A list of values. */
export function emitList(items: readonly Run[]): Run {
  return (frame) => {
    frame.spend(1 + items.length);
    const values = valuesOf(frame, items);
    return values instanceof Fault ? values : new ListValue(values);
  };
}

/** A map of keys to values. */
export function emitMap(keys: readonly Run[], values: readonly Run[]): Run {
  return (frame) => {
    frame.spend(1 + 4 * keys.length);
    const entries = new Map<MapKey, CelValue>();
    for (const [index, keyRun] of keys.entries()) {
      const key = keyRun(frame);
      if (key instanceof Fault) return key;
      const value = values[index]?.(frame) ?? null;
      if (value instanceof Fault) return value;
      const found = keyOf(key);
      if (found === undefined) return new Fault("unsupported key type");
      if (entries.has(found)) return new Fault(`insertion of duplicate key: ${String(found).slice(0, 256)}`);
      entries.set(found, value);
    }
    return new MapValue(entries);
  };
}

/** One of two. */
export function emitChoice(test: Run, first: Run, second: Run): Run {
  return (frame) => {
    const chosen = test(frame);
    if (chosen instanceof Fault) return chosen;
    frame.spend(1);
    if (chosen === true) return first(frame);
    return chosen === false ? second(frame) : noTruth;
  };
}

/** `||` (`sought` true) or `&&` of many: the first that decides, whatever the others fail with. */
export function emitChain(parts: readonly Run[], sought: boolean): Run {
  return (frame) => {
    let fault: Fault | undefined;
    for (const part of parts) {
      const value = part(frame);
      frame.spend(1);
      if (value === sought) return sought;
      if (value !== !sought) fault ??= value instanceof Fault ? value : noTruth;
    }
    return fault ?? !sought;
  };
}
