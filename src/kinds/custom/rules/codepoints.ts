// Texts of expressions are sequences of code points; those of this language are of 16-bit units. Most texts have none
// that take two units, which is looked for once per operation.
import type { Frame } from "./values.ts";

/** Whether some code point takes two units; looking is paid for. */
export function isWide(frame: Frame, text: string): boolean {
  frame.spend(text.length / 16);
  return /[\ud800-\udfff]/.test(text);
}

/** How many code points a text has. */
export function countOf(frame: Frame, text: string): number {
  if (!isWide(frame, text)) return text.length;
  return pointsBefore(frame, text, text.length);
}

/** How many code points stand before a unit. */
export function pointsBefore(frame: Frame, text: string, unit: number): number {
  frame.spend(unit / 4);
  let count = 0;
  for (let at = 0; at < unit; count++) at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
  return count;
}

/** The unit at which a code point begins; the length of the text for the one after its last. */
export function unitOf(frame: Frame, text: string, point: number): number {
  frame.spend(point / 4);
  let at = 0;
  for (let count = 0; count < point && at < text.length; count++) at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
  return at;
}

/** Pays for looking for a part: at worst the text is compared with it at each unit. */
export function payToFind(frame: Frame, text: string, part: string): void {
  frame.spend(text.length / 2 + (text.length * Math.min(part.length, text.length)) / 128);
}

/** The unit where a part stands first; -1: nowhere. */
export function found(frame: Frame, text: string, part: string): number {
  payToFind(frame, text, part);
  return text.indexOf(part);
}
