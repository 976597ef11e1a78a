// AdmissionReview: what a webhook is sent, and what is read from its answer. Documents, not objects: numbers and keys
// pass as they are, and nothing of an answer becomes a property.

import type { Identity } from "../../api/identity.ts";
import type { ApiObject } from "../../api/object.ts";
import type { Message } from "../../api/schema.ts";
import type { Resource } from "../../api/scheme.ts";
import { type Reason, Status } from "../../api/status.ts";
import { textAt, textIn, type Value, type ValueMap } from "../../api/value.ts";
import { Fault, parseJson, toValue } from "../../codec/engine/json.ts";
import type { Attributes } from "../plugin.ts";

/** Versions of AdmissionReview this server speaks. */
const versions = ["v1", "v1beta1"];

/** The version to speak with a webhook: the first in its list that is known; undefined: none. */
export function reviewVersion(accepted: readonly string[] | undefined): string | undefined {
  return accepted?.find((version) => versions.includes(version));
}

/** What is reviewed, as documents at the version the webhook asked for. */
export interface Reviewed {
  readonly resource: Resource;
  readonly object: Value;
  readonly old: Value;
}

/** The document to send. */
export function makeReview(
  identity: Identity,
  version: string,
  uid: string,
  attributes: Attributes,
  { resource, object, old }: Reviewed,
): Value {
  const { subresource, name, operation, user, dryRun, options } = attributes;
  const isNamespace = attributes.resource.group === "" && attributes.resource.resource === "namespaces";
  const namespace = isNamespace ? name : attributes.namespace;
  const request: ValueMap = new Map<string, Value>([
    ["uid", uid],
    ["kind", kindOf(attributes, resource)],
    ["resource", resourceOf(resource)],
  ]);
  if (subresource !== "") request.set("subResource", subresource);
  request.set("requestKind", kindOf(attributes, attributes.resource));
  request.set("requestResource", resourceOf(attributes.resource));
  if (subresource !== "") request.set("requestSubResource", subresource);
  if (name !== "") request.set("name", name);
  if (namespace !== "") request.set("namespace", namespace);
  request.set("operation", operation.toUpperCase());
  request.set("userInfo", userOf(user));
  request.set("object", object).set("oldObject", old).set("dryRun", dryRun);
  request.set("options", optionsOf(identity, operation, options));
  const apiVersion = `${identity.spell("admission.k8s.io")}/${version}`;
  return new Map<string, Value>([
    ["kind", "AdmissionReview"],
    ["apiVersion", apiVersion],
    ["request", request],
  ]);
}

const optionKinds = { create: "CreateOptions", update: "UpdateOptions", delete: "DeleteOptions", connect: "" } as const;

function optionsOf(identity: Identity, operation: Attributes["operation"], options: Value): Value {
  const kind = optionKinds[operation];
  if (kind === "" || !(options instanceof Map)) return null;
  return new Map<string, Value>([["kind", kind], ["apiVersion", `${identity.spell("meta.k8s.io")}/v1`], ...options]);
}

/** The kind of what is written: the resource's own, or that of a subresource which has one. */
function kindOf({ object, subresource }: Attributes, resource: Resource): Value {
  const sub = resource.subresources.find(({ name }) => name === subresource);
  const { group, version, kind } = sub ?? resource;
  const said = object?.kind;
  return new Map<string, Value>([
    ["group", group],
    ["version", version],
    ["kind", sub === undefined || said === undefined ? kind : said],
  ]);
}

function resourceOf({ group, version, resource }: Resource): Value {
  return new Map<string, Value>([
    ["group", group],
    ["version", version],
    ["resource", resource],
  ]);
}

function userOf({ name, uid, groups, extra }: Attributes["user"]): Value {
  const info: ValueMap = new Map<string, Value>([["username", name]]);
  if (uid !== "") info.set("uid", uid);
  if (groups.length > 0) info.set("groups", [...groups]);
  if (extra.size > 0) info.set("extra", new Map([...extra].map(([key, values]) => [key, [...values]])));
  return info;
}

