// Compiles an expression: one pass over its tree finds the type of each part and makes a function of it. A fault of a
// part makes its type dyn, so that what is around it is not at fault for it.
import type { ASTNode } from "@marcbachmann/cel-js";
import { Pattern } from "../patterns.ts";
import { emitCall, emitChain, emitChoice, emitIndex, emitList, emitMap, emitSelect, noTruth } from "./emit.ts";
import { library } from "./library.ts";
import { type Compiling, compileMacro, type Expression } from "./macros.ts";
import { chainOf, SyntaxFault } from "./parse.ts";
import { callAt, indexAt, operatorAt, selectAt } from "./places.ts";
import { patternArguments } from "./regexes.ts";
import { typeIdentifiers } from "./typenames.ts";
import {
  boolType,
  bytesType,
  type CelType,
  doubleType,
  dynType,
  intType,
  join,
  listOf,
  mapOf,
  nullType,
  optionalOf,
  stringType,
  typeText,
  typeType,
  uintType,
} from "./types.ts";
import { type CelValue, TypeName, Uint } from "./values.ts";

interface Variable {
  readonly name: string;
  readonly type: CelType;
  readonly slot: number;
}

/** What a part at fault is compiled to. It is never run. */
const broken: Expression = { type: dynType, run: () => null };

const int64Max = 2n ** 63n - 1n;

/** The compilation of one expression. */
export class Compiler implements Compiling {
  readonly faults: SyntaxFault[] = [];
  /** The patterns that the expression spells out. */
  readonly patterns = new Map<string, Pattern>();
  usesOld = false;
  readonly #variables: Variable[];

