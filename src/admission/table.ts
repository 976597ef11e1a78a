// Admission: plugins a write passes, in the order of this table. Each may change the object (after defaulting, before
// the kind's own rules) and each may refuse it (after validation). A plugin sees the attributes, never the request.
import type { ApiObject } from "../api/object.ts";
import type { Resource } from "../api/scheme.ts";
import type { Status } from "../api/status.ts";
import type { User } from "../api/user.ts";
import type { Views } from "../cache/view.ts";
import { lifecycle } from "./lifecycle.ts";
import { nodeTaint } from "./nodetaint.ts";
import { storageProtection } from "./storageprotection.ts";

/** What is about to happen. */
export interface Attributes {
  readonly operation: "create" | "update" | "delete";
  /** At the version of the request. */
  readonly resource: Resource;
  /** Empty for the object itself. */
  readonly subresource: string;
  readonly namespace: string;
  /** Empty while a name is still to be generated. */
  readonly name: string;
  /** The new state; undefined for a delete. Plugins may change it in place while mutating. */
  readonly object: ApiObject | undefined;
  /** The state before; undefined for a create. */
  readonly old: ApiObject | undefined;
  readonly user: User;
  readonly dryRun: boolean;
}

/** One plugin. Both methods return why the write is refused, or nothing. */
export interface AdmissionPlugin {
  readonly plugin: string;
  mutate?(attributes: Attributes): Status | undefined | Promise<Status | undefined>;
  validate?(attributes: Attributes): Status | undefined | Promise<Status | undefined>;
}

/** The plugins of a server, in the order they run. */
export type Admission = readonly AdmissionPlugin[];

/** Builds the plugins. `namespacePrefix` is the log namespaces are in; `spell` is the identity's. */
export function admissionPlugins(views: Views, namespacePrefix: string, spell: (name: string) => string): Admission {
  return [lifecycle(views.log(namespacePrefix), spell), nodeTaint(spell), storageProtection(spell)];
}

/** Runs the mutating half in order; the first refusal ends it. */
export async function mutate(admission: Admission, attributes: Attributes): Promise<Status | undefined> {
  for (const plugin of admission) {
    const refused = plugin.mutate?.(attributes);
    const status = refused instanceof Promise ? await refused : refused;
    if (status !== undefined) return status;
  }
  return undefined;
}

/** Runs the validating half in order; the first refusal ends it. */
export async function validate(admission: Admission, attributes: Attributes): Promise<Status | undefined> {
  for (const plugin of admission) {
    const refused = plugin.validate?.(attributes);
    const status = refused instanceof Promise ? await refused : refused;
    if (status !== undefined) return status;
  }
  return undefined;
}
