// What a server lists, over all that discovery names, and what etcd holds beneath it.
import { isDeepStrictEqual } from "node:util";
import type { Etcd } from "../support/etcd/etcd.ts";
import { rangeOf } from "../support/etcd/gateway.ts";
import type { Side } from "./sides.ts";

/** An object as it is listed. */
export interface Listed {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly namespace?: string; readonly name: string; readonly resourceVersion: string };
  readonly [field: string]: unknown;
}

/** A resource that can be listed. */
export interface ListedResource {
  /** Of its lists, over all namespaces. */
  readonly path: string;
  readonly kind: string;
  readonly apiVersion: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
}

/** All objects by `path namespace/name`, in the order they are listed in. */
export interface Listing {
  readonly resources: readonly ListedResource[];
  readonly objects: ReadonlyMap<string, Listed>;
}

/** A key of etcd. */
export interface StoredKey {
  readonly key: string;
  readonly value: Buffer;
  readonly modRevision: string;
  /** Id of its lease; "0": none. */
  readonly lease: string;
}

/** What discovery names that can be listed. What is computed at each request is stored nowhere, and left out. */
export async function resourcesOf(side: Side): Promise<ListedResource[]> {
  const { groups } = (await side.get("/apis")) as { groups: { versions: { groupVersion: string }[] }[] };
  const versions = groups.flatMap((group) => group.versions.map(({ groupVersion }) => groupVersion));
  const found: ListedResource[] = [];
  for (const apiVersion of ["v1", ...versions]) {
    const base = apiVersion === "v1" ? "/api/v1" : `/apis/${apiVersion}`;
    for (const { name, kind, namespaced, verbs } of (await side.get(base)).resources) {
      if (name.includes("/") || !verbs.includes("list") || name === "componentstatuses") continue;
      found.push({ path: `${base}/${name}`, kind, apiVersion, namespaced, verbs });
    }
  }
  return found.sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** Lists everything. */
export async function listAll(side: Side): Promise<Listing> {
  const resources = await resourcesOf(side);
  const objects = new Map<string, Listed>();
  for (const { path, kind, apiVersion } of resources) {
    const { items } = (await side.get(path)) as { items: Listed[] | null };
    for (const item of items ?? []) {
      const object = { ...item, apiVersion, kind };
      objects.set(keyOf(path, object), object);
    }
  }
  return { resources, objects };
}

/** Names an object among all. */
export function keyOf(path: string, { metadata: { namespace, name } }: Listed): string {
  return namespace === undefined ? `${path} ${name}` : `${path} ${namespace}/${name}`;
}

/** Everything below /registry. */
export async function keysOf(etcd: Etcd): Promise<Map<string, StoredKey>> {
  interface Pair {
    readonly key: string;
    readonly value?: string;
    readonly mod_revision: string;
    readonly lease?: string;
  }
  const { kvs = [] } = (await etcd.call("/v3/kv/range", rangeOf("/registry/"))) as { kvs?: Pair[] };
  const keys = kvs.map(({ key, value = "", mod_revision: modRevision, lease = "0" }) => ({
    key: Buffer.from(key, "base64").toString(),
    value: Buffer.from(value, "base64"),
    modRevision,
    lease,
  }));
  return new Map(keys.map((stored) => [stored.key, stored]));
}

/** Where two values differ first, as a path and both values there; undefined: they are the same. */
export function firstDifference(a: unknown, b: unknown, path = ""): string | undefined {
  if (isDeepStrictEqual(a, b)) return undefined;
  if (isMap(a) && isMap(b)) {
    for (const name of new Set([...Object.keys(a), ...Object.keys(b)])) {
      const found = firstDifference(a[name], b[name], `${path}.${name}`);
      if (found !== undefined) return found;
    }
  }
  if (Array.isArray(a) && Array.isArray(b) && a.length === b.length) {
    for (const [index, item] of a.entries()) {
      const found = firstDifference(item, b[index], `${path}[${index}]`);
      if (found !== undefined) return found;
    }
  }
  return `${path}: ${shorten(a)} and ${shorten(b)}`;
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function shorten(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}

/** Every difference of two maps of objects, one line each. */
export function compareObjects(a: ReadonlyMap<string, unknown>, b: ReadonlyMap<string, unknown>): string[] {
  const found: string[] = [];
  for (const key of new Set([...a.keys(), ...b.keys()])) {
    if (!a.has(key)) found.push(`${key}: only the second has it${reasonOf(b.get(key))}`);
    else if (!b.has(key)) found.push(`${key}: only the first has it`);
    else {
      const difference = firstDifference(a.get(key), b.get(key));
      if (difference !== undefined) found.push(`${key}${difference.startsWith(":") ? "" : " "}${difference}`);
    }
  }
  return found;
}

/** What an event tells. */
function reasonOf(object: unknown): string {
  return isMap(object) && typeof object["reason"] === "string" ? `, ${object["reason"]}` : "";
}

/** Lists that have the same objects in another order. */
export function compareOrder(a: Listing, b: Listing): string[] {
  const [first, second] = [[...a.objects.keys()], [...b.objects.keys()]];
  const common = first.filter((key) => b.objects.has(key));
  const other = second.filter((key) => a.objects.has(key));
  const at = common.findIndex((key, index) => other[index] !== key);
  return at < 0 ? [] : [`order: ${common[at]} comes where the second has ${other[at]}`];
}

/** Every difference of what two servers name in discovery. */
export function compareResources(a: Listing, b: Listing): string[] {
  const byPath = ({ resources }: Listing) =>
    new Map(resources.map((resource) => [resource.path, { ...resource, verbs: [...resource.verbs].sort() }]));
  return compareObjects(byPath(a), byPath(b)).map((line) => `discovery ${line}`);
}
