// How upstream prints generic JSON values inside its messages (Go's %v and %T of decoded documents). Nothing here
// recurses, because it prints clients' documents.
import { compareBytes } from "../api/gotext.ts";
import { NumberText, type Value } from "../api/value.ts";

/** Text still to be printed as it is, between values. */
class Piece {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

const closingMap = new Piece("]");

/** `%v`: `map[a:1 b:[x y]]`, keys in the order of their bytes. */
export function goText(value: Value): string {
  let text = "";
  const rest: (Value | Piece)[] = [value];
  while (rest.length > 0) {
    const next = rest.pop() as Value | Piece;
    if (next instanceof Piece) text += next.text;
    else if (Array.isArray(next)) {
      text += "[";
      rest.push(closingMap);
      for (let index = next.length - 1; index >= 0; index--) {
        rest.push(next[index] as Value);
        if (index > 0) rest.push(new Piece(" "));
      }
    } else if (next instanceof Map) {
      text += "map[";
      rest.push(closingMap);
      const keys = [...next.keys()].sort(compareBytes);
      for (let index = keys.length - 1; index >= 0; index--) {
        const key = keys[index] as string;
        rest.push(next.get(key) as Value, new Piece(`${index > 0 ? " " : ""}${key}:`));
      }
    } else text += scalarText(next);
  }
  return text;
}

function scalarText(value: Exclude<Value, Value[] | Map<string, Value>>): string {
  if (value === null) return "<nil>";
  return String(value instanceof NumberText ? Number(value.text) : value);
}

/** `%T`: the Go type a JSON value decodes into. */
export function goType(value: Value): string {
  if (value === null) return "%!s(<nil>)";
  if (Array.isArray(value)) return "[]interface {}";
  if (value instanceof Map) return "map[string]interface {}";
  if (typeof value === "string") return "string";
  if (typeof value === "boolean") return "bool";
  return value instanceof NumberText ? "float64" : "int64";
}
