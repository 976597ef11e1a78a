// Endings of generated names.
import { randomInt } from "node:crypto";
import { crc32 } from "./crc32.ts";

/** No vowels, nothing that looks like another character (upstream: utilrand). */
const alphabet = "bcdfghjklmnpqrstvwxz2456789";
const length = 5;

/** Five random characters. */
export function randomSuffix(): string {
  let suffix = "";
  for (let i = 0; i < length; i++) suffix += alphabet.charAt(randomInt(alphabet.length));
  return suffix;
}

/** Five characters that are always the same for a text. */
export function suffixOf(text: string): string {
  let rest = crc32(Buffer.from(text));
  let suffix = "";
  for (let i = 0; i < length; i++) {
    suffix += alphabet.charAt(rest % alphabet.length);
    rest = Math.floor(rest / alphabet.length);
  }
  return suffix;
}
