// Functions and operators of expressions: a name has overloads, each with a signature that the checker reads and the code
// that does it. The same table types an expression and evaluates it.
import { type Bindings, type CelType, dynType, fits, splitTypes, substitute, typeOfText } from "./types.ts";
import { type CelValue, type Frame, kindOf, noOverload, type Result } from "./values.ts";

/** What an overload does; the receiver is the first argument. */
export type Action = (frame: Frame, ...args: CelValue[]) => Result;

/** One meaning of a name. */
export interface Overload {
  readonly name: string;
  readonly isMethod: boolean;
  /** The receiver first. */
  readonly params: readonly CelType[];
  readonly result: CelType;
  /** Some type of its signature stands for any. */
  readonly isGeneric: boolean;
  readonly run: Action;
}

/**
 * An overload from its signature: `size(string): int`, `string.contains(string): bool` for a method, `@optional.of(A)`
 * for a function in a namespace. The arguments of `run` are of the types the signature names.
 */
export function overload(signature: string, run: (frame: Frame, ...args: never[]) => Result): Overload {
  const open = signature.indexOf("(");
  const close = signature.lastIndexOf("):");
  const head = signature.slice(0, open);
  const isSpaced = head.startsWith("@") && head.includes(".");
  const dot = isSpaced ? -1 : head.lastIndexOf(".");
  const params = splitTypes(signature.slice(open + 1, close)).map(typeOfText);
  const receiver = dot < 0 ? [] : [typeOfText(head.slice(0, dot))];
  return {
    name: head.slice(isSpaced ? 1 : dot + 1),
    isMethod: dot >= 0,
    params: [...receiver, ...params],
    result: typeOfText(signature.slice(close + 2).trim()),
    isGeneric: [...receiver, ...params].some(isGeneric),
    run: run as Action,
  };
}

function isGeneric({ kind, args }: CelType): boolean {
  return kind === "param" || args.some(isGeneric);
}

const unbound: Bindings = new Map();

/** The overloads there are, by what a call says of them. */
export class Overloads {
  readonly #all = new Map<string, Overload[]>();
  readonly #names = new Set<string>();

  constructor(all: readonly Overload[]) {
    for (const each of all) {
      const key = keyOf(each.name, each.isMethod, each.params.length);
      const same = this.#all.get(key);
      if (same === undefined) this.#all.set(key, [each]);
      else same.push(each);
      this.#names.add(each.name);
    }
  }

  /** Whether anything has the name. */
  has(name: string): boolean {
    return this.#names.has(name);
  }

  /** What a call with arguments of these types means; undefined: nothing. */
  resolve(name: string, isMethod: boolean, args: readonly CelType[]): Resolved | undefined {
    const found: Overload[] = [];
    let result: CelType | undefined;
    for (const each of this.#all.get(keyOf(name, isMethod, args.length)) ?? []) {
      const bindings: Bindings = each.isGeneric ? new Map() : unbound;
      if (!each.params.every((param, index) => fits(param, args[index] ?? dynType, bindings))) continue;
      const own = each.isGeneric ? substitute(each.result, bindings) : each.result;
      result = result === undefined || (result.kind === own.kind && own.args.length === 0) ? own : dynType;
      found.push(each);
    }
    if (result === undefined) return undefined;
    const isSure = found.length === 1 && !args.some(({ kind }) => kind === "dyn" || kind === "null");
    return { result, run: isSure ? (found[0] as Overload).run : chosenBy(found) };
  }
}

/** What a call means. */
export interface Resolved {
  readonly result: CelType;
  readonly run: Action;
}

function keyOf(name: string, isMethod: boolean, count: number): string {
  return `${isMethod ? "." : ""}${name}/${count}`;
}

/** Chooses by the values, where the types left it open. */
function chosenBy(found: readonly Overload[]): Action {
  return (frame, ...args) => {
    frame.spend(found.length);
    const chosen = found.find(({ params }) => params.every((param, index) => admits(param, args[index] as CelValue)));
    return chosen === undefined ? noOverload : chosen.run(frame, ...args);
  };
}

function admits({ kind }: CelType, value: CelValue): boolean {
  return kind === "dyn" || kind === "param" || kindOf(value) === kind;
}