  /** `self` is the type of the value the expression is about, and of the one it replaces. */
  constructor(self: CelType) {
    this.#variables = [
      { name: "self", type: self, slot: 0 },
      { name: "oldSelf", type: self, slot: 1 },
    ];
  }

  fault(at: number, text: string): Expression {
    this.faults.push(new SyntaxFault(text, at));
    return broken;
  }

  withVariable<T>(name: string, type: CelType, work: (slot: number) => T): T {
    const slot = (this.#variables.at(-1)?.slot ?? 0) + 1;
    this.#variables.push({ name, type, slot });
    const made = work(slot);
    this.#variables.pop();
    return made;
  }

  expression(node: ASTNode): Expression {
    switch (node.op) {
      case "value":
        return this.#literal(node, node.args);
      case "id":
        return this.#identifier(node, node.args);
      case ".":
      case ".?":
        return this.#select(node, node.args[0], node.args[1], node.op === ".?");
      case "[]":
      case "[?]":
        return this.#index(node, node.args, node.op === "[?]");
      case "call":
        return this.#call(node, node.args[0], node.args[1]);
      case "rcall":
        return this.#methodCall(node, node.args[0], node.args[1], node.args[2]);
      case "list":
        return this.#list(node.args);
      case "map":
        return this.#map(node.args);
      case "?:":
        return this.#choice(node, node.args);
      case "||":
      case "&&":
        return this.#chain(node, node.op);
      case "!_":
        return this.#not(node, node.args);
      case "-_":
        return this.#negative(node, node.args);
      case "in":
        return this.#operation(node, "@in", node.args, node.op);
      default:
        return this.#operation(node, `_${node.op}_`, node.args, node.op);
    }
  }

  #literal(node: ASTNode, value: unknown): Expression {
    if (typeof value === "bigint" && value > int64Max) return this.fault(node.start, `invalid int literal`);
    if (value instanceof Uint8Array) return this.#bytes(node, value);
    if (value === null) return constant(nullType, null);
    // The library has a class of its own for unsigned integers, and nothing else is an object.
    if (typeof value === "object") return constant(uintType, new Uint(BigInt(String(value))));
    const types = { string: stringType, number: doubleType, bigint: intType, boolean: boolType } as const;
    return constant(types[typeof value as keyof typeof types], value as CelValue);
  }

  #bytes(node: ASTNode, value: Uint8Array): Expression {
    // The library cuts such characters to eight bits.
    const isAscii = !/[^\u0000-\u007f]/.test(node.input.slice(node.start, node.end));
    return isAscii
      ? constant(bytesType, value)
      : this.fault(node.start, "bytes beyond ASCII have to be escaped (\\x..)");
  }

  #identifier(node: ASTNode, name: string): Expression {
    const found = this.#variables.findLast((variable) => variable.name === name);
    if (found === undefined) {
      if (typeIdentifiers.has(name)) return constant(typeType, new TypeName(name));
      return this.undeclared(node.start, name);
    }
    if (found.slot === 1) this.usesOld = true;
    const { type, slot } = found;
    return { type, run: (frame) => frame.slots[slot] as CelValue };
  }

  undeclared(at: number, name: string): Expression {
    return this.fault(at, `undeclared reference to '${name}' (in container '')`);
  }

  /** The type of a field; undefined: there is none, which has been told. */
  fieldType(at: number, { kind, fields, inner }: CelType, name: string): CelType | undefined {
    if (kind === "dyn") return dynType;
    if (kind === "map") return inner;
    const type = kind === "object" ? fields.byIdentifier.get(name)?.type : undefined;
    if (kind === "object" && type === undefined) this.fault(at, `undefined field '${name}'`);
    return type;
  }

  #select(node: ASTNode, operandNode: ASTNode, name: string, isOptional: boolean): Expression {
    const operand = this.expression(operandNode);
    const at = selectAt(node);
    const within = operand.type.kind === "optional" ? operand.type.inner : operand.type;
    if (!["dyn", "map", "object"].includes(within.kind)) {
      return this.fault(at, `type '${typeText(within)}' does not support field selection`);
    }
    const type = this.fieldType(at, within, name);
    if (type === undefined) return broken;
    const wraps = isOptional || operand.type.kind === "optional";
    return { type: wraps ? optionalOf(type) : type, run: emitSelect(operand.run, name, wraps) };
  }

  #index(node: ASTNode, [operandNode, indexNode]: readonly [ASTNode, ASTNode], isOptional: boolean): Expression {
    const operand = this.expression(operandNode);
    const index = this.expression(indexNode);
    const within = operand.type.kind === "optional" ? operand.type.inner : operand.type;
    const resolved = library.resolve("_[_]", false, [within, index.type]);
    if (resolved === undefined) return this.noOverload(indexAt(node, operandNode), "_[_]", [within, index.type]);
    const wraps = isOptional || operand.type.kind === "optional";
    const type = within.kind === "dyn" ? dynType : resolved.result;
    return { type: wraps ? optionalOf(type) : type, run: emitIndex(operand.run, index.run, wraps) };
  }

  noOverload(at: number, name: string, types: readonly CelType[]): Expression {
    return this.fault(
      at,
      `found no matching overload for '${name}' applied to '(${types.map((type) => typeText(type)).join(", ")})'`,
    );
  }

  #operation(node: ASTNode, name: string, [left, right]: readonly [ASTNode, ASTNode], sign: string): Expression {
    const parts = [this.expression(left), this.expression(right)];
    const types = parts.map(({ type }) => type);
    const resolved = library.resolve(name, false, types);
    if (resolved === undefined) return this.noOverload(operatorAt(node, left, sign), name, types);
    const runs = parts.map(({ run }) => run);
    return { type: resolved.result, run: emitCall(resolved.run, runs) };
  }

  #call(node: ASTNode, name: string, args: readonly ASTNode[]): Expression {
    const macro = compileMacro(this, node, name, undefined, args);
    return macro ?? this.#invoke(callAt(node, node.start), name, false, args);
  }

  #methodCall(node: ASTNode, name: string, receiver: ASTNode, args: readonly ASTNode[]): Expression {
    const spaced = receiver.op === "id" ? `${receiver.args}.${name}` : "";
    const isSpaced = spaced !== "" && !this.#variables.some((variable) => variable.name === receiver.args);
    const at = callAt(node, receiver.end);
    if (isSpaced) {
      const macro = compileMacro(this, node, spaced, undefined, args);
      if (macro !== undefined) return macro;
      if (library.has(spaced)) return this.#invoke(at, spaced, false, args);
    }
    return compileMacro(this, node, name, receiver, args) ?? this.#invoke(at, name, true, [receiver, ...args]);
  }

  #invoke(at: number, name: string, isMethod: boolean, args: readonly ASTNode[]): Expression {
    const parts = args.map((arg) => this.expression(arg));
    const types = parts.map(({ type }) => type);
    if (!library.has(name)) return this.undeclared(at, name);
    const resolved = library.resolve(name, isMethod, types);
    if (resolved === undefined) {
      const [first, ...others] = types.map((type) => typeText(type));
      const shown = isMethod ? `${first}.(${others.join(", ")})` : `(${[first, ...others].join(", ")})`;
      return this.fault(at, `found no matching overload for '${name}' applied to '${shown}'`);
    }
    const pattern = args[patternArguments.get(name) ?? -1];
    if (pattern?.op === "value" && typeof pattern.args === "string") {
      this.patterns.set(pattern.args, new Pattern(pattern.args));
    }
    return {
      type: resolved.result,
      run: emitCall(
        resolved.run,
        parts.map(({ run }) => run),
      ),
    };
  }

  /** The type of all parts of a literal; parts that differ are at fault. */
  #common(nodes: readonly ASTNode[], types: readonly CelType[]): CelType {
    let common: CelType | undefined;
    for (const [index, type] of types.entries()) {
      const joined = common === undefined ? type : join(common, type);
      if (joined === undefined) {
        const why = `expected type '${typeText(common ?? dynType)}' but found '${typeText(type)}'`;
        this.fault(nodes[index]?.start ?? 0, why);
        return dynType;
      }
      common = joined;
    }
    return common ?? dynType;
  }

  #list(nodes: readonly ASTNode[]): Expression {
    const parts = nodes.map((part) => this.expression(part));
    const type = this.#common(
      nodes,
      parts.map((part) => part.type),
    );
    return { type: listOf(type), run: emitList(parts.map(({ run }) => run)) };
  }

  #map(entries: readonly (readonly [ASTNode, ASTNode])[]): Expression {
    const keyNodes = entries.map(([key]) => key);
    const valueNodes = entries.map(([, value]) => value);
    const keys = keyNodes.map((key) => this.expression(key));
    const values = valueNodes.map((value) => this.expression(value));
    for (const [index, { type }] of keys.entries()) {
      if (["int", "uint", "bool", "string", "dyn", "double"].includes(type.kind)) continue;
      return this.fault(keyNodes[index]?.start ?? 0, `unsupported key type: ${typeText(type)}`);
    }
    const keyType = this.#common(
      keyNodes,
      keys.map(({ type }) => type),
    );
    const valueType = this.#common(
      valueNodes,
      values.map(({ type }) => type),
    );
    const run = emitMap(
      keys.map((part) => part.run),
      values.map((part) => part.run),
    );
    return { type: mapOf(keyType, valueType), run };
  }

  #choice(node: ASTNode, [test, first, second]: readonly [ASTNode, ASTNode, ASTNode]): Expression {
    const parts = [test, first, second].map((part) => this.expression(part));
    const types = parts.map(({ type }) => type);
    const [tested, ...branches] = types as [CelType, CelType, CelType];
    const type = join(branches[0], branches[1]);
    if (type === undefined || !isTruth(tested)) {
      return this.noOverload(operatorAt(node, test, "?"), "_?_:_", types);
    }
    const [a, b, c] = parts.map(({ run }) => run);
    return a === undefined || b === undefined || c === undefined ? broken : { type, run: emitChoice(a, b, c) };
  }

  #chain(node: ASTNode & { readonly op: "||" | "&&" }, op: "||" | "&&"): Expression {
    const nodes = chainOf(node);
    const parts = nodes.map((part) => this.expression(part));
    for (const [index, { type }] of parts.entries()) {
      if (isTruth(type)) continue;
      const other = index === 0 ? (parts[1]?.type ?? boolType) : boolType;
      const types = index === 0 ? [type, other] : [boolType, type];
      return this.noOverload(operatorAt(node, nodes[Math.max(0, index - 1)] ?? node, op), `_${op}_`, types);
    }
    return {
      type: boolType,
      run: emitChain(
        parts.map(({ run }) => run),
        op === "||",
      ),
    };
  }

  #not(node: ASTNode, operandNode: ASTNode): Expression {
    const { type, run } = this.expression(operandNode);
    if (!isTruth(type)) return this.noOverload(node.start, "!_", [type]);
    return {
      type: boolType,
      run: emitCall((_, value) => (value === true ? false : value === false ? true : noTruth), [run]),
    };
  }

  #negative(node: ASTNode, operandNode: ASTNode): Expression {
    const { op, args } = operandNode;
    if (op === "value" && typeof args === "bigint") {
      return args > int64Max + 1n ? this.fault(node.start, "invalid int literal") : constant(intType, -args);
    }
    const { type, run } = this.expression(operandNode);
    const resolved = library.resolve("-_", false, [type]);
    if (resolved === undefined) return this.noOverload(node.start, "-_", [type]);
    return { type: resolved.result, run: emitCall(resolved.run, [run]) };
  }
}

function constant(type: CelType, value: CelValue): Expression {
  return { type, run: () => value };
}

/** Whether a value of the type may be a truth value. */
export function isTruth({ kind }: CelType): boolean {
  return kind === "bool" || kind === "dyn";
}
