// What exists from the first start on: the namespaces the system lives in, and the priority classes of its pods. Run
// once after the store is open; creating what is there already does nothing, so every start may run it.
import type { Resource } from "../api/scheme.ts";
import { isStatus, type Status } from "../api/status.ts";
import type { Value } from "../api/value.ts";
import { assert } from "../base/assert.ts";
import type { WriteServices } from "../request/commit/writerequest.ts";
import { Actor } from "./actor.ts";

/** In canonical spelling. */
const systemNamespaces = ["default", "kube-system", "kube-public", "kube-node-lease"];

/** Priority classes, in canonical spelling: name, value, and upstream's description, which clients compare. */
const systemClasses: readonly (readonly [name: string, value: number, description: string])[] = [
  [
    "system-node-critical",
    2_000_001_000,
    "Used for system critical pods that must not be moved from their current node.",
  ],
  [
    "system-cluster-critical",
    2_000_000_000,
    "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
  ],
];

/** Creates the system's namespaces where they are missing. The first refusal that is no "exists already", or undefined. */
export async function bootstrapNamespaces(writers: WriteServices): Promise<Status | undefined> {
  const { spell } = writers.scheme.identity;
  const namespaces = writers.scheme.find("", "v1", "namespaces");
  assert(namespaces !== undefined, "Namespaces are served");
  return createMissing(
    writers,
    namespaces,
    systemNamespaces.map((name) => named(spell(name), [])),
  );
}

/** Creates the system's priority classes where they are missing and the kind is served; answers as the above. */
export async function bootstrapPriorityClasses(writers: WriteServices): Promise<Status | undefined> {
  const classes = writers.scheme.find(writers.scheme.identity.spell("scheduling.k8s.io"), "v1", "priorityclasses");
  if (classes === undefined) return undefined;
  const documents = systemClasses.map(([name, value, description]) =>
    named(name, [
      ["value", value],
      ["description", description],
    ]),
  );
  return createMissing(writers, classes, documents);
}

/** A document of an object with this name. */
function named(name: string, fields: readonly (readonly [string, Value])[]): Value {
  return new Map<string, Value>([["metadata", new Map([["name", name]])], ...fields]);
}

async function createMissing(
  writers: WriteServices,
  resource: Resource,
  documents: readonly Value[],
): Promise<Status | undefined> {
  const actor = new Actor(writers, "kube-apiserver");
  for (const content of documents) {
    const done = await actor.create({ resource }, content);
    if (isStatus(done) && done.reason !== "AlreadyExists") return done;
  }
  return undefined;
}
