// Objects in another form than their own: rows of a Table, or their metadata alone. Metadata is cut out of the bytes;
// cells need the object decoded, so that a Table costs what decoding costs and callers bound how much they do at once.
import type { ListMeta } from "../../api/gen/meta/v1.ts";
import type { Identity } from "../../api/identity.ts";
import { messageOf } from "../../api/messages.ts";
import type { ObjectMeta } from "../../api/object.ts";
import type { Resource } from "../../api/scheme.ts";
import { refuse, type Status } from "../../api/status.ts";
import { textAt } from "../../api/value.ts";
import { assert, unreachable } from "../../base/assert.ts";
import { copyBytes } from "../../base/copy.ts";
import { decode, encode, Fault, parseText, quote, textOf } from "../../codec/engine/json.ts";
import { readParts } from "../../codec/engine/parts.ts";
import { decodeLean, decodeStored } from "../../codec/engine/stored.ts";
import type { Cell, Columns } from "../../kinds/columns.ts";
import { convert } from "../../kinds/convert.ts";
import { remoteOf } from "../../kinds/remote.ts";
import { columnsOf, hasOwnColumns, strategyOf } from "../../kinds/table.ts";
import type { Form } from "../route/negotiate.ts";
import { represent, typeMetaBytes } from "./toversion.ts";

/** The message of an object reduced to its metadata; its list's. */
export const partialMessage = messageOf("meta/v1.PartialObjectMetadata");
export const partialListMessage = messageOf("meta/v1.PartialObjectMetadataList");
const metadataMessage = messageOf("meta/v1.ObjectMeta");

/** What writing a form takes. */
export interface FormInput {
  readonly form: Form;
  /** The resource at the version asked for. */
  readonly resource: Resource;
  readonly identity: Identity;
  /** The wall clock in milliseconds, for ages. */
  readonly now: () => number;
}

/** Writes objects in one form, as JSON. Objects come at the version of `source`. */
export interface FormWriter {
  /** How a list calls itself. */
  readonly listType: { readonly kind: string; readonly apiVersion: string };
  /** A list up to its first item. */
  listHead(metadata: ListMeta): string;
  readonly listFoot: string;
  /** A list without items: what stands for them is `null` where upstream has it so. */
  listOfNone(metadata: ListMeta): string;
  /** An item of a list. */
  item(object: Uint8Array): Uint8Array;
  /** A document of one object; `headed`: with what only the first event of a watch carries. */
  document(object: Uint8Array, headed: boolean): Uint8Array;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The writer of a form, for objects at the version of `source`. */
export function formWriter(input: FormInput, source: Resource): FormWriter {
  return input.form.kind === "Table" ? tableWriter(input, source) : partialWriter(input, source);
}

/** 406 for the form of a list of one object, and the other way round; upstream's text, with its type names. */
export function formRefusal(form: Form, resource: Resource, isList: boolean): Status | undefined {
  if (form.kind === "Table" || (form.kind === "PartialObjectMetadataList") === isList) return undefined;
  const [group = ""] = resource.message.name.split("/");
  // Events of both groups are one type inside upstream.
  const own = `${group === "events" ? "core" : group}.${isList ? resource.listKind : resource.kind}`;
  const type = `*${resource.message.open === true ? `unstructured.Unstructured${isList ? "List" : ""}` : own}`;
  const what = isList ? `is a list (${type})` : `is not a list (${type})`;
  return refuse("NotAcceptable", `you requested ${form.kind}, but the requested object ${what}`);
}

/** True for a document that is a Status: it keeps its form. */
export function isStatusDocument(json: Uint8Array): boolean {
  const head = '{"kind":"Status","apiVersion":"v1",';
  return decoder.decode(json.subarray(0, head.length)) === head;
}

/** The column definitions of a resource as JSON. */
export function definitionsText({ columns }: Columns): string {
  const all = columns.map(
    ({ name, type, format, description, priority }) =>
      `{"name":${quote(name)},"type":"${type}","format":"${format}","description":${quote(description)},` +
      `"priority":${priority}}`,
  );
  return `[${all.join(",")}]`;
}

function partialWriter({ form, identity }: FormInput, source: Resource): FormWriter {
  const cut = metadataCutter(source, identity);
  const head = partialHead(form);
  const item = (object: Uint8Array): Uint8Array => joined(head, cut(object), "}");
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
    document: item,
  };
}

