// OpenAPI paths of resources: which verbs each path has, what their query takes and what they answer. Both versions of
// OpenAPI are written from one description of an operation.
import type { Identity } from "./identity.ts";
import { messages } from "./messages.ts";
import { scalarDefinitionName } from "./openapinames.ts";
import {
  commonMessages,
  type KindReference,
  messageReference,
  reference,
  type Schema,
  type SchemaContext,
} from "./openapischema.ts";
import { parameterTexts } from "./openapitexts.ts";
import type { Message } from "./schema.ts";
import type { Resource, Scheme, Subresource } from "./scheme.ts";

/** A path and what it has, ready for JSON. */
export type PathEntry = readonly [path: string, item: PathItem];

/** Parameters of all operations of a path, and its operations by method. */
export interface PathItem {
  parameters?: Parameter[];
  [method: string]: Operation | Parameter[] | undefined;
}

/** A parameter of either version. */
export interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly description?: string | undefined;
  readonly required?: boolean | undefined;
  readonly type?: string;
  readonly uniqueItems?: boolean;
  readonly schema?: Schema | { readonly type: string; readonly uniqueItems: boolean };
}

/** An operation of either version. */
export interface Operation {
  readonly description: string;
  readonly operationId: string;
  readonly [field: string]: unknown;
}

interface Call {
  readonly method: string;
  /** The reference's word for what is done: `list`, `post`, `deletecollection`. */
  readonly action: string;
  readonly description: string;
  readonly id: string;
  readonly query: readonly QueryName[];
  readonly body: Message | "patch" | undefined;
  readonly bodyRequired: boolean;
  readonly answer: Message;
  readonly codes: readonly number[];
  readonly kind: KindReference;
  readonly streams: boolean;
}

type QueryName = keyof typeof parameterTypes;

const parameterTypes = {
  allowWatchBookmarks: "boolean",
  continue: "string",
  dryRun: "string",
  fieldManager: "string",
  fieldSelector: "string",
  fieldValidation: "string",
  force: "boolean",
  gracePeriodSeconds: "integer",
  labelSelector: "string",
  limit: "integer",
  orphanDependents: "boolean",
  pretty: "string",
  propagationPolicy: "string",
  resourceVersion: "string",
  resourceVersionMatch: "string",
  sendInitialEvents: "boolean",
  timeoutSeconds: "integer",
  watch: "boolean",
} as const;

const listQuery: readonly QueryName[] = [
  "allowWatchBookmarks",
  "continue",
  "fieldSelector",
  "labelSelector",
  "limit",
  "resourceVersion",
  "resourceVersionMatch",
  "sendInitialEvents",
  "timeoutSeconds",
  "watch",
];
const writeQuery: readonly QueryName[] = ["dryRun", "fieldManager", "fieldValidation"];
const deleteQuery: readonly QueryName[] = ["dryRun", "gracePeriodSeconds", "orphanDependents", "propagationPolicy"];
const selection = listQuery.filter((name) => name !== "watch" && name !== "allowWatchBookmarks");

const descriptions: Readonly<Record<string, string>> = {
  OK: "OK",
  200: "OK",
  201: "Created",
  202: "Accepted",
};

/** Where a group version is served: `/api/v1`, `/apis/apps/v1`. */
export function rootOf(group: string, version: string): string {
  return group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
}

/** The paths of one group version: its document of resources, then its resources. */
export function* groupVersionPaths(
  context: SchemaContext,
  scheme: Scheme,
  group: string,
  version: string,
): Generator<PathEntry> {
  const root = rootOf(group, version);
  const name = idOf(context.identity, group, version);
  yield [`${root}/`, { get: document(context, `get${name}APIResources`, commonMessages.resourceList) }];
  for (const resource of scheme.groupVersion(group, version) ?? []) yield* resourcePaths(context, resource, root, name);
}

/** The paths of discovery above group versions (version 2 only: version 3 documents are of one group version each). */
export function* rootPaths(context: SchemaContext, scheme: Scheme): Generator<PathEntry> {
  yield ["/api/", { get: document(context, "getCoreAPIVersions", commonMessages.versions) }];
  yield ["/apis/", { get: document(context, "getAPIVersions", commonMessages.groupList) }];
  for (const { group } of scheme.groups) {
    if (group === "") continue;
    const id = `get${idOf(context.identity, group, "")}APIGroup`;
    yield [`/apis/${group}/`, { get: document(context, id, commonMessages.group) }];
  }
}

