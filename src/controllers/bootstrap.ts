// What exists from the first start on: the namespaces the system lives in. Run once after the store is open; creating
// what is there already does nothing, so every start may run it.
import { isStatus, type Status } from "../api/status.ts";
import type { User } from "../api/user.ts";
import type { Value } from "../api/value.ts";
import { assert } from "../base/assert.ts";
import { Fault } from "../codec/json.ts";
import { limits } from "../config/limits.ts";
import { noTrace } from "../observe/trace.ts";
import { Body, decodeAs } from "../request/body.ts";
import type { Writers } from "../request/persist.ts";
import { createObject } from "../request/write.ts";

/** In canonical spelling. */
const systemNamespaces = ["default", "kube-system", "kube-public", "kube-node-lease"];

/** Who the server is when it writes on its own behalf. */
export function systemUser(spell: (name: string) => string): User {
  const name = spell("system:apiserver");
  return { name, uid: "", groups: ["system:masters"], extra: new Map() };
}

/** Creates the system's namespaces where they are missing. The first refusal that is no "exists already", or undefined. */
export async function bootstrapNamespaces(writers: Writers): Promise<Status | undefined> {
  const { identity } = writers.scheme;
  const resource = writers.scheme.find("", "v1", "namespaces");
  assert(resource !== undefined, "Namespaces are served");
  for (const canonical of systemNamespaces) {
    const name = identity.spell(canonical);
    const value: Value = new Map([["metadata", new Map([["name", name]])]]);
    const decoded = decodeAs(resource, value);
    assert(!(decoded instanceof Fault), "A namespace of ours fits its type");
    const request = {
      resource,
      subresource: "",
      namespace: "",
      name: "",
      user: systemUser(identity.spell),
      manager: identity.spell("kube-apiserver"),
      dryRun: false,
      deadline: writers.clock.monotonic() + limits.requestMsMax,
      trace: noTrace,
    };
    const done = await createObject(writers, request, new Body(resource, value, decoded));
    if (isStatus(done) && done.reason !== "AlreadyExists") return done;
  }
  return undefined;
}
