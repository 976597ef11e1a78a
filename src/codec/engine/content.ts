// The values of an open message beside its own fields: the client's, copied so that they are not shared, with
// numbers as upstream keeps them: whole ones in 64 bits, others as floats, whose stored text is the same.
import { NumberText, type Value, type ValueMap } from "../../api/value.ts";

/** The property of a typed object that holds them. No field of an open message has this name. */
export const contentKey = "content";

/** An object of an open message, for generic code. */
export interface WithContent {
  content: ValueMap;
}

type Container = ValueMap | Value[];

/**
 * A deep copy of values. `tooLarge` is called with the first number beyond all floats; null
 * replaces it. Documents may nest deeper than a thread's stack.
 */
export function ownContent(content: ValueMap, tooLarge?: (number: string) => void): ValueMap {
  const copy: ValueMap = new Map();
  const rest: [from: Container, to: Container][] = [[content, copy]];
  const ownNumber = (text: string): Value => {
    const float = Number(text);
    if (Number.isSafeInteger(float)) return float + 0;
    if (Number.isFinite(float)) return new NumberText(String(float));
    tooLarge?.(text);
    return null;
  };
  const own = (value: Value): Value => {
    if (value instanceof NumberText) return ownNumber(value.text);
    if (typeof value === "bigint") return BigInt.asIntN(64, value) === value ? value : ownNumber(String(value));
    if (typeof value === "number") return value + 0;
    if (typeof value !== "object" || value === null) return value;
    const container: Container = Array.isArray(value) ? [] : new Map();
    rest.push([value, container]);
    return container;
  };
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    const [from, to] = next;
    if (Array.isArray(from)) for (const item of from) (to as Value[]).push(own(item));
    else for (const [key, item] of from) (to as ValueMap).set(key, own(item));
  }
  return copy;
}
