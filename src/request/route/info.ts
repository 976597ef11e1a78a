// Routing: method and path become a request info once; authorization, reads and writes use this value and nothing
// else. The rules are upstream's (request info of the endpoints package): the path is split after decoding.
import type { RemoteVersion, Resource, Scheme, Subresource } from "../../api/scheme.ts";
import { parseFieldSelector } from "../../api/selector.ts";
import { badRequest, isStatus, notFound, refuse, type Status } from "../../api/status.ts";
import type { Question } from "../../authz/authorizer.ts";
import { assert } from "../../base/assert.ts";
import { first, parseQuery, type Query, unescapePath, unreadableParameter } from "./query.ts";

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

/** What a request asks for, and what is served there. Both come from one parse: what is authorized is what runs. */
export interface Route {
  /** What authorization is asked, also where nothing is served. */
  readonly asked: Question;
  /** A Status: nothing is served there, or not with this method. */
  readonly info: RequestInfo | Status;
  /** The extension server that answers; `info` says no more than the path then. */
  readonly remote?: RemoteVersion;
  /** What is served while the request is on its way, whatever comes and goes meanwhile. */
  readonly scheme: Scheme;
}

/**
 * Resolves method and raw path, as upstream's request info does (RequestInfoFactory of the endpoints package). A request
 * with a parameter that cannot be read is refused here, whatever it is for: without it, a selector or a dry run, the
 * request would do more than it says.
 */
export function resolve(scheme: Scheme, method: string, rawPath: string, rawQuery: string): Route {
  const unreadable: string[] = [];
  const route = routeOf(scheme, method, rawPath, parseQuery(rawQuery, unreadable));
  const [pair] = unreadable;
  if (pair === undefined || isProxied(route.info)) return route;
  return { ...route, info: unreadableParameter(pair) };
}

/** The query of a proxied request is its backend's. */
function isProxied(info: RequestInfo | Status): boolean {
  return !isStatus(info) && info.isResource && info.subresource?.name === "proxy";
}

function routeOf(scheme: Scheme, method: string, rawPath: string, query: Query): Route {
  const path = unescapePath(rawPath);
  if (path === undefined) {
    const why = `the path ${JSON.stringify(rawPath)} is not valid percent-encoded UTF-8`;
    return { asked: pathAttributes(method, rawPath), info: refuse("BadRequest", why), scheme };
  }
  const parts = trimSlashes(path).split("/");
  const base = parts[0] === "api" ? 2 : 3;
  const remote = parts[0] === "apis" && !path.startsWith("//") ? remoteOf(scheme, parts) : undefined;
  if (remote !== undefined) return remoteRoute(scheme, method, path, parts, query, remote);
  if ((parts[0] !== "api" && parts[0] !== "apis") || parts.length <= base)
    return pageRoute(scheme, method, path, query);
  const group = base === 2 ? "" : (parts[1] ?? "");
  const place = placeOf(group, parts[base - 1] ?? "", parts.slice(base));
  const asked = resourceAttributes(method, path, place, query);
  // Where upstream's mux has no handler at all, its answer is the page of a path.
  const isServed = !path.startsWith("//") && (base === 2 || scheme.hasGroup(group));
  const info = isServed ? locate(scheme, method, place, asked, query) : undefined;
  return { asked, info: info ?? pageRoute(scheme, method, path, query).info, scheme };
}

function remoteOf(scheme: Scheme, [, group = "", version = ""]: readonly string[]): RemoteVersion | undefined {
  return version === "" ? undefined : scheme.remote(group, version);
}

/** What is asked of an extension server is authorized as if it were asked here, and looked at no further. */
function remoteRoute(
  scheme: Scheme,
  method: string,
  path: string,
  [, group = "", version = "", ...rest]: readonly string[],
  query: Query,
  remote: RemoteVersion,
): Route {
  const asked =
    rest.length === 0
      ? pathAttributes(method, path)
      : resourceAttributes(method, path, placeOf(group, version, rest), query);
  return { asked, info: { isResource: false, verb: asked.verb, path, query }, scheme, remote };
}

function pageRoute(scheme: Scheme, method: string, path: string, query: Query): Route {
  const asked = pathAttributes(method, path);
  return { asked, info: { isResource: false, verb: asked.verb, path, query }, scheme };
}

function pathAttributes(method: string, path: string): Question {
  const none = { group: "", version: "", resource: "", subresource: "", namespace: "", name: "" };
  return { verb: method.toLowerCase(), isResource: false, ...none, path };
}

function trimSlashes(path: string): string {
  let start = 0;
  let end = path.length;
  while (start < end && path.charCodeAt(start) === 0x2f) start++;
  while (end > start && path.charCodeAt(end - 1) === 0x2f) end--;
  return path.slice(start, end);
}

