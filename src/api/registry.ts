// The served resources and their changes: a registry holds one immutable snapshot at a time. The built-in kinds are its
// first provider; others (definitions of custom resources, one each) come and go while the server runs. APIServices
// say in which order discovery lists their group versions.
import { assertShared } from "../base/assert.ts";
import {
  builtInRegistrations,
  definedRegistration,
  isOrdered,
  isPlacedAlike,
  orderGroups,
  type Registration,
  registrationName,
} from "./groups.ts";
import type { Identity } from "./identity.ts";
import { apiVersionOf, type Group, type RemoteVersion, type Resource, type Scheme } from "./scheme.ts";

// Look-ups are properties, as those of the built-in scheme are: callers take them off the object that has them.

/** The resources of providers in one group. */
class ProvidedGroup {
  readonly resources: readonly Resource[];
  /** By `version/plural`. */
  readonly byResource = new Map<string, Resource>();
  /** By `version/kind`. */
  readonly byKind = new Map<string, Resource>();
  readonly byVersion = new Map<string, Resource[]>();

  constructor(resources: readonly Resource[]) {
    this.resources = resources;
    for (const resource of resources) {
      const { version } = resource;
      this.byResource.set(`${version}/${resource.resource}`, resource);
      this.byKind.set(`${version}/${resource.kind}`, resource);
      const of = this.byVersion.get(version);
      if (of === undefined) this.byVersion.set(version, [resource]);
      else of.push(resource);
    }
  }
}

/**
 * The built-in kinds and those of providers, at one moment, in the order of that moment. What a group has is shared with
 * the snapshots before.
 */
class Snapshot implements Scheme {
  readonly identity: Identity;
  readonly gates: ReadonlySet<string>;
  readonly release: number;
  readonly #builtIn: Scheme;
  readonly #provided: ReadonlyMap<string, ProvidedGroup>;
  /** What orders the group versions, by name; later ones count. */
  readonly #registrations: readonly Registration[];
  #groups: readonly Group[] | undefined;
  #resources: readonly Resource[] | undefined;

  constructor(builtIn: Scheme, provided: ReadonlyMap<string, ProvidedGroup>, registrations: readonly Registration[]) {
    this.identity = builtIn.identity;
    this.gates = builtIn.gates;
    this.release = builtIn.release;
    this.#builtIn = builtIn;
    this.#provided = provided;
    this.#registrations = registrations;
  }

  get groups(): readonly Group[] {
    this.#groups ??= this.#makeGroups();
    return this.#groups;
  }

  get resources(): readonly Resource[] {
    const provided = [...this.#provided.values()].flatMap(({ resources }) => resources);
    this.#resources ??= [...this.#builtIn.resources, ...provided];
    return this.#resources;
  }

  readonly find = (group: string, version: string, resource: string): Resource | undefined => {
    const builtIn = this.#builtIn.find(group, version, resource);
    return builtIn ?? this.#provided.get(group)?.byResource.get(`${version}/${resource}`);
  };

  readonly findKind = (group: string, version: string, kind: string): Resource | undefined => {
    const builtIn = this.#builtIn.findKind(group, version, kind);
    return builtIn ?? this.#provided.get(group)?.byKind.get(`${version}/${kind}`);
  };

  readonly groupVersion = (group: string, version: string): readonly Resource[] | undefined => {
    return this.#builtIn.groupVersion(group, version) ?? this.#provided.get(group)?.byVersion.get(version);
  };

  readonly hasGroup = (group: string): boolean => {
    return this.#builtIn.hasGroup(group) || this.#provided.has(group);
  };

  readonly isProvided = (group: string): boolean => {
    return this.#provided.has(group) && !this.#builtIn.hasGroup(group);
  };

  readonly providedIn = (group: string): readonly Resource[] => {
    return this.#provided.get(group)?.resources ?? [];
  };

  readonly remote = (): undefined => undefined;

  readonly remotes: readonly RemoteVersion[] = [];

  #makeGroups(): readonly Group[] {
    const all = new Map<string, Registration>();
    for (const [group, { byVersion }] of this.#provided) {
      for (const version of byVersion.keys()) {
        const registration = definedRegistration(group, version);
        all.set(registrationName(registration), registration);
      }
    }
    for (const registration of this.#registrations) {
      const { group, version, isAutomatic } = registration;
      // A definition that went is told of nowhere any more, also while its APIService is still there.
      if (isAutomatic === true && this.groupVersion(group, version) === undefined) continue;
      all.set(registrationName(registration), registration);
    }
    return orderGroups(all.values());
  }
}

