// Continue tokens: where the next page of a list starts and at which revision. Opaque to clients: base64url JSON
// whose first three keys are upstream's, plus the collection it belongs to and what remains.
import type { Identity } from "../../api/identity.ts";
import { badRequest, type Status } from "../../api/status.ts";

/** A decoded token. */
export interface Continue {
  /** Revision of the first page; -1: the newest state (a list that went on inconsistently). */
  readonly revision: number;
  /** First key of the next page, relative to the collection, `namespace/name` or `name`; inclusive. */
  readonly start: string;
  /** Items after this page when the token was made; -1: unknown. */
  readonly remaining: number;
}

/** Writes a token for the collection `of` (prefix and namespace). */
export function encodeContinue(identity: Identity, of: string, token: Continue): string {
  const text = JSON.stringify({
    v: identity.spell("meta.k8s.io/v1"),
    rv: token.revision,
    start: token.start,
    of,
    n: token.remaining,
  });
  return Buffer.from(text, "utf8").toString("base64url");
}

/** Reads a token; 400 for one that is not of this collection or not ours. */
export function decodeContinue(identity: Identity, of: string, token: string): Continue | Status {
  const refuse = (why: string): Status => badRequest(`invalid continue token: continue key is not valid: ${why}`);
  if (!/^[A-Za-z0-9_-]*$/.test(token)) return refuse("it is not base64url");
  let parsed: unknown;
  try {
    parsed = JSON.parse(Buffer.from(token, "base64url").toString("utf8"));
  } catch {
    return refuse("it is not JSON");
  }
  if (typeof parsed !== "object" || parsed === null) return refuse("it is not an object");
  // Read through a Map: a token is a client's text.
  const fields = new Map<string, unknown>(Object.entries(parsed));
  const version = fields.get("v");
  const expected = identity.spell("meta.k8s.io/v1");
  if (version !== expected) {
    return refuse(`server does not recognize this encoded version ${JSON.stringify(version ?? "")}`);
  }
  const revision = fields.get("rv");
  if (typeof revision !== "number" || !Number.isSafeInteger(revision) || revision === 0 || revision < -1) {
    return refuse(`incorrect encoded start resourceVersion (version ${expected})`);
  }
  const start = fields.get("start");
  if (typeof start !== "string" || start === "") return refuse(`no start key found in token (version ${expected})`);
  // The same look upstream takes: a start key never climbs out of its collection.
  if (start.startsWith("/") || start.split("/").some((part) => part === ".." || part === "." || part === "")) {
    return refuse(start);
  }
  if (fields.has("of") && fields.get("of") !== of) return refuse("it belongs to another collection");
  const remaining = fields.get("n");
  const known = typeof remaining === "number" && Number.isSafeInteger(remaining) && remaining >= 0;
  return { revision, start, remaining: known ? remaining : -1 };
}