function document(context: SchemaContext, operationId: string, answer: Message): Operation {
  const call = { codes: [200], answer, streams: false };
  return {
    description: "What is served here",
    ...(context.version === 2 ? mediaTypesV2(context, false, undefined) : {}),
    operationId,
    responses: responses(context, call),
    ...(context.version === 2 ? { schemes: ["https"] } : {}),
  };
}

function* resourcePaths(context: SchemaContext, resource: Resource, root: string, name: string): Generator<PathEntry> {
  const { namespaced, subresources } = resource;
  const base = namespaced ? `${root}/namespaces/{namespace}/${resource.resource}` : `${root}/${resource.resource}`;
  const scope = namespaced ? "Namespaced" : "";
  const id = (action: string): string => `${action}${name}${scope}${resource.kind}`;
  const places: Parameter[] = namespaced ? [pathParameter(context, "namespace")] : [];
  const calls = callsOf(resource, id);
  yield* pathOf(context, base, places, calls.collection);
  yield* pathOf(context, `${base}/{name}`, [pathParameter(context, "name"), ...places], calls.object);
  for (const sub of subresources) {
    const subCalls = subresourceCalls(resource, sub, id);
    yield* pathOf(context, `${base}/{name}/${sub.name}`, [pathParameter(context, "name"), ...places], subCalls);
  }
  const list = calls.collection.find((call) => call.action === "list");
  if (namespaced && list !== undefined) {
    const everywhere = { ...list, id: `list${name}${resource.kind}ForAllNamespaces` };
    yield* pathOf(context, `${root}/${resource.resource}`, [], [everywhere]);
  }
}

function* pathOf(
  context: SchemaContext,
  path: string,
  places: readonly Parameter[],
  calls: readonly Call[],
): Generator<PathEntry> {
  if (calls.length === 0) return;
  const item: PathItem = {};
  for (const call of calls) item[call.method] = operation(context, call);
  item.parameters = [...places, queryParameter(context, "pretty")];
  yield [path, item];
}

type CallTable = Readonly<Record<string, Call>>;

function callsOf(resource: Resource, id: (action: string) => string): { collection: Call[]; object: Call[] } {
  const served = (calls: CallTable): Call[] =>
    Object.entries(calls).flatMap(([verb, call]) => (resource.verbs.includes(verb) ? [call] : []));
  return { collection: served(collectionCalls(resource, id)), object: served(objectCalls(resource, id)) };
}

/** What all calls of a resource have in common. */
function commonCall({ kind, group, version }: Resource) {
  return { kind: { group, kind, version }, body: undefined, bodyRequired: false, codes: [200], streams: false };
}

/** By verb, in the order they are listed. */
function collectionCalls(resource: Resource, id: (action: string) => string): CallTable {
  const { message, kind, verbs } = resource;
  const listMessage = listMessageOf(resource);
  const common = commonCall(resource);
  const { deleteOptions, status } = commonMessages;
  return {
    list: {
      ...common,
      method: "get",
      action: "list",
      description: `List or watch objects of kind ${kind}`,
      id: id("list"),
      query: listQuery,
      answer: listMessage ?? message,
      streams: verbs.includes("watch"),
    },
    create: {
      ...common,
      method: "post",
      action: "post",
      description: `Create a ${kind}`,
      id: id("create"),
      query: writeQuery,
      body: message,
      bodyRequired: true,
      answer: message,
      codes: [200, 201, 202],
    },
    deletecollection: {
      ...common,
      method: "delete",
      action: "deletecollection",
      description: `Delete a collection of objects of kind ${kind}`,
      id: id("deleteCollection"),
      query: [...new Set([...selection, ...deleteQuery])].sort(),
      body: deleteOptions,
      answer: status,
    },
  };
}

