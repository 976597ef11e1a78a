// The owner to which work for a user is charged (base/shares.ts).
import type { Identity } from "../api/identity.ts";
import type { User } from "../api/user.ts";
import type { Owner, ShareLevel } from "../base/shares.ts";
import { mastersGroup, type Question } from "./authorizer.ts";

const probes = new Set(["/healthz", "/livez", "/readyz"]);
const accountPrefix = "system:serviceaccount:";
const nodesGroup = "system:nodes";
const components = new Set(["system:kube-scheduler", "system:kube-controller-manager"]);
const electionVerbs = new Set(["get", "create", "update", "patch"]);

/**
 * The owner to which the resources of a request are charged. Service accounts of a namespace are one owner: the
 * namespace's administrators can create any number. `asked`: the attributes of the request, where they matter.
 */
export function ownerOf(identity: Identity, { name, groups }: User, asked?: Question): Owner {
  // As upstream's flow schema of probes: a server that is busy is no server that is broken.
  const isProbe = asked?.isResource === false && probes.has(asked.path);
  if (isProbe || groups.includes(mastersGroup)) return { name, level: "masters" };
  const isAccount = name.startsWith(accountPrefix);
  const isSystem =
    groups.includes(nodesGroup) ||
    components.has(name) ||
    (isAccount && groups.includes(identity.spell("system:serviceaccounts:kube-system")));
  if (isSystem) return { name, level: asked === undefined ? "system" : levelOf(identity, asked) };
  if (!isAccount) return { name, level: "ordinary" };
  const end = name.indexOf(":", accountPrefix.length);
  return { name: end < 0 ? name : name.slice(0, end), level: "ordinary" };
}

/** The lane of a user's long work (config/longwork.ts), that of its owner; empty for the server's own. */
export function laneOf(identity: Identity, user: User | undefined): string {
  return user === undefined ? "" : ownerOf(identity, user).name;
}

/** Leader election and the heartbeats of nodes come before other requests of a component. */
function levelOf(identity: Identity, { group, resource, verb }: Question): ShareLevel {
  const isLease = resource === "leases" && group === identity.spell("coordination.k8s.io");
  return isLease && electionVerbs.has(verb) ? "election" : "system";
}
