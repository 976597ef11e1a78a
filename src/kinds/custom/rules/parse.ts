// Rules as syntax trees, by the parser of a library. What it is given is bounded before, and what it gives is looked at
// without recursion, so that no rule makes it or us go deeper than the stack is.
import { type ASTNode, Environment, ParseError } from "@marcbachmann/cel-js";
import { limits } from "../../../config/limits.ts";

/** Why a rule is none, and where. */
export class SyntaxFault {
  readonly text: string;
  readonly at: number;
  constructor(text: string, at: number) {
    this.text = text;
    this.at = at;
  }
}

/** A rule that was read. */
export interface Parsed {
  readonly root: ASTNode;
  /** How many nodes it has. */
  readonly nodes: number;
}

const environment = new Environment({
  enableOptionalTypes: true,
  limits: {
    maxAstNodes: limits.ruleNodesMax,
    maxDepth: limits.ruleDepthMax,
    maxListElements: limits.ruleNodesMax,
    maxMapEntries: limits.ruleNodesMax,
    maxCallArguments: 32,
  },
});

const tooDeep = "expression nests too deeply";

/** Reads a rule. */
export function parseRule(text: string): Parsed | SyntaxFault {
  if (text.length > limits.ruleCharsMax) {
    return new SyntaxFault(`expression is longer than ${limits.ruleCharsMax} characters`, 0);
  }
  const nested = signsInRow(text);
  if (nested !== undefined) return new SyntaxFault(tooDeep, nested);
  try {
    const root = environment.parse(text).ast;
    const { nodes, depth } = measure(root);
    return depth > limits.ruleDepthMax ? new SyntaxFault(tooDeep, root.start) : { root, nodes };
  } catch (error) {
    if (!(error instanceof ParseError)) throw error;
    return new SyntaxFault(`Syntax error: ${error.summary}`, error.range?.start ?? 0);
  }
}

/** Where signs begin that are too many in a row: the parser goes a call deeper for each. */
function signsInRow(text: string): number | undefined {
  let count = 0;
  for (let at = 0; at < text.length; at++) {
    const mark = text.charCodeAt(at);
    if (mark === 33 || mark === 45) count += 1;
    else if (mark > 32) count = 0;
    if (count > limits.ruleDepthMax) return at - count + 1;
  }
  return undefined;
}

/** How many nodes a tree has, and how deep it is. Chains of one logical operator count as one level. */
function measure(root: ASTNode): { nodes: number; depth: number } {
  let nodes = 0;
  let depth = 0;
  const rest: { readonly node: ASTNode; readonly level: number }[] = [{ node: root, level: 1 }];
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    const { node, level } = next;
    nodes += 1;
    depth = Math.max(depth, level);
    for (const child of childrenOf(node)) {
      const isChained = (node.op === "||" || node.op === "&&") && child.op === node.op;
      rest.push({ node: child, level: isChained ? level : level + 1 });
    }
  }
  return { nodes, depth };
}

function childrenOf(node: ASTNode): readonly ASTNode[] {
  switch (node.op) {
    case "value":
    case "id":
      return [];
    case ".":
    case ".?":
      return [node.args[0]];
    case "!_":
    case "-_":
      return [node.args];
    case "call":
      return node.args[1];
    case "rcall":
      return [node.args[1], ...node.args[2]];
    case "map":
      return node.args.flat();
    default:
      return node.args;
  }
}

/** The parts of a chain of one logical operator, from left to right. */
export function chainOf(node: ASTNode & { readonly op: "||" | "&&" }): readonly ASTNode[] {
  const parts: ASTNode[] = [];
  const rest: ASTNode[] = [node];
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    if (next.op === node.op) {
      const [left, right] = next.args as [ASTNode, ASTNode];
      rest.push(right, left);
    } else parts.push(next);
  }
  return parts;
}
