// Functions of texts beyond the standard ones: the strings library of CEL.
import { goEscapes } from "../../../api/gotext.ts";
import { countOf, isWide, payToFind, pointsBefore, unitOf } from "./codepoints.ts";
import { type Overload, overload } from "./overloads.ts";
import { Fault, type Frame, ListValue, type Result } from "./values.ts";

function outOfRange(index: bigint): Fault {
  return new Fault(`index out of range: ${index}`);
}

function charAt(frame: Frame, text: string, index: bigint): Result {
  const count = countOf(frame, text);
  if (index < 0n || index > count) return outOfRange(index);
  const unit = isWide(frame, text) ? unitOf(frame, text, Number(index)) : Number(index);
  const point = text.codePointAt(unit);
  return point === undefined ? "" : String.fromCodePoint(point);
}

/** The part of a text between two code points. */
function substring(frame: Frame, text: string, from: bigint, to?: bigint): Result {
  const count = BigInt(countOf(frame, text));
  const end = to ?? count;
  if (from < 0n || from > count) return outOfRange(from);
  if (end < 0n || end > count) return outOfRange(end);
  if (from > end) return new Fault(`invalid substring range. start: ${from}, end: ${end}`);
  if (!isWide(frame, text)) return text.slice(Number(from), Number(end));
  return text.slice(unitOf(frame, text, Number(from)), unitOf(frame, text, Number(end)));
}

function indexOf(frame: Frame, text: string, part: string, from: bigint): Result {
  const count = countOf(frame, text);
  if (from < 0n || from > count) return outOfRange(from);
  const wide = isWide(frame, text);
  payToFind(frame, text, part);
  const unit = text.indexOf(part, wide ? unitOf(frame, text, Number(from)) : Number(from));
  return BigInt(unit <= 0 || !wide ? unit : pointsBefore(frame, text, unit));
}

function lastIndexOf(frame: Frame, text: string, part: string, to: bigint | undefined): Result {
  const count = countOf(frame, text);
  if (to !== undefined && (to < 0n || to > count)) return outOfRange(to);
  const wide = isWide(frame, text);
  payToFind(frame, text, part);
  const last = to === undefined ? text.length : wide ? unitOf(frame, text, Number(to)) : Number(to);
  const unit = text.lastIndexOf(part, last);
  return BigInt(unit <= 0 || !wide ? unit : pointsBefore(frame, text, unit));
}

function replace(frame: Frame, text: string, part: string, by: string, times: bigint): Result {
  if (times === 0n || part === by) return text;
  const pieces = split(frame, text, part, times < 0n ? -1n : times + 1n);
  frame.spend((text.length + pieces.length * by.length) / 16);
  return pieces.join(by);
}

/** The pieces of a text between the places of a part, at most so many; an empty part stands between all code points. */
function split(frame: Frame, text: string, part: string, most: bigint): string[] {
  if (most === 0n) return [];
  if (part === "") return splitPoints(frame, text, most);
  payToFind(frame, text, part);
  const pieces: string[] = [];
  let from = 0;
  while (most < 0n || pieces.length < most - 1n) {
    const at = text.indexOf(part, from);
    if (at < 0) break;
    frame.spend(2);
    pieces.push(text.slice(from, at));
    from = at + part.length;
  }
  pieces.push(text.slice(from));
  return pieces;
}

function splitPoints(frame: Frame, text: string, most: bigint): string[] {
  frame.spend(text.length);
  const points = [...text];
  if (most < 0n || points.length <= most) return points;
  const kept = Number(most) - 1;
  return [...points.slice(0, kept), points.slice(kept).join("")];
}

function join(frame: Frame, list: ListValue, between: string): Result {
  const texts: string[] = [];
  for (let index = 0; index < list.size; index++) {
    const item = list.at(index);
    if (item instanceof Fault) return item;
    if (typeof item !== "string") return new Fault("no such overload");
    frame.spend(1 + (item.length + between.length) / 16);
    texts.push(item);
  }
  return texts.join(between);
}

/** Letters of ASCII alone change; others stay as they are. */
function cased(frame: Frame, text: string, letters: RegExp, change: (run: string) => string): string {
  frame.spend(text.length / 4);
  return text.replace(letters, change);
}

/** What Go counts as white space. */
const spaces: ReadonlySet<string> = new Set(
  "\t\n\v\f\r \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000",
);

function trim(frame: Frame, text: string): string {
  frame.spend(text.length / 4);
  let from = 0;
  let to = text.length;
  while (from < to && spaces.has(text.charAt(from))) from += 1;
  while (to > from && spaces.has(text.charAt(to - 1))) to -= 1;
  return text.slice(from, to);
}

function reverse(frame: Frame, text: string): string {
  frame.spend(text.length / 2);
  return [...text].reverse().join("");
}

function quoted(frame: Frame, text: string): string {
  frame.spend(text.length / 2);
  return `"${text.replace(/[\u0007-\u000d\\"]/g, (mark) => goEscapes.get(mark) ?? mark)}"`;
}

/** The strings library. */
export const stringFunctions: readonly Overload[] = [
  overload("string.charAt(int): string", charAt),
  overload("string.indexOf(string): int", (frame, text: string, part: string) => indexOf(frame, text, part, 0n)),
  overload("string.indexOf(string, int): int", indexOf),
  overload("string.lastIndexOf(string): int", (frame, text: string, part: string) =>
    lastIndexOf(frame, text, part, undefined),
  ),
  overload("string.lastIndexOf(string, int): int", lastIndexOf),
  overload("string.lowerAscii(): string", (frame, text: string) =>
    cased(frame, text, /[A-Z]+/g, (run) => run.toLowerCase()),
  ),
  overload("string.upperAscii(): string", (frame, text: string) =>
    cased(frame, text, /[a-z]+/g, (run) => run.toUpperCase()),
  ),
  overload("string.replace(string, string): string", (frame, text: string, part: string, by: string) =>
    replace(frame, text, part, by, -1n),
  ),
  overload("string.replace(string, string, int): string", replace),
  overload(
    "string.split(string): list<string>",
    (frame, text: string, part: string) => new ListValue(split(frame, text, part, -1n)),
  ),
  overload(
    "string.split(string, int): list<string>",
    (frame, text: string, part: string, most: bigint) => new ListValue(split(frame, text, part, most)),
  ),
  overload("string.substring(int): string", (frame, text: string, from: bigint) => substring(frame, text, from)),
  overload("string.substring(int, int): string", substring),
  overload("string.trim(): string", trim),
  overload("string.reverse(): string", reverse),
  overload("@strings.quote(string): string", quoted),
  overload("list<string>.join(): string", (frame, list: ListValue) => join(frame, list, "")),
  overload("list<string>.join(string): string", join),
];
