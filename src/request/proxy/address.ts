// Paths and queries on their way through. Another server gets what was authorized: the decoded path, encoded again
// (Go's net/url, as upstream passes it on), so that it cannot read anything else in it.
import { badRequest, type Status } from "../../api/status.ts";
import type { Query } from "../route/query.ts";

const encoder = new TextEncoder();
const pathPlain = /^[A-Za-z0-9\-_.~$&+,/:;=@]$/;
const queryPlain = /^[A-Za-z0-9\-_.~]$/;

/** A decoded path, encoded as Go does. */
export function encodePath(path: string): string {
  return percentEncode(path, pathPlain, "%20");
}

/** A query with its keys in order, the values of each in theirs (Go's url.Values.Encode). */
export function encodeQuery(query: Query): string {
  const pairs = [...query].sort(([a], [b]) => (a < b ? -1 : 1));
  const text = (part: string): string => percentEncode(part, queryPlain, "+");
  return pairs.flatMap(([key, values]) => values.map((value) => `${text(key)}=${text(value)}`)).join("&");
}

/** A byte as `%XX` (RFC 3986 2.1). */
export function escapeByte(byte: number): string {
  return `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
}

function percentEncode(text: string, plain: RegExp, blank: string): string {
  let escaped = "";
  for (const character of text) {
    if (plain.test(character)) escaped += character;
    else if (character === " ") escaped += blank;
    else for (const byte of encoder.encode(character)) escaped += escapeByte(byte);
  }
  return escaped;
}

/** A 400 for a decoded path that another server may read as another one; undefined: it is passed on. */
export function pathFault(path: string): Status | undefined {
  if (/[\x00-\x1f\x7f]/.test(path)) return badRequest("the path holds control characters, which are not passed on");
  if (!path.split("/").some((segment) => segment === "." || segment === "..")) return undefined;
  return badRequest('the path holds "." or ".." as a segment, which is not passed on');
}
