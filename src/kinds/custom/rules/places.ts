// Where messages say that something is: the sign of an operation, the dot of a field, the bracket of a call. The tree
// knows where its parts begin and end.
import type { ASTNode } from "@marcbachmann/cel-js";

function after(node: ASTNode, from: number, sign: string): number {
  const at = node.input.indexOf(sign, from);
  return at < 0 ? node.start : at;
}

/** The dot before a field. */
export function selectAt(node: ASTNode): number {
  const at = node.input.lastIndexOf(".", node.pos);
  return at < 0 ? node.start : at;
}

/** The bracket before an index. */
export function indexAt(node: ASTNode, operand: ASTNode): number {
  return after(node, operand.end, "[");
}

/** The bracket before the arguments of a call; `from`: where its name is looked for. */
export function callAt(node: ASTNode, from: number): number {
  return after(node, from, "(");
}

/** The sign of an operation. */
export function operatorAt(node: ASTNode, left: ASTNode, sign: string): number {
  return after(node, left.end, sign);
}
