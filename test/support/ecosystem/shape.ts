// What is told of a published definition: its schema without descriptions, and what becomes of its objects.
import type { Json } from "./parts.ts";

/** Changes an object by path (`spec.rules[0].name`); undefined removes what is there. */
export type Edit = readonly [path: string, value: unknown];

/** What a definition is called. */
export interface Names {
  readonly group: string;
  readonly kind: string;
  readonly plural: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
}

/** What a definition says, and what holds for its objects. */
export interface Shape {
  readonly names: Names;
  readonly scope: "Namespaced" | "Cluster";
  /** Served versions, of one shape; the one that is stored first. */
  readonly versions: readonly string[];
  readonly annotations?: Json;
  readonly spec: Json;
  readonly status: Json;
  /** Of the root of the schema. */
  readonly more?: Json;
  readonly subresources?: Json;
  readonly printed: readonly Json[];
  /** About how long descriptions are, in words. */
  readonly words: number;
  /** The spec of an object that holds; each number gives another one. */
  readonly object: (name: string, number: number) => Json;
  /** What the server fills in to the object of number 0. */
  readonly defaults: readonly Edit[];
  /** Fields no version knows: they are pruned. */
  readonly unknown: readonly string[];
  /** Fields the schema leaves open: they are kept. */
  readonly open: readonly Edit[];
  /** What makes the object of number 0 invalid: the change, the field that is named, and what is said of it. */
  readonly faults: readonly (readonly [edit: Edit, field: string, text: RegExp])[];
  /** What breaks a rule in CEL, which counts with the gate `CustomResourceValidationExpressions` alone. */
  readonly broken: readonly (readonly [edit: Edit, field: string, text: RegExp])[];
  /** A list of the status whose items are told apart by keys. */
  readonly list: {
    readonly path: string;
    /** Of two managers. */
    readonly items: readonly [Json, Json];
    /** The second one with another value of a field. */
    readonly changed: Json;
  };
  /** Names of the columns, NAME left out; the last ones are shown with `-o wide`. */
  readonly columns: readonly string[];
  /** A nested field, and what is told of it. */
  readonly explained: string;
  /** Where the size stands; undefined: there is no scale. */
  readonly size: string | undefined;
}
