// Paths of printer columns over generic documents, with client-go's meaning. A path is compiled once; what one look-up
// may cost is bounded, for a path of a few steps can ask for every part of an object many times over.
import { NumberText, type Value } from "../../api/value.ts";
import { limits } from "../../config/limits.ts";
import { parsePath, type Step, type Steps } from "./jsonpathparse.ts";
import { floatOf, integerOf, isNumber } from "./numbers.ts";

/** A compiled path. */
export interface JsonPath {
  readonly steps: Steps;
}

/** Compiles the path of a column (`.spec.replicas`); undefined: it has no meaning. */
export function compilePath(text: string): JsonPath | undefined {
  const steps = parsePath(text);
  return steps === undefined ? undefined : { steps };
}

/** The keys a path begins with: it looks at nothing beside what they lead to. */
export function keysOf({ steps }: JsonPath): readonly string[] {
  const keys: string[] = [];
  for (const step of steps) {
    if (step.kind !== "field") break;
    keys.push(step.name);
  }
  return keys;
}

/** The first value a path finds; undefined: none, or the path does not fit the object. */
export function firstAt(path: JsonPath, object: Value): Value | undefined {
  const search = new Search();
  const found = search.walk([object], path.steps);
  return search.failed ? undefined : found[0];
}

/** One look-up. */
class Search {
  /** Something on the way does not fit, or it takes too long. */
  failed = false;
  #stepsLeft: number = limits.jsonPathStepsMax;

  walk(from: readonly Value[], steps: Steps): readonly Value[] {
    let found = from;
    for (const step of steps) {
      found = this.#take(found, step);
      if (this.failed) break;
    }
    return found;
  }

  #take(from: readonly Value[], step: Step): readonly Value[] {
    this.#stepsLeft -= 1 + from.length;
    if (this.#stepsLeft < 0) return this.#fail(from);
    switch (step.kind) {
      case "field":
        return from.flatMap((value) => (value instanceof Map ? (present(value.get(step.name)) ?? []) : []));
      case "wildcard":
        return this.#all(from);
      case "recursive":
        return this.#below(from);
      case "slice":
        return this.#slice(from, step);
      case "filter":
        return this.#filter(from, step);
      case "union":
        return this.#union(from, step.parts);
      case "constant":
        return typeof step.value === "string" ? [step.value] : from.map(() => step.value);
      case "unknown":
        return this.#fail(from);
    }
  }

  #fail(found: readonly Value[]): readonly Value[] {
    this.failed = true;
    return found;
  }

  #all(from: readonly Value[]): Value[] {
    const found: Value[] = [];
    for (const value of from) {
      if (!(value instanceof Map) && !Array.isArray(value)) continue;
      this.#stepsLeft -= value instanceof Map ? value.size : value.length;
      if (this.#stepsLeft < 0) {
        this.failed = true;
        break;
      }
      for (const item of value.values()) found.push(item);
    }
    return found;
  }

  /** Everything that holds something, outermost first. */
  #below(from: readonly Value[]): Value[] {
    const found: Value[] = [];
    const rest = from.toReversed();
    while (rest.length > 0) {
      const value = rest.pop() as Value;
      if (!(value instanceof Map) && !Array.isArray(value)) continue;
      const items = [...value.values()];
      this.#stepsLeft -= 1 + items.length;
      if (this.#stepsLeft < 0) {
        this.failed = true;
        break;
      }
      if (items.length === 0) continue;
      found.push(value);
      for (const item of items.reverse()) rest.push(item);
    }
    return found;
  }

  #slice(from: readonly Value[], step: Step & { readonly kind: "slice" }): readonly Value[] {
    const found: Value[] = [];
    for (const list of from) {
      if (list === null) continue;
      if (!Array.isArray(list)) return this.#fail(from);
      const { length } = list;
      const start = (step.from ?? 0) + ((step.from ?? 0) < 0 ? length : 0);
      let end = step.single ? (step.from ?? 0) + 1 : (step.to ?? length);
      if (end < 0 || (end === 0 && step.single)) end += length;
      if (start === end) return found;
      const fits = start >= 0 && start < length && end >= 0 && end <= length && start <= end;
      if (!fits || (step.step !== undefined && step.step <= 0)) return this.#fail(from);
      for (let index = start; index < end; index += step.step ?? 1) found.push(list[index] as Value);
      this.#stepsLeft -= end - start;
    }
    return found;
  }

  #union(from: readonly Value[], parts: readonly Steps[]): readonly Value[] {
    const found: Value[] = [];
    for (const part of parts) {
      for (const value of this.walk(from, part)) found.push(value);
      if (this.failed) return from;
    }
    return found;
  }

  #filter(from: readonly Value[], step: Step & { readonly kind: "filter" }): readonly Value[] {
    const found: Value[] = [];
    for (const list of from) {
      if (!Array.isArray(list)) return this.#fail(from);
      for (const item of list) {
        const lefts = this.walk([item], step.left);
        if (step.operator === "exists") {
          // What does not fit an item is no reason to find nothing at all.
          if (this.#stepsLeft >= 0) this.failed = false;
          if (lefts.length > 0) found.push(item);
          if (this.failed) return from;
          continue;
        }
        const rights = this.failed || lefts.length === 0 ? [] : this.walk([item], step.right);
        if (this.failed || lefts.length > 1 || rights.length > 1) return this.#fail(from);
        if (lefts.length === 0 || rights.length === 0) continue;
        const holds = compare(lefts[0] as Value, rights[0] as Value, step.operator);
        if (holds === undefined) return this.#fail(from);
        if (holds) found.push(item);
      }
    }
    return found;
  }
}

function present(value: Value | undefined): Value[] | undefined {
  return value === undefined ? undefined : [value];
}

type Basic = "boolean" | "string" | "integer" | "float";

function kindOf(value: Value): Basic | undefined {
  if (typeof value === "boolean" || typeof value === "string") return typeof value as Basic;
  if (!isNumber(value)) return undefined;
  return integerOf(value) === undefined ? "float" : "integer";
}

/** Upstream compares scalars of one kind only; undefined: these cannot be compared. */
function compare(left: Value, right: Value, operator: string): boolean | undefined {
  const kind = kindOf(left);
  if (kind === undefined || kind !== kindOf(right)) return undefined;
  const [a, b] = [plain(left), plain(right)];
  switch (operator) {
    case "==":
      return a === b;
    case "!=":
      return a !== b;
  }
  if (kind === "boolean") return undefined;
  switch (operator) {
    case "<":
      return a < b;
    case "<=":
      return a <= b;
    case ">":
      return a > b;
    case ">=":
      return a >= b;
    default:
      return undefined;
  }
}

function plain(value: Value): string | number | bigint | boolean {
  return value instanceof NumberText ? floatOf(value) : (value as string | number | bigint | boolean);
}
