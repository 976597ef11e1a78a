// Rules, compiled. One compilation serves the definition that is checked and the objects that its rules are about.
import type { ValidationRule } from "../../../api/gen/apiextensions/v1.ts";
import type { Pattern } from "../patterns.ts";
import { Compiler } from "./compile.ts";
import { parseRule, SyntaxFault } from "./parse.ts";
import type { CelType } from "./types.ts";
import type { Run } from "./values.ts";

/** A rule that can be evaluated. */
export interface Program {
  readonly run: Run;
  readonly patterns: ReadonlyMap<string, Pattern>;
  /** It compares with the value that is replaced, and says nothing of new values. */
  readonly usesOld: boolean;
  /** Nodes of its tree: what compiling it cost. */
  readonly nodes: number;
}

/** Why a rule cannot be compiled. */
export class RuleFault {
  readonly text: string;
  /** Nodes that were looked at. */
  readonly nodes: number;
  constructor(text: string, nodes: number) {
    this.text = text;
    this.nodes = nodes;
  }
}

/** Faults of one rule that are told. */
const faultsMax = 10;

/** Compiles a rule about values of a type. */
export function compileRule(text: string, self: CelType): Program | RuleFault {
  const parsed = parseRule(text);
  if (parsed instanceof SyntaxFault) return new RuleFault(compilationFailed(text, [parsed]), text.length);
  const { root, nodes } = parsed;
  const compiler = new Compiler(self);
  const { type, run } = compiler.expression(root);
  if (compiler.faults.length > 0) return new RuleFault(compilationFailed(text, compiler.faults), nodes);
  if (type.kind !== "bool") return new RuleFault("cel expression must evaluate to a bool", nodes);
  return { run, patterns: compiler.patterns, usesOld: compiler.usesOld, nodes };
}

function compilationFailed(text: string, faults: readonly SyntaxFault[]): string {
  const sorted = faults.toSorted((a, b) => a.at - b.at).slice(0, faultsMax);
  return `compilation failed: ${sorted.map((fault) => located(text, fault)).join("\n")}`;
}

/** A fault with its line, and a mark below its column. */
function located(text: string, { text: why, at }: SyntaxFault): string {
  const before = text.slice(0, at);
  const begin = before.lastIndexOf("\n") + 1;
  const end = text.indexOf("\n", begin);
  const line = before.split("\n").length;
  const column = [...text.slice(begin, at)].length;
  const source = text.slice(begin, end < 0 ? text.length : end);
  return `ERROR: <input>:${line}:${column + 1}: ${why}\n | ${source}\n | ${".".repeat(column)}^`;
}

/** By their list, which each schema has for itself; those of whole objects by the type of these. */
const programs = new WeakMap<object, readonly (Program | RuleFault)[]>();

/** The programs of the rules of a schema, compiled when they are first asked for; `isRoot`: about whole objects. */
export function programsOf(
  self: CelType,
  rules: readonly ValidationRule[],
  isRoot: boolean,
): readonly (Program | RuleFault)[] {
  const key = isRoot ? self : rules;
  let found = programs.get(key);
  if (found === undefined) {
    found = rules.map(({ rule }) => compileRule(rule, self));
    programs.set(key, found);
  }
  return found;
}
