// The shape of a custom resource's objects: metadata has its type, everything else is kept as values. A file of its own, as
// prefix.ts is: threads without definitions read such objects.
import { messageOf } from "../../api/messages.ts";
import type { Field, Message } from "../../api/schema.ts";
import { assert } from "../../base/assert.ts";

/** An object of which only the metadata is known. */
export function openMessage(name: string, shortName: string): Message {
  const metadata = messageOf("core/v1.ConfigMap").byJson.get("metadata");
  assert(metadata !== undefined, "Objects have metadata");
  const fields: readonly Field[] = [metadata];
  const byJson = new Map([["metadata", metadata]]);
  return { name, shortName, typeMeta: true, fields, byJson, structType: undefined, special: undefined, open: true };
}
