// Options of writes: what create, update and patch take from the query, and what delete takes from its body or,
// without one, from the query. Texts and order of checks are those of upstream's meta/v1 validation.
import {
  type FieldError,
  forbiddenField,
  invalid,
  invalidObject,
  notSupported,
  required,
  tooLong,
} from "../../api/fielderror.ts";
import type { DeleteOptions } from "../../api/gen/meta/v1.ts";
import { quote, stringList } from "../../api/gotext.ts";
import type { Identity } from "../../api/identity.ts";
import { messageOf } from "../../api/messages.ts";
import { badRequest, isStatus, type Status } from "../../api/status.ts";
import type { Value } from "../../api/value.ts";
import { Fault, toValue } from "../../codec/engine/json.ts";
import type { BodyFormat } from "../route/negotiate.ts";
import { first, type Query } from "../route/query.ts";
import { decodeContent, type FieldValidation, faultStatus, readTyped } from "./body.ts";

/** Options of a create, update or patch. */
export interface WriteOptions {
  readonly dryRun: boolean;
  /** Empty: the caller derives it from the user agent. */
  readonly fieldManager: string;
  readonly fieldValidation: FieldValidation;
  /** Apply only. */
  readonly force: boolean;
}

/** Which options a request has; the name is the kind the refusals print. */
export type OptionsKind = "CreateOptions" | "UpdateOptions" | "PatchOptions";

/** Bytes of a field manager's name (upstream: 128). */
const fieldManagerBytesMax = 128;
const validations = ["Ignore", "Warn", "Strict"];

/** Reads the options of a create, update or patch; a 422 Status lists every field at fault. */
export function readWriteOptions(
  kind: OptionsKind,
  query: Query,
  identity: Identity,
  apply = false,
): WriteOptions | Status {
  const dryRun = dryRunOf(query) ?? [];
  const fieldManager = first(query, "fieldManager") ?? "";
  const fieldValidation = first(query, "fieldValidation") ?? "";
  const force = readBool(query, "force");
  const errors: FieldError[] = [];
  if (kind === "PatchOptions" && !apply && force !== undefined) {
    errors.push(forbiddenField("force", "may not be specified for non-apply patch"));
  }
  if (apply && fieldManager === "") errors.push(required("fieldManager", "is required for apply patch"));
  errors.push(...checkFieldManager(fieldManager), ...checkDryRun(dryRun));
  if (fieldValidation !== "" && !validations.includes(fieldValidation)) {
    errors.push(notSupported("fieldValidation", fieldValidation, validations));
  }
  if (errors.length > 0) return invalidObject(identity.spell("meta.k8s.io"), kind, "", errors);
  return {
    dryRun: dryRun.length > 0,
    fieldManager,
    fieldValidation: fieldValidation as WriteOptions["fieldValidation"],
    force: force === true,
  };
}

/** The options as admission is shown them: a document without kind and version. `force` of an apply is left out (upstream). */
export function writeOptionsDocument({ dryRun, fieldManager, fieldValidation }: WriteOptions): Value {
  const document = new Map<string, Value>();
  if (dryRun) document.set("dryRun", ["All"]);
  if (fieldManager !== "") document.set("fieldManager", fieldManager);
  if (fieldValidation !== "") document.set("fieldValidation", fieldValidation);
  return document;
}

/** The same of a delete. */
export function deleteOptionsDocument(options: DeleteOptions): Value {
  const { kind, apiVersion, ...rest } = options;
  return toValue(messageOf("meta/v1.DeleteOptions"), rest);
}

