// Between the write path and the store: the state a write starts from, and the commit that holds only while no other write
// changed it (what becomes of a write otherwise: attempts.ts). Bytes are encoded once; the answer is those bytes with the new revision's digits put in.
import type { ApiObject } from "../../api/object.ts";
import type { Resource } from "../../api/scheme.ts";
import { badRequest, conflict, isStatus, refuse, Status, timedOut } from "../../api/status.ts";
import type { Value } from "../../api/value.ts";
import { ownerOf } from "../../authz/owner.ts";
import { assert } from "../../base/assert.ts";
import { copyOf } from "../../base/copy.ts";
import type { Location } from "../../cache/shared/record.ts";
import { formAt, hasUnnamedField } from "../../cache/shared/selection.ts";
import { selectionOf } from "../../cache/shared/selectionof.ts";
import type { LogView } from "../../cache/view/view.ts";
import { encode, encodeForStore, Fault, parseOwn, textOf, toValue } from "../../codec/engine/json.ts";
import { settleNullBytes } from "../../codec/engine/nullbytes.ts";
import { decodeStored, decodeStoredText } from "../../codec/engine/stored.ts";
import { encodeMessage } from "../../codec/proto/protobuf.ts";
import { transcode } from "../../codec/proto/transcode.ts";
import { limits } from "../../config/limits.ts";
import { convert } from "../../kinds/convert.ts";
import { type ConversionTerms, converted, remoteOf } from "../../kinds/remote.ts";
import type { StrategyContext } from "../../kinds/strategy.ts";
import { strategyOf } from "../../kinds/table.ts";
import { type Change, changeTypes, type Refusal } from "../../storage/store.ts";
import { protoCache } from "../answer/protocache.ts";
import { isOutdated, represent, reshape, toPresent } from "../answer/toversion.ts";
import { unknownResource } from "../route/info.ts";
import { type changed, InDoubt, storeUnavailable } from "./attempts.ts";
import { checkNewest, inTime, lost, reached } from "./newest.ts";
import { othersFirst } from "./steps.ts";
import type { CommitRequest, StoreAccess, WriteRequest, WriteServices } from "./writerequest.ts";

/** An object's stored bytes at a revision. */
export interface StoredState {
  readonly revision: number;
  /** A copy of the stored bytes, the revision's digits included. */
  readonly body: Buffer;
  /** Where those digits start. */
  readonly versionAt: number;
  readonly selection: Uint8Array;
}

/** What is stored of an object. */
export class StoredObject {
  /** Its JSON at the version it is stored in, the revision's digits included. */
  readonly text: string;
  /** It was stored when its definition said something else, and is to be brought into the shape that it gives now. */
  readonly isOutdated: boolean;
  #body: Buffer | undefined;
  #document: Value | undefined;

  constructor(text: string, isOutdated = false) {
    this.text = text;
    this.isOutdated = isOutdated;
  }

