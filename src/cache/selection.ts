// The selection side-table of a record: what label and field selectors look at, so that no filter parses JSON.
// Encoded by the front that wrote the object, stored with the record, read by every front.
import { unreachable } from "../base/assert.ts";

/** Encodes namespace, name, labels and selectable fields (metadata.name and metadata.namespace need not be listed). */
export function encodeSelection(
  _namespace: string,
  _name: string,
  _labels: ReadonlyMap<string, string> | undefined,
  _fields: readonly (readonly [field: string, value: string])[],
): Uint8Array<ArrayBuffer> {
  return unreachable("Not built yet");
}