function checkFieldManager(manager: string): FieldError[] {
  const errors: FieldError[] = [];
  if (Buffer.byteLength(manager) > fieldManagerBytesMax) errors.push(tooLong("fieldManager", fieldManagerBytesMax));
  let position = 0;
  for (const character of manager) {
    if (!/[\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.test(character)) {
      const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
      errors.push(invalid("fieldManager", manager, `invalid character U+${code} (at position ${position})`));
    }
    position += Buffer.byteLength(character);
  }
  return errors;
}

/** `dryRun` of a query: without a value it asks for a dry run, too (the document; upstream refuses it). */
function dryRunOf(query: Query): string[] | undefined {
  return query.get("dryRun")?.map((value) => (value === "" ? "All" : value));
}

function checkDryRun(dryRun: readonly string[]): FieldError[] {
  if (dryRun.every((value) => value === "All")) return [];
  const text = `Unsupported value: ${stringList(dryRun)}: supported values: "All"`;
  return [{ reason: "NotSupported", field: "dryRun", text }];
}

/** A query boolean: present and neither `false` nor `0` is true, whatever it says (upstream, recorded for `force`). */
function readBool(query: Query, key: string): boolean | undefined {
  const value = first(query, key);
  return value === undefined ? undefined : value.toLowerCase() !== "false" && value !== "0";
}

/** The body a delete came with, and what it is written in. */
export interface DeleteBody {
  readonly bytes: Uint8Array;
  readonly format: BodyFormat;
}

/**
 * Options of a delete or deletecollection. A body, when there is one, is all that counts; else the query. `dryRun` counts
 * in both: a delete that was asked to be a dry run is one.
 * A 400 Status for what cannot be read (500 upstream), 422 for what contradicts itself.
 */
export function readDeleteOptions(
  body: DeleteBody | undefined,
  query: Query,
  identity: Identity,
): DeleteOptions | Status {
  const options = body === undefined || body.bytes.length === 0 ? optionsOfQuery(query) : optionsOfBody(body, identity);
  if (isStatus(options)) return options;
  const dryRun = dryRunOf(query);
  if (dryRun !== undefined) options.dryRun = [...(options.dryRun ?? []), ...dryRun];
  return validateDeleteOptions(options, identity) ?? options;
}

/** The 422 for options that mean nothing or contradict each other, wherever they were sent. */
export function validateDeleteOptions(options: DeleteOptions, identity: Identity): Status | undefined {
  const errors = checkDeleteOptions(options);
  return errors.length === 0 ? undefined : invalidObject(identity.spell("meta.k8s.io"), "DeleteOptions", "", errors);
}

function optionsOfBody(body: DeleteBody, identity: Identity): DeleteOptions | Status {
  const typed = readTyped(body.bytes, body.format);
  if (typed instanceof Fault) return faultStatus(typed, typed.message);
  const { kind, apiVersion, content } = typed;
  // Any group's DeleteOptions will do, as on upstream; another kind is none of its scheme.
  if (kind !== "" && kind !== "DeleteOptions") {
    const version = apiVersion === "" ? identity.spell("meta.k8s.io/v1") : apiVersion;
    return badRequest(
      `no kind ${quote(kind)} is registered for version ${quote(version)} in scheme "pkg/runtime/scheme.go:100"`,
    );
  }
  const options = decodeContent<DeleteOptions>(messageOf("meta/v1.DeleteOptions"), content);
  return options instanceof Fault ? faultStatus(options, options.message) : options;
}

function optionsOfQuery(query: Query): DeleteOptions | Status {
  const options: DeleteOptions = {};
  const grace = first(query, "gracePeriodSeconds");
  if (grace !== undefined) {
    const seconds = parseInt64(grace);
    if (typeof seconds === "string") return badRequest(seconds);
    options.gracePeriodSeconds = seconds;
  }
  const orphan = readBool(query, "orphanDependents");
  if (orphan !== undefined) options.orphanDependents = orphan;
  const policy = first(query, "propagationPolicy");
  if (policy !== undefined) options.propagationPolicy = policy;
  return options;
}

/** Go's ParseInt(text, 10, 64): the number, or its error's text. */
function parseInt64(text: string): bigint | string {
  if (!/^[+-]?[0-9]+$/.test(text)) return `strconv.ParseInt: parsing ${quote(text)}: invalid syntax`;
  const number = BigInt(text.replace(/^\+/, ""));
  if (BigInt.asIntN(64, number) !== number) return `strconv.ParseInt: parsing ${quote(text)}: value out of range`;
  return number;
}

function checkDeleteOptions(options: DeleteOptions): FieldError[] {
  const errors: FieldError[] = [];
  const policy = options.propagationPolicy;
  if (policy !== undefined && options.orphanDependents !== undefined) {
    errors.push(invalid("propagationPolicy", policy, "orphanDependents and deletionPropagation cannot be both set"));
  }
  if (policy !== undefined && !["Foreground", "Background", "Orphan"].includes(policy)) {
    errors.push(notSupported("propagationPolicy", policy, ["Foreground", "Background", "Orphan", "nil"]));
  }
  errors.push(...checkDryRun(options.dryRun ?? []));
  return errors;
}
