// Redaction: tokens in query strings, and tokens in the bodies of requests about tokens.
// Headers are never looked at for events, so nothing of Authorization can get there.
import type { Value } from "../api/value.ts";
import { Fault, parseOwn, writeValue } from "../codec/engine/json.ts";

/** The replacement of a redacted value. */
export const redacted = "REDACTED";

/** Parameters whose values are credentials, by name in lower case. */
const secretKeys = new Set([
  "access_token",
  "id_token",
  "refresh_token",
  "token",
  "bearer",
  "authorization",
  "password",
  "client_secret",
]);

/** A request's raw query without values of credentials. */
export function redactQuery(query: string): string {
  return query
    .split("&")
    .map((part) => {
      const mark = part.indexOf("=");
      const key = mark < 0 ? part : part.slice(0, mark);
      return mark >= 0 && secretKeys.has(plain(key).toLowerCase()) ? `${key}=${redacted}` : part;
    })
    .join("&");
}

function plain(key: string): string {
  if (!key.includes("%")) return key;
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}

/**
 * Paths of tokens in objects, of kinds that are only ever created, never patched: first label of the group, resource,
 * subresource, and the paths.
 */
const tokenPaths: readonly (readonly [group: string, resource: string, subresource: string, paths: string[][]])[] = [
  ["authentication", "tokenreviews", "", [["spec", "token"]]],
  ["", "serviceaccounts", "token", [["status", "token"]]],
];

/** Paths of tokens in the bodies of a request; undefined: none. */
export function tokensIn(group: string, resource: string, subresource: string): readonly string[][] | undefined {
  const label = group.split(".", 1)[0];
  return tokenPaths.find(([g, r, s]) => r === resource && s === subresource && g === label)?.[3];
}

/** JSON text of an object without the values at `paths`; undefined when it cannot be read. */
export function withoutTokens(text: string, paths: readonly string[][]): string | undefined {
  const value = parseOwn(text);
  if (value instanceof Fault) return undefined;
  for (const path of paths) {
    const last = path.at(-1) ?? "";
    let at: Value | undefined = value;
    for (const key of path.slice(0, -1)) at = at instanceof Map ? at.get(key) : undefined;
    if (at instanceof Map && (at.get(last) ?? "") !== "") at.set(last, redacted);
  }
  return writeValue(value);
}

/** JSON text of an object, list or Table without managed fields; undefined when it cannot be read. */
export function withoutManagers(text: string): string | undefined {
  if (!text.includes('"managedFields"')) return text;
  const value = parseOwn(text);
  if (value instanceof Fault) return undefined;
  strip(value);
  if (value instanceof Map) {
    for (const item of listOf(value.get("items"))) strip(item);
    for (const row of listOf(value.get("rows"))) if (row instanceof Map) strip(row.get("object") ?? null);
  }
  return writeValue(value);
}

function strip(object: Value): void {
  const metadata = object instanceof Map ? object.get("metadata") : undefined;
  if (metadata instanceof Map) metadata.delete("managedFields");
}

function listOf(value: Value | undefined): readonly Value[] {
  return Array.isArray(value) ? value : [];
}
