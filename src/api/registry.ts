// The served resources and their changes: a registry holds one immutable snapshot at a time. The built-in kinds are its
// first provider; others (definitions of custom resources, one each) come and go while the server runs.
import { assertShared } from "../base/assert.ts";
import type { Identity } from "./identity.ts";
import { apiVersionOf, compareVersions, type Group, type Resource, type Scheme } from "./scheme.ts";

/** Groups of providers come behind those with a priority of their own (upstream gives definitions 1,000). */
const providedPriority = 1000;

// Look-ups are properties, as those of the built-in scheme are: callers take them off the object that has them.

/** The built-in kinds and those of providers, at one moment. */
class Snapshot implements Scheme {
  readonly identity: Identity;
  readonly gates: ReadonlySet<string>;
  readonly release: number;
  readonly #builtIn: Scheme;
  readonly #provided: readonly Resource[];
  readonly #byResource = new Map<string, Resource>();
  readonly #byKind = new Map<string, Resource>();
  /** Of provided kinds; a group version is the built-in kinds' or the providers'. */
  readonly #byVersion = new Map<string, Resource[]>();
  readonly #groupNames = new Set<string>();
  #groups: readonly Group[] | undefined;
  #resources: readonly Resource[] | undefined;

  constructor(builtIn: Scheme, provided: readonly Resource[]) {
    this.identity = builtIn.identity;
    this.gates = builtIn.gates;
    this.release = builtIn.release;
    this.#builtIn = builtIn;
    this.#provided = provided;
    for (const resource of provided) {
      const { group, apiVersion } = resource;
      this.#byResource.set(`${apiVersion}/${resource.resource}`, resource);
      this.#byKind.set(`${apiVersion}/${resource.kind}`, resource);
      this.#groupNames.add(group);
      const of = this.#byVersion.get(apiVersion);
      if (of === undefined) this.#byVersion.set(apiVersion, [resource]);
      else of.push(resource);
    }
  }

  get groups(): readonly Group[] {
    this.#groups ??= this.#makeGroups();
    return this.#groups;
  }

  get resources(): readonly Resource[] {
    this.#resources ??= [...this.#builtIn.resources, ...this.#provided];
    return this.#resources;
  }

  readonly find = (group: string, version: string, resource: string): Resource | undefined => {
    const builtIn = this.#builtIn.find(group, version, resource);
    return builtIn ?? this.#byResource.get(`${apiVersionOf(group, version)}/${resource}`);
  };

  readonly findKind = (group: string, version: string, kind: string): Resource | undefined => {
    const builtIn = this.#builtIn.findKind(group, version, kind);
    return builtIn ?? this.#byKind.get(`${apiVersionOf(group, version)}/${kind}`);
  };

  readonly groupVersion = (group: string, version: string): readonly Resource[] | undefined => {
    return this.#builtIn.groupVersion(group, version) ?? this.#byVersion.get(apiVersionOf(group, version));
  };

  readonly hasGroup = (group: string): boolean => {
    return this.#builtIn.hasGroup(group) || this.#groupNames.has(group);
  };

  readonly isProvided = (group: string): boolean => {
    return this.#groupNames.has(group) && !this.#builtIn.hasGroup(group);
  };

  #makeGroups(): readonly Group[] {
    const versions = new Map<string, Set<string>>();
    for (const { group, version } of this.#provided) {
      const of = versions.get(group);
      if (of === undefined) versions.set(group, new Set([version]));
      else of.add(version);
    }
    // A built-in group may have further versions of others.
    const builtIn = this.#builtIn.groups.map((group): Group => {
      const more = versions.get(group.group);
      if (more === undefined) return group;
      versions.delete(group.group);
      return { ...group, versions: [...group.versions, ...[...more].sort(compareVersions)] };
    });
    const groups = [...versions].map(([group, names]): Group => {
      const sorted = [...names].sort(compareVersions);
      return { group, priority: providedPriority, versions: sorted, preferredVersion: sorted[0] as string };
    });
    groups.sort((a, b) => (a.group < b.group ? -1 : 1));
    return [...builtIn, ...groups];
  }
}

