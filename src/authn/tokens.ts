// Bearer tokens the server knows from its start: the static token file and the administrator's. A token is looked up
// by its hash, so that the time of a comparison reveals nothing about it, and is never kept or logged itself.
import { createHash } from "node:crypto";
import type { Accepted, TokenAuthenticator } from "./authenticator.ts";

/** A user of a token, as threads hand it on. */
export interface TokenUser {
  /** SHA-256 of the token, base64. */
  readonly hash: string;
  readonly name: string;
  readonly uid: string;
  readonly groups: readonly string[];
}

/** The administrator's group: may do anything. */
export const mastersGroup = "system:masters";

/** Hash of a token, as TokenUser keeps it. */
export function hashToken(token: string): string {
  return createHash("sha256").update(token).digest("base64");
}

/**
 * Reads a token file: CSV with token, user name, uid and optionally groups in one quoted field. The last line of a
 * token wins. Returns an error message for an invalid file, without its contents.
 */
export function parseTokens(csv: string): TokenUser[] | string {
  const users = new Map<string, TokenUser>();
  const rows = parseCsv(csv);
  if (typeof rows === "string") return rows;
  for (const { line, fields } of rows) {
    const [token = "", name = "", uid = "", groups = ""] = fields;
    if (fields.length < 3)
      return `line ${line} must have at least 3 columns (token, user name, user uid), found ${fields.length}`;
    if (token === "") continue;
    const hash = hashToken(token);
    users.set(hash, { hash, name, uid, groups: groups === "" ? [] : groups.split(",").map((group) => group.trim()) });
  }
  return [...users.values()];
}

interface Row {
  readonly line: number;
  readonly fields: readonly string[];
}

const bareField = /[^,\r\n]*/y;

/** RFC 4180, with `#` comments and blank lines skipped. */
function parseCsv(text: string): Row[] | string {
  const rows: Row[] = [];
  let line = 1;
  let at = 0;
  while (at < text.length) {
    const start = line;
    const fields: string[] = [];
    for (;;) {
      let value = "";
      if (text[at] === '"') {
        const end = closingQuote(text, at + 1);
        if (end === -1) return `line ${start}: a quoted field does not end`;
        value = text.slice(at + 1, end).replaceAll('""', '"');
        line += value.split("\n").length - 1;
        at = end + 1;
        if (at < text.length && !",\r\n".includes(text[at] as string)) return `line ${line}: text after a quoted field`;
      } else {
        bareField.lastIndex = at;
        value = bareField.exec(text)?.[0] ?? "";
        at += value.length;
        if (value.includes('"')) return `line ${line}: a quote inside a field`;
      }
      fields.push(value);
      if (text[at] !== ",") break;
      at += 1;
    }
    if (text.startsWith("\r\n", at)) at += 2;
    else at += 1;
    line += 1;
    const blank = fields.length === 1 && (fields[0] === "" || fields[0]?.startsWith("#") === true);
    if (!blank) rows.push({ line: start, fields });
  }
  return rows;
}

/** Index of the quote that ends a field; -1: none. */
function closingQuote(text: string, from: number): number {
  for (let at = text.indexOf('"', from); at !== -1; at = text.indexOf('"', at + 2)) if (text[at + 1] !== '"') return at;
  return -1;
}

/** Knows the tokens of a list. */
export function staticTokens(tokens: readonly TokenUser[]): TokenAuthenticator {
  const known = new Map<string, Accepted>();
  for (const { hash, name, uid, groups } of tokens) known.set(hash, { user: { name, uid, groups, extra: new Map() } });
  return { authenticateToken: (token) => known.get(hashToken(token)) };
}
