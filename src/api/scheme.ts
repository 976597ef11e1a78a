// A scheme lists the served resources at their versions, spelled in one identity. It never changes; registry.ts puts
// another in its place. The one of the built-in kinds is built here, once at start, from gen/.
import { createHash } from "node:crypto";
import { assert } from "../base/assert.ts";
import { defaultGates } from "../config/gates.ts";
import type { GroupVersionData, KindData, KindName } from "./descriptor.ts";
import { groupVersionData, kindData } from "./gen/kinds.ts";
import type { Identity } from "./identity.ts";
import { messageOf, messages } from "./messages.ts";
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
  /** Not built in: threads that have no registry do not know it. */
  readonly provided?: boolean;
  /** Its definition is being deleted: discovery shows no verb that makes or changes objects, and none is created. */
  readonly ending?: boolean;
  /** A digest of its definition: resources with the same text serve objects alike. */
  readonly definedAs?: string;
  /** Its definition changed since it was made: objects may be kept as it said before. */
  readonly redefined?: boolean;
  /** Warning sent with every response, where its definition has one. */
  readonly deprecationWarning?: string | undefined;
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

/** A group version that an extension server answers for. */
export interface RemoteVersion {
  /** Name of the API service. */
  readonly name: string;
  readonly group: string;
  readonly version: string;
  /** Of the service. */
  readonly namespace: string;
  readonly service: string;
  readonly port: number;
  /** PEM bundle its certificate must lead to; undefined: the system's. */
  readonly authorities: string | undefined;
  /** Its certificate is not looked at. */
  readonly insecure: boolean;
  /** Its condition Available is True. */
  readonly available: boolean;
}

/** Everything served, in one identity. */
export interface Scheme {
  readonly identity: Identity;
  /** Feature gates that are on. */
  readonly gates: ReadonlySet<string>;
  /** The release whose lifecycle of versions is served: `1.<this>`. */
  readonly release: number;
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
  /** Whether any version of a group is served. */
  hasGroup(group: string): boolean;
  /** Whether a group is served and has no built-in kind. */
  isProvided(group: string): boolean;
  /** What is not built in of a group. */
  providedIn(group: string): readonly Resource[];
  /** The extension server of a group version, whatever else serves it; undefined: this server answers. */
  remote(group: string, version: string): RemoteVersion | undefined;
  /** All group versions of extension servers, in no order. */
  readonly remotes: readonly RemoteVersion[];
}

/** Options of a scheme. */
export interface SchemeOptions {
  readonly identity: Identity;
  /**
   * `--runtime-config`: `group/version`, `group/version/resource` or `api/all|ga|beta|alpha` to on or off; the core
   * group is `v1`, `api/v1` or `v1/resource`. The narrower rule wins.
   */
  readonly runtimeConfig?: ReadonlyMap<string, boolean>;
  /** Feature gates that are on; without it those of the release. */
  readonly gates?: ReadonlySet<string>;
  /** `--emulated-release`: versions removed by `1.<this>` are not served, whatever runtimeConfig says. */
  readonly release?: number;
}

/** The release whose behaviour is served: `1.<this>`. */
export const servedRelease = 23;

/** Builds the scheme: proto/'s kinds in the identity's names, without those the options switch off. */
export function createScheme(options: SchemeOptions): Scheme {
  const config = options.runtimeConfig ?? new Map<string, boolean>();
  const all = makeResources(options.identity, kindData);
  const release = options.release ?? servedRelease;
  const served = all.filter((resource) => !isRemoved(resource, release) && isServed(config, resource));
  const resources = served.toSorted((a, b) => compareText(a.resource, b.resource));
  const groups = makeGroups(options.identity, resources);
  const byResource = new Map(resources.map((r) => [key(r.group, r.version, r.resource), r]));
  const byKind = new Map(resources.map((r) => [key(r.group, r.version, r.kind), r]));
  const byVersion = new Map<string, Resource[]>();
  for (const resource of resources) {
    const of = byVersion.get(resource.apiVersion);
    if (of === undefined) byVersion.set(resource.apiVersion, [resource]);
    else of.push(resource);
  }
  const names = new Set(groups.map(({ group }) => group));
  return {
    identity: options.identity,
    gates: options.gates ?? defaultGates,
    release,
    groups,
    resources,
    find: (group, version, resource) => byResource.get(key(group, version, resource)),
    findKind: (group, version, kind) => byKind.get(key(group, version, kind)),
    groupVersion: (group, version) => byVersion.get(apiVersionOf(group, version)),
    hasGroup: (group) => names.has(group),
    isProvided: () => false,
    providedIn: () => [],
    remote: () => undefined,
    remotes: [],
  };
}

