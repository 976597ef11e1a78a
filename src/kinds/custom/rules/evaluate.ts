// What the rules of a definition say of an object. Each rule has a budget, and so has the object: evaluation ends in
// time, whatever the definition's author wrote and the object's holds.
import { type FieldError, invalid } from "../../../api/fielderror.ts";
import type { ValidationRule } from "../../../api/gen/apiextensions/v1.ts";
import type { ValueMap } from "../../../api/value.ts";
import { limits } from "../../../config/limits.ts";
import { eachRuled, type RuledValue } from "../expressions.ts";
import type { Node } from "../plan.ts";
import { typeOfNode, typeOfRoot } from "./declared.ts";
import { type Program, programsOf, RuleFault } from "./program.ts";
import type { CelType } from "./types.ts";
import { Fault, Frame, Misfit, noOverload, OverBudget, viewOf } from "./values.ts";

/** Faults of a settled object by the rules of its schema. `old`: what it replaces. */
export function ruleFaults(root: Node, object: ValueMap, old: ValueMap | undefined): FieldError[] {
  const evaluation = new Evaluation();
  eachRuled(root, object, old, (ruled) => {
    const isRoot = ruled.value === object;
    return evaluation.visit(ruled, isRoot ? typeOfRoot(root) : typeOfNode(ruled.node), isRoot);
  });
  return evaluation.hasMisfits ? [...evaluation.faults, unchecked] : evaluation.faults;
}

/** Stands for rules about values that are not what their schema says. */
const unchecked = invalid(
  "<nil>",
  null,
  "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation",
);

/** What evaluating a rule costs beside its expression. */
const unitsPerRule = 10;

/** One object's rules. */
class Evaluation {
  readonly faults: FieldError[] = [];
  hasMisfits = false;
  #left: number = limits.objectRuleUnitsMax;
  #chars = 0;
  /** No more rules are looked at: there is nothing left to pay with, or enough is wrong. */
  #isOver = false;

  /** Evaluates the rules about a value; true: it was the last one. */
  visit({ rules, value, old, node, path }: RuledValue, type: CelType | undefined, isRoot: boolean): boolean {
    // Upstream lets a null be whatever its schema allows.
    if (value === null || type === undefined) return false;
    const add = (text: string): void => this.#add(path(), node, text);
    const self = viewOf(value, type);
    const oldSelf = old === undefined || old === null ? undefined : viewOf(old, type);
    for (const [index, program] of programsOf(type, rules, isRoot).entries()) {
      if (this.#isOver) break;
      const rule = rules[index] as ValidationRule;
      if (program instanceof RuleFault) add(`rule compile error: ${program.text}`);
      else if (self instanceof Fault) this.hasMisfits = true;
      else if (!program.usesOld || oldSelf !== undefined) {
        const slots = [self, oldSelf instanceof Fault ? null : (oldSelf ?? null)];
        this.#evaluate(program, rule, slots, add);
      }
    }
    return this.#isOver;
  }

  #evaluate(program: Program, rule: ValidationRule, slots: Frame["slots"], add: (text: string) => void): void {
    const most = Math.min(limits.ruleUnitsMax, this.#left);
    const frame = new Frame(slots, program.patterns, most);
    try {
      frame.spend(unitsPerRule);
      const found = program.run(frame);
      this.#left -= most - frame.left;
      if (found instanceof Misfit) this.hasMisfits = true;
      else if (found !== true) add(toldFault(found, rule));
    } catch (error) {
      if (!(error instanceof OverBudget)) throw error;
      add(toldExcess(rule, most === limits.ruleUnitsMax));
      this.#isOver = true;
    }
  }

  #add(path: string, node: Node, text: string): void {
    // Of what may be an integer or a text, upstream shows no type.
    const shown = node.typeText.includes(",") ? "" : node.typeText;
    this.faults.push(invalid(path, shown, text));
    this.#chars += path.length + text.length;
    const { fieldErrorsMax, fieldErrorCharsMax } = limits;
    this.#isOver ||= this.faults.length >= fieldErrorsMax || this.#chars >= fieldErrorCharsMax;
  }
}

function toldFault(found: unknown, rule: ValidationRule): string {
  if (!(found instanceof Fault)) return (rule.message ?? "").trim() || `failed rule: ${rule.rule.trim()}`;
  if (found.text !== noOverload.text) return `${found.text} evaluating rule: ${toldRule(rule)}`;
  const why = "call arguments did not match a supported operator, function or macro signature for rule";
  return `'${found.text}': ${why}: ${toldRule(rule)}`;
}

function toldExcess(rule: ValidationRule, isRules: boolean): string {
  if (!isRules) return "validation failed due to running out of cost budget, no further validation rules will be run";
  const why = "no further validation rules will be run due to call cost exceeds limit for rule";
  return `'operation cancelled: actual cost limit exceeded': ${why}: ${toldRule(rule)}`;
}

/** A rule as messages name it. */
function toldRule({ rule, message = "" }: ValidationRule): string {
  return message === "" ? rule.trim() : message.trim();
}
