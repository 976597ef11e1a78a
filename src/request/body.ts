// Request bodies become objects here: the type they name is checked against the resource, then decoded. The frames
// around a codec's fault are the reference's, and depend on whether the type could be read at all.

import { quote } from "../api/gotext.ts";
import type { ApiObject } from "../api/object.ts";
import type { Message } from "../api/schema.ts";
import type { Resource, Scheme } from "../api/scheme.ts";
import { badRequest, type Status } from "../api/status.ts";
import type { Value } from "../api/value.ts";
import { decode, Fault, parseJson } from "../codec/json.ts";
import { openEnvelope, protobufValue } from "../codec/protobuf.ts";
import { parseYaml } from "../codec/yaml.ts";

/** What a body is written in. */
export type BodyFormat = "json" | "yaml" | "protobuf";

/** A parsed body and the type it names; empty where it names none. */
export interface TypedValue {
  readonly apiVersion: string;
  readonly kind: string;
  /** Null for protobuf: what the bytes say depends on the type. */
  readonly value: Value;
  /** The message of a protobuf body. */
  readonly message?: Uint8Array;
}

const typeStruct =
  'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';

/** Parses a body and reads its type, as the reference does before it decodes anything. */
export function readTyped(bytes: Uint8Array, format: BodyFormat): TypedValue | Fault {
  if (format === "protobuf") return readEnvelope(bytes);
  const value = format === "yaml" ? parseYaml(bytes) : parseJson(bytes);
  if (value instanceof Fault) {
    return format === "yaml" ? value : new Fault(`couldn't get version/kind; json parse error: ${value.message}`);
  }
  return typeOf(value);
}

function readEnvelope(bytes: Uint8Array): TypedValue | Fault {
  const envelope = openEnvelope(bytes);
  if (envelope instanceof Fault) return envelope;
  const { apiVersion, kind, raw } = envelope;
  if (apiVersion.split("/").length > 2) return new Fault(`unexpected GroupVersion string: ${apiVersion}`);
  return { apiVersion, kind, value: null, message: raw };
}

/** What a body says, read as `message`. */
export function bodyValue(message: Message, typed: TypedValue): Value | Fault {
  return typed.message === undefined ? typed.value : protobufValue(message, typed.message);
}

/** The type a value names. */
export function typeOf(value: Value): TypedValue | Fault {
  if (value === null) return { apiVersion: "", kind: "", value };
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
  return { apiVersion, kind, value };
}

function goKind(value: Value): string {
  if (Array.isArray(value)) return "array";
  if (value instanceof Map) return "object";
  if (typeof value === "string") return "string";
  return typeof value === "boolean" ? "bool" : "number";
}

/** A decoded body. The write path changes objects in place, so every try takes a fresh one. */
export class Body {
  readonly #resource: Resource;
  readonly #value: Value;
  #next: ApiObject | undefined;

  constructor(resource: Resource, value: Value, decoded: ApiObject) {
    this.#resource = resource;
    this.#value = value;
    this.#next = decoded;
  }

  /** An object nobody else holds. */
  take(): ApiObject {
    const object = this.#next ?? decodeAs(this.#resource, this.#value);
    this.#next = undefined;
    // The value decoded before: it cannot fail now.
    return object as ApiObject;
  }
}

/** Decodes a value as `resource`; the type fields are filled in. */
export function decodeAs(resource: Resource, value: Value): ApiObject | Fault {
  const object = decode<ApiObject>(resource.message, value ?? new Map());
  if (object instanceof Fault) return object;
  object.kind = resource.kind;
  object.apiVersion = resource.apiVersion;
  return object;
}

/** Reads the body of a create or update of `resource`; a 400 Status in the reference's words for one that does not fit. */
export function readBody(scheme: Scheme, resource: Resource, bytes: Uint8Array, format: BodyFormat): Body | Status {
  const typed = readTyped(bytes, format);
  if (typed instanceof Fault) {
    const summary = summarize(bytes);
    return badRequest(
      `the object provided is unrecognized (must be of type ${resource.kind}): ${typed.message} (${summary})`,
    );
  }
  const body = decodeTyped(scheme, resource, typed);
  if (body instanceof Fault) {
    const version = typed.apiVersion === "" ? resource.version : (typed.apiVersion.split("/").pop() ?? "");
    const kind = typed.kind === "" ? resource.kind : typed.kind;
    return badRequest(`${kind} in version ${quote(version)} cannot be handled as a ${resource.kind}: ${body.message}`);
  }
  if (typed.apiVersion !== "" && typed.apiVersion !== resource.apiVersion) {
    const message = `the API version in the data (${typed.apiVersion}) does not match the expected API version (${resource.apiVersion})`;
    return badRequest(message);
  }
  return body;
}

/** Decodes a body that names a type; the fault has no frame yet. Another version of the same kind decodes as `resource`. */
export function decodeTyped(scheme: Scheme, resource: Resource, typed: TypedValue): Body | Fault {
  const apiVersion = typed.apiVersion === "" ? resource.apiVersion : typed.apiVersion;
  const kind = typed.kind === "" ? resource.kind : typed.kind;
  if (apiVersion === resource.apiVersion && kind === resource.kind) return decodeBody(resource, typed);
  const slash = apiVersion.indexOf("/");
  const group = slash < 0 ? "" : apiVersion.slice(0, slash);
  const found = scheme.findKind(group, apiVersion.slice(slash + 1), kind);
  if (found === undefined) {
    return new Fault(
      `no kind ${quote(kind)} is registered for version ${quote(apiVersion)} in scheme "pkg/runtime/scheme.go:100"`,
    );
  }
  const decoded = decodeBody(found, typed);
  if (decoded instanceof Fault) return decoded;
  if (found.stored !== undefined && found.stored === resource.stored) return decodeBody(resource, typed);
  const from = `${found.version}.${found.message.shortName}`;
  return new Fault(`converting (${from}) to (${internalType(resource)}): unknown conversion`);
}

function decodeBody(resource: Resource, typed: TypedValue): Body | Fault {
  const value = bodyValue(resource.message, typed);
  if (value instanceof Fault) return value;
  const decoded = decodeAs(resource, value);
  return decoded instanceof Fault ? decoded : new Body(resource, value, decoded);
}

/** How the reference prints the unversioned type of a kind: `core.ConfigMap`, `apps.Deployment`. */
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
