// YAML answers as upstream makes them of its JSON: sorted keys, two spaces, texts folded behind column 80. A text that
// YAML 1.1 would read as another type is double-quoted. No library prints these bytes (DECISIONS 78).
import { NumberText, type Value, type ValueMap } from "../../api/value.ts";
import { limits } from "../../config/limits.ts";
import { writeValue } from "../engine/json.ts";
import { escapeLetters } from "./escapes.ts";
import { scalarValue } from "./scalar.ts";

/** YAML with sorted keys, ending with a line break. */
export function yamlText(value: Value): string {
  return new YamlWriter().document(value);
}

/** A text is folded at the first single space behind this column. */
const columnMax = 80;
/** Longer keys (bytes), and those of several lines, are announced by a question mark. */
const keyBytesMax = 128;

/** How a text is written. */
type Style = "plain" | "single" | "double" | "literal";

class YamlWriter {
  readonly #parts: string[] = [];
  #column = 0;

  /** The text of a document. */
  document(value: Value): string {
    this.#node(value, 0, true);
    if (this.#column > 0) this.#parts.push("\n");
    return this.#parts.join("");
  }

  #put(text: string): void {
    this.#parts.push(text);
    this.#column += text.length;
  }

  /** Starts a line, unless one has just begun. */
  #line(indent: number): void {
    if (this.#column > 0) this.#parts.push("\n");
    this.#parts.push(" ".repeat(indent));
    this.#column = indent;
  }

  /** `inline`: the first entry continues the current line. A text's own lines are indented by `indent`. */
  #node(value: Value, indent: number, inline: boolean): void {
    if (indent > 2 * limits.indentedDepthMax && (Array.isArray(value) || value instanceof Map)) {
      // JSON is YAML in its flow style. After a key it is on the key's line.
      this.#put(inline ? writeValue(value) : ` ${writeValue(value)}`);
    } else if (Array.isArray(value)) {
      if (value.length === 0) return this.#put("[]");
      value.forEach((item, index) => {
        if (index > 0 || !inline) this.#line(indent);
        this.#put("- ");
        this.#node(item, indent + 2, true);
      });
    } else if (value instanceof Map) {
      if (value.size === 0) return this.#put("{}");
      // Upstream's order has circles (v1beta1, v2, v10): sorted before, the same keys come in the same order.
      const keys = [...value.keys()].sort().sort(compareKeys);
      keys.forEach((key, index) => {
        if (index > 0 || !inline) this.#line(indent);
        this.#pair(key, value, indent);
      });
    } else if (typeof value === "string") {
      this.#string(value, indent);
    } else {
      this.#put(value === null || typeof value === "boolean" ? String(value) : numberText(value));
    }
  }

  #pair(key: string, map: ValueMap, indent: number): void {
    const value = map.get(key) ?? null;
    if (key.includes("\n") || Buffer.byteLength(key) > keyBytesMax) {
      this.#put("? ");
      this.#string(key, indent + 2);
      this.#line(indent);
      this.#put(": ");
      return this.#node(value, indent + 2, true);
    }
    this.#key(key);
    this.#put(":");
    // Lists are below their key, not to its right.
    if (Array.isArray(value) && value.length > 0) return this.#node(value, indent, false);
    if (value instanceof Map && value.size > 0) return this.#node(value, indent + 2, false);
    this.#put(" ");
    this.#node(value, indent + 2, true);
  }

  #key(text: string): void {
    const style = styleOf(text);
    if (style === "plain") this.#put(text);
    else if (style === "single") this.#put(`'${text.replaceAll("'", "''")}'`);
    else this.#put(`"${[...text].map(escaped).join("")}"`);
  }

  #string(text: string, indent: number): void {
    const style = styleOf(text);
    if (style === "literal") return this.#literal(text, indent);
    if (style === "double") this.#double(text, indent);
    else this.#unescaped(text, style === "single" ? "'" : "", indent);
  }

  /** A text without escapes, apostrophes doubled between apostrophes; text between two folds is written at once. */
  #unescaped(text: string, quote: "" | "'", indent: number): void {
    this.#put(quote);
    const last = text.length - 1;
    const part = (from: number, to: number): string =>
      quote === "" ? text.slice(from, to) : text.slice(from, to).replaceAll("'", "''");
    let from = 0;
    let column = this.#column;
    for (let at = text.indexOf(" "); at >= 0; at = text.indexOf(" ", at + 1)) {
      const isEdge = quote !== "" && (at === 0 || at === last);
      if (isEdge || text.charCodeAt(at - 1) === 32 || text.charCodeAt(at + 1) === 32) continue;
      const before = part(from, at);
      if (column + before.length <= columnMax) continue;
      this.#put(before);
      this.#line(indent);
      column = indent;
      from = at + 1;
    }
    this.#put(part(from, text.length) + quote);
  }

  /** A text between double quotes; a break swallows the spaces behind it, so that they are announced. */
  #double(text: string, indent: number): void {
    let run = '"';
    let spaces = false;
    const characters = [...text];
    for (const [index, character] of characters.entries()) {
      const next = characters[index + 1];
      const edge = index === 0 || next === undefined;
      if (character === " " && !spaces && this.#column + run.length > columnMax && !edge) {
        this.#put(run);
        this.#line(indent);
        run = next === " " ? "\\" : "";
      } else run += escaped(character);
      spaces = character === " ";
    }
    this.#put(`${run}"`);
  }

  #literal(text: string, indent: number): void {
    const first = text[0];
    const hint = first === " " || first === "\n" ? "2" : "";
    const chomp = !text.endsWith("\n") ? "-" : text === "\n" || text.endsWith("\n\n") ? "+" : "";
    this.#put(`|${hint}${chomp}`);
    const lines = text.split("\n");
    const last = lines.pop() ?? "";
    for (const line of last === "" ? lines : [...lines, last]) {
      this.#parts.push("\n");
      this.#column = 0;
      if (line !== "") this.#put(" ".repeat(indent) + line);
    }
    if (last === "") {
      this.#parts.push("\n");
      this.#column = 0;
    }
  }
}