/** A snapshot of what this server serves, and the group versions that extension servers answer for instead. */
class Aggregated implements Scheme {
  readonly identity: Identity;
  readonly gates: ReadonlySet<string>;
  readonly release: number;
  readonly find: Scheme["find"];
  readonly findKind: Scheme["findKind"];
  readonly groupVersion: Scheme["groupVersion"];
  readonly hasGroup: Scheme["hasGroup"];
  readonly isProvided: Scheme["isProvided"];
  readonly providedIn: Scheme["providedIn"];
  readonly remotes: readonly RemoteVersion[];
  readonly #own: Scheme;
  readonly #byVersion: ReadonlyMap<string, RemoteVersion>;

  constructor(own: Scheme, remotes: Iterable<RemoteVersion>) {
    ({ identity: this.identity, gates: this.gates, release: this.release } = own);
    ({ find: this.find, findKind: this.findKind, groupVersion: this.groupVersion } = own);
    ({ hasGroup: this.hasGroup, isProvided: this.isProvided, providedIn: this.providedIn } = own);
    this.#own = own;
    this.remotes = [...remotes];
    this.#byVersion = new Map(this.remotes.map((one) => [apiVersionOf(one.group, one.version), one]));
  }

  get groups(): readonly Group[] {
    return this.#own.groups;
  }

  get resources(): readonly Resource[] {
    return this.#own.resources;
  }

  readonly remote = (group: string, version: string): RemoteVersion | undefined => {
    return this.#byVersion.get(apiVersionOf(group, version));
  };
}

/**
 * API services that changed since the last call, with the group version an extension server answers for now (undefined:
 * none, or the API service is gone); called as a Source is.
 */
export type RemoteSource = () => Iterable<readonly [name: string, remote: RemoteVersion | undefined]>;

/**
 * Providers that changed since the last call, with the resources each serves now (empty: it was removed); called before
 * every look-up, so an answer without changes costs a comparison.
 */
export type Source = () => Iterable<readonly [provider: string, resources: readonly Resource[]]>;

