// Rules are an alpha feature of the release: what a definition says of them counts only while their gate is on.
import type { CustomResourceDefinitionSpec } from "../../../api/gen/apiextensions/v1.ts";
import { eachSchema } from "../schemas.ts";

/** The gate of `x-kubernetes-validations`. */
export const rulesGate = "CustomResourceValidationExpressions";

/** Whether some schema of a definition has rules. */
export function hasRules(spec: CustomResourceDefinitionSpec): boolean {
  let count = 0;
  eachSchema(spec, (schema) => {
    count += schema["x-kubernetes-validations"]?.length ?? 0;
  });
  return count > 0;
}

/** Removes all rules of a definition. */
export function withoutRules(spec: CustomResourceDefinitionSpec): void {
  eachSchema(spec, (schema) => {
    delete schema["x-kubernetes-validations"];
  });
}
