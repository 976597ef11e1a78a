// What tests of OpenAPI documents look at.
import type { Answer } from "./inprocess.ts";

/** A header of an answer. */
export function header(answer: Answer, name: string): string | undefined {
  return answer.headers.find(([key]) => key === name)?.[1];
}

/** Every `$ref` of a document. */
export function references(value: unknown, found = new Set<string>()): Set<string> {
  if (Array.isArray(value)) for (const item of value) references(item, found);
  else if (typeof value === "object" && value !== null) {
    for (const [key, item] of Object.entries(value)) {
      if (key === "$ref" && typeof item === "string") found.add(item);
      else references(item, found);
    }
  }
  return found;
}
