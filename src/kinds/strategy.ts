// How objects of a kind are named, prepared, validated, selected and deleted: the largest part of its behaviour
// (behaviour.ts). What most kinds have in common is in generic.ts. Pure: no I/O, no clock of its own (times come in the
// context).
import type { FieldError } from "../api/fielderror.ts";
import type { Identity } from "../api/identity.ts";
import type { ApiObject } from "../api/object.ts";
import type { Status } from "../api/status.ts";

/** What a strategy may know about the request. */
export interface StrategyContext {
  readonly identity: Identity;
  /** Group and version the request is in, spelled in the identity. */
  readonly group: string;
  readonly version: string;
  /** Now, as the canonical JSON form of Time. */
  readonly now: string;
  /** Name of the user, for kinds that record it (certificate signing requests). */
  readonly user: {
    readonly name: string;
    readonly uid: string;
    readonly groups: readonly string[];
    readonly extra: ReadonlyMap<string, readonly string[]>;
  };
  readonly dryRun: boolean;
  /** Feature gates that are on. */
  readonly gates: ReadonlySet<string>;
}

/** Formats of metadata.name; the texts are those of facts' `formats`. */
export type NameFormat = "dns1123-subdomain" | "dns1123-label" | "dns1035-label" | "path-segment";

/** What a strategy may know about the cluster without a request. */
export interface ClusterFacts {
  /** Address family of the first range of services. */
  readonly family: "IPv4" | "IPv6";
}

/** A whole-object or subresource write. */
export interface UpdateStrategy<T extends ApiObject> {
  /** Restores what this write may not touch and resets what the server owns. `object` is changed in place. */
  prepare(context: StrategyContext, object: T, old: T): void;
  /** All fields at fault (generic metadata rules are checked by the caller). */
  validate(context: StrategyContext, object: T, old: T): FieldError[];
}

/** How objects end that are emptied first: a delete only marks them, and they go with their last finalizer. */
export interface Termination<T extends ApiObject> {
  /** Says in the object that its end has begun. `now`: as the canonical JSON form of Time. */
  begin(object: T, now: string): void;
  /**
   * Whether it has finalizers of its own left, beside those in its metadata. Left out: begin() puts one in its metadata,
   * whatever policy is asked for, and further deletes are like those of any object.
   */
  isHeld?(object: T): boolean;
}

/** Behaviour of one kind at its internal shape (the version the request is in). */
export interface Strategy<T extends ApiObject> {
  readonly nameFormat: NameFormat;
  readonly allowCreateOnUpdate: boolean;
  readonly allowUnconditionalUpdate: boolean;
  /** A delete that removed the object answers the object, not a Status. */
  readonly returnsDeletedObject: boolean;
  /**
   * Writes fields that have another name or form (stringData, serviceAccount) the way they are kept. Runs on all that
   * clients send before anything else looks at it: what a manager owns is told in the kept form. Runs on what is read from
   * a store of upstream's, too.
   */
  canonicalize?(object: T): void;
  /**
   * Fills in fields of an object that was stored before they existed (upstream: at each read). Runs on what is read from a
   * store of upstream's, after canonicalize().
   */
  restore?(object: T, cluster: ClusterFacts): void;
  /** Drops what a write has beyond what the kind keeps (addresses of endpoints); runs after canonicalize(). */
  truncate?(object: T): void;
  /** Resets and computed fields of a create (status emptied, generation 1, …). `object` is changed in place. */
  prepareForCreate(context: StrategyContext, object: T): void;
  /**
   * Work for validate() that is long and may be done ahead, piece by piece; runs after what prepares the object. Left out:
   * there is none.
   */
  ahead?(object: T): Iterator<undefined>;
  /** All fields at fault on create (generic metadata rules are checked by the caller). */
  validate(context: StrategyContext, object: T): FieldError[];
  readonly update: UpdateStrategy<T>;
  /** The `status` subresource, where there is one. */
  readonly status?: UpdateStrategy<T>;
  /** Further object-shaped subresources (ephemeralcontainers, approval, finalize). */
  readonly subresources?: ReadonlyMap<string, UpdateStrategy<T>>;
  /** Texts for Warning headers on create and update. */
  warnings?(context: StrategyContext, object: T, old: T | undefined): string[];
  /** Selectable fields beyond metadata.name and metadata.namespace, as [label, value] pairs, always all of them. */
  selectableFields?(object: T): [field: string, value: string][];
  /** Maps a field label of a request to the stored one (spec.host → spec.nodeName); undefined refuses it. */
  readonly fieldLabels?: ReadonlyMap<string, string>;
  /**
   * Graceful deletion (pods): the seconds to wait for this object when a delete asks for `requested` (undefined: no wish).
   * Undefined means removal at once.
   */
  gracePeriod?(object: T, requested: number | undefined): number | undefined;
  /** Deletes of the kind only begin its end (namespaces). */
  readonly termination?: Termination<T>;
  /** The kind's own rules bound the size of its objects, below what the store takes (config maps, secrets). */
  readonly boundsSize?: boolean;
  /** Objects hold addresses and ports, which the write path claims for them and releases (services). */
  readonly holdsAddresses?: boolean;
  /** The first write after a create changes what is kept even where it changes nothing (claims; see objectstore.ts). */
  readonly settlesLate?: boolean;
  /** A new object that names no name gets a uid for it, whatever generateName says (limit ranges). */
  readonly namesItself?: boolean;
  /** Annotations in which a version keeps fields it has no room for: no part of the metadata where that is shown alone. */
  readonly carriers?: readonly string[];
  /** Resource of the core group whose object of the same name goes along with one that is removed. */
  readonly removesToo?: string;
  /** Refuses a delete (immortal objects). */
  checkDelete?(context: StrategyContext, object: T): Status | undefined;
  /** Finalizers a delete leaves by default when the request names no policy: "orphan" or undefined. */
  readonly defaultOrphan?: boolean;
  /** Warning for a delete that names no policy, where the default surprises (jobs). */
  readonly unnamedPolicyWarning?: string;
  /** Deletion policies mean nothing for this kind: it never has dependents (events). */
  readonly ignoresPropagation?: boolean;
}
