// Macros: calls whose arguments are not values but expressions about each item of a list, or about a value with a name.
import type { ASTNode } from "@marcbachmann/cel-js";
import { emitHas } from "./emit.ts";
import { callAt, selectAt } from "./places.ts";
import { boolType, type CelType, dynType, join, listOf, optionalOf, typeText } from "./types.ts";
import {
  type CelValue,
  Fault,
  type Frame,
  ListValue,
  MapValue,
  none,
  noOverload,
  Optional,
  paid,
  type Result,
  type Run,
} from "./values.ts";

/** A part of an expression, compiled. */
export interface Expression {
  readonly type: CelType;
  readonly run: Run;
}

/** What macros need of the compiler. */
export interface Compiling {
  expression(node: ASTNode): Expression;
  /** Takes note of a fault; what it returns stands for the part. */
  fault(at: number, text: string): Expression;
  /** The type of a field; undefined: there is none, which has been told. */
  fieldType(at: number, type: CelType, name: string): CelType | undefined;
  /** Compiles with one more variable, which has the slot `work` is given. */
  withVariable<T>(name: string, type: CelType, work: (slot: number) => T): T;
}

/** Where a macro stands. */
interface Site {
  readonly compiling: Compiling;
  readonly node: ASTNode;
  readonly receiver: ASTNode | undefined;
  readonly args: readonly ASTNode[];
}

type Macro = (site: Site) => Expression;

/** By name, with a dot before those that have a receiver, and the number of arguments. */
const macros: ReadonlyMap<string, Macro> = new Map<string, Macro>([
  ["has/1", has],
  ["cel.bind/3", bind],
  [".all/2", (site) => quantifier(site, emitAll(false))],
  [".exists/2", (site) => quantifier(site, emitAll(true))],
  [".exists_one/2", (site) => quantifier(site, emitExistsOne)],
  [".existsOne/2", (site) => quantifier(site, emitExistsOne)],
  [".filter/2", filter],
  [".map/2", (site) => map(site, undefined, site.args[1])],
  [".map/3", (site) => map(site, site.args[1], site.args[2])],
  [".optMap/2", (site) => optionalMap(site, false)],
  [".optFlatMap/2", (site) => optionalMap(site, true)],
  [".or/1", (site) => alternative(site, true)],
  [".orValue/1", (site) => alternative(site, false)],
]);

/** A call as the macro it is; undefined: it is none. */
export function compileMacro(
  compiling: Compiling,
  node: ASTNode,
  name: string,
  receiver: ASTNode | undefined,
  args: readonly ASTNode[],
): Expression | undefined {
  const macro = macros.get(`${receiver === undefined ? "" : "."}${name}/${args.length}`);
  return macro?.({ compiling, node, receiver, args });
}

function has({ compiling, node, args: [arg] }: Site): Expression {
  const at = callAt(node, node.start);
  if (arg?.op !== "." && arg?.op !== ".?") return compiling.fault(at, "invalid argument to has() macro");
  const [operandNode, name] = arg.args;
  const operand = compiling.expression(operandNode);
  const within = operand.type.kind === "optional" ? operand.type.inner : operand.type;
  if (!["dyn", "map", "object"].includes(within.kind)) {
    return compiling.fault(selectAt(arg), `type '${typeText(within)}' does not support field selection`);
  }
  compiling.fieldType(at, within, name);
  return { type: boolType, run: emitHas(operand.run, name) };
}

/** What a macro goes over: a list, or the keys of a map. */
function rangeOf({ compiling, receiver }: Site): Expression {
  if (receiver === undefined) return { type: dynType, run: () => noOverload };
  const { type, run } = compiling.expression(receiver);
  if (type.kind === "list") return { type: type.inner, run };
  if (type.kind === "map") return { type: type.args[0] ?? dynType, run };
  if (type.kind === "dyn") return { type: dynType, run };
  return compiling.fault(
    receiver.start,
    `expression of type '${typeText(type)}' cannot be range of a comprehension (must be list, map, or dynamic)`,
  );
}

/** The name of the variable; undefined: the argument is none, which has been told. */
function variableOf({ compiling, args: [arg] }: Site): string | undefined {
  if (arg?.op === "id") return arg.args;
  compiling.fault(arg?.start ?? 0, "argument must be a simple name");
  return undefined;
}