/** An object as a document; null for none. */
export function documentOf(message: Message, object: ApiObject | undefined): Value {
  return object === undefined ? null : toValue(message, object);
}

/** What a webhook answered. */
export interface Verdict {
  readonly allowed: boolean;
  /** Why not, as the client will read it; undefined when allowed. */
  readonly refusal: Status | undefined;
  /** A JSON patch; undefined: none. */
  readonly patch: Value | undefined;
  readonly warnings: readonly string[];
  readonly annotations: ReadonlyMap<string, string>;
}

/** Reads an answer; a text says what is wrong with it. */
export function readVerdict(
  bytes: Uint8Array,
  identity: Identity,
  version: string,
  uid: string,
  hookName: string,
): Verdict | string {
  const review = parseJson(bytes);
  if (review instanceof Fault) return "the answer is no JSON";
  if (!(review instanceof Map)) return "the answer is no object";
  const apiVersion = `${identity.spell("admission.k8s.io")}/${version}`;
  if (review.get("kind") !== "AdmissionReview" || review.get("apiVersion") !== apiVersion) {
    const got = `${textAt(review, "apiVersion")}, Kind=${textAt(review, "kind")}`;
    return `expected webhook response of ${apiVersion}, Kind=AdmissionReview, got ${got}`;
  }
  const response = review.get("response");
  if (!(response instanceof Map)) return "webhook response was absent";
  // The old version does not have to say which request it answers.
  const answered = response.get("uid") ?? "";
  if (answered !== uid && !(version === "v1beta1" && answered === "")) {
    return `expected response.uid=${JSON.stringify(uid)}, got ${JSON.stringify(textIn(answered))}`;
  }
  const allowed = response.get("allowed") === true;
  const patch = readPatch(response, version);
  if (typeof patch === "string") return patch;
  return {
    allowed,
    refusal: allowed ? undefined : refusalOf(response.get("status") ?? response.get("result"), hookName),
    patch: patch.value,
    warnings: textsOf(response.get("warnings")),
    annotations: textMapOf(response.get("auditAnnotations")),
  };
}

function readPatch(response: ValueMap, version: string): { value: Value | undefined } | string {
  const patch = response.get("patch") ?? "";
  const patchType = response.get("patchType");
  if (patch === "" && patchType === undefined) return { value: undefined };
  if (patchType !== "JSONPatch" && !(version === "v1beta1" && patchType === undefined)) {
    return `webhook returned response.patchType ${JSON.stringify(textIn(patchType))}, expected "JSONPatch"`;
  }
  if (typeof patch !== "string" || !/^[A-Za-z0-9+/]+={0,2}$/.test(patch)) return "response.patch must be base64";
  const value = parseJson(Buffer.from(patch, "base64"));
  return value instanceof Fault ? "response.patch is no JSON" : { value };
}

/** The refusal in upstream's words; a code that is no error becomes 400. */
function refusalOf(status: Value | undefined, hookName: string): Status {
  const map: ValueMap = status instanceof Map ? status : new Map();
  const said = map.get("code");
  const code = typeof said === "number" && said >= 400 && said <= 599 ? said : 400;
  const message = textAt(map, "message");
  const reason = textAt(map, "reason");
  const why = message || reason;
  const denied = `admission webhook ${JSON.stringify(hookName)} denied the request`;
  return new Status(code, reason as Reason, why === "" ? `${denied} without explanation` : `${denied}: ${why}`);
}

function textsOf(value: Value | undefined): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}

function textMapOf(value: Value | undefined): Map<string, string> {
  const found = new Map<string, string>();
  if (!(value instanceof Map)) return found;
  for (const [key, item] of value) if (typeof item === "string") found.set(key, item);
  return found;
}
