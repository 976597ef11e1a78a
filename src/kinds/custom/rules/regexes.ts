// Regular expressions: RE2's, which never backtrack. A pattern that a rule spells out was looked at when the rule was
// compiled; one that is put together from values is paid for by what it makes of instructions.
import { RE2JSException } from "re2js";
import { limits } from "../../../config/limits.ts";
import { makeRoom, Pattern } from "../patterns.ts";
import { type Overload, overload } from "./overloads.ts";
import { Fault, type Frame, ListValue, type Result } from "./values.ts";

/** Compiling an instruction takes about as long as so many units, and a step of matching as long as so many. */
const unitsPerInstruction = 250;
const unitsPerStep = 15;
/** Finding where a match is takes longer than finding whether there is one. */
const unitsPerFinding = 60;

/** The place of the pattern among the arguments of functions that take one, receiver first. */
export const patternArguments: ReadonlyMap<string, number> = new Map([
  ["matches", 1],
  ["find", 1],
  ["findAll", 1],
]);

function patternOf(frame: Frame, text: string): Pattern | Fault {
  const known = frame.patterns.get(text);
  if (known !== undefined) return known;
  if (text.length > limits.schemaPatternCharsMax) {
    return new Fault(`the pattern is longer than ${limits.schemaPatternCharsMax} characters`);
  }
  frame.spend(16 + text.length);
  const pattern = new Pattern(text);
  frame.spend(unitsPerInstruction * (1 + pattern.cost));
  return pattern;
}

/** Does something with a pattern and a text; a pattern that is none is a fault. */
function using(
  frame: Frame,
  text: string,
  pattern: string,
  unitsPer: number,
  work: (pattern: Pattern) => Result,
): Result {
  const found = patternOf(frame, pattern);
  if (found instanceof Fault) return found;
  frame.spend(unitsPer * found.steps(text));
  makeRoom(found, text);
  try {
    return work(found);
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error;
    return new Fault(error.message);
  }
}

function matches(frame: Frame, text: string, pattern: string): Result {
  return using(frame, text, pattern, unitsPerStep, (found) => found.test(text));
}

function find(frame: Frame, text: string, pattern: string): Result {
  return using(frame, text, pattern, unitsPerFinding, (found) => found.find(text, 1)[0] ?? "");
}

function findAll(frame: Frame, text: string, pattern: string, most: bigint): Result {
  const count = most < 0n || most > text.length ? text.length + 1 : Number(most);
  return using(frame, text, pattern, unitsPerFinding, (found) => new ListValue(found.find(text, count)));
}

/** matches(), and the regex library of upstream. */
export const patternFunctions: readonly Overload[] = [
  overload("string.matches(string): bool", matches),
  overload("matches(string, string): bool", matches),
  overload("string.find(string): string", find),
  overload("string.findAll(string): list<string>", (frame, text: string, pattern: string) =>
    findAll(frame, text, pattern, -1n),
  ),
  overload("string.findAll(string, int): list<string>", findAll),
];
