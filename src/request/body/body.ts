// Request bodies become objects here: the type they name is checked against the resource, then decoded. The frames
// around a codec's fault are upstream's, and depend on whether the type could be read at all.

import { invalid, invalidObject } from "../../api/fielderror.ts";
import { quote } from "../../api/gotext.ts";
import type { ApiObject } from "../../api/object.ts";
import type { Message } from "../../api/schema.ts";
import type { Resource, Scheme } from "../../api/scheme.ts";
import { badRequest, isStatus, refuse, Status } from "../../api/status.ts";
import { textAt, type Value, type ValueMap } from "../../api/value.ts";
import type { Entry } from "../../audit/entry.ts";
import { readCompact } from "../../codec/engine/canonical.ts";
import { decode, Fault, parseJson, TooManyValues, textOf, writeValue } from "../../codec/engine/json.ts";
import { duplicateFaults, strictFaults } from "../../codec/engine/strict.ts";
import { hasControls } from "../../codec/json/controls.ts";
import { openEnvelope } from "../../codec/proto/protobuf.ts";
import { decodeTemplated } from "../../codec/proto/templates.ts";
import { parseYaml } from "../../codec/yaml/yaml.ts";
import { limits } from "../../config/limits.ts";
import type { BodyFormat, PatchType } from "../route/negotiate.ts";

/** A message in protobuf, without its envelope. */
export class ProtoContent {
  readonly bytes: Uint8Array;
  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }
}

/** What a body holds besides its type. */
export type Content = Value | ProtoContent;

/** A body that was read as far as its type; empty where it names none. */
export interface TypedContent<T extends Content = Content> {
  readonly apiVersion: string;
  readonly kind: string;
  readonly content: T;
}

const typeStruct =
  'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';

/** Parses a body and reads its type, as upstream does before it decodes anything. */
export function readTyped(bytes: Uint8Array, format: BodyFormat): TypedContent | Fault {
  if (format === "protobuf") {
    const envelope = openEnvelope(bytes);
    if (envelope instanceof Fault) return envelope;
    const { apiVersion, kind, raw } = envelope;
    if (apiVersion.split("/").length > 2) return new Fault(`unexpected GroupVersion string: ${apiVersion}`);
    return { apiVersion, kind, content: new ProtoContent(raw) };
  }
  const max = limits.bodyValuesMax;
  const value = format === "yaml" ? parseYaml(bytes, undefined, max) : parseJson(bytes, max);
  if (value instanceof Fault) {
    if (value instanceof TooManyValues) return value;
    return format === "yaml" ? value : new Fault(`couldn't get version/kind; json parse error: ${value.message}`);
  }
  return typeOf(value);
}

/** The type a value names. */
export function typeOf(value: Value): TypedContent<Value> | Fault {
  if (value === null) return { apiVersion: "", kind: "", content: value };
  if (!(value instanceof Map)) {
    const message = `json: cannot unmarshal ${goKind(value)} into Go value of type ${typeStruct}`;
    return new Fault(`couldn't get version/kind; json parse error: ${message}`);
  }
  for (const key of ["apiVersion", "kind"]) {
    const field = value.get(key);
    if (field === undefined || field === null || typeof field === "string") continue;
    const message = `json: cannot unmarshal ${goKind(field)} into Go struct field .${key} of type string`;
    return new Fault(`couldn't get version/kind; json parse error: ${message}`);
  }
  const apiVersion = (value.get("apiVersion") as string | null | undefined) ?? "";
  const kind = (value.get("kind") as string | null | undefined) ?? "";
  if (apiVersion.split("/").length > 2) return new Fault(`unexpected GroupVersion string: ${apiVersion}`);
  return { apiVersion, kind, content: value };
}

function goKind(value: Value): string {
  if (Array.isArray(value)) return "array";
  if (value instanceof Map) return "object";
  if (typeof value === "string") return "string";
  return typeof value === "boolean" ? "bool" : "number";
}

/** A body as it came. */
export interface Sent {
  readonly kind: "create" | "update" | PatchType | "apply";
  /** Of a create or an update. */
  readonly format: BodyFormat;
  /** Of an apply: take fields from other managers. */
  readonly force: boolean;
  readonly bytes: Uint8Array;
}

/** Whether a body patches what is there. */
export function isPatch(kind: Sent["kind"]): kind is PatchType {
  return kind === "json" || kind === "merge" || kind === "strategic";
}

/** A parsed patch. */
export interface PatchBody {
  readonly kind: "patch";
  readonly type: PatchType;
  readonly patch: Value;
  /** Fields that come twice in it, where the request asks for them. */
  readonly duplicates?: readonly string[];
}