/** By verb, in the order they are listed. */
function objectCalls(resource: Resource, id: (action: string) => string): CallTable {
  const { message, kind } = resource;
  const common = commonCall(resource);
  const { deleteOptions, status } = commonMessages;
  return {
    get: {
      ...common,
      method: "get",
      action: "get",
      description: `Read the ${kind}`,
      id: id("read"),
      query: [],
      answer: message,
    },
    update: {
      ...common,
      method: "put",
      action: "put",
      description: `Replace the ${kind}`,
      id: id("replace"),
      query: writeQuery,
      body: message,
      bodyRequired: true,
      answer: message,
      codes: [200, 201],
    },
    delete: {
      ...common,
      method: "delete",
      action: "delete",
      description: `Delete the ${kind}`,
      id: id("delete"),
      query: deleteQuery,
      body: deleteOptions,
      answer: status,
      codes: [200, 202],
    },
    patch: {
      ...common,
      method: "patch",
      action: "patch",
      description: `Change part of the ${kind}`,
      id: id("patch"),
      query: [...writeQuery, "force"],
      body: "patch",
      bodyRequired: true,
      answer: message,
      codes: [200, 201],
    },
  };
}

function subresourceCalls(resource: Resource, sub: Subresource, id: (action: string) => string): Call[] {
  const { message } = sub;
  if (message === undefined || !hasObject(sub)) return [];
  const suffix = sub.name.slice(0, 1).toUpperCase() + sub.name.slice(1);
  const like: Resource = { ...resource, message, kind: sub.kind, group: sub.group, version: sub.version };
  const { collection, object } = callsOf({ ...like, verbs: sub.verbs }, (action) => id(action) + suffix);
  return [...collection, ...object].map((call) => ({
    ...call,
    description: `${call.description} through ${sub.name} of the ${resource.kind}`,
  }));
}

function operation(context: SchemaContext, call: Call): Operation {
  const { version } = context;
  const parameters = call.query.map((name) => queryParameter(context, name));
  const body = bodySchema(context, call.body);
  const extensions = {
    "x-kubernetes-action": call.action,
    "x-kubernetes-group-version-kind": call.kind,
  };
  if (version === 2) {
    if (body !== undefined) {
      const required = call.bodyRequired ? { required: true } : {};
      parameters.unshift({ name: "body", in: "body", ...required, schema: body });
    }
    return {
      ...mediaTypesV2(context, call.streams, call.body),
      description: call.description,
      operationId: call.id,
      ...(parameters.length === 0 ? {} : { parameters }),
      responses: responses(context, call),
      schemes: ["https"],
      ...extensions,
    };
  }
  return {
    description: call.description,
    operationId: call.id,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            content: Object.fromEntries(bodyTypes(call.body).map((type) => [type, { schema: body }])),
            ...(call.bodyRequired ? { required: true } : {}),
          },
        }),
    responses: responses(context, call),
    ...extensions,
  };
}

const patchTypes = [
  "application/apply-patch+yaml",
  "application/json-patch+json",
  "application/merge-patch+json",
  "application/strategic-merge-patch+json",
];

function bodyTypes(body: Call["body"]): string[] {
  return body === "patch" ? patchTypes : ["*/*"];
}

function bodySchema(context: SchemaContext, body: Call["body"]): Schema | undefined {
  if (body === undefined) return undefined;
  if (body === "patch") return reference(context.version, scalarDefinitionName(context.identity, "Patch"));
  return messageReference(context, body);
}

function answerTypes(identity: Identity, streams: boolean): string[] {
  const protobuf = identity.spell("application/vnd.kubernetes.protobuf");
  const types = ["application/json", "application/yaml", protobuf];
  return streams ? [...types, "application/json;stream=watch", `${protobuf};stream=watch`] : types;
}

function mediaTypesV2(context: SchemaContext, streams: boolean, body: Call["body"]): object {
  return { consumes: bodyTypes(body), produces: answerTypes(context.identity, streams) };
}

function responses(context: SchemaContext, call: Pick<Call, "codes" | "answer" | "streams">): object {
  const schema = messageReference(context, call.answer);
  const types = context.version === 2 ? [] : answerTypes(context.identity, call.streams);
  const content =
    context.version === 2 ? { schema } : { content: Object.fromEntries(types.map((type) => [type, { schema }])) };
  const found: [string, object][] = call.codes.map((code) => [
    String(code),
    { description: descriptions[code] ?? "", ...content },
  ]);
  found.push(["401", { description: "Unauthorized" }]);
  return Object.fromEntries(found);
}

