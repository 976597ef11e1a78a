// Content negotiation: what the answer is written in and what the body is read as. The rules and texts are the
// reference's (its Accept parser reads q-values but no wildcard of a subtype besides `*/*`).
import type { Identity } from "../../api/identity.ts";
import { badRequest, isStatus, refuse, type Status } from "../../api/status.ts";
import { first, type Query } from "./query.ts";

/** What a body is written in. */
export type BodyFormat = "json" | "yaml" | "protobuf";

/** The formats that patch a document. */
export type PatchType = "json" | "merge" | "strategic";

/** Formats of an answer. */
export type Format = "json" | "yaml" | "protobuf";

/** Another form of objects than their own: `as=` of a media type. */
export interface Form {
  readonly kind: "Table" | "PartialObjectMetadata" | "PartialObjectMetadataList";
  /** `meta.k8s.io/v1` or `/v1beta1`, in the identity's name. */
  readonly apiVersion: string;
  /** What a Table's rows carry besides their cells. */
  readonly includeObject: "None" | "Metadata" | "Object";
}

/** Forms an endpoint offers: its own only, objects reduced to their metadata too, or Tables as well. */
export type Offers = "own" | "metadata" | "table";

/** How an answer is to be written. */
export interface Accepted {
  readonly format: Format;
  readonly pretty: boolean;
  readonly contentType: string;
  /** Absent for the object itself. */
  readonly form?: Form;
}

/** What JSON of ours is printed as where it is not sent as it is. */
export type PrintFormat = "protobuf" | "yaml" | "pretty";

/** The format to print in; undefined: the JSON is sent as it is. */
export function printFormatOf({ format, pretty }: Accepted): PrintFormat | undefined {
  if (format !== "json") return format;
  return pretty ? "pretty" : undefined;
}

/** Whether objects are answered as themselves in protobuf. */
export function isProtobuf({ format, form }: Accepted): boolean {
  return format === "protobuf" && form === undefined;
}

interface Clause {
  readonly type: string;
  readonly parameters: ReadonlyMap<string, string>;
  readonly quality: number;
}

/** The media types of an identity, spelled once. */
export interface MediaTypes {
  readonly protobuf: string;
  /** The same for watches. */
  readonly protobufWatch: string;
  readonly metaGroup: string;
  /** How a protobuf answer is written. */
  readonly inProtobuf: Accepted;
  /** The list the refusals print. */
  readonly offered: string;
}

/** Spells the media types of an identity. */
export function mediaTypes(identity: Identity): MediaTypes {
  const protobuf = identity.spell("application/vnd.kubernetes.protobuf");
  return {
    protobuf,
    protobufWatch: `${protobuf};stream=watch`,
    inProtobuf: { format: "protobuf", pretty: false, contentType: protobuf },
    metaGroup: identity.spell("meta.k8s.io"),
    offered: `application/json, application/yaml, ${protobuf}`,
  };
}

const json: Accepted = { format: "json", pretty: false, contentType: "application/json" };
/** JSON, indented. */
export const jsonPretty: Accepted = { ...json, pretty: true };
const yaml: Accepted = { format: "yaml", pretty: false, contentType: "application/yaml" };

/** Chooses how to answer; a 406 Status when nothing asked for is offered. `isOpen`: objects have no protobuf of their own. */
export function negotiateAccept(
  accept: string | undefined,
  pretty: boolean,
  types: MediaTypes,
  offers: Offers = "own",
  isOpen = false,
): Accepted | Status {
  if (accept === undefined || accept === "" || accept === "application/json" || accept === "*/*")
    return pretty ? jsonPretty : json;
  let known = false;
  for (const clause of parseAccept(accept)) {
    const format = formatOf(clause.type, types);
    if (format === undefined) continue;
    known = true;
    const form = formOf(clause, format, types, offers);
    if (form === "not offered" || (isOpen && format === "protobuf" && form === undefined)) continue;
    const plain = format === "protobuf" ? types.inProtobuf : format === "yaml" ? yaml : json;
    const accepted = plain === json && (pretty || isPretty(clause.parameters.get("pretty"))) ? jsonPretty : plain;
    return form === undefined ? accepted : { ...accepted, form };
  }
  if (!known && !isOpen) return refuse("NotAcceptable", "406: Not Acceptable", {});
  return refuse("NotAcceptable", `only the following media types are accepted: ${types.offered}`);
}

