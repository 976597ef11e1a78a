// The compact form in which scripts/gen writes proto/. gen/messages.ts and gen/kinds.ts contain it, messages.ts
// links it into schema.ts's types and scheme.ts builds the scheme from it. Names are in the canonical spelling.

/** Bits of a field's flags. */
export const fieldFlags = { inline: 1, pointer: 2, omitEmpty: 4, required: 8, list: 16, map: 32 } as const;

/** Properties that only some fields have. */
export interface FieldExtras {
  /** Go type, where it does not follow from the type. */
  readonly go?: string;
  readonly listType?: "atomic" | "set" | "map";
  readonly listMapKeys?: readonly string[];
  readonly mapType?: "atomic" | "granular";
  readonly patchStrategy?: readonly string[];
  readonly patchMergeKey?: string;
  /** JSON text. */
  readonly default?: string;
  readonly enum?: readonly string[];
  readonly immutable?: string;
}

/** Type is a scalar, a special scalar, or a message's name. */
export type FieldData = readonly [json: string, number: number, type: string, flags: number, extras?: FieldExtras];

/** One message. */
export interface MessageData {
  readonly name: string;
  readonly typeMeta?: true;
  readonly special?: string;
  readonly structType?: "atomic";
  readonly fields: readonly FieldData[];
}

/** Group, version and kind. */
export interface KindName {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** A subresource. */
export interface SubresourceData extends KindName {
  readonly name: string;
  readonly verbs: readonly string[];
  readonly connect?: true;
}

/** One resource at one version. */
export interface KindData extends KindName {
  /** Name of its message. */
  readonly message: string;
  readonly listKind: string;
  readonly resource: string;
  readonly namespaced: boolean;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly verbs: readonly string[];
  readonly virtual: boolean;
  readonly computed: boolean;
  readonly servedByDefault: boolean;
  /** Upstream's stored version, from which the storage version hash is made. */
  readonly storedAs?: KindName;
  readonly prefix?: string;
  readonly introducedIn?: string;
  readonly deprecatedIn?: string;
  readonly removedIn?: string;
  readonly replacement?: KindName;
  readonly subresources: readonly SubresourceData[];
}

/** One version of a group. */
export interface GroupVersionData {
  readonly group: string;
  readonly version: string;
  /** Higher first; undefined: before all others. */
  readonly groupPriority: number | undefined;
  readonly versionPriority: number | undefined;
  readonly preferred: boolean;
  readonly servedByDefault: boolean;
}
