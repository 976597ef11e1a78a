// The text of YAML: where tokens start, and what plain, quoted and block scalars say. Everything here moves forward
// over the text once, so time is linear in its size; what the tokens mean together is decided in yaml.ts.
import { Fault } from "../json/fault.ts";

/** Where reading is. Lines and columns count from zero. */
export class YamlCursor {
  readonly text: string;
  at = 0;
  line = 0;
  lineStart = 0;
  /** Flow collections around the place. */
  flow = 0;
  /** A key without `?` may start here: at the start of a line, after `-` and `?`. */
  keyAllowed = true;
  fault: Fault | undefined = undefined;

  constructor(text: string) {
    this.text = text;
  }

  get column(): number {
    return this.at - this.lineStart;
  }
}

/** A fault of the text itself; the reference counts such lines from one, but leaves out the first. */
export function textFault(cursor: YamlCursor, message: string, line = cursor.line): "" {
  cursor.fault ??= new Fault(`yaml: ${line > 0 ? `line ${line + 1}: ` : ""}${message}`);
  return "";
}

/** Blank, line break or end. */
export function isBlankOrEnd(code: number): boolean {
  return code === 32 || code === 10 || code === 9 || code === 13 || Number.isNaN(code);
}

function isBreak(code: number): boolean {
  return code === 10 || code === 13;
}

/** Steps over the line break at the cursor. */
function nextLine(cursor: YamlCursor): void {
  const crlf = cursor.text.charCodeAt(cursor.at) === 13 && cursor.text.charCodeAt(cursor.at + 1) === 10;
  cursor.at += crlf ? 2 : 1;
  cursor.line += 1;
  cursor.lineStart = cursor.at;
}

