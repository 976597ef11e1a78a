// Endings of generated names.
import { randomInt } from "node:crypto";

/** No vowels, nothing that looks like another character (upstream: utilrand). */
const alphabet = "bcdfghjklmnpqrstvwxz2456789";
const length = 5;

/** Five random characters. */
export function randomSuffix(): string {
  let suffix = "";
  for (let i = 0; i < length; i++) suffix += alphabet.charAt(randomInt(alphabet.length));
  return suffix;
}
