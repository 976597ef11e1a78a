// What exists from the first start on: the namespaces the system lives in. Run once after the store is open; creating
// what is there already does nothing, so every start may run it.
import { isStatus, type Status } from "../api/status.ts";
import type { Value } from "../api/value.ts";
import { assert } from "../base/assert.ts";
import type { Writers } from "../request/persist.ts";
import { Actor } from "./actor.ts";

/** In canonical spelling. */
const systemNamespaces = ["default", "kube-system", "kube-public", "kube-node-lease"];

/** Creates the system's namespaces where they are missing. The first refusal that is no "exists already", or undefined. */
export async function bootstrapNamespaces(writers: Writers): Promise<Status | undefined> {
  const actor = new Actor(writers, "kube-apiserver");
  const resource = writers.scheme.find("", "v1", "namespaces");
  assert(resource !== undefined, "Namespaces are served");
  for (const canonical of systemNamespaces) {
    const name = writers.scheme.identity.spell(canonical);
    const content: Value = new Map([["metadata", new Map([["name", name]])]]);
    const done = await actor.create({ resource }, content);
    if (isStatus(done) && done.reason !== "AlreadyExists") return done;
  }
  return undefined;
}