/** The part about each item, which has to be a truth value. */
function predicateOf(compiling: Compiling, node: ASTNode | undefined): Run {
  if (node === undefined) return () => noOverload;
  const { type, run } = compiling.expression(node);
  if (type.kind !== "bool" && type.kind !== "dyn") {
    compiling.fault(node.start, `expected type 'bool' but found '${typeText(type)}'`);
  }
  return run;
}

type EmitLoop = (range: Run, slot: number, body: Run) => Run;

function quantifier(site: Site, emit: EmitLoop): Expression {
  const { compiling, args } = site;
  const range = rangeOf(site);
  const name = variableOf(site);
  if (name === undefined) return { type: boolType, run: range.run };
  return compiling.withVariable(name, range.type, (slot) => {
    return { type: boolType, run: emit(range.run, slot, predicateOf(compiling, args[1])) };
  });
}

/** Visiting an item costs so many units, beside what is done with it. */
const unitsPerItem = 2;

/** The items of a list, or the keys of a map. */
function itemsOf(frame: Frame, range: Run): ListValue | Fault {
  const value = range(frame);
  if (value instanceof Fault || value instanceof ListValue) return value;
  if (!(value instanceof MapValue)) return noOverload;
  frame.spend(value.size);
  return new ListValue([...value.keys()]);
}

/** The next item, put where the body finds it. */
function enter(frame: Frame, list: ListValue, index: number, slot: number): CelValue | Fault {
  frame.spend(unitsPerItem);
  const item = paid(frame, list.at(index));
  if (!(item instanceof Fault)) frame.slots[slot] = item;
  return item;
}

/** all() (`sought` false) and exists() (true): the first item that decides, whatever others fail with. */
function emitAll(sought: boolean): EmitLoop {
  return (range, slot, body) => (frame) => {
    const list = itemsOf(frame, range);
    if (list instanceof Fault) return list;
    let fault: Fault | undefined;
    for (let index = 0; index < list.size; index++) {
      const item = enter(frame, list, index, slot);
      const found = item instanceof Fault ? item : body(frame);
      if (found === sought) return sought;
      if (found !== !sought) fault ??= found instanceof Fault ? found : noOverload;
    }
    return fault ?? !sought;
  };
}

const emitExistsOne: EmitLoop = (range, slot, body) => (frame) => {
  const list = itemsOf(frame, range);
  if (list instanceof Fault) return list;
  let count = 0;
  for (let index = 0; index < list.size; index++) {
    const item = enter(frame, list, index, slot);
    const found = item instanceof Fault ? item : body(frame);
    if (found instanceof Fault) return found;
    if (typeof found !== "boolean") return noOverload;
    if (found) count += 1;
  }
  return count === 1;
};

/** Goes over a list and collects what `body` makes of the items for which `test` holds. */
function emitCollect(range: Run, slot: number, test: Run | undefined, body: Run): Run {
  return (frame) => {
    const list = itemsOf(frame, range);
    if (list instanceof Fault) return list;
    const kept: CelValue[] = [];
    for (let index = 0; index < list.size; index++) {
      const item = enter(frame, list, index, slot);
      if (item instanceof Fault) return item;
      const holds = test === undefined ? true : test(frame);
      if (holds instanceof Fault) return holds;
      if (typeof holds !== "boolean") return noOverload;
      if (!holds) continue;
      const made = body(frame);
      if (made instanceof Fault) return made;
      kept.push(made);
    }
    return new ListValue(kept);
  };
}

// What is run is made by functions of its own: a closure keeps all that the closures around it use, trees included.

function emitSlot(slot: number): Run {
  return (frame) => frame.slots[slot] as CelValue;
}

function filter(site: Site): Expression {
  const { compiling, args } = site;
  const range = rangeOf(site);
  const name = variableOf(site);
  const type = listOf(range.type);
  if (name === undefined) return { type, run: range.run };
  return compiling.withVariable(name, range.type, (slot) => {
    return { type, run: emitCollect(range.run, slot, predicateOf(compiling, args[1]), emitSlot(slot)) };
  });
}

