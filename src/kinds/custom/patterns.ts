// Patterns of schemas: compiled when the first value is matched, by an RE2 that never backtracks. Equal patterns are one
// in all definitions of a thread, and the memory of all of them together is bounded.
import { RE2JS } from "re2js";
import { limits } from "../../config/limits.ts";
import { compileCost } from "../validation/pattern.ts";

/** Bytes of a compiled instruction, and of a state of the automaton beside its instructions; rough upper bounds. */
const instructionBytes = 200;
const stateBytes = 400;

/** A pattern of a schema. */
export class Pattern {
  readonly text: string;
  /** About how many instructions it has. */
  readonly cost: number;

  constructor(text: string) {
    this.text = text;
    this.cost = compileCost(text);
  }

  /** Whether some part of a text matches. Linear in the text, at worst times the instructions. */
  test(value: string): boolean {
    return compiled(this).test(value);
  }

  /** What matches in a text, from its begin on, without overlaps; at most so many. */
  find(value: string, most: number): string[] {
    const found: string[] = [];
    const matcher = compiled(this).matcher(value);
    while (found.length < most && matcher.find()) found.push(matcher.group() ?? "");
    return found;
  }

  /** Upper bound of what matching costs, in steps of `limits.schemaStepsMax`. */
  steps(value: string): number {
    return 1 + Math.ceil((value.length * (8 + this.cost)) / 256);
  }
}

const known = new Map<string, RE2JS>();
/** Bytes that compiled patterns may hold, and those that their automata may have gathered since they were emptied. */
let programBytes = 0;
let automatonBytes = 0;

function compiled(pattern: Pattern): RE2JS {
  let program = known.get(pattern.text);
  if (program === undefined) {
    const bytes = pattern.cost * instructionBytes;
    if (programBytes + bytes > limits.schemaProgramBytesMax) {
      known.clear();
      programBytes = 0;
      automatonBytes = 0;
    }
    program = RE2JS.compile(pattern.text);
    known.set(pattern.text, program);
    programBytes += bytes;
  }
  return program;
}

/** To be called before a match: automata grow by a state for each character at most, and are emptied in time. */
export function makeRoom(pattern: Pattern, value: string): void {
  automatonBytes += value.length * (stateBytes + 8 * pattern.cost);
  if (automatonBytes < limits.schemaAutomatonBytesMax) return;
  for (const program of known.values()) program.reset();
  automatonBytes = 0;
}