/** Steps over blanks, comments and line breaks, to where the next token starts. */
export function skipToToken(cursor: YamlCursor): void {
  const { text } = cursor;
  for (;;) {
    const code = text.charCodeAt(cursor.at);
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
export function skipToBreak(cursor: YamlCursor): void {
  const { text } = cursor;
  let at = cursor.at;
  let code = text.charCodeAt(at);
  while (!isBreak(code) && !Number.isNaN(code)) code = text.charCodeAt((at += 1));
  cursor.at = at;
}

/** `---` or `...` at the start of a line. */
export function isDocumentMark(cursor: YamlCursor): boolean {
  if (cursor.at !== cursor.lineStart) return false;
  const { text, at } = cursor;
  if (!text.startsWith("---", at) && !text.startsWith("...", at)) return false;
  return isBlankOrEnd(text.charCodeAt(at + 3));
}

/** The name of an anchor, alias or tag at the cursor, whose sign has been read. */
export function scanName(cursor: YamlCursor): string {
  const start = cursor.at;
  let code = cursor.text.charCodeAt(start);
  while (!isBlankOrEnd(code) && !(cursor.flow > 0 && isFlowSign(code))) code = cursor.text.charCodeAt((cursor.at += 1));
  return cursor.text.slice(start, cursor.at);
}

/** `,` `[` `]` `{` `}`. */
function isFlowSign(code: number): boolean {
  return code === 44 || code === 91 || code === 93 || code === 123 || code === 125;
}

/** Breaks become a space, or one break less than there are. */
function folded(breaks: number): string {
  return breaks === 1 ? " " : "\n".repeat(breaks - 1);
}

/** A plain scalar. Its further lines must be indented to `indent`; the cursor ends at the next token. */
export function scanPlain(cursor: YamlCursor, indent: number): string {
  const { text } = cursor;
  let scalar = "";
  let gap = "";
  let brokeLine = false;
  while (!isDocumentMark(cursor) && text.charCodeAt(cursor.at) !== 35) {
    const start = cursor.at;
    cursor.at = plainEnd(cursor, start);
    if (cursor.at === start) break;
    scalar += gap + text.slice(start, cursor.at);
    const spaces = cursor.at;
    const breaks = skipBlanks(cursor, indent);
    brokeLine = breaks > 0;
    if (cursor.at === spaces || (cursor.flow === 0 && cursor.column < indent)) break;
    gap = breaks > 0 ? folded(breaks) : text.slice(spaces, cursor.at);
  }
  cursor.keyAllowed = brokeLine && cursor.flow === 0;
  return scalar;
}

/** Where a run of plain characters from `start` ends. */
function plainEnd(cursor: YamlCursor, start: number): number {
  const { text } = cursor;
  let at = start;
  for (;;) {
    const code = text.charCodeAt(at);
    if (isBlankOrEnd(code)) return at;
    if (code === 58 && isBlankOrEnd(text.charCodeAt(at + 1))) return at;
    if (cursor.flow > 0 && (isFlowSign(code) || (code === 58 && isFlowSign(text.charCodeAt(at + 1))))) return at;
    at += 1;
  }
}

/** Steps over blanks and breaks within a plain scalar and counts the breaks. */
function skipBlanks(cursor: YamlCursor, indent: number): number {
  let breaks = 0;
  for (;;) {
    const code = cursor.text.charCodeAt(cursor.at);
    if (isBreak(code)) {
      nextLine(cursor);
      breaks += 1;
    } else if (code === 32 || code === 9) {
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

/** A quoted scalar; the cursor stands at its quote. */
export function scanQuoted(cursor: YamlCursor): string {
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
      for (; cursor.at < text.length; ) {
        skipToBreak(cursor);
        if (cursor.at < text.length) nextLine(cursor);
      }
      return textFault(cursor, "found unexpected end of stream");
    }
    const chunk = text.slice(cursor.at, match.index);
    cursor.at = match.index;
    const sign = match[0];
    if (sign === "\n" || sign === "\r") {
      scalar += withoutBlanks(chunk) + folded(skipQuotedBreaks(cursor));
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
  while (end > 0 && (line.charCodeAt(end - 1) === 32 || line.charCodeAt(end - 1) === 9)) end -= 1;
  return line.slice(0, end);
}

/** Steps over breaks and the blanks around them, and counts the breaks. */
function skipQuotedBreaks(cursor: YamlCursor): number {
  let breaks = 0;
  for (;;) {
    const code = cursor.text.charCodeAt(cursor.at);
    if (isBreak(code)) {
      nextLine(cursor);
      breaks += 1;
      if (isDocumentMark(cursor)) return breaks;
    } else if (code === 32 || code === 9) {
      cursor.at += 1;
    } else {
      return breaks;
    }
  }
}

const escapes: ReadonlyMap<string, string> = new Map([
  ["0", "\0"],
  ["a", "\x07"],
  ["b", "\b"],
  ["t", "\t"],
  ["\t", "\t"],
  ["n", "\n"],
  ["v", "\v"],
  ["f", "\f"],
  ["r", "\r"],
  ["e", "\x1b"],
  [" ", " "],
  ['"', '"'],
  ["'", "'"],
  ["/", "/"],
  ["\\", "\\"],
  ["N", "\x85"],
  ["_", "\xa0"],
  ["L", "\u2028"],
  ["P", "\u2029"],
]);

const hexDigits: ReadonlyMap<string, number> = new Map([
  ["x", 2],
  ["u", 4],
  ["U", 8],
]);

/** An escape; the cursor stands at its backslash. */
function scanEscape(cursor: YamlCursor): string {
  const letter = cursor.text.charAt(cursor.at + 1);
  if (letter === "\n" || letter === "\r") {
    // The line goes on after the break; further breaks count.
    cursor.at += 1;
    const breaks = skipQuotedBreaks(cursor);
    return "\n".repeat(breaks - 1);
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
export function scanBlock(cursor: YamlCursor, parentIndent: number): string {
  const { text } = cursor;
  const header = /[|>](?:([-+])([1-9])?|([1-9])([-+])?)?/y;
  header.lastIndex = cursor.at;
  const match = header.exec(text);
  const chomp = match?.[1] ?? match?.[4] ?? "";
  const isFolded = text.charAt(cursor.at) === ">";
  cursor.at = header.lastIndex;
  while (text.charCodeAt(cursor.at) === 32 || text.charCodeAt(cursor.at) === 9) cursor.at += 1;
  if (text.charCodeAt(cursor.at) === 35) skipToBreak(cursor);
  if (cursor.at < text.length && !isBreak(text.charCodeAt(cursor.at))) {
    return textFault(cursor, "did not find expected comment or line break");
  }
  const increment = Number(match?.[2] ?? match?.[3] ?? 0);
  const floor = Math.max(parentIndent + 1, 1);
  const indent = increment > 0 ? Math.max(parentIndent, 0) + increment : 0;
  cursor.keyAllowed = true;
  return blockText(cursor, indent, floor, isFolded, chomp);
}

/** The lines of a block scalar; `indent` 0 is found from the first line with text. */
function blockText(cursor: YamlCursor, given: number, floor: number, isFolded: boolean, chomp: string): string {
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
      if (code === 9 && width < indent)
        return textFault(cursor, "found a tab character where an indentation space is expected");
    }
    if (width < indent || (width === 0 && isDocumentMark(cursor))) break;
    const start = cursor.at + indent;
    cursor.at = start;
    skipToBreak(cursor);
    const first = text.charCodeAt(start);
    const kept = !isFolded || first === 32 || first === 9;
    if (parts.length > 0) parts.push(kept || keptBefore ? "\n".repeat(breaks) : folded(breaks));
    else parts.push("\n".repeat(breaks));
    parts.push(text.slice(start, cursor.at));
    keptBefore = kept;
    breaks = 0;
    if (cursor.at < text.length) {
      nextLine(cursor);
      breaks = 1;
    }
  }
  const body = parts.join("");
  if (chomp === "-") return body;
  if (chomp === "+") return body + "\n".repeat(breaks);
  return body === "" || breaks === 0 ? body : `${body}\n`;
}

/** Spaces at the start of a line, at most `max` (0: all). */
function indentAt(cursor: YamlCursor, max: number): number {
  let width = 0;
  while (cursor.text.charCodeAt(cursor.at + width) === 32 && (max === 0 || width < max)) width += 1;
  return width;
}
