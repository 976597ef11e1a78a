// The rules of a definition, checked when it is written: each compiles to a truth value, within bounds, and compares with
// the former value only where there is one to be found.
import { at, type FieldError, forbiddenField, invalid, required } from "../../../api/fielderror.ts";
import type { JSONSchemaProps, ValidationRule } from "../../../api/gen/apiextensions/v1.ts";
import { GoText, quote } from "../../../api/gotext.ts";
import { limits } from "../../../config/limits.ts";
import type { Node } from "../plan.ts";
import { typeOfNode, typeOfRoot } from "./declared.ts";
import { compileRule, type Program, RuleFault } from "./program.ts";
import type { CelType } from "./types.ts";

const key = "x-kubernetes-validations";

/** The patterns of a definition: what compiling all of them costs is bounded. */
export interface PatternRules {
  fault(pattern: string): string | undefined;
}

/** The check of one definition's rules. Rules that stand in several versions are compiled once. */
export class RuleCheck {
  readonly faults: FieldError[] = [];
  readonly #patterns: PatternRules;
  readonly #known = new Map<CelType, Map<string, Program | RuleFault>>();
  #nodesLeft: number = limits.definitionRuleNodesMax;

  constructor(patterns: PatternRules) {
    this.#patterns = patterns;
  }

  /** Checks all rules of a schema. */
  checkRoot(schema: JSONSchemaProps, node: Node, path: string): void {
    if (node.hasExpressions) this.#check(schema, node, path, typeOfRoot(node), undefined);
  }

  /** `lost`: the list in which no item can be told to be a former one. */
  #check(schema: JSONSchemaProps, node: Node, path: string, type: CelType | undefined, lost: string | undefined): void {
    for (const [index, rule] of (schema[key] ?? []).entries()) {
      if (this.faults.length >= limits.fieldErrorsMax || this.#nodesLeft < 0) return;
      this.#checkRule(rule, `${path}.${at(key, index)}.rule`, type, node, lost);
    }
    const below = (part: JSONSchemaProps, inner: Node | undefined, where: string, lostIn = lost): void => {
      if (inner?.hasExpressions === true) this.#check(part, inner, where, typeOfNode(inner), lostIn);
    };
    for (const [name, property] of schema.properties ?? []) {
      below(property, node.properties?.get(name), at(`${path}.properties`, name));
    }
    const items = schema.items?.schema;
    const isMap = schema["x-kubernetes-list-type"] === "map";
    if (items !== undefined) below(items, node.items, `${path}.items`, lost ?? (isMap ? undefined : path));
    const values = schema.additionalProperties?.schema;
    if (values !== undefined && typeof node.additional === "object") {
      below(values, node.additional, `${path}.additionalProperties`);
    }
  }

  #checkRule(
    rule: ValidationRule,
    path: string,
    type: CelType | undefined,
    node: Node,
    lost: string | undefined,
  ): void {
    if (type === undefined) {
      const told = `type: '${node.typeText}' x-kubernetes-preserve-unknown-fields: '${node.preserves}'`;
      const why = `rule declared on schema that does not support validation rules ${told}`;
      this.faults.push(forbiddenField(path, why));
      return;
    }
    const program = this.#compiled(rule.rule, type);
    if (this.#nodesLeft < 0) {
      const most = limits.definitionRuleNodesMax;
      const why = `it and the rules before it make more than ${most} expressions (try simplifying the rules)`;
      this.faults.push(forbiddenField(path, why));
      return;
    }
    const fault = program instanceof RuleFault ? program.text : this.#patternFault(program);
    if (fault !== undefined) this.faults.push(invalid(path, shown(rule), fault));
    else if ((program as Program).usesOld && lost !== undefined) {
      const why = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${lost}`;
      this.faults.push(invalid(path, rule.rule, why));
    }
  }

  #compiled(text: string, type: CelType): Program | RuleFault {
    let ofType = this.#known.get(type);
    if (ofType === undefined) this.#known.set(type, (ofType = new Map()));
    let program = ofType.get(text);
    if (program === undefined) {
      program = compileRule(text, type);
      this.#nodesLeft -= program.nodes;
      ofType.set(text, program);
    }
    return program;
  }

  #patternFault({ patterns }: Program): string | undefined {
    for (const text of patterns.keys()) {
      const fault = this.#patterns.fault(text);
      if (fault !== undefined) return `program instantiation failed: ${fault}`;
    }
    return undefined;
  }
}

/** A rule as upstream prints it. */
function shown({ rule, message = "" }: ValidationRule): GoText {
  const part = (text: string): string => quote(text.slice(0, limits.shownCharsMax));
  return new GoText(`apiextensions.ValidationRule{Rule:${part(rule)}, Message:${part(message)}}`);
}

/** What is wrong with the rules of a schema as texts. */
export function checkRuleTexts(out: FieldError[], path: string, rules: readonly ValidationRule[] | undefined): void {
  for (const [index, { rule, message = "" }] of (rules ?? []).entries()) {
    if (out.length >= limits.fieldErrorsMax) return;
    const where = `${path}.${at(key, index)}`;
    if (rule.trim() === "") out.push(required(`${where}.rule`, "rule is not specified"));
    else if (message !== "" && message.trim() === "") {
      out.push(invalid(`${where}.message`, message, "must be non-empty if specified"));
    } else if (message.trim().includes("\n")) {
      out.push(invalid(`${where}.message`, message, "must not contain line breaks"));
    } else if (rule.trim().includes("\n") && message === "") {
      out.push(required(`${where}.message`, "message must be specified if rule contains line breaks"));
    }
  }
}
