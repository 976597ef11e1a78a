// Routing: method and path become a request info once; authorization, reads and writes use this value and nothing
// else. The rules are the reference's (request info of the endpoints package): the path is split after decoding.
import type { Resource, Scheme, Subresource } from "../api/scheme.ts";
import { refuse, type Status } from "../api/status.ts";
import type { User } from "../api/user.ts";
import { first, parseQuery, type Query, unescapePath } from "./query.ts";

/** What a request for a resource may ask for. */
export type Verb = "get" | "list" | "watch" | "create" | "update" | "patch" | "delete" | "deletecollection";

/** A request for a resource. */
export interface ResourceInfo {
  readonly isResource: true;
  readonly verb: Verb;
  readonly resource: Resource;
  /** Undefined for the object itself. */
  readonly subresource: Subresource | undefined;
  /** Empty: cluster-scoped, or all namespaces. */
  readonly namespace: string;
  /** Empty for collections. */
  readonly name: string;
  readonly query: Query;
}

/** A request for anything else; the verb is the method in lower case. */
export interface NonResourceInfo {
  readonly isResource: false;
  readonly verb: string;
  /** Decoded path. */
  readonly path: string;
  readonly query: Query;
}

/** What a request is for. */
export type RequestInfo = ResourceInfo | NonResourceInfo;

/** 404 for a path below a served prefix that names nothing served. */
export const unknownResource = refuse("NotFound", "the server could not find the requested resource", {});

/** 405 for a method a path does not offer. */
export const methodNotAllowed = refuse(
  "MethodNotAllowed",
  "the server does not allow this method on the requested resource",
  {},
);

/** 403 for a path that is not for everybody. */
export function forbiddenPath(user: User, path: string): Status {
  return refuse(
    "Forbidden",
    `forbidden: User ${JSON.stringify(user.name)} cannot get path ${JSON.stringify(path)}`,
    {},
  );
}

/** Resolves method and raw path. A Status: nothing is served there, or not with this method. */
export function resolve(scheme: Scheme, method: string, rawPath: string, rawQuery: string): RequestInfo | Status {
  const query = parseQuery(rawQuery);
  const path = unescapePath(rawPath);
  if (path === undefined)
    return refuse("BadRequest", `the path ${JSON.stringify(rawPath)} is not valid percent-encoded UTF-8`);
  const parts = path.startsWith("//") ? [] : trimSlashes(path).split("/");
  const base = parts[0] === "api" ? 2 : 3;
  if ((parts[0] !== "api" && parts[0] !== "apis") || parts.length <= base) {
    return { isResource: false, verb: method.toLowerCase(), path, query };
  }
  const group = base === 2 ? "" : (parts[1] ?? "");
  const version = parts[base - 1] ?? "";
  if (base === 3 && !scheme.groups.some((g) => g.group === group)) {
    return { isResource: false, verb: method.toLowerCase(), path, query };
  }
  return locate(scheme, method, group, version, parts.slice(base), query);
}

function trimSlashes(path: string): string {
  let start = 0;
  let end = path.length;
  while (start < end && path.charCodeAt(start) === 0x2f) start++;
  while (end > start && path.charCodeAt(end - 1) === 0x2f) end--;
  return path.slice(start, end);
}

/** Finds namespace, resource, name and subresource in what follows the group version. */
function locate(
  scheme: Scheme,
  method: string,
  group: string,
  version: string,
  rest: readonly string[],
  query: Query,
): RequestInfo | Status {
  const legacyWatch = rest[0] === "watch" && rest.length > 1;
  const parts = legacyWatch ? rest.slice(1) : rest;
  if (parts.includes("")) return unknownResource;
  let namespace = "";
  let at = 0;
  // `namespaces/x/<more>` is a namespace prefix unless <more> is a subresource of namespaces itself.
  if (parts[0] === "namespaces" && parts.length > 2 && !isNamespaceSubresource(scheme, group, version, parts)) {
    namespace = parts[1] ?? "";
    at = 2;
  }
  const resource = scheme.find(group, version, parts[at] ?? "");
  const name = parts[at + 1] ?? "";
  const subresourceName = parts[at + 2] ?? "";
  if (resource === undefined || (namespace !== "" && !resource.namespaced)) return unknownResource;
  // A namespaced object is only reached through its namespace.
  if (resource.namespaced && namespace === "" && name !== "") return unknownResource;
  if (namespace === "" && resource.namespaced && subresourceName !== "") return unknownResource;
  const subresource = resource.subresources.find((s) => s.name === subresourceName);
  if (subresourceName !== "" && (subresource === undefined || (parts.length > at + 3 && subresourceName !== "proxy"))) {
    return unknownResource;
  }
  const verb = verbOf(method, resource, subresource, namespace, name, legacyWatch, query);
  if (verb === undefined) return methodNotAllowed;
  return { isResource: true, verb, resource, subresource, namespace, name, query };
}

function isNamespaceSubresource(scheme: Scheme, group: string, version: string, parts: readonly string[]): boolean {
  if (group !== "" || parts.length !== 3) return false;
  return scheme.find(group, version, "namespaces")?.subresources.some((s) => s.name === parts[2]) ?? false;
}

function verbOf(
  method: string,
  resource: Resource,
  subresource: Subresource | undefined,
  namespace: string,
  name: string,
  legacyWatch: boolean,
  query: Query,
): Verb | undefined {
  const verb = wantedVerb(method, name, legacyWatch || isTrue(first(query, "watch"), query.has("watch")), legacyWatch);
  if (verb === undefined) return undefined;
  if (subresource !== undefined) return subresource.verbs.includes(verb) ? verb : undefined;
  if (!resource.verbs.includes(verb)) return undefined;
  // A name is made with its object, in the collection.
  if (verb === "create" && name !== "") return undefined;
  // Collections of all namespaces are read only.
  const needsNamespace = verb === "create" || verb === "deletecollection";
  return needsNamespace && resource.namespaced && namespace === "" ? undefined : verb;
}

function wantedVerb(method: string, name: string, watch: boolean, legacyWatch: boolean): Verb | undefined {
  const one = name !== "";
  if (legacyWatch && method !== "GET") return undefined;
  switch (method) {
    case "GET":
      // `?watch` on one object is a plain get on the reference; only the legacy path watches one object.
      if (legacyWatch) return "watch";
      return one ? "get" : watch ? "watch" : "list";
    case "POST":
      return "create";
    case "PUT":
      return one ? "update" : undefined;
    case "PATCH":
      return one ? "patch" : undefined;
    case "DELETE":
      return one ? "delete" : "deletecollection";
    default:
      return undefined;
  }
}

/** The reference's query booleans: present and neither `false` nor `0` is true. */
export function isTrue(value: string | undefined, present: boolean): boolean {
  if (!present) return false;
  return value === undefined || (value.toLowerCase() !== "false" && value !== "0");
}