function pathParameter(context: SchemaContext, name: "name" | "namespace"): Parameter {
  return parameter(context, name, "path", "string", parameterTexts[name], true);
}

function queryParameter(context: SchemaContext, name: QueryName): Parameter {
  return parameter(context, name, "query", parameterTypes[name], parameterTexts[name], undefined);
}

function parameter(
  { version }: SchemaContext,
  name: string,
  place: string,
  type: string,
  description: string | undefined,
  required: boolean | undefined,
): Parameter {
  const shape = { type, uniqueItems: true };
  return { name, in: place, description, required, ...(version === 2 ? shape : { schema: shape }) };
}

/** `CoreV1`, `RbacAuthorizationV1beta1`: how operations of a group version are called. */
function idOf(identity: Identity, group: string, version: string): string {
  const suffix = `.${identity.spell("k8s.io")}`;
  const short = group === "" ? "core" : group.endsWith(suffix) ? group.slice(0, -suffix.length) : group;
  return [...short.split("."), version].map((part) => part.slice(0, 1).toUpperCase() + part.slice(1)).join("");
}

/** Every message the paths of a group version refer to. */
export function rootMessages(scheme: Scheme, group: string, version: string): Message[] {
  const found: Message[] = [...Object.values(commonMessages)];
  for (const resource of scheme.groupVersion(group, version) ?? []) {
    found.push(resource.message);
    const list = listMessageOf(resource);
    if (list !== undefined) found.push(list);
    for (const { message } of resource.subresources.filter(hasObject)) if (message !== undefined) found.push(message);
  }
  return found;
}

/** Connections (exec, proxy and their like) have no body and no object in their answers. */
function hasObject({ message, kind }: Subresource): boolean {
  return message !== undefined && !kind.endsWith("Options");
}

/** The message of a kind's list; undefined for kinds that are never listed. */
function listMessageOf({ message, listKind }: Resource): Message | undefined {
  return messages.get(`${message.name.slice(0, message.name.lastIndexOf(".") + 1)}${listKind}`);
}

/** The kinds of each message of a scheme; a common one is a kind of every group version. */
export function kindTable(scheme: Scheme): (message: Message) => readonly KindReference[] {
  const kinds = new Map<Message, KindReference[]>();
  const add = (message: Message | undefined, kind: KindReference): void => {
    if (message === undefined) return;
    const known = kinds.get(message);
    if (known === undefined) kinds.set(message, [kind]);
    else if (!known.some((one) => one.group === kind.group && one.version === kind.version && one.kind === kind.kind)) {
      known.push(kind);
    }
  };
  for (const resource of scheme.resources) {
    const { group, version, kind, listKind, message } = resource;
    add(message, { group, kind, version });
    add(listMessageOf(resource), { group, kind: listKind, version });
    for (const sub of resource.subresources)
      add(sub.message, { group: sub.group, kind: sub.kind, version: sub.version });
  }
  for (const { group, versions } of scheme.groups) {
    for (const version of versions) {
      add(commonMessages.deleteOptions, { group, kind: "DeleteOptions", version });
      add(commonMessages.watchEvent, { group, kind: "WatchEvent", version });
    }
  }
  for (const [message, kind] of [
    [commonMessages.status, "Status"],
    [commonMessages.resourceList, "APIResourceList"],
    [commonMessages.group, "APIGroup"],
    [commonMessages.groupList, "APIGroupList"],
    [commonMessages.versions, "APIVersions"],
  ] as const) {
    add(message, { group: "", kind, version: "v1" });
  }
  return (message) => kinds.get(message) ?? [];
}

/** `api/v1`, `apis/apps/v1`: the names of version 3 documents. */
export function documentNames(scheme: Scheme): Map<string, { group: string; version: string }> {
  const names = new Map<string, { group: string; version: string }>();
  for (const { group, versions } of scheme.groups) {
    for (const version of versions) names.set(rootOf(group, version).slice(1), { group, version });
  }
  return names;
}
