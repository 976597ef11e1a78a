// The discovery documents, built from the scheme once and served as bytes: the classic ones per group and version, and
// the aggregated one newer clients ask for by Accept. Key order and omissions follow upstream.
import { createHash } from "node:crypto";
import { apiVersionOf, type Group, type Resource, type Scheme, type Subresource } from "./scheme.ts";

/** One document with its strong ETag (quotes included). */
export interface Document {
  readonly body: string;
  readonly etag: string;
}

/** Which form of aggregated discovery: the version of `apidiscovery.k8s.io` a client accepts. */
export type AggregatedVersion = "v2" | "v2beta1";

/** Documents per scheme, by path. A scheme does not change, so neither do they. */
const built = new WeakMap<Scheme, Map<string, Document>>();

/** The discovery document at a path (`/api`, `/apis`, `/api/v1`, `/apis/<group>`, `/apis/<group>/<version>`); undefined: none there. */
export function discoveryDocument(scheme: Scheme, path: string, serverAddress: string): Document | undefined {
  return path === "/api" ? document(legacyVersions(scheme, serverAddress)) : documentsOf(scheme).get(path);
}

/** Everything under `/api` or `/apis` in one document; undefined for other paths. */
export function aggregatedDiscovery(scheme: Scheme, path: string, version: AggregatedVersion): Document | undefined {
  return documentsOf(scheme).get(`${path}?${version}`);
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

function document(content: object): Document {
  const body = `${JSON.stringify(content)}\n`;
  return { body, etag: `"${createHash("sha256").update(body).digest("hex").slice(0, 32).toUpperCase()}"` };
}

function documentsOf(scheme: Scheme): Map<string, Document> {
  const known = built.get(scheme);
  if (known !== undefined) return known;
  const documents = new Map<string, Document>();
  built.set(scheme, documents);
  const named = scheme.groups.filter((group) => group.group !== "");
  documents.set("/apis", document({ kind: "APIGroupList", apiVersion: "v1", groups: named.map(groupEntry) }));
  for (const group of scheme.groups) {
    const core = group.group === "";
    const root = core ? "/api" : `/apis/${group.group}`;
    if (!core) documents.set(root, document({ kind: "APIGroup", apiVersion: "v1", ...groupEntry(group) }));
    for (const version of group.versions) documents.set(`${root}/${version}`, resourceList(scheme, group, version));
  }
  for (const version of ["v2", "v2beta1"] as const) {
    const core = scheme.groups.filter((group) => group.group === "");
    documents.set(`/api?${version}`, aggregated(scheme, core, version));
    documents.set(`/apis?${version}`, aggregated(scheme, named, version));
  }
  return documents;
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

function resourceList(scheme: Scheme, { group }: Group, version: string): Document {
  const resources = (scheme.groupVersion(group, version) ?? []).flatMap(resourceEntries);
  // The core group's list carries no apiVersion: an old accident that clients know.
  const typed = group === "" ? { kind: "APIResourceList" } : { kind: "APIResourceList", apiVersion: "v1" };
  return document({ ...typed, groupVersion: apiVersionOf(group, version), resources });
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

function aggregated(scheme: Scheme, groups: readonly Group[], version: AggregatedVersion): Document {
  return document({
    kind: "APIGroupDiscoveryList",
    apiVersion: `${scheme.identity.spell("apidiscovery.k8s.io")}/${version}`,
    metadata: {},
    items: groups.map((group) => ({
      metadata: { ...(group.group === "" ? {} : { name: group.group }), creationTimestamp: null },
      versions: group.versions.map((name) => ({
        version: name,
        resources: (scheme.groupVersion(group.group, name) ?? []).map(aggregatedResource),
        freshness: "Current",
      })),
    })),
  });
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
