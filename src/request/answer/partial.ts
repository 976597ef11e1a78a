// Objects reduced to their metadata, which is cut out of their bytes.
import type { Identity } from "../../api/identity.ts";
import { messageOf } from "../../api/messages.ts";
import type { ObjectMeta } from "../../api/object.ts";
import type { Resource } from "../../api/scheme.ts";
import { assert, unreachable } from "../../base/assert.ts";
import { decode, encode, Fault, parseText } from "../../codec/engine/json.ts";
import { transcodeHead } from "../../codec/proto/transcode.ts";
import { strategyOf } from "../../kinds/table.ts";
import type { Form } from "../route/negotiate.ts";
import { type FormInput, type FormWriter, joined } from "./form.ts";
import { messageBytes } from "./protoanswer.ts";
import { typeMetaBytes } from "./toversion.ts";

/** The message of an object reduced to its metadata; its list's. */
export const partialMessage = messageOf("meta/v1.PartialObjectMetadata");
export const partialListMessage = messageOf("meta/v1.PartialObjectMetadataList");
const metadataMessage = messageOf("meta/v1.ObjectMeta");

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Writes objects as a PartialObjectMetadata. */
export function partialWriter({ form, identity }: FormInput, source: Resource): FormWriter {
  const cut = metadataCutter(source, identity);
  const head = partialHead(form);
  const item = (object: Uint8Array): Uint8Array => joined(head, cut(object), "}");
  const transcodeMetadata = metadataTranscoder(source, identity);
  return {
    listType: { kind: "PartialObjectMetadataList", apiVersion: form.apiVersion },
    listHead: (metadata) =>
      `{"kind":"PartialObjectMetadataList","apiVersion":"${form.apiVersion}","metadata":${JSON.stringify(metadata)},` +
      '"items":[',
    listFoot: "]}\n",
    listOfNone: (metadata) =>
      `{"kind":"PartialObjectMetadataList","apiVersion":"${form.apiVersion}","metadata":${JSON.stringify(metadata)},` +
      '"items":null}\n',
    item,
    message: (object) => transcodeMetadata(object) ?? messageBytes(partialMessage, item(object)),
    document: item,
  };
}

/** An object reduced to its metadata, up to that. */
export function partialHead({ apiVersion }: Form): string {
  return `{"kind":"PartialObjectMetadata","apiVersion":"${apiVersion}","metadata":`;
}

const quoteCode = 0x22;
const backslash = 0x5c;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/** Where the metadata of an object of ours begins. */
export function metadataOffset(source: Resource): number {
  return typeMetaBytes(source) + '"metadata":'.length;
}

/**
 * Cuts the metadata out of objects: it follows their kind and version, as every object of ours is written. Annotations
 * that carry fields are left out.
 */
export function metadataCutter(source: Resource, identity: Identity): (object: Uint8Array) => Uint8Array {
  const from = metadataOffset(source);
  const carriers = carriersOf(source, identity);
  return (object) => {
    checkHead(object, from);
    const metadata = object.subarray(from, objectEnd(object, from));
    if (carriers.length === 0) return metadata;
    const text = decoder.decode(metadata);
    return carriers.some((key) => text.includes(key)) ? encoder.encode(withoutKeys(text, carriers)) : metadata;
  };
}

/** Annotations that carry fields of other versions. */
function carriersOf(source: Resource, identity: Identity): readonly string[] {
  return strategyOf(source, identity).carriers ?? [];
}

/** Makes the message of an object's metadata without cutting it out; undefined: it is not to be had so. */
function metadataTranscoder(source: Resource, identity: Identity): (object: Uint8Array) => Uint8Array | undefined {
  const from = metadataOffset(source);
  const isWhole = carriersOf(source, identity).length === 0;
  return (object) => {
    if (!isWhole) return undefined;
    checkHead(object, from);
    return transcodeHead(partialMessage, object);
  };
}

function checkHead(object: Uint8Array, from: number): void {
  assert(object[from] === openBrace, "An object does not begin with its metadata");
}

function withoutKeys(text: string, keys: readonly string[]): string {
  const value = parseText(text);
  const metadata = value instanceof Fault ? value : decode<ObjectMeta>(metadataMessage, value);
  assert(!(metadata instanceof Fault), "Stored metadata does not fit its type");
  for (const key of keys) metadata.annotations?.delete(key);
  if (metadata.annotations?.size === 0) delete metadata.annotations;
  return encode(metadataMessage, metadata);
}

/** Where the JSON object that begins at `from` ends. */
function objectEnd(bytes: Uint8Array, from: number): number {
  let depth = 0;
  let isText = false;
  for (let at = from; at < bytes.length; at += 1) {
    const code = bytes[at];
    if (isText) {
      if (code === backslash) at += 1;
      else if (code === quoteCode) isText = false;
    } else if (code === quoteCode) isText = true;
    else if (code === openBrace) depth += 1;
    else if (code === closeBrace) {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  unreachable("An object does not end");
}