  /** The text's bytes, made when they are asked for. */
  get body(): Buffer {
    return (this.#body ??= Buffer.from(this.text));
  }

  /** What the text says; read only. Parsed when it is asked for. */
  get document(): Value {
    return (this.#document ??= parseStored(this.text));
  }
}

function parseStored(text: string): Value {
  const document = parseOwn(text);
  assert(!(document instanceof Fault), "A stored object is not JSON");
  return document;
}

/** An object as it is stored now. */
export class Current extends StoredObject implements StoredState {
  readonly revision: number;
  /** Length of body. */
  readonly bytes: number;
  readonly versionAt: number;
  readonly selection: Uint8Array;
  /** It is stored otherwise than it would be now: a write that changes nothing is stored all the same. */
  readonly isStale: boolean;

  /** Nothing of the record stays in use: it may be recycled while a write waits for something. */
  constructor(view: LogView, at: Location, isOutdated: boolean) {
    const object = view.object(at);
    super(textOf(object), isOutdated);
    this.revision = view.revisionOf(at);
    this.bytes = object.length;
    this.versionAt = view.versionAt(at);
    this.selection = copyOf(view.selection(at));
    this.isStale = this.revision <= view.staleRevision;
  }
}

/** What commitObject answers: the object's bytes at the requested version, and where its revision's digits start. */
export interface Committed {
  readonly body: Buffer;
  readonly versionAt: number;
  readonly revision: number;
  /** The object's message in protobuf, where the answer is that and the object was at hand. */
  readonly message?: Uint8Array | undefined;
}

/** What a create depends on was changed first: it starts over. */
export const moved = "moved";

/** The store's side of a resource: the version it is stored in, and its log. */
export function storeOf(writers: StoreAccess, resource: Resource): { stored: Resource; prefix: string; view: LogView } {
  const { stored, prefix } = storedAs(resource);
  return { stored, prefix, view: writers.views.log(prefix) };
}

/** The version a resource is stored in, and where. */
export function storedAs(resource: Resource): { stored: Resource; prefix: string } {
  const { stored } = resource;
  assert(stored?.prefix !== undefined, `Nothing of ${resource.resource} is stored`);
  return { stored, prefix: stored.prefix };
}

/** The newest state of an object; undefined when there is none. */
export function readCurrent(
  writers: StoreAccess,
  resource: Resource,
  namespace: string,
  name: string,
): Current | undefined {
  const { view } = storeOf(writers, resource);
  view.drain();
  const at = view.get(namespace, name);
  if (at === 0) return undefined;
  const form = (): number => formAt(view.selectionSource(at), view.selectionAt(at));
  return new Current(view, at, isOutdated(resource, writers.scheme.identity, form));
}

/** The current state decoded at the version it is stored in. */
export function storedObject(resource: Resource, current: Current): ApiObject {
  return decodeStoredText(storedAs(resource).stored, current.text);
}

/**
 * An object that was read from the store at the version objects are stored in now: those of custom resources may have
 * been stored in an earlier one. A Status where the webhook that converts it fails.
 */
export function storableObject(
  writers: StoreAccess,
  request: CommitRequest,
  object: ApiObject,
): ApiObject | Promise<ApiObject | Status> {
  const { stored } = storedAs(request.resource);
  if (stored.provided !== true || object.apiVersion === stored.apiVersion) return object;
  const { identity } = writers.scheme;
  return convertedFor(writers, request, () => toPresent(object, stored, identity));
}

/** The current state decoded at the version of the request. Throws ConversionNeeded. */
export function requestedObject(
  writers: Pick<StoreAccess, "scheme">,
  resource: Resource,
  current: StoredObject,
): ApiObject {
  const { stored } = storedAs(resource);
  const { identity } = writers.scheme;
  const object = decodeStoredText(stored, current.text);
  if (current.isOutdated) {
    if (remoteOf(resource) !== undefined) return toPresent(object, resource, identity);
    reshape(object, resource, stored, identity);
  }
  return stored === resource ? object : convert(object, stored, resource, identity);
}

/** The same as a document. `object`: the current state at that version. */
export function requestedDocument(resource: Resource, current: StoredObject, object: ApiObject): Value {
  const isAsStored = storedAs(resource).stored === resource && !current.isOutdated;
  return isAsStored ? current.document : toValue(resource.message, object);
}

/** The current state decoded at the version of the request; a Status where the webhook that converts it fails. */
export function requestedObjectOf(
  writers: StoreAccess,
  request: CommitRequest,
  current: StoredObject,
): ApiObject | Promise<ApiObject | Status> {
  return convertedFor(writers, request, () => requestedObject(writers, request.resource, current));
}

/** What a step makes; where a webhook converts the objects of a resource, it may have to wait for that, or fail. */
export function convertedFor<T>(
  writers: Pick<StoreAccess, "scheme">,
  request: CommitRequest,
  step: () => T,
): T | Promise<T | Status> {
  return remoteOf(request.resource) === undefined ? step() : converted(termsOf(writers, request), step);
}

/** On whose behalf a write has a conversion webhook asked. */
export function termsOf({ scheme }: Pick<StoreAccess, "scheme">, request: CommitRequest): ConversionTerms {
  const { user, deadline, trace } = request;
  return { owner: user && ownerOf(scheme.identity, user), deadline, spans: trace.spans };
}

/** The current state's bytes at the version of the request; a Status where the webhook that converts it fails. */
export function requestedBytes(
  writers: StoreAccess,
  request: CommitRequest,
  state: StoredState,
): Uint8Array | Promise<Uint8Array | Status> {
  return convertedFor(writers, request, () => represent(request.resource, writers.scheme.identity, state.body));
}

/** The full key of an object. */
export function keyOf(prefix: string, namespace: string, name: string): string {
  return namespace === "" ? `${prefix}/${name}` : `${prefix}/${namespace}/${name}`;
}

/** What a strategy may know about the request. */
export function strategyContext(writers: WriteServices, request: WriteRequest): StrategyContext {
  const { identity, gates } = writers.scheme;
  const { group, version } = request.resource;
  const { name, uid, groups, extra } = request.user;
  const now = timeText(writers.clock.now());
  return { identity, group, version, now, user: { name, uid, groups, extra }, dryRun: request.dryRun, gates };
}

let lastSecond = Number.NaN;
let lastText = "";

/** A time of the clock in the API's form: whole seconds, UTC. Writes of one second share the text. */
export function timeText(milliseconds: number): string {
  const second = Math.floor(milliseconds / 1000);
  if (second !== lastSecond) {
    lastSecond = second;
    lastText = `${new Date(second * 1000).toISOString().slice(0, 19)}Z`;
  }
  return lastText;
}

/**
 * Writes `object` (at the version of the request, not to be used afterwards) where `current` was, or where nothing
 * was. Answers its bytes; a change that changes nothing is not written. A Status when the store refuses, or the
 * request's time is over. Throws when the request was not authorized to do that, also where it is a dry run; and InDoubt.
 */
export async function commitObject(
  writers: StoreAccess,
  request: CommitRequest,
  name: string,
  object: ApiObject,
  current: Current,
): Promise<Committed | Status | typeof changed>;
/** The same for a write that may be a create. */
export async function commitObject(
  writers: StoreAccess,
  request: CommitRequest,
  name: string,
  object: ApiObject,
  current: Current | undefined,
): Promise<Committed | Status | typeof changed | typeof moved>;
export async function commitObject(
  writers: StoreAccess,
  request: CommitRequest,
  name: string,
  object: ApiObject,
  current: Current | undefined,
): Promise<Committed | Status | typeof changed | typeof moved> {
  const { resource, namespace, dryRun } = request;
  const { identity } = writers.scheme;
  request.permit.check({ operation: current === undefined ? "create" : "update", resource, namespace, name });
  if (writers.clock.monotonic() >= request.deadline) return timedOut;
  const { stored, prefix } = storedAs(resource);
  const sentVersion = object.metadata.resourceVersion;
  const keeping =
    stored === resource ? object : convertedFor(writers, request, () => convert(object, resource, stored, identity));
  const kept = keeping instanceof Promise ? await keeping : keeping;
  if (isStatus(kept)) return kept;
  const { outline: message = stored.message } = request;
  const strategy = strategyOf(stored, identity);
  // Upstream keeps some new objects otherwise than it keeps them after their first change (claims: without a phase).
  const isUnsettled = strategy.settlesLate === true && current === undefined;
  // So it is with bytes that are null.
  const hadNull = settleNullBytes(message, kept);
  const selection = selectionOf(stored, identity, kept, { namespace, name }, isUnsettled || hadNull);
  const encoded = encodeForStore(message, kept, digitsMax);
  const { body, versionAt } = encoded;
  if (body.length > limits.objectBytesMax) return objectTooLarge;
  const isBig = body.length >= limits.mergeHereBytesMax;
  if (isBig) await othersFirst(writers, request);
  // What a later read at this version will see, which is not always what was sent.
  const show = (): ApiObject => convert(decodeStored(stored, body), stored, resource, identity);
  const showing = stored === resource ? kept : convertedFor(writers, request, show);
  const seen = showing instanceof Promise ? await showing : showing;
  if (isStatus(seen)) return seen;
  const changesNothing = (now: Current) =>
    !hadNull && !now.isStale && isSame(now, body, versionAt) && !hasUnnamedField(now.selection);
  const isWritten = !dryRun && (current === undefined || !changesNothing(current));
  const stale = isWritten ? undefined : await unwritten(writers, request, name, current);
  if (stale !== undefined) return stale;
  if (dryRun && current === undefined) {
    if (sentVersion !== undefined) seen.metadata.resourceVersion = sentVersion;
    return { body: Buffer.from(encode(resource.message, seen)), versionAt: 0, revision: 0 };
  }
  if (isBig && stored !== resource) await othersFirst(writers, request);
  const answer = stored === resource ? encoded : encodeForStore(resource.message, seen, digitsMax);
  if (current !== undefined && !isWritten) return withVersion(answer, current.revision);
  const key = keyOf(prefix, namespace, name);
  const expected = current?.revision ?? 0;
  const type = current === undefined ? changeTypes.create : changeTypes.update;
  request.trace.done("encode");
  const { guard, user } = request;
  const change: Change = { prefix, key, expected, type, guard, selection, body, versionAt, spans: request.trace.spans };
  const committing = writers.store.commit(change, user && ownerOf(identity, user));
  const outcome = await inTime(writers, request, committing);
  request.trace.done("commit");
  // The store took a copy.
  if (isBig) await othersFirst(writers, request);
  if ("revision" in outcome) {
    const committed = withVersion(answer, outcome.revision);
    if (request.inProtobuf !== true || isBig || request.outline !== undefined) return committed;
    return { ...committed, message: messageOfWritten(writers, resource, seen, committed) };
  }
  if ("refused" in outcome) return storeRefusal(outcome);
  if ("guarded" in outcome) return (await reached(writers, request, outcome.guarded)) ?? moved;
  return lost(writers, request, outcome);
}

/** The message of an object that was written, made once for the answer and for watchers. */
function messageOfWritten(
  writers: StoreAccess,
  resource: Resource,
  object: ApiObject,
  { body, revision }: Committed,
): Uint8Array {
  object.metadata.resourceVersion = String(revision);
  const message = transcode(resource.message, body) ?? encodeMessage(resource.message, object);
  protoCache.expect(storeOf(writers, resource).view, resource, revision, message);
  return message;
}

/** Why a write that changes nothing may not be answered: the object is not as in `current` any more. Undefined: it may. */
export function unwritten(
  writers: StoreAccess,
  request: Pick<CommitRequest, "resource" | "namespace" | "deadline">,
  name: string,
  current: StoredState | undefined,
): Promise<Status | typeof changed | undefined> | undefined {
  const { view } = storeOf(writers, request.resource);
  return checkNewest(writers, request, view, name, current?.revision ?? 0);
}

/**
 * Removes the object if it is still as in `current`; the DELETED event shows that last state. `operation`: whether a
 * delete does it or an update that released the object. Throws when the request was not authorized to do that; and InDoubt.
 */
export async function commitRemoval(
  writers: WriteServices,
  request: WriteRequest,
  current: StoredState,
  operation: "delete" | "release",
): Promise<number | Status | typeof changed> {
  const { resource, namespace, name } = request;
  request.permit.check({ operation, resource, namespace, name });
  if (writers.clock.monotonic() >= request.deadline) return timedOut;
  const { body, versionAt, revision } = current;
  if (request.dryRun) return (await unwritten(writers, request, name, current)) ?? revision;
  const { prefix } = storedAs(resource);
  const end = versionAt + String(revision).length;
  const last = new Uint8Array(body.length - (end - versionAt));
  last.set(body.subarray(0, versionAt));
  last.set(body.subarray(end), versionAt);
  const key = keyOf(prefix, namespace, name);
  const selection = copyOf(current.selection);
  const type = changeTypes.delete;
  const { spans } = request.trace;
  const change: Change = { prefix, key, expected: revision, type, selection, body: last, versionAt, spans };
  const committing = writers.store.commit(change, ownerOf(writers.scheme.identity, request.user));
  const outcome = await inTime(writers, request, committing);
  request.trace.done("commit");
  if ("revision" in outcome) return outcome.revision;
  assert(!("guarded" in outcome), "A delete has no guard");
  return "refused" in outcome ? storeRefusal(outcome) : lost(writers, request, outcome);
}

/** The 413 of an object that is larger than the store takes. */
export const objectTooLarge = refuse(
  "RequestEntityTooLarge",
  `Request entity too large: limit is ${limits.objectBytesMax}`,
  {},
);

/**
 * What the client reads when the store does not take a change; the store's own words go to the log. Throws InDoubt where
 * it may have taken it.
 */
function storeRefusal({ refused, message }: Refusal): Status {
  switch (refused) {
    case "too-large":
      return objectTooLarge;
    case "invalid-key":
      return badRequest("the name or namespace cannot be stored");
    case "not-encrypted":
      return new Status(
        500,
        "InternalError",
        "Internal error occurred: the object cannot be encrypted",
        undefined,
        message,
      );
    case "busy":
      return new Status(
        429,
        "TooManyRequests",
        "The server has too many writes waiting, please try again later.",
        again,
      );
    case "full":
      return new Status(503, "ServiceUnavailable", "the store is full", again, message);
    case "no-log":
      return unknownResource;
    case "unavailable":
      return new Status(503, "ServiceUnavailable", storeUnavailable.message, again, message);
    case "in-doubt":
      throw new InDoubt(message);
  }
}

const again = { retryAfterSeconds: 1 };

/** Whether the encoded object is what is stored, resource version aside. */
function isSame(current: Current, body: Uint8Array, versionAt: number): boolean {
  const digits = String(current.revision).length;
  if (current.versionAt !== versionAt || current.bytes !== body.length + digits) return false;
  const stored = current.body;
  if (stored.compare(body, 0, versionAt, 0, versionAt) !== 0) return false;
  return stored.compare(body, versionAt, body.length, versionAt + digits, stored.length) === 0;
}

/** Digits of the largest revision: so many bytes are free in front of what is encoded. */
const digitsMax = 16;

/** Puts the digits in, in the place: what stands before them moves to the front by as many bytes. */
function withVersion({ body, versionAt }: { body: Buffer; versionAt: number }, revision: number): Committed {
  const digits = String(revision);
  const start = body.byteOffset - digits.length;
  const whole = Buffer.from(body.buffer, start, digits.length + body.length);
  whole.copyWithin(0, digits.length, digits.length + versionAt);
  whole.write(digits, versionAt, "latin1");
  return { body: whole, versionAt, revision };
}

/** 409 for a write that is conditional on what the object is not. */
export function preconditionFailed(
  { resource, namespace, name }: Pick<WriteRequest, "resource" | "namespace" | "name">,
  what: "UID" | "ResourceVersion",
  wanted: string,
  found: string,
): Status {
  const { prefix } = storedAs(resource);
  const why = `Precondition failed: ${what} in precondition: ${wanted}, ${what} in object meta: ${found}`;
  const key = keyOf(prefix, namespace, name);
  const error = `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: ${why}`;
  return conflict(resource, name, error);
}
