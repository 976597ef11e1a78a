// Names of types as values: what `type(self)` is, and what identifiers like `string` mean.
import { type Kind, kindNames } from "./types.ts";

/** By kind, where the name is another word. */
export const typeNames: ReadonlyMap<Kind, string> = new Map<Kind, string>([
  ...kindNames,
  ["null", "null_type"],
  ["timestamp", "google.protobuf.Timestamp"],
  ["duration", "google.protobuf.Duration"],
]);

/** Identifiers that are types. */
export const typeIdentifiers: ReadonlySet<string> = new Set([
  ...["bool", "int", "uint", "double", "string", "bytes", "list", "map", "null_type", "type", "optional_type"],
]);
