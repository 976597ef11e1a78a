// OpenAPI paths of resources: which verbs each path has, what their query takes and what they answer. Both versions of
// OpenAPI are written from one description of an operation.
import type { Identity } from "../api/identity.ts";
import type { Message } from "../api/schema.ts";
import type { Resource, Scheme, Subresource } from "../api/scheme.ts";
import {
  type Call,
  callsOf,
  hasObject,
  listMessageOf,
  parameterTypes,
  type QueryName,
  subresourceCalls,
} from "./openapicalls.ts";
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

const descriptions: Readonly<Record<string, string>> = {
  OK: "OK",
  200: "OK",
  201: "Created",
  202: "Accepted",
};

/** How operations are told: what differs between built-in kinds and custom resources. */
export interface Wording {
  readonly texts: Readonly<Record<string, string | undefined>>;
  readonly patchTypes: readonly string[];
  /** Types of other bodies. */
  readonly bodyTypes: readonly string[];
  answerTypes(identity: Identity, streams: boolean): readonly string[];
  /** Parameters of queries that were written before: a wording that has this is of one version of OpenAPI. */
  readonly parameters?: Map<QueryName, Parameter>;
}

/** What paths are written for. */
export interface PathContext extends SchemaContext {
  /** Default: that of built-in kinds. */
  readonly wording?: Wording;
  /** Describes the name in paths, where that is said of each kind. */
  readonly nameText?: string;
}

const builtInWording: Wording = {
  texts: parameterTexts,
  patchTypes: [
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
  ],
  bodyTypes: ["*/*"],
  answerTypes: (identity, streams) => {
    const protobuf = identity.spell("application/vnd.kubernetes.protobuf");
    const types = ["application/json", "application/yaml", protobuf];
    return streams ? [...types, "application/json;stream=watch", `${protobuf};stream=watch`] : types;
  },
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
  yield groupVersionDocument(context, group, version);
  const id = idOfBuiltIn(idOf(context.identity, group, version));
  for (const resource of scheme.groupVersion(group, version) ?? []) yield* resourcePaths(context, resource, root, id);
}

/** The path of a group version's document of resources. */
export function groupVersionDocument(context: SchemaContext, group: string, version: string): PathEntry {
  const id = `get${idOf(context.identity, group, version)}APIResources`;
  return [`${rootOf(group, version)}/`, { get: document(context, id, commonMessages.resourceList) }];
}

/** Names an operation after what it does, for one resource. */
export type OperationId = (resource: Resource, action: string) => string;

function idOfBuiltIn(name: string): OperationId {
  return ({ namespaced, kind }, action) => `${action}${name}${namespaced ? "Namespaced" : ""}${kind}`;
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

/** The paths of one resource; `told`: how a call is told, where it is not as those of built-in kinds are. */
export function* resourcePaths(
  context: PathContext,
  resource: Resource,
  root: string,
  idOf: OperationId,
  told: (call: Call, sub?: Subresource) => Call = (call) => call,
): Generator<PathEntry> {
  const { namespaced, subresources } = resource;
  const base = namespaced ? `${root}/namespaces/{namespace}/${resource.resource}` : `${root}/${resource.resource}`;
  const id = (action: string): string => idOf(resource, action);
  const places: Parameter[] = namespaced ? [pathParameter(context, "namespace")] : [];
  const all = callsOf(resource, id);
  const calls = { collection: all.collection.map((call) => told(call)), object: all.object.map((call) => told(call)) };
  yield* pathOf(context, base, places, calls.collection);
  yield* pathOf(context, `${base}/{name}`, [pathParameter(context, "name"), ...places], calls.object);
  for (const sub of subresources) {
    const subCalls = subresourceCalls(resource, sub, id).map((call) => told(call, sub));
    yield* pathOf(context, `${base}/{name}/${sub.name}`, [pathParameter(context, "name"), ...places], subCalls);
  }
  const list = calls.collection.find((call) => call.action === "list");
  if (namespaced && list !== undefined) {
    const everywhere = { ...list, id: `${idOf({ ...resource, namespaced: false }, "list")}ForAllNamespaces` };
    yield* pathOf(context, `${root}/${resource.resource}`, [], [everywhere]);
  }
}

function* pathOf(
  context: PathContext,
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

function operation(context: PathContext, call: Call): Operation {
  const { version } = context;
  const parameters = call.query.map((name) => queryParameter(context, name));
  const body = bodySchema(context, call.body);
  const tags = call.tags === undefined ? {} : { tags: call.tags };
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
      ...tags,
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
            content: Object.fromEntries(bodyTypes(context, call.body).map((type) => [type, { schema: body }])),
            ...(call.bodyRequired ? { required: true } : {}),
          },
        }),
    responses: responses(context, call),
    ...tags,
    ...extensions,
  };
}

