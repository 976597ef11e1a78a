// Escapes between double quotes, for the reader and the printer.

/** The characters of escapes, by the letter after the backslash. */
export const escapes: ReadonlyMap<string, string> = new Map([
  ["0", "\0"],
  ["a", "\x07"],
  ["b", "\b"],
  ["\t", "\t"],
  ["t", "\t"],
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

/** The letter of a character that has one; where two mean the same, the one that is printed. */
export const escapeLetters: ReadonlyMap<string, string> = new Map(
  [...escapes].map(([letter, character]) => [character, letter]),
);