/** What follows `/api/v1/` or `/apis/<group>/<version>/`, taken apart. */
interface Place {
  readonly group: string;
  readonly version: string;
  /** `watch` or `proxy`, the legacy prefixes; empty for none. */
  readonly prefix: string;
  readonly namespace: string;
  /** The namespace stood before the resource; else it is the object itself. */
  readonly inNamespace: boolean;
  /** Resource, name, subresource and whatever comes after, none of them looked at. */
  readonly parts: readonly string[];
}

/** Subresources of namespaces themselves: `namespaces/x/<other>` is a collection in the namespace. */
const namespaceSubresources = new Set(["status", "finalize"]);

function placeOf(group: string, version: string, rest: readonly string[]): Place {
  const prefix = rest[0] === "watch" || rest[0] === "proxy" ? rest[0] : "";
  const parts = prefix === "" ? rest : rest.slice(1);
  const namespace = parts[0] === "namespaces" ? (parts[1] ?? "") : "";
  const inNamespace = parts[0] === "namespaces" && parts.length > 2 && !namespaceSubresources.has(parts[2] ?? "");
  return { group, version, prefix, namespace, inNamespace, parts: inNamespace ? parts.slice(2) : parts };
}

function resourceAttributes(method: string, path: string, place: Place, query: Query): Question {
  const { group, version, prefix, namespace, parts } = place;
  const resource = parts[0] ?? "";
  let name = parts[1] ?? "";
  const subresource = prefix === "proxy" ? "" : (parts[2] ?? "");
  let verb = prefix === "" ? verbOf(method) : prefix;
  // `watch` counts on a collection and on one object (the document), not below it: there it is an option of others.
  if (verb === "get" && subresource === "" && isTrue(first(query, "watch"), query.has("watch"))) verb = "watch";
  if (name === "" && verb === "get") verb = "list";
  if (name === "" && prefix === "" && (verb === "list" || verb === "watch")) name = selectedName(query);
  if (name === "" && verb === "delete") verb = "deletecollection";
  return { verb, isResource: true, group, version, resource, subresource, namespace, name, path };
}

/** The verb a method means to upstream; empty for one it does not know. */
function verbOf(method: string): string {
  switch (method) {
    case "GET":
    case "HEAD":
      return "get";
    case "POST":
      return "create";
    case "PUT":
      return "update";
    case "PATCH":
      return "patch";
    case "DELETE":
      return "delete";
    default:
      return "";
  }
}

/** The name a list or watch is for when its field selector allows one only. */
function selectedName(query: Query): string {
  const text = first(query, "fieldSelector") ?? "";
  if (text === "") return "";
  const requirements = parseFieldSelector(text);
  if ("error" in requirements) return "";
  const name = requirements.find((r) => r.field === "metadata.name" && r.operator === "=")?.value ?? "";
  return name === "." || name === ".." || /[/%]/.test(name) ? "" : name;
}

/**
 * Finds what a place names. What it returns says the same as `asked`, or is a refusal; undefined: there is nothing, in the
 * words of a page.
 */
function locate(
  scheme: Scheme,
  method: string,
  place: Place,
  asked: Question,
  query: Query,
): ResourceInfo | Status | undefined {
  const { parts, inNamespace } = place;
  const resource = scheme.find(asked.group, asked.version, asked.resource);
  if (resource?.provided === true) return locateDefined(resource, method, place, asked, query);
  // No built-in kind is in the group.
  if (scheme.isProvided(asked.group)) return undefined;
  if (place.prefix === "proxy" || parts.length === 0 || parts.includes("")) return unknownResource;
  if (resource === undefined || (inNamespace && (!resource.namespaced || asked.namespace === "")))
    return unknownResource;
  const namespace = inNamespace ? asked.namespace : "";
  const name = parts[1] ?? "";
  // A namespaced object is only reached through its namespace.
  if (resource.namespaced && namespace === "" && name !== "") return unknownResource;
  const subresource = resource.subresources.find((s) => s.name === asked.subresource);
  if (asked.subresource !== "" && (subresource === undefined || (parts.length > 3 && subresource.name !== "proxy"))) {
    return unknownResource;
  }
  const verb = servedVerb(method, resource, subresource, place, asked.verb);
  if (verb === undefined) return methodNotAllowed;
  return { isResource: true, verb, resource, subresource, namespace, name, query };
}

/**
 * The same for custom resources, which upstream does not route by path but by what the request info says: what their
 * definition does not have is an object that is not there, and what it does not allow is refused by name.
 */