/** How a page is written: as negotiated, in JSON for any header that leaves room for it, else undefined. */
export function negotiatePage(accept: string | undefined, pretty: boolean, types: MediaTypes): Accepted | undefined {
  const accepted = negotiateAccept(accept, pretty, types);
  if (!isStatus(accepted)) return accepted;
  if (!parseAccept(accept ?? "").some(({ type }) => type === "application/*")) return undefined;
  return pretty ? jsonPretty : json;
}

/** Whether JSON is to be indented: curl and browsers get it so unless they say otherwise, as from upstream. */
export function wantsPretty(query: Query, agent = ""): boolean {
  const value = first(query, "pretty");
  if (value !== undefined) return value.toLowerCase() !== "false" && value !== "0";
  return agent.startsWith("curl") || agent.startsWith("Wget") || agent.startsWith("Mozilla/5.0");
}

/** Whether an Accept header leaves room for a media type of `application`. */
export function takes(accept: string | undefined, contentType: string): boolean {
  if (accept === undefined || accept === "") return true;
  const room = [contentType, "application/*", "*/*"];
  return parseAccept(accept).some(({ type }) => room.includes(type));
}

/** How a refusal is written when nothing better was negotiated: as asked for, if that can be, else as JSON. */
export function negotiateRefusal(accept: string | undefined, types: MediaTypes): Accepted {
  const accepted = negotiateAccept(accept, false, types);
  return isStatus(accepted) ? json : accepted;
}

/** 406 as discovery and other generic endpoints word it. */
export function notOffered(types: MediaTypes): Status {
  return refuse("NotAcceptable", `only the following media types are accepted: ${types.offered}`);
}

/** The form a clause asks for. Tables have no protobuf. */
function formOf(
  { parameters }: Clause,
  format: Format,
  types: MediaTypes,
  offers: Offers,
): Form | undefined | "not offered" {
  const kind = parameters.get("as");
  if (kind === undefined) return undefined;
  const version = parameters.get("v");
  const isKnown = parameters.get("g") === types.metaGroup && (version === "v1" || version === "v1beta1");
  if (!isKnown || offers === "own") return "not offered";
  const form = { apiVersion: `${types.metaGroup}/${version}`, includeObject: "Metadata" } as const;
  if (kind === "PartialObjectMetadata" || kind === "PartialObjectMetadataList") return { ...form, kind };
  return kind === "Table" && offers === "table" && format !== "protobuf" ? { ...form, kind } : "not offered";
}

/** Puts a request's `includeObject` in a Table's form; 400 for a value that means nothing. */
export function withTableOptions(accepted: Accepted, includeObject: string | undefined): Accepted | Status {
  const { form } = accepted;
  if (form?.kind !== "Table") return accepted;
  switch (includeObject) {
    case undefined:
    case "":
    case "Metadata":
      return accepted;
    case "None":
    case "Object":
      return { ...accepted, form: { ...form, includeObject } };
    default:
      return badRequest(
        `Unable to convert to Table as requested: includeObject: Invalid value: ${JSON.stringify(includeObject)}: ` +
          "must be 'Metadata', 'Object', 'None', or empty",
      );
  }
}

function isPretty(value: string | undefined): boolean {
  return value === "1" || value === "true";
}

function formatOf(type: string, types: MediaTypes): Format | undefined {
  if (type === "application/json" || type === "*/*") return "json";
  if (type === types.protobuf) return "protobuf";
  return type === "application/yaml" ? "yaml" : undefined;
}

const noParameters: ReadonlyMap<string, string> = new Map();

