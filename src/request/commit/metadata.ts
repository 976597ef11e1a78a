// What the server does to metadata on the way in: names, identity, times, what a client may not touch, and the
// checks around the kind's own (upstream: rest.BeforeCreate and rest.BeforeUpdate).
import { randomUUID } from "node:crypto";
import { type FieldError, invalidObject } from "../../api/fielderror.ts";
import { quote } from "../../api/gotext.ts";
import type { ApiObject, ObjectMeta, OwnerReference } from "../../api/object.ts";
import type { Resource } from "../../api/scheme.ts";
import { badRequest, conflict, conflictModified, type Status } from "../../api/status.ts";
import { laneOf } from "../../authz/owner.ts";
import { type Awaitable, andThen } from "../../base/awaitable.ts";
import { randomSuffix } from "../../base/suffix.ts";
import { inSlices } from "../../base/turn.ts";
import { settleTemplated } from "../../codec/proto/templates.ts";
import { longWork } from "../../config/longwork.ts";
import { validateMeta, validateMetaUpdate } from "../../kinds/meta.ts";
import { metaRunsOf } from "../../kinds/metarules.ts";
import type { Strategy, StrategyContext, UpdateStrategy } from "../../kinds/strategy.ts";
import { metaRulesOf } from "../../kinds/table.ts";
import type { MergeRequest, WriteRequest } from "./writerequest.ts";

/** Characters of generateName that are kept (upstream: 63 less the ending). */
export const generatedPrefixMax = 58;

/** A name made from generateName. */
export function generateName(prefix: string): string {
  return `${prefix.slice(0, generatedPrefixMax)}${randomSuffix()}`;
}

/** Brings a new object into the state it is stored in and checks it; undefined when all is well. */
export function prepareCreate(
  context: StrategyContext,
  request: WriteRequest,
  strategy: Strategy<ApiObject>,
  object: ApiObject,
): Awaitable<Status | undefined> {
  const { resource, namespace } = request;
  const meta = object.metadata;
  if (!agreesOnNamespace(request, meta)) {
    return badRequest("the namespace of the provided object does not match the namespace sent on the request");
  }
  if (resource.namespaced) meta.namespace = namespace;
  else delete meta.namespace;
  delete meta.deletionTimestamp;
  delete meta.deletionGracePeriodSeconds;
  delete meta.selfLink;
  delete meta.clusterName;
  meta.uid = randomUUID();
  meta.creationTimestamp = context.now;
  if ((meta.name ?? "") === "" && strategy.namesItself) meta.name = randomUUID();
  if ((meta.name ?? "") === "" && (meta.generateName ?? "") !== "") meta.name = generateName(meta.generateName ?? "");
  strategy.prepareForCreate(context, object);
  settleTemplated(resource.message, object);
  const { ahead } = strategy;
  const ready = ahead && prepareRules(ahead(object), laneOf(context.identity, request.user));
  return andThen(ready, () => checkCreate(context, request, strategy, object));
}

function checkCreate(
  context: StrategyContext,
  request: WriteRequest,
  strategy: Strategy<ApiObject>,
  object: ApiObject,
): Status | undefined {
  const { resource } = request;
  const meta = object.metadata;
  const { last = false, anyFinalizer = false, nameLast = false } = metaRulesOf(resource, context.identity);
  const own = strategy.validate(context, object);
  const format = last ? "path-segment" : strategy.nameFormat;
  const common =
    last && own.length > 0
      ? []
      : validateMeta(meta, resource.namespaced, format, context.identity, last || anyFinalizer);
  const all = [...common, ...own];
  const rest = nameLast ? all.filter((error) => !isAboutName(error)) : [];
  const errors = rest.length > 0 ? rest : all;
  if (errors.length > 0) return invalidObject(kindGroup(resource), resource.kind, meta.name ?? "", errors);
  const version = parseVersion(meta.resourceVersion);
  // 500 upstream. A PUT that creates ignores the version, but reads it.
  if (request.name !== "") return typeof version === "string" ? badRequest(version) : undefined;
  // A dry run never gets as far as to look at it.
  if (!context.dryRun && (typeof version === "string" || version > 0n)) {
    return badRequest("resourceVersion should not be set on objects to be created");
  }
  return undefined;
}

