// ConversionReview: what a conversion webhook is sent, and what is read from its answer. Nothing of an answer passes but
// what a conversion may change: labels, annotations and what is not metadata. Messages are upstream's.
import type { FieldError } from "../api/fielderror.ts";
import type { Identity } from "../api/identity.ts";
import type { ApiObject } from "../api/object.ts";
import type { Resource } from "../api/scheme.ts";
import { textAt, textIn, type Value, type ValueMap } from "../api/value.ts";
import { assert } from "../base/assert.ts";
import { decode, encode, Fault, parseJson, parseOwn } from "../codec/engine/json.ts";
import { validateAnnotations, validateLabels } from "../kinds/meta.ts";
import { behaviourOf } from "../kinds/table.ts";

/** Versions of ConversionReview this server speaks. */
const versions = ["v1", "v1beta1"];

/** The version to speak with a webhook: the first in its list that is known; undefined: none. */
export function reviewVersion(accepted: readonly string[] | undefined): string | undefined {
  return accepted?.find((version) => versions.includes(version));
}

/** One call: objects of one version, and the version they are to have. */
export interface Batch {
  readonly identity: Identity;
  /** Of ConversionReview. */
  readonly version: string;
  readonly uid: string;
  readonly to: Resource;
  /** JSON of our own making. */
  readonly sent: readonly string[];
}

/** The document to send, as JSON (upstream sends an empty response along). */
export function writeReview({ identity, version, uid, to, sent }: Batch): string {
  const apiVersion = `${identity.spell("apiextensions.k8s.io")}/${version}`;
  const request = `{"uid":"${uid}","desiredAPIVersion":${JSON.stringify(to.apiVersion)},"objects":[${sent.join(",")}]}`;
  const response = '{"uid":"","convertedObjects":null,"result":{"metadata":{}}}';
  return `{"kind":"ConversionReview","apiVersion":"${apiVersion}","request":${request},"response":${response}}`;
}

/** Reads an answer: JSON of each object, in the order they were sent. A text says what is wrong with it. */
export function readReview(bytes: Uint8Array, batch: Batch, bytesMax: number): Uint8Array[] | string {
  const { to, sent } = batch;
  const [first = ""] = sent;
  const about = `conversion webhook for ${kindText(documentOf(first))}`;
  const found = convertedObjects(bytes, batch);
  if (typeof found === "string") return `${about} failed: ${found}`;
  if (found.length !== sent.length) return `${about} returned ${found.length} objects, expected ${sent.length}`;
  const made: Uint8Array[] = [];
  for (const [index, object] of found.entries()) {
    const one = readObject(object, documentOf(sent[index] ?? ""), batch);
    if ("metadata" in one) {
      const settled = settledBytes(one, to, batch.identity);
      if (settled.length > bytesMax) return `${about} returned an object of more than ${bytesMax} bytes`;
      made.push(settled);
      continue;
    }
    const { what, why } = one;
    if (sent.length > 1) {
      const noun = what === "metadata" ? "invalid metadata in object" : "invalid converted object";
      return `${about} returned ${noun} at index ${index}: ${why}`;
    }
    const at = what === "type" ? " object at index 0" : what === "metadata" ? " metadata" : " object";
    return `${about} returned invalid${at}: ${why}`;
  }
  return made;
}

/** `group/version, Kind=kind` of an object. */
export function kindText(object: ValueMap): string {
  return `${textAt(object, "apiVersion")}, Kind=${textAt(object, "kind")}`;
}

/** An object of our own making. */
export function documentOf(json: string): ValueMap {
  const value = parseOwn(json);
  assert(value instanceof Map, "Our own JSON is no object");
  return value;
}

function convertedObjects(bytes: Uint8Array, { identity, version, uid }: Batch): readonly Value[] | string {
  const review = parseJson(bytes);
  if (review instanceof Fault) return "the answer is no JSON";
  if (!(review instanceof Map)) return "the answer is no object";
  const isV1 = version === "v1";
  if (isV1) {
    const wanted = `${identity.spell("apiextensions.k8s.io")}/v1, Kind=ConversionReview`;
    if (kindText(review) !== wanted) return `expected webhook response of ${wanted}, got ${kindText(review)}`;
  }
  const response = review.get("response") ?? null;
  if (!(response instanceof Map)) return "no response provided";
  const answered = textIn(response.get("uid"));
  // The old version does not have to say which request it answers.
  if (isV1 && answered !== uid) return `expected response.uid=${quote(uid)}, got ${quote(answered)}`;
  const result = response.get("result");
  const status = textAt(result, "status");
  if (status !== "Success") {
    const message = textAt(result, "message");
    return message === "" ? `response.result.status was '${status}', not 'Success'` : message;
  }
  const objects = response.get("convertedObjects") ?? [];
  return Array.isArray(objects) ? objects : "response.convertedObjects must be a list";
}