/** Every built-in kind at every version, served or not: objects may be stored in any of them. */
export function builtInResources(identity: Identity): readonly Resource[] {
  return makeResources(identity, kindData);
}

/** `v1` or `apps/v1`. */
export function apiVersionOf(group: string, version: string): string {
  return group === "" ? version : `${group}/${version}`;
}

const versionPattern = /^v(\d{1,9})(?:(alpha|beta)(\d{1,9}))?$/;

/** Order of versions by their names: v10, v2, v1, v11beta2, v1beta1, v2alpha1, then any other by its text. */
export function compareVersions(a: string, b: string): number {
  const [one, other] = [versionPattern.exec(a), versionPattern.exec(b)];
  if (one === null || other === null) return one === other ? compareText(a, b) : one === null ? 1 : -1;
  const stability = (match: RegExpExecArray): number => ["alpha", "beta", undefined].indexOf(match[2]);
  return (
    stability(other) - stability(one) ||
    Number(other[1]) - Number(one[1]) ||
    Number(other[3] ?? 0) - Number(one[3] ?? 0)
  );
}

/** None of the three holds a slash, so no two triples share a key. */
function key(group: string, version: string, name: string): string {
  return `${group}/${version}/${name}`;
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

type Draft = { -readonly [K in keyof Resource]: Resource[K] };

/** Every kind of proto/, served or not: the stored version may not be a served one. */
function makeResources(identity: Identity, data: readonly KindData[]): Draft[] {
  const drafts = data.map((kind) => makeResource(identity, kind));
  const byKind = new Map(drafts.map((draft) => [key(draft.group, draft.version, draft.kind), draft]));
  for (const [index, draft] of drafts.entries()) {
    const storedAs = data[index]?.storedAs;
    if (storedAs === undefined) continue;
    // Custom resource definitions are stored here in the one version there is.
    draft.stored = byKind.get(key(identity.spell(storedAs.group), storedAs.version, storedAs.kind)) ?? draft;
  }
  return drafts;
}

function makeResource(identity: Identity, kind: KindData): Draft {
  const group = identity.spell(kind.group);
  return {
    group,
    version: kind.version,
    apiVersion: apiVersionOf(group, kind.version),
    kind: kind.kind,
    listKind: kind.listKind,
    resource: kind.resource,
    singular: kind.kind.toLowerCase(),
    namespaced: kind.namespaced,
    shortNames: kind.shortNames,
    categories: kind.categories,
    verbs: kind.verbs,
    virtual: kind.virtual,
    computed: kind.computed,
    servedByDefault: kind.servedByDefault,
    subresources: kind.subresources.map((sub) => ({
      name: sub.name,
      kind: sub.kind,
      group: identity.spell(sub.group),
      version: sub.version,
      verbs: sub.verbs,
      message: messageOfKind(sub),
    })),
    storageVersionHash: kind.storedAs === undefined ? "" : storageVersionHash(identity, kind.storedAs),
    introducedIn: kind.introducedIn,
    deprecatedIn: kind.deprecatedIn,
    removedIn: kind.removedIn,
    replacement: kind.replacement && { ...kind.replacement, group: identity.spell(kind.replacement.group) },
    message: messageOf(kind.message),
    stored: undefined,
    prefix: kind.prefix === undefined ? undefined : identity.spell(kind.prefix),
  };
}

/** Where the messages of a group version are: `core/v1` of `/v1`. */
const messagePrefixes = new Map(
  kindData.map((kind) => [`${kind.group}/${kind.version}`, kind.message.slice(0, kind.message.lastIndexOf("."))]),
);

function messageOfKind(of: KindName): Message | undefined {
  return messages.get(`${messagePrefixes.get(`${of.group}/${of.version}`)}.${of.kind}`);
}

function storageVersionHash(identity: Identity, of: KindName): string {
  return storageVersionHashOf(identity.spell(of.group), of.version, of.kind);
}

/** Tells clients that the stored version changed; upstream's recipe. */
export function storageVersionHashOf(group: string, version: string, kind: string): string {
  const name = `${group}/${version}/${kind}`;
  return createHash("sha256").update(name).digest().subarray(0, 8).toString("base64");
}

/** The minor number of `1.25`. */
export function minorOf(release: string): number {
  return Number(release.split(".")[1]);
}

function isRemoved({ removedIn }: Resource, release: number): boolean {
  return removedIn !== undefined && minorOf(removedIn) <= release;
}

/**
 * Returns an error message for --runtime-config; undefined: valid. Keys are groups and versions the server has, of any
 * release, in the names of the identity.
 */
export function checkRuntimeConfig({ identity, runtimeConfig = new Map() }: SchemeOptions): string | undefined {
  if (runtimeConfig.size === 1 && runtimeConfig.get("api/all") === false) return "invalid key with only api/all=false";
  const versions = new Map<string, Set<string>>();
  for (const { group, version, resource } of kindData) {
    const apiVersion = apiVersionOf(identity.spell(group), version);
    versions.set(apiVersion, (versions.get(apiVersion) ?? new Set()).add(resource));
  }
  const groups = new Set(groupVersionData.map(({ group }) => identity.spell(group)));
  for (const key of runtimeConfig.keys()) {
    if (stabilityKeys.has(key)) continue;
    // The core group has no name: its keys are v1, api/v1 and v1/<resource>.
    const parts = key.replace(/^(api\/)?(?=v\d+(\/|$))/, "/").split("/");
    const [group = "", version = "", resource] = parts;
    if (parts.length < 2 || parts.length > 3 || version === "") return `runtime-config invalid key ${key}`;
    if (!groups.has(group)) return `unknown api groups ${group}`;
    const resources = versions.get(apiVersionOf(group, version));
    if (resources === undefined) return `group version ${group}/${version} that has not been registered`;
    if (resource !== undefined && !resources.has(resource)) return `runtime-config invalid key ${key}`;
  }
  return undefined;
}

/** Keys that are no groups; api/legacy says nothing any more (upstream). */
const stabilityKeys: ReadonlySet<string> = new Set(["api/all", "api/ga", "api/beta", "api/alpha", "api/legacy"]);

function isServed(config: ReadonlyMap<string, boolean>, resource: Resource): boolean {
  const { group, version } = resource;
  const names = group === "" ? [version, `api/${version}`] : [`${group}/${version}`];
  const stability = /alpha/.test(version) ? "alpha" : /beta/.test(version) ? "beta" : "ga";
  const rules = [...names.map((name) => `${name}/${resource.resource}`), ...names, `api/${stability}`, "api/all"];
  for (const rule of rules) {
    const on = config.get(rule);
    if (on !== undefined) return on;
  }
  return resource.servedByDefault;
}

function makeGroups(identity: Identity, resources: readonly Resource[]): Group[] {
  const served = new Set(resources.map((resource) => resource.apiVersion));
  const byGroup = new Map<string, GroupVersionData[]>();
  for (const of of groupVersionData) {
    const group = identity.spell(of.group);
    if (served.has(apiVersionOf(group, of.version))) byGroup.set(group, [...(byGroup.get(group) ?? []), of]);
  }
  const groups = [...byGroup].map(([group, versions]): Group => {
    const order = versions.toSorted((a, b) => (b.versionPriority ?? 0) - (a.versionPriority ?? 0));
    const names = order.map((of) => of.version);
    const preferredVersion = order.find((of) => of.preferred)?.version ?? names[0];
    assert(preferredVersion !== undefined, "A served group has a version");
    // Groups without a priority come first: the aggregator's own.
    return { group, priority: order[0]?.groupPriority ?? Number.POSITIVE_INFINITY, versions: names, preferredVersion };
  });
  return groups.toSorted((a, b) =>
    a.priority === b.priority ? compareText(a.group, b.group) : b.priority - a.priority,
  );
}