function map(site: Site, test: ASTNode | undefined, made: ASTNode | undefined): Expression {
  const { compiling } = site;
  const range = rangeOf(site);
  const name = variableOf(site);
  if (name === undefined || made === undefined) return { type: dynType, run: range.run };
  return compiling.withVariable(name, range.type, (slot) => {
    const holds = test === undefined ? undefined : predicateOf(compiling, test);
    const body = compiling.expression(made);
    return { type: listOf(body.type), run: emitCollect(range.run, slot, holds, body.run) };
  });
}

/** `cel.bind(name, value, expression)`. */
function bind(site: Site): Expression {
  const { compiling, args } = site;
  const name = variableOf(site);
  const [, valueNode, bodyNode] = args;
  if (name === undefined || valueNode === undefined || bodyNode === undefined)
    return { type: dynType, run: () => null };
  const value = compiling.expression(valueNode);
  return compiling.withVariable(name, value.type, (slot) => {
    const body = compiling.expression(bodyNode);
    return { type: body.type, run: emitBound(value.run, slot, body.run) };
  });
}

function emitBound(value: Run, slot: number, body: Run): Run {
  return (frame) => {
    const bound = value(frame);
    if (bound instanceof Fault) return bound;
    frame.spend(1);
    frame.slots[slot] = bound;
    return body(frame);
  };
}

/** The receiver as an optional; undefined: it is none, which has been told. */
function optionalReceiver({ compiling, node, receiver, args }: Site, name: string): Expression | undefined {
  if (receiver === undefined) return undefined;
  const found = compiling.expression(receiver);
  if (found.type.kind === "optional" || found.type.kind === "dyn") return found;
  const types = args.map(() => "dyn").join(", ");
  const why = `found no matching overload for '${name}' applied to '${typeText(found.type)}.(${types})'`;
  compiling.fault(callAt(node, receiver.end), why);
  return undefined;
}

/** What an optional holds; a value of another type is a fault. */
function heldBy(value: CelValue): Optional | Fault {
  return value instanceof Optional ? value : noOverload;
}

/** optMap() and optFlatMap(), whose expression is an optional itself. */
function optionalMap(site: Site, isFlat: boolean): Expression {
  const { compiling, args } = site;
  const receiver = optionalReceiver(site, isFlat ? "optFlatMap" : "optMap");
  const name = variableOf(site);
  const [, bodyNode] = args;
  if (receiver === undefined || name === undefined || bodyNode === undefined) return { type: dynType, run: () => null };
  return compiling.withVariable(name, receiver.type.inner, (slot) => {
    const body = compiling.expression(bodyNode);
    const type = isFlat ? body.type : optionalOf(body.type);
    const run = emitOptionalMap(receiver.run, slot, body.run, isFlat);
    return { type, run };
  });
}

function emitOptionalMap(receiver: Run, slot: number, body: Run, isFlat: boolean): Run {
  return emitWith(receiver, (frame, { value }) => {
    if (value === undefined) return none;
    frame.slots[slot] = value;
    const made = body(frame);
    if (made instanceof Fault) return made;
    return isFlat ? heldBy(made) : new Optional(made);
  });
}

function emitWith(receiver: Run, work: (frame: Frame, held: Optional) => Result): Run {
  return (frame) => {
    const value = receiver(frame);
    const held = value instanceof Fault ? value : heldBy(value);
    if (held instanceof Fault) return held;
    frame.spend(2);
    return work(frame, held);
  };
}

/** or() and orValue(): the alternative is looked at when it is needed. */
function alternative(site: Site, isOptional: boolean): Expression {
  const { compiling, node, receiver: receiverNode, args } = site;
  const name = isOptional ? "or" : "orValue";
  const receiver = optionalReceiver(site, name);
  const [otherNode] = args;
  if (receiver === undefined || otherNode === undefined) return { type: dynType, run: () => null };
  const other = compiling.expression(otherNode);
  const type = join(isOptional ? receiver.type : receiver.type.inner, other.type);
  if (type === undefined) {
    const shown = `${typeText(receiver.type)}.(${typeText(other.type)})`;
    const why = `found no matching overload for '${name}' applied to '${shown}'`;
    return compiling.fault(callAt(node, receiverNode?.end ?? node.start), why);
  }
  return { type, run: emitAlternative(receiver.run, other.run, isOptional) };
}

function emitAlternative(receiver: Run, other: Run, isOptional: boolean): Run {
  return emitWith(receiver, (frame, held) => {
    if (held.value === undefined) return other(frame);
    return isOptional ? held : held.value;
  });
}