function tableWriter(input: FormInput, source: Resource): FormWriter {
  const { form, resource, identity, now } = input;
  const { apiVersion, includeObject } = form;
  const columns = columnsOf(resource, identity);
  const definitions = definitionsText(columns);
  // Columns of custom resources are a version's own.
  const shown = resource.provided === true ? resource : (source.stored ?? source);
  const cut = metadataCutter(source, identity);
  const carries = strategyOf(source, identity).carriers !== undefined;
  const metadataFrom = metadataOffset(source);
  const lead = includeObject === "Metadata" ? partialHead(form) : "";
  const foot = includeObject === "Metadata" ? "}}" : "}";
  /** What of the object a row carries; `text` is that of its bytes. */
  const carried = (object: Uint8Array, text: string, metadataEnd: number): Uint8Array => {
    if (includeObject === "None") return nullBytes;
    if (includeObject === "Object") {
      return trimmedEnd(source === resource ? object : represent(resource, identity, object));
    }
    if (metadataEnd === 0 || carries) return cut(object);
    // Where every character is one byte, offsets are those of bytes.
    const isAscii = text.length === object.length;
    if (isAscii) return object.subarray(metadataFrom, metadataEnd);
    return encoder.encode(text.slice(metadataFrom, metadataEnd));
  };
  const rowHead = (cells: readonly string[], marks: string): string =>
    `{"cells":[${cells.join(",")}]${marks},"object":${lead}`;
  const overParts = source === shown && remoteOf(source) === undefined ? columns.overParts : undefined;
  const row = (bytes: Uint8Array): Row => {
    const json = textOf(bytes);
    const read = overParts && readParts(json, overParts.parts);
    if (overParts !== undefined && read !== undefined) {
      const { document, metadataEnd } = read;
      const at = now();
      const cells = overParts.columns.map(({ cell }) => cellText(cell(document, at)));
      const version = textAt(document.get("metadata"), "resourceVersion");
      return { head: rowHead(cells, ""), object: carried(bytes, json, metadataEnd), version };
    }
    // No cell shows who manages what, and those of many kinds little else.
    const lean = decodeLean(source, json, source === shown ? columns.reads : undefined);
    const object = convert(lean?.object ?? decodeStored(source, bytes), source, shown, identity);
    const at = now();
    const cells = columns.columns.map(({ cell }) => cellText(cell(object, at)));
    const conditions = columns.conditions?.(object) ?? [];
    const marks = conditions.length === 0 ? "" : `,"conditions":${JSON.stringify(conditions)}`;
    const version = object.metadata.resourceVersion;
    return { head: rowHead(cells, marks), object: carried(bytes, json, lean?.metadataEnd ?? 0), version };
  };
  const top = (metadata: ListMeta, headed: boolean): string =>
    `{"kind":"Table","apiVersion":"${apiVersion}","metadata":${JSON.stringify(metadata)},` +
    `"columnDefinitions":${headed ? definitions : "null"},"rows":`;
  const head = (metadata: ListMeta, headed: boolean): string => `${top(metadata, headed)}[`;
  const noRows = hasOwnColumns(resource, identity) ? "[]" : "null";
  return {
    listType: { kind: form.kind, apiVersion },
    listHead: (metadata) => head(metadata, true),
    listFoot: "]}\n",
    listOfNone: (metadata) => `${top(metadata, true)}${noRows}}\n`,
    item(bytes) {
      const { head: begin, object } = row(bytes);
      return joined(begin, object, foot);
    },
    document(bytes, headed) {
      const { head: begin, object, version } = row(bytes);
      const metadata = version === undefined ? {} : { resourceVersion: version };
      return joined(head(metadata, headed) + begin, object, `${foot}]}`);
    },
  };
}

/** An object reduced to its metadata, up to that. */
function partialHead({ apiVersion }: Form): string {
  return `{"kind":"PartialObjectMetadata","apiVersion":"${apiVersion}","metadata":`;
}

/** A row up to its object, and what it carries of that. */
interface Row {
  readonly head: string;
  readonly object: Uint8Array;
  readonly version: string | undefined;
}

const nullBytes = encoder.encode("null");

/** Bytes between two texts, of which the second one is ASCII. */
function joined(head: string, middle: Uint8Array, foot: string): Uint8Array {
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(head) + middle.length + foot.length);
  const end = copyBytes(bytes, bytes.write(head, 0), middle);
  bytes.write(foot, end, "latin1");
  return bytes;
}

function trimmedEnd(json: Uint8Array): Uint8Array {
  return json.at(-1) === newline ? json.subarray(0, -1) : json;
}

function cellText(cell: Cell): string {
  return typeof cell === "string" ? quote(cell) : String(cell);
}

const newline = 0x0a;
const quoteCode = 0x22;
const backslash = 0x5c;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/** Where the metadata of an object of ours begins. */
function metadataOffset(source: Resource): number {
  return typeMetaBytes(source) + '"metadata":'.length;
}

/**
 * Cuts the metadata out of objects: it follows their kind and version, as every object of ours is written. Annotations
 * that carry fields are left out.
 */
function metadataCutter(source: Resource, identity: Identity): (object: Uint8Array) => Uint8Array {
  const from = metadataOffset(source);
  const carriers = strategyOf(source, identity).carriers ?? [];
  return (object) => {
    assert(object[from] === openBrace, "An object does not begin with its metadata");
    const metadata = object.subarray(from, objectEnd(object, from));
    if (carriers.length === 0) return metadata;
    const text = decoder.decode(metadata);
    return carriers.some((key) => text.includes(key)) ? encoder.encode(withoutKeys(text, carriers)) : metadata;
  };
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
