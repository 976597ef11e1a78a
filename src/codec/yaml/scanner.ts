// The text of YAML: where tokens start, and the texts of plain, quoted and block scalars. Everything moves forward over
// the text once, so that time is linear in its size. How tokens fit together is decided in yaml.ts.
import { Fault } from "../json/fault.ts";
import { escapes } from "./escapes.ts";

/** A place in a text. Lines and columns count from zero. */
export class Cursor {
  readonly text: string;
  at = 0;
  line = 0;
  lineStart = 0;
  /** Flow collections around the place. */
  flow = 0;
  /** A key without `?` may start here: at the start of a line, after `-` and `?`. */
  keyAllowed = true;
  /** The first fault; reading ends with it. */
  fault: Fault | undefined = undefined;

  constructor(text: string) {
    this.text = text;
  }

  get column(): number {
    return this.at - this.lineStart;
  }

  /** Code of the character at the place; NaN at the end. */
  get code(): number {
    return this.text.charCodeAt(this.at);
  }
}

/** A fault of the text itself; upstream counts such lines from one, and leaves out the first. */
export function textFault(cursor: Cursor, message: string, line = cursor.line): "" {
  cursor.fault ??= new Fault(`yaml: ${line > 0 ? `line ${line + 1}: ` : ""}${message}`);
  return "";
}

function isBlank(code: number): boolean {
  return code === 32 || code === 9;
}

function isBreak(code: number): boolean {
  return code === 10 || code === 13;
}

/** Blank, line break or end. */
export function isBlankOrEnd(code: number): boolean {
  return !(code > 32) && (isBlank(code) || isBreak(code) || Number.isNaN(code));
}

/** `,` `[` `]` `{` `}`. */
function isFlowSign(code: number): boolean {
  return code === 44 || code === 91 || code === 93 || code === 123 || code === 125;
}

/** Steps over the line break at the cursor. */
function nextLine(cursor: Cursor): void {
  const crlf = cursor.code === 13 && cursor.text.charCodeAt(cursor.at + 1) === 10;
  cursor.at += crlf ? 2 : 1;
  cursor.line += 1;
  cursor.lineStart = cursor.at;
}

/** Steps over blanks, comments and line breaks, to where the next token starts. */
export function skipToToken(cursor: Cursor): void {
  for (;;) {
    const { code } = cursor;
    if (code === 32 || (code === 9 && (cursor.flow > 0 || !cursor.keyAllowed))) {
      cursor.at += 1;
    } else if (code === 35) {
      skipToBreak(cursor);
    } else if (isBreak(code)) {
      nextLine(cursor);
      if (cursor.flow === 0) cursor.keyAllowed = true;
    } else {
      return;
    }
  }
}

/** Steps to the end of the line. */
export function skipToBreak(cursor: Cursor): void {
  const { text } = cursor;
  let { at, code } = cursor;
  while (!isBreak(code) && !Number.isNaN(code)) code = text.charCodeAt((at += 1));
  cursor.at = at;
}

/** Steps over blanks and line breaks within a scalar and counts the breaks. `indent`: no tab may stand before it. */
function skipBlanks(cursor: Cursor, indent: number): number {
  for (let breaks = 0; ; ) {
    const { code } = cursor;
    if (isBreak(code)) {
      nextLine(cursor);
      breaks += 1;
    } else if (isBlank(code)) {
      if (code === 9 && breaks > 0 && cursor.flow === 0 && cursor.column < indent) {
        textFault(cursor, "found a tab character that violates indentation");
        return breaks;
      }
      cursor.at += 1;
    } else {
      return breaks;
    }
  }
}

/** `---` or `...` at the start of a line. */
export function isDocumentMark(cursor: Cursor): boolean {
  if (cursor.at !== cursor.lineStart) return false;
  const { text, at } = cursor;
  if (!text.startsWith("---", at) && !text.startsWith("...", at)) return false;
  return isBlankOrEnd(text.charCodeAt(at + 3));
}

