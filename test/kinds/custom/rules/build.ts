// Rules of schemas and what they say, for tests.

import { assert } from "../../../../src/base/assert.ts";
import { RuleCheck } from "../../../../src/kinds/custom/rules/check.ts";
import { ruleFaults } from "../../../../src/kinds/custom/rules/evaluate.ts";
import { compileSchemas, settle } from "../../../../src/kinds/custom/schema.ts";
import { Patterns } from "../../../../src/kinds/validation/pattern.ts";
import { compiled, documentOf, identity, type Json, lines, schemaOf } from "../build.ts";

export const text = { type: "string" };
export const integer = { type: "integer" };

export function object(properties: Json, more: Json = {}): Json {
  return { type: "object", properties, ...more };
}

export function list(items: Json, more: Json = {}): Json {
  return { type: "array", items, ...more };
}

/** The faults of a definition's rules. */
export function checked(json: Json): string[] {
  const schema = schemaOf(json);
  const [plan] = compileSchemas([schema], identity);
  assert(plan !== undefined, "There is a schema");
  const check = new RuleCheck(new Patterns());
  check.checkRoot(schema, plan.root, "S");
  return lines(check.faults);
}

/** The faults of an object by its rules, defaults filled in. */
export function broken(json: Json, value: unknown, old?: unknown): string[] {
  const schema = compiled(json);
  const document = documentOf(JSON.stringify(value));
  settle(schema, document);
  return lines(ruleFaults(schema.root, document, old === undefined ? undefined : documentOf(JSON.stringify(old))));
}

/** One rule about `spec`: `ok`, or what is wrong with it or the object; the fields and the rule's own text left out. */
export function verdict(rule: string, properties: Json, spec: unknown, old?: unknown): string {
  const json = object({ spec: object(properties, { "x-kubernetes-validations": [{ rule }] }) });
  const [fault] = checked(json);
  if (fault !== undefined) {
    return fault.replace(/^S\S*: Invalid value: (?:apiextensions\.ValidationRule\{.*?\}: )?/s, "").split("\n")[0] ?? "";
  }
  const [found] = broken(json, { spec }, old === undefined ? undefined : { spec: old });
  if (found === undefined) return "ok";
  return found
    .replace('spec: Invalid value: "object": ', "")
    .replace(`failed rule: ${rule}`, "failed")
    .replace(` evaluating rule: ${rule}`, "");
}