function bodyTypes({ wording = builtInWording }: PathContext, body: Call["body"]): readonly string[] {
  return body === "patch" ? wording.patchTypes : wording.bodyTypes;
}

function answerTypes({ wording = builtInWording, identity }: PathContext, streams: boolean): readonly string[] {
  return wording.answerTypes(identity, streams);
}

function bodySchema(context: PathContext, body: Call["body"]): Schema | undefined {
  if (body === undefined) return undefined;
  if (body === "patch") return reference(context.version, scalarDefinitionName(context.identity, "Patch"));
  return messageReference(context, body);
}

function mediaTypesV2(context: PathContext, streams: boolean, body: Call["body"]): object {
  return { consumes: bodyTypes(context, body), produces: answerTypes(context, streams) };
}

function responses(context: PathContext, call: Pick<Call, "codes" | "answer" | "streams">): object {
  const schema = messageReference(context, call.answer);
  const types = context.version === 2 ? [] : answerTypes(context, call.streams);
  const content =
    context.version === 2 ? { schema } : { content: Object.fromEntries(types.map((type) => [type, { schema }])) };
  const found: [string, object][] = call.codes.map((code) => [
    String(code),
    { description: descriptions[code] ?? "", ...content },
  ]);
  found.push(["401", { description: "Unauthorized" }]);
  return Object.fromEntries(found);
}

function pathParameter(context: PathContext, name: "name" | "namespace"): Parameter {
  const { wording = builtInWording, nameText } = context;
  const text = (name === "name" ? nameText : undefined) ?? wording.texts[name];
  return parameter(context, name, "path", "string", text, true);
}

function queryParameter(context: PathContext, name: QueryName): Parameter {
  const { wording = builtInWording } = context;
  const known = wording.parameters?.get(name);
  if (known !== undefined) return known;
  const made = parameter(context, name, "query", parameterTypes[name], wording.texts[name], undefined);
  wording.parameters?.set(name, made);
  return made;
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
  return validId(group === "" ? "core" : shortGroup(identity, group), true) + validId(version, true);
}

/** A group without the domain of the API's own. */
export function shortGroup(identity: Identity, group: string): string {
  const suffix = `.${identity.spell("k8s.io")}`;
  return group.endsWith(suffix) ? group.slice(0, -suffix.length) : group;
}

/** A name as part of an operation id: what may not stand in one makes the letter behind it a capital (upstream). */
export function validId(name: string, isCapital: boolean): string {
  const parts = name.replace(/^\d+/, "").split(/[^\p{L}_\d]+/u);
  return parts
    .map((part, at) => (at > 0 || isCapital ? part.slice(0, 1).toUpperCase() + part.slice(1) : part))
    .join("");
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
    for (const version of versions) {
      // What is served elsewhere describes itself.
      if (scheme.groupVersion(group, version) === undefined) continue;
      names.set(rootOf(group, version).slice(1), { group, version });
    }
  }
  return names;
}