/** The name of an anchor, alias or tag, whose sign has been read. */
export function scanName(cursor: Cursor): string {
  const start = cursor.at;
  while (!isBlankOrEnd(cursor.code) && !(cursor.flow > 0 && isFlowSign(cursor.code))) cursor.at += 1;
  return cursor.text.slice(start, cursor.at);
}

/** Line breaks become a space, or one break less than there are. */
function folded(breaks: number): string {
  return breaks === 1 ? " " : "\n".repeat(breaks - 1);
}

/** A plain scalar. Its further lines must be indented to `indent`; the cursor ends at the next token. */
export function scanPlain(cursor: Cursor, indent: number): string {
  const { text } = cursor;
  let scalar = "";
  let gap = "";
  let breaks = 0;
  while (!isDocumentMark(cursor) && cursor.code !== 35) {
    const start = cursor.at;
    const end = plainEnd(cursor);
    if (end === start) break;
    scalar += gap + text.slice(start, end);
    cursor.at = end;
    breaks = skipBlanks(cursor, indent);
    if (cursor.at === end || (cursor.flow === 0 && cursor.column < indent)) break;
    gap = breaks > 0 ? folded(breaks) : text.slice(end, cursor.at);
  }
  cursor.keyAllowed = breaks > 0 && cursor.flow === 0;
  return scalar;
}

/** Where the run of plain characters at the cursor ends. */
function plainEnd({ text, at, flow }: Cursor): number {
  for (let end = at; ; end += 1) {
    const code = text.charCodeAt(end);
    if (isBlankOrEnd(code)) return end;
    const next = code === 58 ? text.charCodeAt(end + 1) : 0;
    if (code === 58 && isBlankOrEnd(next)) return end;
    if (flow > 0 && (isFlowSign(code) || isFlowSign(next))) return end;
  }
}

