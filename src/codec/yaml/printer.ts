// YAML answers as upstream makes them of its JSON: sorted keys, two spaces, texts folded behind column 80. A text that
// YAML 1.1 would read as another type stands between double quotes. No library prints these bytes (DECISIONS 78).
import { NumberText, type Value, type ValueMap } from "../../api/value.ts";
import { limits } from "../../config/limits.ts";
import { writeValue } from "../engine/json.ts";
import { escapeLetters } from "./escapes.ts";

/** YAML with sorted keys, ending with a line break. */
export function yamlText(value: Value): string {
  return new YamlWriter().document(value);
}

/** A text is folded at the first single space behind this column. */
const columnMax = 80;
/** Longer keys (bytes) are announced by a question mark. */
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

  /** `inline`: the first entry stands on the line that has begun. A text's own lines are indented by `indent`. */
  #node(value: Value, indent: number, inline: boolean): void {
    if (indent > 2 * limits.indentedDepthMax && (Array.isArray(value) || value instanceof Map)) {
      // JSON is YAML in its flow style. Behind a key it stands on the key's line.
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
      const keys = [...value.keys()].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
      keys.forEach((key, index) => {
        if (index > 0 || !inline) this.#line(indent);
        this.#pair(key, value, indent);
      });
    } else if (typeof value === "string") {
      this.#string(value, indent);
    } else {
      this.#put(value instanceof NumberText ? String(Number(value.text)) : String(value));
    }
  }

  #pair(key: string, map: ValueMap, indent: number): void {
    const value = map.get(key) ?? null;
    if (Buffer.byteLength(key) > keyBytesMax) {
      this.#put("? ");
      this.#string(key, indent + 2);
      this.#line(indent);
      this.#put(": ");
      return this.#node(value, indent + 2, true);
    }
    this.#key(key);
    this.#put(":");
    // Lists stand below their key, not to its right.
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

  /** A text that stands for itself, apostrophes doubled between apostrophes; what lies between two folds is put at once. */
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

/** What no indicator, no space at an end and no other type stands against is plain. */
function styleOf(text: string): Style {
  if (!isPrintable(text)) return "double";
  if (text.includes("\n")) return /( \n| $)/.test(text) ? "double" : "literal";
  if (isAmbiguous(text)) return "double";
  if (text.startsWith(" ") || text.endsWith(" ")) return "single";
  return hasIndicator(text) ? "single" : "plain";
}

/** What YAML 1.1 lets stand unescaped; characters beyond the basic plane are escaped, as upstream does. */
function isPrintable(text: string): boolean {
  return /^[\n\x20-\x7E\u00A0-\u2027\u202A-\uD7FF\uE000-\uFEFE\uFF00-\uFFFD]*$/.test(text);
}

/** True when a plain text would be taken for structure. */
function hasIndicator(text: string): boolean {
  if (/^[#,[\]{}&*!|>'"%@`]/.test(text)) return true;
  if (/^[-?:](\s|$)/.test(text) || /^(---|\.\.\.)/.test(text)) return true;
  return /:(\s|$)/.test(text) || /\s#/.test(text);
}

/** True when YAML 1.1 reads the plain text as something else than a string. */
function isAmbiguous(text: string): boolean {
  if (text === "" || text.length > 64) return text === "";
  if (/^(~|null|true|false|yes|no|on|off|y|n|<<|=)$/i.test(text)) return true;
  if (/^\d{4}-\d\d?-\d\d?/.test(text)) return true;
  return /^[-+]?(\.?\d[\d_]*|\d[\d_]*\.[\d_]*|0b[01_]+|0o?[0-7_]+|0x[\da-f_]+|\d[\d_]*(:[0-5]?\d)+(\.[\d_]*)?|[\d_.]+e[-+]?\d+|\.inf|\.nan)$/i.test(
    text,
  );
}

/** A character as it stands between double quotes. */
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
