// Values of documents as texts: as upstream's messages print them (Go's %#v), and as keys that are equal where values
// are. Nothing here recurses: what is printed is a client's document, which nests as deep as the reader allows.
import { compareBytes, GoText, quote } from "../../api/gotext.ts";
import type { NumberText, Value } from "../../api/value.ts";
import { quote as jsonQuote, sortedKeys } from "../../codec/json/write.ts";
import { limits } from "../../config/limits.ts";
import { floatOf, floatText, integerOf, isNumber } from "./numbers.ts";

/** What is still to be written as it is, between values. */
class Piece {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

type Rest = (Value | Piece)[];

/** A value as `invalid()` and its like take it: numbers, objects and lists in Go's words. */
export function shown(value: Value): unknown {
  if (value === null || typeof value === "boolean" || typeof value === "string") return value;
  if (!isNumber(value)) return new GoText(goSyntax(value));
  return integerOf(value) ?? new GoText(floatText(floatOf(value)));
}

/** Go's `%#v` of a decoded document, as much of it as a message shows. */
function goSyntax(value: Value): string {
  let text = "";
  const rest: Rest = [value];
  while (rest.length > 0 && text.length <= limits.shownCharsMax) {
    const next = rest.pop() as Value | Piece;
    if (next instanceof Piece) text += next.text;
    else if (Array.isArray(next)) {
      text += "[]interface {}{";
      pushItems(rest, next.slice(0, limits.shownCharsMax), ", ", "}");
    } else if (next instanceof Map) {
      text += "map[string]interface {}{";
      const keys = [...next.keys()].sort(compareBytes).slice(0, limits.shownCharsMax);
      pushEntries(rest, next, keys, quote, ", ", "}");
    } else text += next === null ? "interface {}(nil)" : scalarSyntax(next);
  }
  return text;
}

function scalarSyntax(value: string | boolean | number | bigint | NumberText): string {
  if (typeof value === "string") return quote(value.slice(0, limits.shownCharsMax));
  if (typeof value === "boolean") return String(value);
  return String(integerOf(value) ?? floatText(floatOf(value)));
}

function pushItems(rest: Rest, list: readonly Value[], comma: string, end: string): void {
  rest.push(new Piece(end));
  for (let index = list.length - 1; index >= 0; index--) {
    rest.push(list[index] as Value);
    if (index > 0) rest.push(new Piece(comma));
  }
}

function pushEntries(
  rest: Rest,
  map: ReadonlyMap<string, Value>,
  keys: readonly string[],
  quoteKey: (key: string) => string,
  comma: string,
  end: string,
): void {
  rest.push(new Piece(end));
  for (let index = keys.length - 1; index >= 0; index--) {
    const key = keys[index] as string;
    rest.push(map.get(key) as Value, new Piece(`${index > 0 ? comma : ""}${quoteKey(key)}:`));
  }
}

/**
 * JSON with sorted keys. Two values have one text if they are equal to upstream: `strict` tells integers from floats of
 * the same value, as upstream's comparison of decoded documents does; otherwise they are one, as in JSON it writes.
 */
export function canonicalText(value: Value, strict: boolean): string {
  let text = "";
  const rest: Rest = [value];
  while (rest.length > 0) {
    const next = rest.pop() as Value | Piece;
    if (next instanceof Piece) text += next.text;
    else if (Array.isArray(next)) {
      text += "[";
      pushItems(rest, next, ",", "]");
    } else if (next instanceof Map) {
      text += "{";
      pushEntries(rest, next, sortedKeys(next), jsonQuote, ",", "}");
    } else text += scalarText(next, strict);
  }
  return text;
}

function scalarText(value: null | boolean | number | bigint | string | NumberText, strict: boolean): string {
  if (typeof value === "string") return jsonQuote(value);
  if (value === null || typeof value === "boolean") return String(value);
  const integer = integerOf(value);
  if (integer !== undefined) return String(integer);
  return strict ? `${floatOf(value)}f` : String(floatOf(value));
}

/** A copy that shares nothing which can be changed; `spend` is told of each value. */
export function copyValue(value: Value, spend: () => void): Value {
  spend();
  if (!Array.isArray(value) && !(value instanceof Map)) return value;
  const root = Array.isArray(value) ? value.slice() : new Map(value);
  const rest = [root];
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    for (const [key, item] of next.entries()) {
      spend();
      if (!Array.isArray(item) && !(item instanceof Map)) continue;
      const copy = Array.isArray(item) ? item.slice() : new Map(item);
      if (Array.isArray(next)) next[key as number] = copy;
      else next.set(key as string, copy);
      rest.push(copy);
    }
  }
  return root;
}
