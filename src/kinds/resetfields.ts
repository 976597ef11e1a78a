// Fields a write never comes to own, because the server puts them back: the status in writes of the object, everything
// else in writes of the status. One rule, to which a kind's behaviour names its exceptions (upstream: each strategy's
// reset fields).
import { type FieldSet, setOf } from "../merge/fieldset.ts";

const status = setOf(["f:status"]);
const spec = setOf(["f:spec"]);

/** Exception of kinds whose status subresource leaves the metadata alone as well. */
export const specAndMetadata: ReadonlyMap<string, FieldSet> = new Map([["status", setOf(["f:metadata"], ["f:spec"])]]);

/** Fields by subresource (empty: the object): the common rule and a kind's exceptions; `hasStatus`: its status is written by itself. */
export function resetFieldsWith(
  exceptions: ReadonlyMap<string, FieldSet> | undefined,
  hasStatus: boolean,
): ReadonlyMap<string, FieldSet> {
  return new Map([...(hasStatus ? ([["", status]] as const) : []), ["status", spec], ...(exceptions ?? [])]);
}