/** Whether a name is there and not as it should be. */
function isAboutName({ field, reason }: FieldError): boolean {
  return reason === "Invalid" && (field === "metadata.name" || field === "metadata.generateName");
}

/** Brings a changed object into the state it is stored in and checks it; undefined when all is well. */
export function prepareUpdate(
  context: StrategyContext,
  request: WriteRequest,
  strategy: Strategy<ApiObject>,
  object: ApiObject,
  old: ApiObject,
  revision: number,
): Awaitable<Status | undefined> {
  const { resource } = request;
  const meta = object.metadata;
  const stale = checkVersion(request, strategy, meta, revision);
  if (stale !== undefined) return stale;
  if (!agreesOnNamespace(request, meta)) {
    return badRequest("the namespace of the provided object does not match the namespace sent on the request");
  }
  if (resource.namespaced) meta.namespace = request.namespace;
  else delete meta.namespace;
  copyOrDelete(meta, old.metadata, "generation");
  const part = updateOf(strategy, request.subresource);
  part.prepare(context, object, old);
  const ahead = part === strategy.update ? strategy.ahead : undefined;
  const ready = ahead && prepareRules(ahead(object), laneOf(context.identity, request.user));
  return andThen(ready, () => checkUpdate(context, request, strategy, object, old));
}

function checkUpdate(
  context: StrategyContext,
  request: WriteRequest,
  strategy: Strategy<ApiObject>,
  object: ApiObject,
  old: ApiObject,
): Status | undefined {
  const { resource, name } = request;
  const meta = object.metadata;
  const part = updateOf(strategy, request.subresource);
  restoreSystemFields(meta, old.metadata, context.now);
  const rules = metaRulesOf(resource, context.identity);
  const runs = metaRunsOf(rules, request.subresource);
  const { namespaced } = resource;
  const { nameFormat } = strategy;
  const common = validateMetaUpdate(
    meta,
    old.metadata,
    namespaced,
    nameFormat,
    context.identity,
    runs,
    rules.anyFinalizer,
  );
  const errors: FieldError[] = [...common, ...part.validate(context, object, old)];
  return errors.length === 0 ? undefined : invalidObject(kindGroup(resource), resource.kind, name, errors);
}

/** The name and namespace in an object agree with the path. */
export function checkName(request: MergeRequest, object: ApiObject): Status | undefined {
  const { name, namespace } = request;
  const meta = object.metadata;
  if ((meta.name ?? "") === "") return nameless(request);
  if (meta.name !== name) {
    return badRequest(`the name of the object (${meta.name}) does not match the name on the URL (${name})`);
  }
  if (namespace !== "" && (meta.namespace ?? "") !== "" && meta.namespace !== namespace) {
    return badRequest(
      `the namespace of the object (${meta.namespace}) does not match the namespace on the request (${namespace})`,
    );
  }
  return undefined;
}

/** A create at a name was authorized for that name: the object that is made has no other. */
export function checkNewName(request: MergeRequest, object: ApiObject): Status | undefined {
  const { newName } = request;
  return newName === undefined ? undefined : checkName({ ...request, name: newName }, object);
}