/** Text is plain without an indicator, a space at an end, or a reading as another type. */
function styleOf(text: string): Style {
  if (!isPrintable(text)) return "double";
  if (text.includes("\n")) return /( \n| $)/.test(text) ? "double" : "literal";
  if (isAmbiguous(text)) return "double";
  if (text.startsWith(" ") || text.endsWith(" ")) return "single";
  return hasIndicator(text) ? "single" : "plain";
}

/** Characters YAML 1.1 allows unescaped; those beyond the basic plane are escaped, as upstream does. */
function isPrintable(text: string): boolean {
  return /^[\n\x20-\x7E\u00A0-\u2027\u202A-\uD7FF\uE000-\uFEFE\uFF00-\uFFFD]*$/.test(text);
}

/** True when a plain text would be taken for structure. */
function hasIndicator(text: string): boolean {
  if (/^[#,[\]{}&*!|>'"%@`]/.test(text)) return true;
  if (/^[-?:]( |$)/.test(text) || /^(---|\.\.\.)/.test(text)) return true;
  return /:( |$)/.test(text) || text.includes(" #");
}

/** True when upstream's reader takes the plain text for another type, or an older one for a number of base 60. */
function isAmbiguous(text: string): boolean {
  if (typeof scalarValue(text, "", true) !== "string") return true;
  if (!/^[-+\d]/.test(text)) return false;
  return isTime(text) || /^[-+]?\d[\d_]*(:[0-5]?\d)+(\.[\d_]*)?$/.test(text);
}

/** A date, or a date and a time. */
function isTime(text: string): boolean {
  const match =
    /^(\d{4})-(\d\d?)-(\d\d?)(?:[Tt](\d\d?):(\d\d?):(\d\d?)(?:[.,]\d+)?(?:Z|[-+]\d\d:\d\d)| (\d\d?):(\d\d?):(\d\d?)(?:[.,]\d+)?)?$/.exec(
      text,
    );
  if (match === null) return false;
  const [year = 0, month = 0, day = 0, ...time] = match.slice(1).map((part) => Number(part ?? 0));
  const [hour, minute, second] = time.slice(text.includes(" ") ? 3 : 0);
  const date = new Date(Date.UTC(year, month - 1, day));
  const isDate = date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
  return isDate && (hour ?? 0) < 24 && (minute ?? 0) < 60 && (second ?? 0) < 60;
}

/** A number as upstream prints it: other than 64-bit integers it is a float, with an exponent from a million on. */
function numberText(value: number | bigint | NumberText): string {
  if (typeof value === "number") return String(value);
  if (typeof value === "bigint" && value >= -(1n << 63n) && value < 1n << 64n) return String(value);
  const float = Number(value instanceof NumberText ? value.text : value);
  const [digits = "", exponent = ""] = float.toExponential().split("e");
  const power = Number(exponent);
  if (power >= -4 && power < 6) return String(float);
  return `${digits}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
}

/** A character as it is written between double quotes. */
function escaped(character: string): string {
  const unit = character.charCodeAt(0);
  if (unit >= 32 && unit < 127 && unit !== 34 && unit !== 92) return character;
  if (isPrintable(character) && !/["\\\n]/.test(character)) return character;
  const letter = escapeLetters.get(character);
  if (letter !== undefined) return `\\${letter}`;
  const code = character.codePointAt(0) ?? 0;
  const hex = code.toString(16).toUpperCase();
  if (code <= 0xff) return `\\x${hex.padStart(2, "0")}`;
  return code <= 0xffff ? `\\u${hex.padStart(4, "0")}` : `\\U${hex.padStart(8, "0")}`;
}

/** The order upstream prints keys in: digits by the number they make, other signs before letters. */
function compareKeys(a: string, b: string): number {
  let at = 0;
  while (at < a.length && a.charCodeAt(at) === b.charCodeAt(at)) at += 1;
  if (at === a.length || at === b.length) return a.length - b.length;
  // The second half of a character beyond the basic plane.
  if (at > 0 && (a.codePointAt(at - 1) ?? 0) > 0xffff) at -= 1;
  const [one, other] = [a.codePointAt(at) ?? 0, b.codePointAt(at) ?? 0];
  const letter = isLetter(one);
  if (letter !== isLetter(other)) return letter ? 1 : -1;
  if (letter || (!isDigit(one) && !isDigit(other))) return one - other;
  return compareNumbers(a, b, at) || one - other;
}

/** Compares the digits at `from`, none being zero: by number, then by length. */
function compareNumbers(a: string, b: string, from: number): number {
  const [end, otherEnd] = [digitsEnd(a, from), digitsEnd(b, from)];
  // Zeros within a number count, those before it do not.
  const isWithin = endsInNumber(a, from);
  const [start, otherStart] = isWithin ? [from, from] : [zerosEnd(a, from), zerosEnd(b, from)];
  const length = end - start;
  if (length !== otherEnd - otherStart) return length - (otherEnd - otherStart);
  for (let at = 0; at < length; at += 1) {
    const difference = a.charCodeAt(start + at) - b.charCodeAt(otherStart + at);
    if (difference !== 0) return difference;
  }
  return end - otherEnd;
}

function digitsEnd(text: string, from: number): number {
  let at = from;
  while (isDigit(text.charCodeAt(at))) at += 1;
  return at;
}

function zerosEnd(text: string, from: number): number {
  let at = from;
  while (text.charCodeAt(at) === 48) at += 1;
  return at;
}

/** The digits before `end` are not zeros alone. */
function endsInNumber(text: string, end: number): boolean {
  for (let at = end - 1; isDigit(text.charCodeAt(at)); at -= 1) if (text.charCodeAt(at) !== 48) return true;
  return false;
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

function isLetter(code: number): boolean {
  if (code > 127) return /^\p{L}/u.test(String.fromCodePoint(code));
  return (code | 32) >= 97 && (code | 32) <= 122;
}