/**
 * Providers that changed since the last call, with the resources each serves now (empty: it was removed); called before
 * every look-up, so an answer without changes costs a comparison.
 */
export type Source = () => Iterable<readonly [provider: string, resources: readonly Resource[]]>;

/**
 * The served resources. As a Scheme it answers from the newest snapshot; a caller whose answers have to agree asks
 * current() once.
 */
export class Registry implements Scheme {
  readonly identity: Identity;
  readonly gates: ReadonlySet<string>;
  readonly release: number;
  /** The kinds that never change. */
  readonly builtIn: Scheme;
  readonly #providers = new Map<string, readonly Resource[]>();
  readonly #sources: Source[] = [];
  #current: Scheme;
  /** Providers changed since #current was laid out. */
  #changed = false;
  /** Sources are being asked. */
  #looking = false;

  constructor(builtIn: Scheme) {
    this.identity = builtIn.identity;
    this.gates = builtIn.gates;
    this.release = builtIn.release;
    this.builtIn = builtIn;
    this.#current = builtIn;
  }

  /** The snapshot of now: it never changes. */
  current(): Scheme {
    assertShared(!this.#looking, "A source of what is served asks what is served");
    this.#looking = true;
    try {
      for (const source of this.#sources) for (const [provider, resources] of source()) this.#set(provider, resources);
    } finally {
      this.#looking = false;
    }
    if (this.#changed) this.#layOut();
    return this.#current;
  }

  /**
   * Serves the resources of a source's providers, from the next look-up on. Group versions of the built-in kinds stay
   * theirs.
   */
  follow(source: Source): void {
    this.#sources.push(source);
  }

  /**
   * Serves the resources of a provider, replacing its previous ones. Their logs are registered before. Returns what it
   * may not have because it is another's: a group version of the built-in kinds, a resource or kind of another
   * provider; nothing changes then.
   */
  provide(provider: string, resources: readonly Resource[]): string | undefined {
    const own = new Set(this.#providers.get(provider));
    const isTaken = (found: Resource | undefined): boolean => found !== undefined && !own.has(found);
    for (const { group, version, apiVersion, resource, kind } of resources) {
      if (this.builtIn.groupVersion(group, version) !== undefined) return `group version ${apiVersion}`;
      if (isTaken(this.find(group, version, resource))) return `resource ${resource} of ${apiVersion}`;
      if (isTaken(this.findKind(group, version, kind))) return `kind ${kind} of ${apiVersion}`;
    }
    this.#set(provider, resources);
    return undefined;
  }

  /** Serves nothing of a provider any more. Logs are given up afterwards. */
  withdraw(provider: string): void {
    this.#set(provider, []);
  }

  get groups(): readonly Group[] {
    return this.current().groups;
  }

  get resources(): readonly Resource[] {
    return this.current().resources;
  }

  readonly find = (group: string, version: string, resource: string): Resource | undefined => {
    return this.current().find(group, version, resource);
  };

  readonly findKind = (group: string, version: string, kind: string): Resource | undefined => {
    return this.current().findKind(group, version, kind);
  };

  readonly groupVersion = (group: string, version: string): readonly Resource[] | undefined => {
    return this.current().groupVersion(group, version);
  };

  readonly hasGroup = (group: string): boolean => {
    return this.current().hasGroup(group);
  };

  readonly isProvided = (group: string): boolean => {
    return this.current().isProvided(group);
  };

  #set(provider: string, resources: readonly Resource[]): void {
    if (resources === this.#providers.get(provider)) return;
    const isTaken = ({ group, version }: Resource): boolean => this.builtIn.groupVersion(group, version) !== undefined;
    const own = resources.some(isTaken) ? resources.filter((resource) => !isTaken(resource)) : resources;
    if (own.length > 0) this.#providers.set(provider, own);
    else if (!this.#providers.delete(provider)) return;
    this.#changed = true;
  }

  #layOut(): void {
    this.#changed = false;
    const provided = [...this.#providers.values()].flat();
    this.#current = provided.length === 0 ? this.builtIn : new Snapshot(this.builtIn, provided);
  }
}
