// Users another server in front of this one has authenticated: it presents a certificate under an authority of its own
// and names the user in headers. From any other client these headers are ignored (ATTACKS E02 to E04), and nothing on a front that
// clips values: the user would be another one.
import type { User } from "../api/user.ts";
import type { Clock } from "../base/clock.ts";
import type { Bundle } from "../pki/bundle.ts";
import { type Authenticator, type Headers, refused } from "./authenticator.ts";
import { CertificateCheck } from "./certificates.ts";

/** The headers that name the user, and the proxies that may send them. */
export interface RequestHeaderNames {
  /** The first of these that has a value names the user. */
  readonly username: readonly string[];
  readonly group: readonly string[];
  readonly extraPrefix: readonly string[];
  /** Common names of certificates; empty: any. */
  readonly allowed: readonly string[];
}

/** Authenticates users by the headers of a proxy whose certificate is under `bundle`. */
export function requestHeaderAuthenticator(names: RequestHeaderNames, bundle: Bundle, clock: Clock): Authenticator {
  const check = new CertificateCheck(bundle, clock);
  const lower = (list: readonly string[]): string[] => list.map((name) => name.toLowerCase());
  const username = lower(names.username);
  const group = lower(names.group);
  const extraPrefix = lower(names.extraPrefix);
  return {
    authenticate: ({ headers, peer, clipsValues }) => {
      if (peer === undefined || clipsValues === true) return undefined;
      const subject = check.check(peer);
      if ("reasons" in subject) return subject;
      if (names.allowed.length > 0 && !names.allowed.includes(subject.commonName)) {
        return refused("x509: subject with cn is not in the allowed list");
      }
      const name = firstValue(headers, username);
      if (name === undefined) return undefined;
      const user: User = { name, uid: "", groups: allValues(headers, group), extra: extraOf(headers, extraPrefix) };
      return { user };
    },
  };
}

/** The first value of the first header that has one. */
function firstValue(headers: Headers, names: readonly string[]): string | undefined {
  for (const wanted of names) {
    const value = headers.find(([name]) => name === wanted)?.[1];
    if (value !== undefined && value !== "") return value;
  }
  return undefined;
}

/** Every value of every header named: each is one group, commas included. */
function allValues(headers: Headers, names: readonly string[]): string[] {
  return names.flatMap((wanted) =>
    headers.filter(([name, value]) => name === wanted && value !== "").map(([, value]) => value),
  );
}

function extraOf(headers: Headers, prefixes: readonly string[]): Map<string, string[]> {
  const extra = new Map<string, string[]>();
  for (const prefix of prefixes) {
    for (const [name, value] of headers) {
      if (!name.startsWith(prefix)) continue;
      const key = unescapeKey(name.slice(prefix.length));
      const values = extra.get(key);
      if (values === undefined) extra.set(key, [value]);
      else values.push(value);
    }
  }
  return extra;
}

/** Percent-decoded; as it is where that cannot be done. */
function unescapeKey(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}