function locateDefined(
  resource: Resource,
  method: string,
  { prefix, parts }: Place,
  asked: Question,
  query: Query,
): ResourceInfo | Status | undefined {
  const { namespace, name } = asked;
  const reads = asked.verb === "list" || asked.verb === "watch";
  if (resource.namespaced ? namespace === "" && !reads : namespace !== "") return undefined;
  if (prefix === "proxy" || parts.includes("")) return unknownResource;
  const subresource = resource.subresources.find((one) => one.name === asked.subresource);
  if (asked.subresource !== "" && subresource === undefined) return notFound(resource, name);
  if (subresource === undefined && resource.ending === true && asked.verb === "create") return noCreation(resource);
  const verb = offered(subresource?.verbs ?? resource.verbs, asked.verb);
  // A watch of the legacy prefix is a GET.
  const isMisused = prefix === "watch" && method !== "GET" && method !== "HEAD";
  if (verb === undefined || isMisused) return unsupported(resource, asked.verb);
  if (name === "" && (verb === "update" || verb === "patch")) return badRequest("name must be provided");
  // A field selector that names one object makes a list a question about it, and not a path.
  return { isResource: true, verb, resource, subresource, namespace, name: parts[1] ?? "", query };
}

function noCreation({ group, resource }: Resource): Status {
  const message = "create not allowed while custom resource definition is terminating";
  return refuse("MethodNotAllowed", message, { group, kind: resource });
}

function unsupported({ group, resource }: Resource, verb: string): Status {
  const message = `${verb} is not supported on resources of kind "${resource}.${group}"`;
  return refuse("MethodNotAllowed", message, { group, kind: resource });
}

/** Subresources of pods whose GET becomes a connection. */
const byUpgrade: ReadonlySet<string> = new Set(["exec", "attach", "portforward"]);

/** The verb, when the resource offers it with this method. */
function servedVerb(
  method: string,
  resource: Resource,
  subresource: Subresource | undefined,
  { prefix, inNamespace, parts }: Place,
  verb: string,
): Verb | undefined {
  const one = parts.length > 1;
  // HEAD is served as GET (the document), except where a GET opens a connection.
  const reads = method === "GET" || (method === "HEAD" && !byUpgrade.has(subresource?.name ?? ""));
  if (!reads && (method === "HEAD" || prefix === "watch")) return undefined;
  if (!one && (verb === "update" || verb === "patch")) return undefined;
  if (subresource !== undefined) return offered(subresource.verbs, verb);
  // A name is made with its object, in the collection.
  if (verb === "create" && one) return undefined;
  // Collections of all namespaces are read only.
  const needsNamespace = verb === "create" || verb === "deletecollection";
  return needsNamespace && resource.namespaced && !inNamespace ? undefined : offered(resource.verbs, verb);
}

function offered(verbs: readonly string[], verb: string): Verb | undefined {
  return verbs.includes(verb) ? (verb as Verb) : undefined;
}

/** Upstream's query booleans: present and neither `false` nor `0` is true. */
export function isTrue(value: string | undefined, present: boolean): boolean {
  if (!present) return false;
  return value === undefined || (value.toLowerCase() !== "false" && value !== "0");
}

const connections: ReadonlySet<string> = new Set(["log", "exec", "attach", "portforward", "proxy"]);

/** Whether what is asked of an extension server has no end of its own (upstream: long-running requests). */
export function lasts({ verb, subresource }: Question): boolean {
  return verb === "watch" || verb === "proxy" || connections.has(subresource);
}

/** Whether a request asks for a connection to a node. */
export function isConnect({ info }: { readonly info: ResourceInfo }): boolean {
  return info.subresource !== undefined && connections.has(info.subresource.name);
}

/** Whether a request opens by GET (as WebSockets do) what is otherwise opened by POST: `get` alone allows it (k/k#78741). */
export function opensByGet(info: RequestInfo | Status): boolean {
  if (isStatus(info) || !info.isResource || info.verb !== "get" || info.subresource === undefined) return false;
  return info.resource.group === "" && info.resource.resource === "pods" && byUpgrade.has(info.subresource.name);
}

/** Whether a subresource is read and written as a Scale. */
export function isScale(subresource: Subresource | undefined): boolean {
  return subresource?.name === "scale";
}

/** Whether objects sent and answered have no type but their metadata's: those of custom resources, but for their Scale. */
export function isOpen({ resource, subresource }: Pick<ResourceInfo, "resource" | "subresource">): boolean {
  return (subresource?.message ?? resource.message).open === true;
}

/** What an object sent to or answered by a subresource is: of the subresource's own kind, which is not stored. */
export function shapeOf(resource: Resource, subresource: Subresource | undefined): Resource {
  if (subresource === undefined || subresource.kind === resource.kind) return resource;
  const { group, version, kind, message } = subresource;
  assert(message !== undefined, `${kind} has no shape`);
  const apiVersion = group === "" ? version : `${group}/${version}`;
  return { ...resource, group, version, kind, apiVersion, message, stored: undefined, prefix: undefined };
}
