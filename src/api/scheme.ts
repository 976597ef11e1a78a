// What is served: every resource at every version, spelled in one identity. Built once at start from gen/ and
// looked up per request; after listen it does not change (custom resources will get their own registry beside it).
import type { Identity } from "./identity.ts";
import type { Message } from "./schema.ts";

/** A subresource as discovery shows it. */
export interface Subresource {
  readonly name: string;
  readonly kind: string;
  /** Group and version of its kind. */
  readonly group: string;
  readonly version: string;
  readonly verbs: readonly string[];
  readonly message: Message | undefined;
}

/** One resource at one version. */
export interface Resource {
  /** Spelled in the identity: `networking.orch.io`. */
  readonly group: string;
  readonly version: string;
  /** `v1`, or `group/version`. */
  readonly apiVersion: string;
  readonly kind: string;
  readonly listKind: string;
  /** Plural, the name in the URL. */
  readonly resource: string;
  readonly singular: string;
  readonly namespaced: boolean;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly verbs: readonly string[];
  /** Create only, never stored (reviews, bindings). */
  readonly virtual: boolean;
  /** Computed on read, never stored (componentstatuses). */
  readonly computed: boolean;
  readonly servedByDefault: boolean;
  readonly subresources: readonly Subresource[];
  readonly storageVersionHash: string;
  readonly introducedIn: string | undefined;
  readonly deprecatedIn: string | undefined;
  readonly removedIn: string | undefined;
  /** `group/version/kind` to use instead, for warnings. */
  readonly replacement: { readonly group: string; readonly version: string; readonly kind: string } | undefined;
  readonly message: Message;
  /** The same kind in the version it is stored in (this one, for stored versions). Undefined when nothing is stored. */
  readonly stored: Resource | undefined;
  /** Key prefix of the log and the store, `/registry/pods`: no trailing slash. Undefined when nothing is stored. */
  readonly prefix: string | undefined;
}

/** A group as discovery shows it. */
export interface Group {
  readonly group: string;
  readonly priority: number;
  /** Served versions, the preferred one first. */
  readonly versions: readonly string[];
  readonly preferredVersion: string;
}

/** Everything served, in one identity. */
export interface Scheme {
  readonly identity: Identity;
  /** In discovery order. */
  readonly groups: readonly Group[];
  /** All resources of all served versions. */
  readonly resources: readonly Resource[];
  /** Finds by plural; undefined when not served. */
  find(group: string, version: string, resource: string): Resource | undefined;
  /** Finds by kind; undefined when not served. */
  findKind(group: string, version: string, kind: string): Resource | undefined;
  /** Resources of one group version, in discovery order; undefined when the group version is not served. */
  groupVersion(group: string, version: string): readonly Resource[] | undefined;
}

/** What may be switched on and off when a scheme is built. */
export interface SchemeOptions {
  readonly identity: Identity;
  /** `--runtime-config`: `group/version`, `group/version/resource` or `api/all|beta|alpha` to on or off. */
  readonly runtimeConfig?: ReadonlyMap<string, boolean>;
}