/** A quoted scalar; the cursor stands at its quote. */
export function scanQuoted(cursor: Cursor): string {
  const { text } = cursor;
  const quote = text.charAt(cursor.at);
  const stops = quote === '"' ? /["\\\n\r]/g : /['\n\r]/g;
  let scalar = "";
  cursor.at += 1;
  for (;;) {
    if (isDocumentMark(cursor)) return textFault(cursor, "found unexpected document indicator");
    stops.lastIndex = cursor.at;
    const match = stops.exec(text);
    if (match === null) {
      // The end is recognized by its line.
      for (; cursor.at < text.length; skipToBreak(cursor)) if (isBreak(cursor.code)) nextLine(cursor);
      return textFault(cursor, "found unexpected end of stream");
    }
    const chunk = text.slice(cursor.at, match.index);
    cursor.at = match.index;
    const sign = match[0];
    if (sign === "\n" || sign === "\r") {
      scalar += withoutBlanks(chunk) + folded(skipBlanks(cursor, 0));
    } else if (sign === "\\") {
      scalar += chunk + scanEscape(cursor);
      if (cursor.fault !== undefined) return "";
    } else if (quote === "'" && text.charCodeAt(cursor.at + 1) === 39) {
      scalar += `${chunk}'`;
      cursor.at += 2;
    } else {
      cursor.at += 1;
      cursor.keyAllowed = false;
      return scalar + chunk;
    }
  }
}

/** A line without the blanks at its end. */
function withoutBlanks(line: string): string {
  let end = line.length;
  while (end > 0 && isBlank(line.charCodeAt(end - 1))) end -= 1;
  return line.slice(0, end);
}

const hexDigits: ReadonlyMap<string, number> = new Map([
  ["x", 2],
  ["u", 4],
  ["U", 8],
]);

/** An escape; the cursor stands at its backslash. */
function scanEscape(cursor: Cursor): string {
  const letter = cursor.text.charAt(cursor.at + 1);
  if (letter === "\n" || letter === "\r") {
    // The line continues after the break; further breaks count.
    cursor.at += 1;
    return "\n".repeat(skipBlanks(cursor, 0) - 1);
  }
  const plain = escapes.get(letter);
  if (plain !== undefined) {
    cursor.at += 2;
    return plain;
  }
  const count = hexDigits.get(letter);
  if (count === undefined) return textFault(cursor, "found unknown escape character");
  const digits = cursor.text.slice(cursor.at + 2, cursor.at + 2 + count);
  if (digits.length !== count || !/^[\da-fA-F]+$/.test(digits)) {
    return textFault(cursor, "did not find expected hexdecimal number");
  }
  const code = Number.parseInt(digits, 16);
  if ((code >= 0xd800 && code <= 0xdfff) || code > 0x10ffff) {
    return textFault(cursor, "found invalid Unicode character escape code");
  }
  cursor.at += 2 + count;
  return String.fromCodePoint(code);
}

/** A block scalar, `|` or `>`; the cursor stands at its sign. `parentIndent` is that of the collection around it. */
export function scanBlock(cursor: Cursor, parentIndent: number): string {
  const header = /[|>](?:([-+])([1-9])?|([1-9])([-+])?)?[ \t]*/y;
  header.lastIndex = cursor.at;
  const match = header.exec(cursor.text);
  const isFolded = cursor.text.charAt(cursor.at) === ">";
  cursor.at = header.lastIndex;
  if (cursor.code === 35) skipToBreak(cursor);
  if (!isBreak(cursor.code) && !Number.isNaN(cursor.code)) {
    return textFault(cursor, "did not find expected comment or line break");
  }
  const increment = Number(match?.[2] ?? match?.[3] ?? 0);
  const floor = Math.max(parentIndent + 1, 1);
  const indent = increment > 0 ? Math.max(parentIndent, 0) + increment : 0;
  cursor.keyAllowed = true;
  const { body, breaks } = scanLines(cursor, indent, floor, isFolded);
  const chomp = match?.[1] ?? match?.[4];
  if (chomp === "+") return body + "\n".repeat(breaks);
  return chomp === "-" || body === "" || breaks === 0 ? body : `${body}\n`;
}

/**
 * The lines of a block scalar, and how many line breaks follow the last one with text. `given`: their indent; 0: it is
 * the first one's, at least `floor`.
 */
function scanLines(
  cursor: Cursor,
  given: number,
  floor: number,
  isFolded: boolean,
): { readonly body: string; readonly breaks: number } {
  const { text } = cursor;
  const parts: string[] = [];
  let indent = given;
  // Line breaks since the last line with text, and whether that line, and this one, keep theirs.
  let breaks = 0;
  let keptBefore = true;
  if (cursor.at < text.length) nextLine(cursor);
  while (cursor.at < text.length) {
    const width = indentAt(cursor, indent);
    const code = text.charCodeAt(cursor.at + width);
    if (isBreak(code) || Number.isNaN(code)) {
      cursor.at += width;
      if (Number.isNaN(code)) break;
      nextLine(cursor);
      breaks += 1;
      continue;
    }
    if (indent === 0) {
      indent = Math.max(floor, width);
      if (code === 9 && width < indent) {
        textFault(cursor, "found a tab character where an indentation space is expected");
        break;
      }
    }
    if (width < indent || (width === 0 && isDocumentMark(cursor))) break;
    const start = cursor.at + indent;
    cursor.at = start;
    skipToBreak(cursor);
    const kept = !isFolded || isBlank(text.charCodeAt(start));
    parts.push(parts.length === 0 || kept || keptBefore ? "\n".repeat(breaks) : folded(breaks));
    parts.push(text.slice(start, cursor.at));
    keptBefore = kept;
    breaks = 0;
    if (cursor.at < text.length) {
      nextLine(cursor);
      breaks = 1;
    }
  }
  return { body: parts.join(""), breaks };
}

/** Spaces at the start of a line, at most `max` (0: all). */
function indentAt(cursor: Cursor, max: number): number {
  let width = 0;
  while (cursor.text.charCodeAt(cursor.at + width) === 32 && (max === 0 || width < max)) width += 1;
  return width;
}