const quote = (text: string): string => JSON.stringify(text);

/** What is wrong with an object, by the words that tell of it. */
interface Wrong {
  readonly what: "type" | "object" | "metadata";
  readonly why: string;
}

/** The object the webhook made of `sent`, with the metadata that it had. */
function readObject(made: Value, sent: ValueMap, { to }: Batch): ApiObject | Wrong {
  const object: ValueMap = made instanceof Map ? made : new Map();
  const apiVersion = textAt(object, "apiVersion");
  if (apiVersion !== to.apiVersion) {
    return { what: "type", why: `invalid groupVersion (expected ${to.apiVersion}, received ${apiVersion})` };
  }
  const [kind, kindMade] = [textAt(sent, "kind"), textAt(object, "kind")];
  if (kindMade !== kind) return { what: "type", why: `invalid kind (expected ${kind}, received ${kindMade})` };
  const metadata = documentAt(sent, "metadata");
  const before = documentAt(object, "metadata");
  for (const [name, key] of identifying) {
    const [was, is] = [textAt(metadata, key), textAt(before, key)];
    if (was !== is) return { what: "object", why: `must have the same ${name}: ${was} != ${is}` };
  }
  const restored = restoredMetadata(metadata, object.get("metadata"));
  if (typeof restored === "string") return { what: "metadata", why: restored };
  const decoded = decode<ApiObject>(to.message, new Map(object).set("metadata", restored));
  return decoded instanceof Fault ? { what: "object", why: decoded.message } : decoded;
}

const identifying = [
  ["name", "name"],
  ["namespace", "namespace"],
  ["UID", "uid"],
] as const;

function documentAt(object: ValueMap, key: string): ValueMap {
  const value = object.get(key);
  return value instanceof Map ? value : new Map();
}

/** The metadata an object had, with the labels and annotations the webhook gave it; a text says what is wrong with these. */
function restoredMetadata(original: ValueMap, made: Value | undefined): ValueMap | string {
  if (made === undefined) return "missing metadata in converted object";
  if (!(made instanceof Map)) return `invalid metadata of type ${typeText(made)} in converted object`;
  const metadata = new Map(original);
  for (const key of ["labels", "annotations"] as const) {
    const value = made.get(key) ?? null;
    if (value === null) {
      metadata.delete(key);
      continue;
    }
    if (!(value instanceof Map)) return `invalid metadata.${key} of type ${typeText(value)} in converted object`;
    const texts = new Map<string, string>();
    for (const [name, text] of value) {
      if (typeof text !== "string") {
        return `metadata.${key}[${name}] must be a string, but is ${typeText(text)} in converted object`;
      }
      texts.set(name, text);
    }
    const errors = isSame(texts, original.get(key)) ? [] : checks[key](texts);
    if (errors.length > 0) return aggregate(errors);
    metadata.set(key, texts);
  }
  return metadata;
}

const checks = {
  labels: (texts: ReadonlyMap<string, string>) => validateLabels(texts, "metadata.labels"),
  annotations: (texts: ReadonlyMap<string, string>) => validateAnnotations(texts, "metadata.annotation"),
};

function isSame(texts: ReadonlyMap<string, string>, original: Value | undefined): boolean {
  const before: ReadonlyMap<string, Value> = original instanceof Map ? original : new Map();
  return before.size === texts.size && [...texts].every(([name, text]) => before.get(name) === text);
}

/** Several faults as one text (upstream's aggregate). */
function aggregate(errors: readonly FieldError[]): string {
  const texts = [...new Set(errors.map(({ field, text }) => `${field}: ${text}`))];
  return texts.length === 1 ? (texts[0] ?? "") : `[${texts.join(", ")}]`;
}

/** A type by the name upstream's messages give it. */
function typeText(value: Value): string {
  if (value === null) return "<nil>";
  if (typeof value === "boolean") return "bool";
  if (typeof value === "string") return "string";
  if (Array.isArray(value)) return "[]interface {}";
  if (value instanceof Map) return "map[string]interface {}";
  return typeof value === "bigint" || Number.isInteger(value) ? "int64" : "float64";
}

/**
 * As it will be shown, or stored: without what the version does not have. Defaults are filled in at the version objects
 * are stored in, and only there (upstream: by the decoder of what is stored).
 */
function settledBytes(object: ApiObject, to: Resource, identity: Identity): Uint8Array {
  const { prune, settle } = behaviourOf(to, identity);
  if (to.stored === to) settle?.(object, true);
  else prune?.(object);
  return Buffer.from(encode(to.message, object));
}
