// Label and field selectors: grammar and meaning (the reference's labels and fields packages).
import { unreachable } from "../base/assert.ts";

/** One requirement of a label selector. `values` are those of the operator; gt and lt compare integers. */
export interface LabelRequirement {
  readonly key: string;
  readonly operator: "=" | "!=" | "in" | "notin" | "exists" | "!" | ">" | "<";
  readonly values: readonly string[];
}

/** One requirement of a field selector. */
export interface FieldRequirement {
  readonly field: string;
  readonly operator: "=" | "!=";
  readonly value: string;
}

/** What selects objects: all requirements hold. Both lists empty: everything. */
export interface Selector {
  readonly labels: readonly LabelRequirement[];
  readonly fields: readonly FieldRequirement[];
}

/** Parses a label selector; the text of the reference's error when it is malformed. */
export function parseLabelSelector(_text: string): readonly LabelRequirement[] | { readonly error: string } {
  return unreachable("Not built yet");
}

/** Parses a field selector; the text of the reference's error when it is malformed. */
export function parseFieldSelector(_text: string): readonly FieldRequirement[] | { readonly error: string } {
  return unreachable("Not built yet");
}