/** What an apply sends. */
export interface Config {
  readonly kind: "config";
  /** The kind it is written as: the resource's own, or Scale. */
  readonly shape: Resource;
  readonly config: ValueMap;
  /** Take fields from other managers. */
  readonly force: boolean;
  /** Keys that come twice in the body, where the request asks for them. */
  readonly duplicates: readonly string[];
}

/** A body that was read. */
export type ReadBody = Body | PatchBody | Config;

/** A decoded body. The write path changes objects in place, so every try takes a fresh one. */
export class Body {
  readonly kind = "object";
  readonly #message: Message;
  readonly #decode: () => ApiObject;
  #next: ApiObject | undefined;

  /** `decode` makes the same as `decoded` once more. */
  constructor({ message }: Resource, decode: () => ApiObject, decoded: ApiObject) {
    this.#message = message;
    this.#decode = decode;
    this.#next = decoded;
  }

  /** Tells the audit event what was decoded, while no caller has taken it. */
  show(audit: Entry | undefined): void {
    if (audit !== undefined && this.#next !== undefined) audit.requested(this.#message, this.#next);
  }

  /** An object with no other reference. */
  take(): ApiObject {
    const object = this.#next ?? this.#decode();
    this.#next = undefined;
    return object;
  }
}

/** A body of what the server says itself; a Fault where that is no object of `resource`. */
export function bodyOf(resource: Resource, content: Value): Body | Fault {
  const decoded = decodeAs(resource, content);
  return decoded instanceof Fault ? decoded : contentBody(resource, content, decoded);
}

function contentBody(resource: Resource, content: Content, decoded: ApiObject): Body {
  // It decoded before: it cannot fail then.
  return new Body(resource, () => decodeAs(resource, content) as ApiObject, decoded);
}

/** Decodes what a body holds as an object of `message`; kind and apiVersion are there only if they stood beside the fields. */
export function decodeContent<T extends object>(message: Message, content: Content): T | Fault {
  if (content instanceof ProtoContent) return decodeTemplated<T>(message, content.bytes);
  return decode<T>(message, content ?? new Map());
}

/** Decodes a body as `resource`; the type fields are filled in. */
export function decodeAs(resource: Resource, content: Content): ApiObject | Fault {
  const object = decodeContent<ApiObject>(resource.message, content);
  if (object instanceof Fault) return object;
  object.kind = resource.kind;
  object.apiVersion = resource.apiVersion;
  return object;
}

/** The refusal of a body: 413 for one of too many values, else 400 with `message`. */
export function faultStatus(fault: Fault, message: string): Status {
  if (fault instanceof TooManyValues) return refuse("RequestEntityTooLarge", fault.message);
  return badRequest(message);
}

/**
 * Reads the body of a write of `shape`: on a front, or in the pool where it is big. A Status in upstream's words for one
 * that does not fit. `fields`: what is to be said about unknown and duplicate fields; left out: nothing.
 */
export function readSent(scheme: Scheme, shape: Resource, sent: Sent, fields?: FieldReport): ReadBody | Status {
  const { kind, format, force, bytes } = sent;
  switch (kind) {
    case "create":
    case "update":
      return readBody(scheme, shape, bytes, format, fields);
    case "apply": {
      const duplicates: string[] = [];
      const config = readConfig(shape, bytes, fields && duplicates);
      return isStatus(config) ? config : { kind: "config", shape, config, force, duplicates };
    }
    default:
      return readPatch(kind, bytes, fields);
  }
}

/** Reads the body of a create or update of `resource`; a 400 Status in upstream's words for one that does not fit. */
export function readBody(
  scheme: Scheme,
  resource: Resource,
  bytes: Uint8Array,
  format: BodyFormat,
  fields?: FieldReport,
): Body | Status {
  const compact = format === "json" ? decodeCompact(resource, bytes) : undefined;
  if (compact !== undefined) {
    const refused = fields?.take(strictFaults(resource.message, textOf(bytes)));
    if (refused !== undefined) return badRequest(unfit(resource, resource, refused));
    return new Body(resource, () => decodeCompact(resource, bytes) as ApiObject, compact);
  }
  const typed = readTyped(bytes, format);
  if (typed instanceof TooManyValues) return faultStatus(typed, "");
  if (typed instanceof Fault) {
    const summary = summarize(bytes);
    return badRequest(
      `the object provided is unrecognized (must be of type ${resource.kind}): ${typed.message} (${summary})`,
    );
  }
  const misnamed = openMisnamed(resource, typed, () => (format === "json" ? textOf(bytes) : undefined));
  if (misnamed instanceof Status) return misnamed;
  const decoded = misnamed ?? decodeStrictly(scheme, resource, typed, format === "json" ? bytes : undefined, fields);
  if (decoded instanceof TooManyValues) return faultStatus(decoded, "");
  if (decoded instanceof Fault) return badRequest(unfit(resource, typed, decoded.message));
  if (typed.apiVersion !== "" && typed.apiVersion !== resource.apiVersion) {
    const message = `the API version in the data (${typed.apiVersion}) does not match the expected API version (${resource.apiVersion})`;
    return badRequest(message);
  }
  return contentBody(resource, typed.content, decoded);
}

/** Why a body of this type is no object of `resource`. */
function unfit(resource: Resource, type: Pick<TypedContent, "apiVersion" | "kind">, why: string): string {
  const version = type.apiVersion === "" ? resource.version : (type.apiVersion.split("/").pop() ?? "");
  const kind = type.kind === "" ? resource.kind : type.kind;
  return `${kind} in version ${quote(version)} cannot be handled as a ${resource.kind}: ${why}`;
}

const newline = 10;

/**
 * The object in a body that is compact JSON and says it is of `resource`, as programs send it, without a document in
 * between. Undefined: it is to be read step by step, which also tells what may be wrong with it.
 */
function decodeCompact(resource: Resource, bytes: Uint8Array): ApiObject | undefined {
  // Within that length no body has as many values as are too many.
  if (resource.message.open === true || bytes.length > limits.mergeHereBytesMax) return undefined;
  const text = bytes[bytes.length - 1] === newline ? bytes.subarray(0, -1) : bytes;
  if (hasControls(text)) return undefined;
  const object = readCompact<ApiObject>(resource.message, textOf(text));
  return object?.kind === resource.kind && object.apiVersion === resource.apiVersion ? object : undefined;
}

/** Parses a patch; a 400 Status in the words of upstream's patch library. */
function readPatch(type: PatchType, bytes: Uint8Array, fields?: FieldReport): PatchBody | Status {
  const patch = parseJson(bytes, limits.bodyValuesMax);
  if (!(patch instanceof Fault)) {
    const kind = "patch";
    return fields === undefined
      ? { kind, type, patch }
      : { kind, type, patch, duplicates: duplicateFaults(textOf(bytes)) };
  }
  return faultStatus(patch, type === "merge" ? "Invalid JSON Patch" : patch.message);
}

/** Reads the body of an apply, YAML or JSON; a 400 Status for what is no object at the version of `shape`. `duplicates`: see parseYaml(). */
function readConfig(shape: Resource, bytes: Uint8Array, duplicates?: string[]): ValueMap | Status {
  const parsed = bytes.length === 0 ? null : parseYaml(bytes, duplicates, limits.bodyValuesMax);
  if (parsed instanceof Fault) {
    return faultStatus(parsed, `error decoding YAML: error converting YAML to JSON: ${parsed.message}`);
  }
  const config = parsed ?? new Map<string, Value>();
  if (!(config instanceof Map)) {
    const mismatch = `json: cannot unmarshal ${goKind(config)} into Go value of type map[string]interface {}`;
    return badRequest(`error decoding YAML: error unmarshaling JSON: while decoding JSON: ${mismatch}`);
  }
  const version = config.get("apiVersion");
  const sent = typeof version === "string" ? version : "";
  if (sent !== shape.apiVersion) {
    const text = `Incorrect version specified in apply patch. Specified patch version: ${sent}, expected: ${shape.apiVersion}`;
    return badRequest(text);
  }
  const metadata = config.get("metadata");
  if (metadata instanceof Map && (metadata.get("managedFields") ?? null) !== null) {
    return badRequest("metadata.managedFields must be nil");
  }
  return config;
}

/**
 * What is wrong with the kind and version a custom object says it is of: it has no type to tell them from, so both must be
 * there, and the kind must be its definition's (upstream finds that in validation). `sent`: the JSON, where it was sent.
 */
export function openMisnamed(
  resource: Resource,
  { apiVersion, kind, content }: TypedContent,
  sent: () => string | undefined = () => undefined,
): Fault | Status | undefined {
  if (resource.message.open !== true) return undefined;
  if (content instanceof ProtoContent) return new Fault("Object 'Kind' is missing in 'object has no kind field '");
  if (kind === "") return new Fault(`Object 'Kind' is missing in '${sent() ?? writeValue(content)}'`);
  // 500 upstream.
  if (apiVersion === "") return badRequest("Object 'apiVersion' is missing in 'object has no apiVersion field'");
  if (kind === resource.kind) return undefined;
  const name = content instanceof Map ? textAt(content.get("metadata"), "name") : "";
  return invalidObject(resource.group, kind, name, [invalid("kind", kind, `must be ${resource.kind}`)]);
}

/** Decodes a body, with a fault for fields a strict request must not have. Protobuf has none: what is unknown has no name. */
function decodeStrictly(
  scheme: Scheme,
  resource: Resource,
  typed: TypedContent,
  json: Uint8Array | undefined,
  fields: FieldReport | undefined,
): ApiObject | Fault {
  const decoded = decodeTyped(scheme, resource, typed);
  const { content } = typed;
  if (fields === undefined || decoded instanceof Fault || content instanceof ProtoContent) return decoded;
  // YAML is looked at as the JSON it became: its keys come once.
  const faults = strictFaults(resource.message, json === undefined ? writeValue(content) : textOf(json));
  const refused = fields.take(faults);
  return refused === undefined ? decoded : new Fault(refused);
}

/** Decodes a value that names a type; the fault has no frame yet. Another version of the same kind decodes as `resource`. */
export function decodeTyped(scheme: Scheme, resource: Resource, typed: TypedContent): ApiObject | Fault {
  const apiVersion = typed.apiVersion === "" ? resource.apiVersion : typed.apiVersion;
  const kind = typed.kind === "" ? resource.kind : typed.kind;
  const isOwn = apiVersion === resource.apiVersion && kind === resource.kind;
  if (isOwn || resource.message.open === true) return decodeAs(resource, typed.content);
  const slash = apiVersion.indexOf("/");
  const group = slash < 0 ? "" : apiVersion.slice(0, slash);
  const found = scheme.findKind(group, apiVersion.slice(slash + 1), kind);
  if (found === undefined) {
    return new Fault(
      `no kind ${quote(kind)} is registered for version ${quote(apiVersion)} in scheme "pkg/runtime/scheme.go:100"`,
    );
  }
  const decoded = decodeAs(found, typed.content);
  if (decoded instanceof Fault) return decoded;
  const same = found.stored !== undefined && found.stored === resource.stored;
  if (same) return decodeAs(resource, typed.content);
  const from = `${found.version}.${found.message.shortName}`;
  return new Fault(`converting (${from}) to (${internalType(resource)}): unknown conversion`);
}

/** How upstream prints the unversioned type of a kind: `core.ConfigMap`, `apps.Deployment`. */
function internalType(resource: Resource): string {
  const pack = resource.group === "" ? "core" : (resource.group.split(".")[0] ?? "");
  return `${pack}.${resource.kind}`;
}

/** The start of a body, as errors show it: text when it looks like JSON, else hexadecimal. */
function summarize(bytes: Uint8Array): string {
  if (bytes.length === 0) return "<empty>";
  const head = Buffer.from(bytes.subarray(0, 30));
  const text = bytes[0] === 0x7b ? head.toString("utf8") : head.toString("hex");
  return bytes.length > 30 ? `${text} ...` : text;
}

/**
 * The parameter fieldValidation: what a client wants to hear about fields that are unknown or come twice. Empty: unset;
 * they are dropped in silence then, as upstream does at this release.
 */
export type FieldValidation = "" | "Ignore" | "Warn" | "Strict";

/** The report a request asks for; undefined where it asks for none. */
export function fieldReportOf(directive: FieldValidation): FieldReport | undefined {
  return directive === "Warn" || directive === "Strict" ? new FieldReport(directive === "Strict") : undefined;
}

/** What one request asked for, and what it is to be warned of. */
export class FieldReport {
  readonly #strict: boolean;
  readonly #warnings = new Set<string>();

  constructor(strict: boolean) {
    this.#strict = strict;
  }

  /** Whether a fault ends the request. */
  get isStrict(): boolean {
    return this.#strict;
  }

  /** Texts for Warning headers, each once, however often the write was tried. */
  get warnings(): readonly string[] {
    return [...this.#warnings];
  }

  /** Takes the keys that come twice in the YAML of an apply: the error that ends a strict request, or undefined. */
  takeYaml(faults: readonly string[]): string | undefined {
    if (faults.length === 0) return undefined;
    const text = `error converting YAML to JSON: yaml: unmarshal errors:\n  ${faults.join("\n  ")}`;
    if (this.#strict) return `error strict decoding YAML: ${text}`;
    this.#warnings.add(text);
    return undefined;
  }

  /** Takes what was found: the error that ends a strict request, or undefined. */
  take(faults: readonly string[]): string | undefined {
    if (faults.length === 0) return undefined;
    if (this.#strict) return `strict decoding error: ${faults.join(", ")}`;
    for (const fault of faults) this.#warnings.add(fault);
    return undefined;
  }
}
