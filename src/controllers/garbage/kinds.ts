// The kinds that can own and be owned, as they are served now: what references call them, and where their objects are.
// Kinds come and go with their definitions. Of one that was deleted it is remembered when: what was written before that
// named an object of it names one that is gone.

import type { CustomResourceDefinition } from "../../api/gen/apiextensions/v1.ts";
import type { Registry } from "../../api/registry.ts";
import type { Resource, Scheme } from "../../api/scheme.ts";
import { kindHash } from "../../cache/shared/owners.ts";
import { limits } from "../../config/limits.ts";

/** A kind at one version, as far as its owners are found by it. */
export interface OwnerKind {
  readonly prefix: string;
  readonly namespaced: boolean;
}

/** A kind whose definition was deleted. */
export interface EndedKind extends OwnerKind {
  /** Of that change. Objects of a later definition are newer. */
  readonly revision: number;
}

/** The kinds of one moment after the other. */
export class OwnerKinds {
  readonly #registry: Registry;
  readonly #isCollected: (resource: Resource) => boolean;
  #scheme: Scheme | undefined;
  #byHash: ReadonlyMap<number, OwnerKind> = new Map();
  #stored: ReadonlyMap<string, Resource> = new Map();
  /** By hash; the oldest first. */
  readonly #ended = new Map<number, EndedKind>();

  constructor(registry: Registry) {
    this.#registry = registry;
    const { spell } = registry.identity;
    const groups = ["", spell("events.k8s.io")];
    // They are many, have no owner and expire (upstream).
    const isEvents = ({ group, resource }: Resource): boolean => resource === "events" && groups.includes(group);
    const needed = ["delete", "list", "watch"];
    this.#isCollected = (resource) => !isEvents(resource) && needed.every((verb) => resource.verbs.includes(verb));
  }

  /** What is stored and can be deleted, by prefix, at the version it is stored in. */
  get stored(): ReadonlyMap<string, Resource> {
    return this.#stored;
  }

  /**
   * Looks at what is served now. Undefined: nothing changed since the last call; else the hashes of kinds whose objects
   * are elsewhere than before, or nowhere.
   */
  refresh(): ReadonlySet<number> | undefined {
    const scheme = this.#registry.current();
    if (scheme === this.#scheme) return undefined;
    this.#scheme = scheme;
    const byHash = new Map<number, OwnerKind>();
    const stored = new Map<string, Resource>();
    for (const resource of scheme.resources) {
      const prefix = resource.stored?.prefix;
      if (resource.stored === undefined || prefix === undefined) continue;
      if (this.#isCollected(resource)) stored.set(prefix, resource.stored);
      const hash = kindHash(resource.apiVersion, resource.kind);
      const { namespaced } = resource;
      if (!byHash.has(hash)) byHash.set(hash, this.#same(hash, { prefix, namespaced }));
    }
    const changed = new Set<number>();
    for (const [hash, kind] of byHash) if (this.#byHash.get(hash) !== kind) changed.add(hash);
    for (const hash of this.#byHash.keys()) if (!byHash.has(hash)) changed.add(hash);
    this.#byHash = byHash;
    this.#stored = stored;
    return changed;
  }

  /** The kind that references of this hash name; undefined: it is not served. */
  of(hash: number): OwnerKind | undefined {
    return this.#byHash.get(hash);
  }

  /** A kind that is not served because its definition was deleted. */
  ended(hash: number): EndedKind | undefined {
    return this.#ended.get(hash);
  }

  /** A definition was deleted. Returns the hashes of its kind at its versions. */
  end({ spec }: CustomResourceDefinition, prefix: string, revision: number): ReadonlySet<number> {
    const versions = spec.versions ?? [];
    const hashes = versions.map(({ name = "" }) => kindHash(`${spec.group}/${name}`, spec.names.kind ?? ""));
    const kind = { prefix, namespaced: spec.scope === "Namespaced", revision };
    for (const hash of hashes) {
      this.#ended.delete(hash);
      this.#ended.set(hash, kind);
    }
    for (const hash of this.#ended.keys()) {
      if (this.#ended.size <= limits.endedKindsMax) break;
      this.#ended.delete(hash);
    }
    return new Set(hashes);
  }

  #same(hash: number, kind: OwnerKind): OwnerKind {
    const before = this.#byHash.get(hash);
    return before?.prefix === kind.prefix && before.namespaced === kind.namespaced ? before : kind;
  }
}
