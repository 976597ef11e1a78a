// Which calls a resource has in OpenAPI: verb by verb, what its query and body take and what it answers. What they look
// like in a document is said in openapipaths.ts.
import { messages } from "../api/messages.ts";
import type { Message } from "../api/schema.ts";
import type { Resource, Subresource } from "../api/scheme.ts";
import { commonMessages, type KindReference } from "./openapischema.ts";

/** One verb on one path. */
export interface Call {
  readonly method: string;
  /** Upstream's word for what is done: `list`, `post`, `deletecollection`. */
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
  /** Groups of operations, for generators of clients. */
  readonly tags?: readonly string[];
}

/** Parameters of a query. */
export type QueryName = keyof typeof parameterTypes;

/** Their types. */
export const parameterTypes = {
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

/** What lists and watches take. */
export const listQuery: readonly QueryName[] = [
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

type CallTable = Readonly<Record<string, Call>>;

/** The calls of a resource that it serves, `id` naming them after what they do. */
export function callsOf(resource: Resource, id: (action: string) => string): { collection: Call[]; object: Call[] } {
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

/** The calls of a subresource; none for connections. */
export function subresourceCalls(resource: Resource, sub: Subresource, id: (action: string) => string): Call[] {
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

/** Connections (exec, proxy and their like) have no body and no object in their answers. */
export function hasObject({ message, kind }: Subresource): boolean {
  return message !== undefined && !kind.endsWith("Options");
}

/** The message of a kind's list; undefined for kinds that are never listed. */
export function listMessageOf({ message, listKind }: Resource): Message | undefined {
  const name = `${message.name.slice(0, message.name.lastIndexOf(".") + 1)}${listKind}`;
  // Of custom resources only the name is used.
  return message.open === true ? { ...message, name, shortName: listKind } : messages.get(name);
}