/** 400 for an object that does not say its name. */
export function nameless({ name }: MergeRequest): Status {
  return badRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`);
}

/** The group a kind is in where messages name the kind: two kinds kept the one they came from (upstream). */
export function kindGroup({ group, resource }: Resource): string {
  const moved = group.startsWith("networking.") && (resource === "ingresses" || resource === "networkpolicies");
  return moved ? "extensions" : group;
}

/** The rules of the part of an object a request writes. */
function updateOf(strategy: Strategy<ApiObject>, subresource: string): UpdateStrategy<ApiObject> {
  if (subresource === "") return strategy.update;
  const part = subresource === "status" ? strategy.status : strategy.subresources?.get(subresource);
  // A subresource without rules of its own is written as the whole object is.
  return part ?? strategy.update;
}

/** Whether an update of this subresource goes through the object's own write path. */
export function isObjectSubresource(strategy: Strategy<ApiObject>, subresource: string): boolean {
  if (subresource === "status") return strategy.status !== undefined;
  return strategy.subresources?.has(subresource) ?? false;
}

function restoreSystemFields(meta: ObjectMeta, old: ObjectMeta, now: string): void {
  delete meta.clusterName;
  delete meta.selfLink;
  if ((meta.uid ?? "") === "") copyOrDelete(meta, old, "uid");
  meta.creationTimestamp = old.creationTimestamp ?? now;
  // A deletion that began is never taken back.
  if (old.deletionTimestamp !== undefined) meta.deletionTimestamp = old.deletionTimestamp;
  if (old.deletionGracePeriodSeconds !== undefined && meta.deletionGracePeriodSeconds === undefined) {
    meta.deletionGracePeriodSeconds = old.deletionGracePeriodSeconds;
  }
}

function copyOrDelete<K extends keyof ObjectMeta>(to: ObjectMeta, from: ObjectMeta, key: K): void {
  const value = from[key];
  if (value === undefined) delete to[key];
  else to[key] = value;
}

function agreesOnNamespace(request: WriteRequest, meta: ObjectMeta): boolean {
  if (!request.resource.namespaced || (meta.namespace ?? "") === "") return true;
  return meta.namespace === request.namespace;
}

/** The resource version a client sent, 0 when it sent none; the text of Go's error when it is not a number. */
export function parseVersion(version: string | undefined): bigint | string {
  if (version === undefined || version === "") return 0n;
  if (!/^[0-9]+$/.test(version)) return `strconv.ParseUint: parsing ${quote(version)}: invalid syntax`;
  const number = BigInt(version);
  return BigInt.asUintN(64, number) === number
    ? number
    : `strconv.ParseUint: parsing ${quote(version)}: value out of range`;
}

/** Optimistic concurrency: the version in the body is the stored one, or absent where the kind allows that. */
function checkVersion(
  request: WriteRequest,
  strategy: Strategy<ApiObject>,
  meta: ObjectMeta,
  revision: number,
): Status | undefined {
  const { resource, name } = request;
  const version = parseVersion(meta.resourceVersion);
  // 500 upstream.
  if (typeof version === "string") return badRequest(version);
  if (version === 0n && strategy.allowUnconditionalUpdate) {
    meta.resourceVersion = String(revision);
    return undefined;
  }
  if (version === 0n) {
    const text = "Invalid value: 0x0: must be specified for an update";
    const error: FieldError = { reason: "Invalid", field: "metadata.resourceVersion", text };
    return invalidObject(resource.group, resource.resource, name, [error]);
  }
  return version === BigInt(revision) ? undefined : conflict(resource, name, conflictModified);
}

const owners = "metadata.ownerReferences contains duplicate entries";
const ending =
  "API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed:";

/** Warning for repeated owners in what a client sent. */
export const ownerWarning = `.${owners}; ${ending}`;
/** Warning for repeated owners in what mutating admission left. */
export const ownerWarningAfterAdmission = `.${owners} after mutating admission happens; ${ending}`;

/** Drops owners that are listed twice, field for field, and says so. */
export function dedupOwners(meta: ObjectMeta, warning: string, warnings: string[]): void {
  const references = meta.ownerReferences;
  if (references === undefined || references.length < 2) return;
  const seen = new Set<string>();
  const repeated: string[] = [];
  const kept: OwnerReference[] = [];
  for (const reference of references) {
    const { apiVersion, kind, name, uid, controller, blockOwnerDeletion } = reference;
    const identity = JSON.stringify([apiVersion, kind, name, uid, controller, blockOwnerDeletion]);
    if (seen.has(identity)) repeated.push(uid ?? "");
    else kept.push(reference);
    seen.add(identity);
  }
  if (repeated.length === 0) return;
  meta.ownerReferences = kept;
  warnings.push(`${warning} ${repeated.join(", ")}`);
}

/** Does what the rules of a kind need done before. They take long themselves, and get a turn of their own. */
async function prepareRules(steps: Iterator<undefined>, owner: string): Promise<void> {
  await inSlices(steps, longWork, owner);
  await longWork.later(owner);
}
