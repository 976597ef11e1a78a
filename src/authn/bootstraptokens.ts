// Tokens that new nodes join with: each is a secret in the system namespace (the document's bootstrap token secret), and
// is good as long as that secret says so. The presented secret is never logged (ATTACKS E09).
import type { Secret } from "../api/gen/core/v1.ts";
import type { Identity } from "../api/identity.ts";
import type { ApiObject } from "../api/object.ts";
import { parseTime } from "../api/time.ts";
import type { Clock } from "../base/clock.ts";
import type { Objects } from "../cache/view/objects.ts";
import type { Accepted, TokenAuthenticator } from "./authenticator.ts";
import { sameSecret } from "./secret.ts";

const tokenForm = /^([a-z0-9]{6})\.([a-z0-9]{16})$/;
const baseGroup = "system:bootstrappers";
const groupForm = /^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/;

/** Knows bootstrap tokens. */
export function bootstrapTokens(identity: Identity, objects: Objects, clock: Clock): TokenAuthenticator {
  const namespace = identity.spell("kube-system");
  const type = identity.spell("bootstrap.kubernetes.io/token");
  const find = (id: string, secret: string): Accepted | undefined => {
    const kept = objects.table<ApiObject & Secret>("", "v1", "secrets").get(namespace, `bootstrap-token-${id}`);
    const groups = kept === undefined ? undefined : groupsOf(kept, type, id, secret, clock.now());
    if (groups === undefined) return undefined;
    const user = { name: `system:bootstrap:${id}`, uid: "", groups, extra: new Map() };
    const same = groups.join(",");
    const holds = (): boolean => {
      const now = objects.table<ApiObject & Secret>("", "v1", "secrets").get(namespace, `bootstrap-token-${id}`);
      return now !== undefined && groupsOf(now, type, id, secret, clock.now())?.join(",") === same;
    };
    return { user, holds };
  };
  return {
    authenticateToken: (token) => {
      const [, id, secret] = tokenForm.exec(token) ?? [];
      return id === undefined || secret === undefined ? undefined : find(id, secret);
    },
  };
}

/** The groups of a valid `secret`; undefined for an unknown, wrong or expired token. */
function groupsOf(
  kept: ApiObject & Secret,
  type: string,
  id: string,
  secret: string,
  now: number,
): string[] | undefined {
  const text = (key: string): string => Buffer.from(kept.data?.get(key) ?? "", "base64").toString("utf8");
  if (kept.type !== type || kept.metadata.deletionTimestamp !== undefined) return undefined;
  const known = Buffer.from(kept.data?.get("token-secret") ?? "", "base64");
  const shown = Buffer.from(secret);
  if (!sameSecret(known, shown)) return undefined;
  if (text("token-id") !== id || text("usage-bootstrap-authentication") !== "true") return undefined;
  const expiration = text("expiration");
  if (expiration !== "") {
    const ends = parseTime(expiration);
    if (ends === undefined || ends <= now) return undefined;
  }
  const extra = text("auth-extra-groups");
  const groups = extra === "" ? [] : [...new Set(extra.split(","))].sort();
  return groups.every((group) => groupForm.test(group)) ? [baseGroup, ...groups] : undefined;
}