/** APIServices that changed since the last call (undefined: it is gone), by name; called as a Source is. */
export type Order = () => Iterable<readonly [name: string, registration: Registration | undefined]>;

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
  /** Providers of each group. */
  readonly #byGroup = new Map<string, Set<string>>();
  readonly #sources: Source[] = [];
  readonly #orders: Order[] = [];
  readonly #defaults: ReadonlyMap<string, Registration>;
  /** Of APIServices, by name. */
  readonly #registrations = new Map<string, Registration>();
  /** What providers have, as of #own. */
  #provided: ReadonlyMap<string, ProvidedGroup> = new Map();
  readonly #remoteSources: RemoteSource[] = [];
  /** By the name of the API service. */
  readonly #remotes = new Map<string, RemoteVersion>();
  /** Without those of extension servers. */
  #own: Scheme;
  #current: Scheme;
  /** Groups in which something changed since #own was laid out. */
  readonly #changed = new Set<string>();
  /** APIServices changed since then what discovery lists, or where. */
  #isReordered = false;
  /** Extension servers changed since #current was laid out. */
  #remoteChanged = false;
  /** Sources are being asked. */
  #looking = false;

  constructor(builtIn: Scheme) {
    this.identity = builtIn.identity;
    this.gates = builtIn.gates;
    this.release = builtIn.release;
    this.builtIn = builtIn;
    this.#defaults = builtInRegistrations(builtIn);
    this.#own = builtIn;
    this.#current = builtIn;
  }

  /** The snapshot of now: it never changes. */
  current(): Scheme {
    assertShared(!this.#looking, "A source of what is served asks what is served");
    this.#looking = true;
    try {
      for (const source of this.#sources) for (const [provider, resources] of source()) this.#set(provider, resources);
      for (const order of this.#orders) for (const [name, registration] of order()) this.#order(name, registration);
      for (const source of this.#remoteSources) for (const [name, remote] of source()) this.#setRemote(name, remote);
    } finally {
      this.#looking = false;
    }
    if (this.#changed.size > 0 || this.#isReordered || this.#remoteChanged) this.#layOut();
    return this.#current;
  }

  /** Knows the group versions that extension servers answer for, from the next look-up on. */
  followRemotes(source: RemoteSource): void {
    this.#remoteSources.push(source);
  }

  /**
   * Serves the resources of a source's providers, from the next look-up on. Group versions of the built-in kinds stay
   * theirs.
   */
  follow(source: Source): void {
    this.#sources.push(source);
  }

  /** Lists group versions as these APIServices say, from the next look-up on: also those nothing is served of. */
  orderBy(order: Order): void {
    this.#orders.push(order);
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

  readonly remote = (group: string, version: string): RemoteVersion | undefined => {
    return this.current().remote(group, version);
  };

  get remotes(): readonly RemoteVersion[] {
    return this.current().remotes;
  }

  readonly providedIn = (group: string): readonly Resource[] => {
    return this.current().providedIn(group);
  };

  #setRemote(name: string, remote: RemoteVersion | undefined): void {
    if (remote !== undefined) this.#remotes.set(name, remote);
    else if (!this.#remotes.delete(name)) return;
    this.#remoteChanged = true;
  }

  #set(provider: string, resources: readonly Resource[]): void {
    if (resources === this.#providers.get(provider)) return;
    const isTaken = ({ group, version }: Resource): boolean => this.builtIn.groupVersion(group, version) !== undefined;
    const own = resources.some(isTaken) ? resources.filter((resource) => !isTaken(resource)) : resources;
    for (const { group } of this.#providers.get(provider) ?? []) {
      this.#byGroup.get(group)?.delete(provider);
      this.#changed.add(group);
    }
    if (own.length > 0) this.#providers.set(provider, own);
    else this.#providers.delete(provider);
    for (const { group } of own) {
      const of = this.#byGroup.get(group);
      if (of === undefined) this.#byGroup.set(group, new Set([provider]));
      else of.add(provider);
      this.#changed.add(group);
    }
  }

  #order(name: string, registration: Registration | undefined): void {
    const builtIn = this.#defaults.get(name);
    if (builtIn !== undefined && !isOrdered(builtIn)) return;
    const before = this.#registrations.get(name);
    if (isPlacedAlike(before, registration) && before?.isAutomatic === registration?.isAutomatic) return;
    if (registration === undefined) this.#registrations.delete(name);
    else this.#registrations.set(name, registration);
    // Most say what goes without them: those cost no snapshot.
    if (this.#isReordered || this.#changed.size > 0) return;
    const { group, version } = (registration ?? before) as Registration;
    const isDefined = this.#provided.get(group)?.byVersion.has(version) === true;
    const usual = builtIn ?? (isDefined ? definedRegistration(group, version) : undefined);
    const told = (one: Registration | undefined): Registration | undefined =>
      one?.isAutomatic === true && usual === undefined ? undefined : (one ?? usual);
    this.#isReordered = !isPlacedAlike(told(before), told(registration));
  }

  #layOut(): void {
    if (this.#changed.size > 0 || this.#isReordered) {
      this.#layOutGroups();
      this.#own = this.#layOutOwn();
    }
    this.#isReordered = false;
    this.#remoteChanged = false;
    this.#current = this.#remotes.size === 0 ? this.#own : new Aggregated(this.#own, this.#remotes.values());
  }

  /** Only groups with changes are laid out anew. */
  #layOutGroups(): void {
    const groups = new Map(this.#provided);
    for (const group of this.#changed) {
      const resources = [...(this.#byGroup.get(group) ?? [])].flatMap((provider) => {
        return (this.#providers.get(provider) ?? []).filter((resource) => resource.group === group);
      });
      if (resources.length > 0) groups.set(group, new ProvidedGroup(resources));
      else {
        groups.delete(group);
        this.#byGroup.delete(group);
      }
    }
    this.#changed.clear();
    this.#provided = groups;
  }

  #layOutOwn(): Scheme {
    const registrations = new Map([...this.#defaults, ...this.#registrations]);
    const isBuiltIn =
      this.#provided.size === 0 &&
      registrations.size === this.#defaults.size &&
      [...this.#registrations].every(([name, one]) => isPlacedAlike(one, this.#defaults.get(name)));
    return isBuiltIn ? this.builtIn : new Snapshot(this.builtIn, this.#provided, [...registrations.values()]);
  }
}
