// How upstream prints values inside messages (Go's %q and %#v): quoted strings, maps and lists of strings,
// and structs where a message shows one. Only for people's eyes; nothing parses these texts.

/** A value with a ready printed form: a struct, a time. */
export class GoText {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** Characters that have an escape of their own between double quotes. */
export const goEscapes: ReadonlyMap<string, string> = new Map([
  ["\u0007", "\\a"],
  ["\b", "\\b"],
  ["\f", "\\f"],
  ["\n", "\\n"],
  ["\r", "\\r"],
  ["\t", "\\t"],
  ["\v", "\\v"],
  ["\\", "\\\\"],
  ['"', '\\"'],
]);
// Go prints letters, marks, numbers, punctuation, symbols and the ASCII space as they are.
const hidden = /["\\]|[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu;

/** `%q` of a string. */
export function quote(value: string): string {
  return `"${value.replace(hidden, escapeMark)}"`;
}

function escapeMark(mark: string): string {
  const known = goEscapes.get(mark);
  if (known !== undefined) return known;
  const code = mark.codePointAt(0) ?? 0;
  if (code < 0x80) return `\\x${code.toString(16).padStart(2, "0")}`;
  if (code >= 0xd800 && code <= 0xdfff) return "\ufffd";
  if (code < 0x10000) return `\\u${code.toString(16).padStart(4, "0")}`;
  return `\\U${code.toString(16).padStart(8, "0")}`;
}

/** `%#v` of a map of strings, keys sorted. */
export function stringMap(map: ReadonlyMap<string, string>): string {
  const keys = [...map.keys()].sort(compareBytes);
  return `map[string]string{${keys.map((key) => `${quote(key)}:${quote(map.get(key) ?? "")}`).join(", ")}}`;
}

/** `%#v` of a list of strings. */
export function stringList(list: readonly string[]): string {
  return `[]string{${list.map(quote).join(", ")}}`;
}

/** Go's order of strings: by bytes of UTF-8. That is the order of UTF-16 but for surrogates, which come last. */
export function compareBytes(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index++) {
    const x = a.charCodeAt(index);
    const y = b.charCodeAt(index);
    if (x === y) continue;
    const isX = x >= 0xd800 && x <= 0xdfff;
    const isY = y >= 0xd800 && y <= 0xdfff;
    return isX === isY ? x - y : isX ? 1 : -1;
  }
  return a.length - b.length;
}

/** `%v` of a Time given in its JSON form. */
export function timeText(time: string): string {
  return `${time.replace("T", " ").replace("Z", "")} +0000 UTC`;
}
