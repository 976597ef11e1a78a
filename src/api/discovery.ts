// The discovery documents, built from the scheme once and served as bytes: the classic ones per group and version, and
// the aggregated one newer clients ask for by Accept. Key order and omissions follow upstream.
import { createHash } from "node:crypto";
import {
  apiVersionOf,
  type Group,
  type RemoteVersion,
  type Resource,
  type Scheme,
  type Subresource,
} from "./scheme.ts";

/** One document with its strong ETag (quotes included). */
export interface Document {
  readonly body: string;
  readonly etag: string;
}

/** Which form of aggregated discovery: the version of `apidiscovery.k8s.io` a client accepts. */
export type AggregatedVersion = "v2" | "v2beta1";

/** What is known of the resources of a group version that an extension server answers for. */
export interface RemoteLists {
  /** Another number whenever find() says something else. */
  readonly generation: number;
  /** The resources as the aggregated document lists them; not current: they may have changed. */
  find(remote: RemoteVersion): { readonly document: readonly object[] | undefined; readonly isCurrent: boolean };
}

const noLists: RemoteLists = { generation: 0, find: () => ({ document: undefined, isCurrent: false }) };

/** Documents per scheme, by path, as they are asked for. A scheme does not change, so neither do they. */
const built = new WeakMap<Scheme, Map<string, Document>>();

/** An aggregated document with what extension servers have. */
interface RemoteDiscovery {
  /** Of what is known of them. */
  readonly generation: number;
  readonly document: Document;
}

/** The newest of each scheme. */
const withRemotes = new WeakMap<Scheme, Map<AggregatedVersion, RemoteDiscovery>>();

/** Of group versions, by their resources: schemes share what did not change between them. */
const lists = new WeakMap<readonly Resource[], Document>();

/** The discovery document at a path (`/api`, `/apis`, `/api/v1`, `/apis/<group>`, `/apis/<group>/<version>`); undefined: none there. */
export function discoveryDocument(scheme: Scheme, path: string, serverAddress: string): Document | undefined {
  if (path === "/api") return documentOf(legacyVersions(scheme, serverAddress));
  return remembered(scheme, path, () => documentAt(scheme, path));
}

/** Everything under `/api` or `/apis` in one document; undefined for other paths. */
export function aggregatedDiscovery(
  scheme: Scheme,
  path: string,
  version: AggregatedVersion,
  lists: RemoteLists = noLists,
): Document | undefined {
  if (path !== "/api" && path !== "/apis") return undefined;
  const isCore = path === "/api";
  const groups = (): Group[] => scheme.groups.filter(({ group }) => (group === "") === isCore);
  if (isCore || scheme.remotes.length === 0) {
    return remembered(scheme, `${path}?${version}`, () => aggregated(scheme, groups(), version, noLists));
  }
  const known = withRemotes.get(scheme)?.get(version);
  if (known?.generation === lists.generation) return known.document;
  const document = aggregated(scheme, groups(), version, lists);
  const documents = withRemotes.get(scheme) ?? new Map<AggregatedVersion, RemoteDiscovery>();
  documents.set(version, { generation: lists.generation, document });
  withRemotes.set(scheme, documents);
  return document;
}

/**
 * The version of aggregated discovery an Accept header prefers: the first media range that is either plain JSON (or
 * anything), which means none, or `application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList`.
 */
export function aggregatedVersionOf(scheme: Scheme, accept: string | undefined): AggregatedVersion | undefined {
  const group = scheme.identity.spell("apidiscovery.k8s.io");
  for (const range of (accept ?? "").split(",")) {
    const [type, ...parameters] = range.split(";").map((part) => part.trim());
    const named = new Map(parameters.map((part) => [part.split("=")[0] ?? "", part.slice(part.indexOf("=") + 1)]));
    if (type !== "application/json") continue;
    if (!named.has("g") && !named.has("as")) return undefined;
    const version = named.get("v");
    if (named.get("g") !== group || named.get("as") !== "APIGroupDiscoveryList") continue;
    if (version === "v2" || version === "v2beta1") return version;
  }
  return undefined;
}

/** Content type of an aggregated document. */
export function aggregatedContentType(scheme: Scheme, version: AggregatedVersion): string {
  return `application/json;g=${scheme.identity.spell("apidiscovery.k8s.io")};v=${version};as=APIGroupDiscoveryList`;
}

/** The document of a path, which is made once; undefined: there is none, and every path is asked for. */
function remembered(scheme: Scheme, path: string, make: () => Document | undefined): Document | undefined {
  let documents = built.get(scheme);
  const found = documents?.get(path);
  if (found !== undefined) return found;
  const document = make();
  if (document === undefined) return undefined;
  if (documents === undefined) {
    documents = new Map();
    built.set(scheme, documents);
  }
  documents.set(path, document);
  return document;
}

function documentOf(content: object): Document {
  const body = `${JSON.stringify(content)}\n`;
  return { body, etag: `"${createHash("sha256").update(body).digest("hex").slice(0, 32).toUpperCase()}"` };
}