/**
 * Clauses by falling quality, in the order sent among equals. A header may be nothing but separators: what is empty costs
 * next to nothing.
 */
function parseAccept(accept: string): Clause[] {
  const clauses: Clause[] = [];
  let isRanked = false;
  for (let start = 0, end = 0; start < accept.length; start = end + 1) {
    end = accept.indexOf(",", start);
    if (end < 0) end = accept.length;
    if (end === start) continue;
    const part = accept.slice(start, end);
    const typeEnd = part.indexOf(";");
    const type = (typeEnd < 0 ? part : part.slice(0, typeEnd)).trim().toLowerCase();
    if (type === "") continue;
    const parameters = typeEnd < 0 ? noParameters : parametersOf(part, typeEnd + 1);
    const sent = parameters.get("q");
    const quality = sent === undefined ? 1 : Number(sent);
    if (!(quality > 0)) continue;
    isRanked ||= quality !== 1;
    clauses.push({ type, parameters, quality });
  }
  return isRanked ? clauses.sort((a, b) => b.quality - a.quality) : clauses;
}

/** The parameters of a media range from `from` on. */
function parametersOf(part: string, from: number): Map<string, string> {
  const parameters = new Map<string, string>();
  for (let start = from, end = from; start < part.length; start = end + 1) {
    end = part.indexOf(";", start);
    if (end < 0) end = part.length;
    if (end === start) continue;
    const parameter = part.slice(start, end).trim();
    const equals = parameter.indexOf("=");
    const key = (equals < 0 ? parameter : parameter.slice(0, equals)).toLowerCase();
    parameters.set(key, equals < 0 ? "" : parameter.slice(equals + 1));
  }
  return parameters;
}

/** The format of a request body; absent means JSON. A 415 Status names what is read. */
export function negotiateBody(contentType: string | undefined, types: MediaTypes): BodyFormat | Status {
  if (contentType === undefined || contentType === "") return "json";
  const type = (contentType.split(";")[0] ?? "").trim().toLowerCase();
  if (type === "application/json") return "json";
  if (type === "application/yaml") return "yaml";
  if (type === types.protobuf) return "protobuf";
  const message = `the body of the request was in an unknown format - accepted media types include: ${types.offered}`;
  return refuse("UnsupportedMediaType", message);
}

/** True when the client reads gzip. */
export function acceptsGzip(acceptEncoding: string | undefined): boolean {
  if (acceptEncoding === undefined) return false;
  for (const part of acceptEncoding.split(",")) {
    const [coding = "", ...parameters] = part.split(";").map((s) => s.trim().toLowerCase());
    if (coding !== "gzip" && coding !== "*") continue;
    const quality = parameters.find((p) => p.startsWith("q="));
    return quality === undefined || Number(quality.slice(2)) > 0;
  }
  return false;
}

const patchTypes: ReadonlyMap<string, PatchType | "apply"> = new Map([
  ["application/json-patch+json", "json"],
  ["application/merge-patch+json", "merge"],
  ["application/strategic-merge-patch+json", "strategic"],
  ["application/apply-patch+yaml", "apply"],
]);

const notOpen = refuse(
  "UnsupportedMediaType",
  "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, " +
    "application/merge-patch+json, application/apply-patch+yaml",
);

/**
 * Chooses the patch format by content type; a 415 Status for what is not a patch, a 406 where no length says that there is
 * anything (so upstream's router). `isOpen`: the object has no type that a strategic patch could go by.
 */
export function negotiatePatch(
  contentType: string | undefined,
  length: string | undefined,
  isOpen = false,
): PatchType | "apply" | Status {
  const type = (contentType ?? "").split(";")[0]?.trim() ?? "";
  const known = patchTypes.get(type);
  if (isOpen && (known === undefined || known === "strategic")) return notOpen;
  if (known !== undefined) return known;
  if (Number(length ?? 0) > 0) return refuse("UnsupportedMediaType", "415: Unsupported Media Type", {});
  return refuse("NotAcceptable", "406: Not Acceptable", {});
}
