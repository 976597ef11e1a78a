// What a definition says but for its schemas, which are nearly all of it: names, versions, conditions, conversion. Read
// from the stored bytes without reading the schemas, on every thread whenever a definition changes.
import type { CustomResourceDefinition } from "../../api/gen/apiextensions/v1.ts";
import type { ApiObject } from "../../api/object.ts";
import type { Resource } from "../../api/scheme.ts";
import { assert } from "../../base/assert.ts";
import { endOfValue } from "../../codec/engine/canonical.ts";
import { textOf } from "../../codec/engine/json.ts";
import { decodeLean, decodeStoredText } from "../../codec/engine/stored.ts";

/** A stored definition whose versions have empty schemas; field managers and the last applied configuration are left out. */
export function readHeader(stored: Resource, bytes: Uint8Array): ApiObject & CustomResourceDefinition {
  const text = headerText(textOf(bytes));
  return (decodeLean(stored, text)?.object ?? decodeStoredText(stored, text)) as ApiObject & CustomResourceDefinition;
}

/** The same of a definition that is or was established; undefined for one that is to be, which has nothing to serve. */
export function readEstablished(stored: Resource, bytes: Uint8Array): ReturnType<typeof readHeader> | undefined {
  const isEstablished = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).includes(establishedText);
  return isEstablished ? readHeader(stored, bytes) : undefined;
}

// As our encoder writes it: type and status are the first fields of a condition.
const establishedText = Buffer.from('"type":"Established","status":"True"');

// A quote within a string is escaped: what looks like a key is one. The first object a definition has by this name is
// that of a version, and what follows it, too: those within schemas are skipped with them.
const schemaKey = '"schema":{';
const appliedKey = '"kubectl.kubernetes.io/last-applied-configuration":"';

function headerText(text: string): string {
  let header = "";
  let from = 0;
  const leaveOut = (at: number, instead: string): void => {
    const end = endOfValue(text, at);
    assert(end > at, "A stored definition is not JSON");
    header += text.slice(from, at) + instead;
    from = end;
  };
  const appliedAt = text.indexOf(appliedKey);
  const specAt = text.indexOf('"spec":{');
  if (appliedAt >= 0 && appliedAt < specAt) leaveOut(appliedAt + appliedKey.length - 1, '""');
  for (;;) {
    const at = text.indexOf(schemaKey, from);
    if (at < 0) return header + text.slice(from);
    leaveOut(at + schemaKey.length - 1, "{}");
  }
}