/** What is at a path but `/api`; undefined: nothing. */
function documentAt(scheme: Scheme, path: string): Document | undefined {
  const [empty, root, ...rest] = path.split("/");
  if (empty !== "" || (root !== "api" && root !== "apis")) return undefined;
  const [group, version, ...more] = root === "api" ? ["", ...rest] : rest;
  if (more.length > 0 || (group === "" && root === "apis")) return undefined;
  if (group === undefined) {
    const groups = scheme.groups.filter((one) => one.group !== "").map(groupEntry);
    return documentOf({ kind: "APIGroupList", apiVersion: "v1", groups });
  }
  if (version !== undefined) return resourceList(scheme, group, version);
  const found = groupsOf(scheme).get(group);
  return found && documentOf({ kind: "APIGroup", apiVersion: "v1", ...groupEntry(found) });
}

const groupsByName = new WeakMap<Scheme, ReadonlyMap<string, Group>>();

function groupsOf(scheme: Scheme): ReadonlyMap<string, Group> {
  let groups = groupsByName.get(scheme);
  if (groups === undefined) {
    groups = new Map(scheme.groups.map((group) => [group.group, group]));
    groupsByName.set(scheme, groups);
  }
  return groups;
}

function legacyVersions(scheme: Scheme, serverAddress: string): object {
  const core = scheme.groups.find((group) => group.group === "");
  return {
    kind: "APIVersions",
    versions: core?.versions ?? [],
    serverAddressByClientCIDRs: [{ clientCIDR: "0.0.0.0/0", serverAddress }],
  };
}

function groupEntry({ group, versions, preferredVersion }: Group): object {
  const entry = (version: string): object => ({ groupVersion: apiVersionOf(group, version), version });
  return { name: group, versions: versions.map(entry), preferredVersion: entry(preferredVersion) };
}

/** Undefined: nothing is served of the group version here. */
function resourceList(scheme: Scheme, group: string, version: string): Document | undefined {
  const served = scheme.groupVersion(group, version);
  if (served === undefined) return undefined;
  const known = lists.get(served);
  if (known !== undefined) return known;
  const resources = served.flatMap(resourceEntries);
  // The core group's list carries no apiVersion: an old accident that clients know.
  const typed = group === "" ? { kind: "APIResourceList" } : { kind: "APIResourceList", apiVersion: "v1" };
  const made = documentOf({ ...typed, groupVersion: apiVersionOf(group, version), resources });
  lists.set(served, made);
  return made;
}

function resourceEntries(resource: Resource): object[] {
  const { namespaced } = resource;
  const own = {
    name: resource.resource,
    singularName: shownSingular(resource),
    namespaced,
    kind: resource.kind,
    verbs: shownVerbs(resource),
    ...names(resource),
    ...(resource.storageVersionHash === "" ? {} : { storageVersionHash: resource.storageVersionHash }),
  };
  const entries: object[] = resource.subresources.map((sub) => ({
    name: `${resource.resource}/${sub.name}`,
    singularName: "",
    namespaced,
    ...(sub.group === resource.group && sub.version === resource.version
      ? {}
      : { group: sub.group, version: sub.version }),
    kind: sub.kind,
    verbs: sub.verbs,
  }));
  return [own, ...entries];
}

/** At this release those of built-in kinds are not published. */
function shownSingular({ provided, singular }: Resource): string {
  return provided === true ? singular : "";
}

/** Objects of a kind that is going are read and deleted. */
function shownVerbs({ verbs, ending }: Resource): readonly string[] {
  return ending === true ? verbs.filter((verb) => verb !== "create" && verb !== "update" && verb !== "patch") : verbs;
}

function names({ shortNames, categories }: Resource): object {
  return {
    ...(shortNames.length === 0 ? {} : { shortNames }),
    ...(categories.length === 0 ? {} : { categories }),
  };
}

function aggregated(
  scheme: Scheme,
  groups: readonly Group[],
  version: AggregatedVersion,
  lists: RemoteLists,
): Document {
  const items = groups.flatMap(({ group, versions }) => {
    const served = versions.flatMap((name) => {
      // What an extension server answers for is not served here, whatever is defined.
      const remote = scheme.remote(group, name);
      if (remote !== undefined) return [remoteVersion(name, lists.find(remote))];
      const resources = scheme.groupVersion(group, name)?.map(aggregatedResource);
      return resources === undefined ? [] : [{ version: name, resources, freshness: "Current" }];
    });
    const metadata = { ...(group === "" ? {} : { name: group }), creationTimestamp: null };
    return served.length === 0 ? [] : [{ metadata, versions: served }];
  });
  const apiVersion = `${scheme.identity.spell("apidiscovery.k8s.io")}/${version}`;
  return documentOf({ kind: "APIGroupDiscoveryList", apiVersion, metadata: {}, items });
}

/** Without resources where nothing is known yet (upstream): clients tell it from a version that has none. */
function remoteVersion(version: string, { document: resources, isCurrent }: ReturnType<RemoteLists["find"]>): object {
  return { version, ...(resources && { resources }), freshness: isCurrent && resources ? "Current" : "Stale" };
}

function aggregatedResource(resource: Resource): object {
  const { subresources } = resource;
  return {
    resource: resource.resource,
    responseKind: kindOf(resource),
    scope: resource.namespaced ? "Namespaced" : "Cluster",
    singularResource: resource.singular,
    verbs: resource.verbs,
    ...names(resource),
    ...(subresources.length === 0 ? {} : { subresources: subresources.map(aggregatedSubresource) }),
  };
}

function aggregatedSubresource(sub: Subresource): object {
  return { subresource: sub.name, responseKind: kindOf(sub), verbs: sub.verbs };
}

function kindOf({ group, version, kind }: Resource | Subresource): object {
  return { group, version, kind };
}
