// Patterns that a client wrote, in RE2's syntax, as upstream reads them. They are compiled by an RE2 of our own, which
// never backtracks; what compiling costs is counted before, because `((a{10}){10}){10}` is a thousand instructions.
import { RE2JS, RE2JSException } from "re2js";
import { Recent } from "../../base/recent.ts";
import { limits } from "../../config/limits.ts";

/** The patterns of one object: what compiling all of them may cost is bounded, and each is compiled once. */
export class Patterns {
  readonly #known = new Map<string, string | undefined>();
  #cost = 0;

  /** What is wrong with a pattern, in upstream's words; undefined: it can be used. */
  fault(pattern: string): string | undefined {
    if (this.#known.has(pattern)) return this.#known.get(pattern);
    const fault = this.#look(pattern);
    this.#known.set(pattern, fault);
    return fault;
  }

  #look(pattern: string): string | undefined {
    if (pattern.length > limits.schemaPatternCharsMax) {
      return `it is longer than ${limits.schemaPatternCharsMax} characters`;
    }
    this.#cost += compileCost(pattern);
    if (this.#cost > limits.schemaPatternCostMax) {
      return `it and the patterns before it make more than ${limits.schemaPatternCostMax} instructions`;
    }
    let looked = recent.get(pattern);
    if (looked === undefined) recent.set(pattern, (looked = { fault: faultOf(pattern) }));
    return looked.fault;
  }
}

/** What came of patterns lately: those of one definition are most often those of many. */
const recent = new Recent<string, { readonly fault: string | undefined }>(
  limits.schemaPatternsKeptChars,
  (pattern) => pattern.length,
);

function faultOf(pattern: string): string | undefined {
  try {
    RE2JS.compile(pattern);
    return undefined;
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error;
    return error.message;
  }
}

/** Instructions of a character class of Unicode: it is a list of ranges. */
const unicodeClassCost = 20;
/** What is repeated so often, an escape, a class of Unicode, or any other character. */
const token = /\{(\d{1,9})(?:,(\d{0,9}))?\}|\\[pP](?:\{[^}]{0,99}\}|.)?|\\.|./sy;

/** About how many instructions a pattern becomes, at most: repetitions are written out. */
export function compileCost(pattern: string): number {
  /** What stood before each open group. */
  const before: number[] = [];
  let cost = 0;
  /** Of this the part a repetition after it repeats. */
  let last = 0;
  for (token.lastIndex = 0; token.lastIndex < pattern.length; ) {
    const [all = "", min, max = ""] = token.exec(pattern) ?? [];
    if (min !== undefined) {
      const times = Math.max(Number(min), Number(max), 1);
      cost += last * (times - 1);
      last *= times;
    } else if (all === "(") {
      before.push(cost);
      last = 0;
    } else if (all === ")") {
      last = cost - (before.pop() ?? 0);
    } else {
      last = /^\\[pP]/.test(all) ? unicodeClassCost : 1;
      cost += last;
    }
  }
  return cost;
}
