// Objects out of the bytes the server itself stored: a mismatch there is a bug, not a client's error.
import type { ApiObject } from "../../api/object.ts";
import type { Resource } from "../../api/scheme.ts";
import type { Value } from "../../api/value.ts";
import { assert } from "../../base/assert.ts";
import { type LeanObject, readCanonical, readLean } from "./canonical.ts";
import { decode, Fault, parseOwn, textOf } from "./json.ts";
import type { Parts } from "./parts.ts";

/** What objects are decoded as: a resource at the version it is stored in, or an outline of that (outlineOf()). */
type Typed = Pick<Resource, "message">;

/** Decodes stored bytes into the object at the version it is stored in. The bytes are ours: a fault is a bug. */
export function decodeStored(stored: Resource, bytes: Uint8Array): ApiObject {
  return decodeStoredText(stored, textOf(bytes));
}

/** The same for the text of the bytes. */
export function decodeStoredText(stored: Typed, text: string): ApiObject {
  return readCanonical<ApiObject>(stored.message, text) ?? decodeText(stored, text);
}

/**
 * The same without managed fields, where the bytes are as encode() writes them; undefined otherwise. With `parts`, which
 * belong to this kind alone, other fields are as if they were absent.
 */
export function decodeLean(stored: Resource, text: string, parts?: Parts): LeanObject<ApiObject> | undefined {
  return readLean<ApiObject>(stored.message, text, parts);
}

function decodeText(stored: Typed, text: string): ApiObject {
  const value = parseOwn(text);
  assert(!(value instanceof Fault), "A stored object is not JSON");
  return decodeDocument(stored, value);
}

/** The same for bytes that were parsed before. */
export function decodeDocument(stored: Typed, document: Value): ApiObject {
  const object = decode<ApiObject>(stored.message, document);
  assert(!(object instanceof Fault), "A stored object does not fit its type");
  return object;
}
