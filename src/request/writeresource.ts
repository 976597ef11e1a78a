// From a changing request to the write path and back to an answer: formats, options and bodies are read here, in the
// order upstream reads them, and nothing below knows of HTTP.
import type { DeleteOptions } from "../api/gen/meta/v1.ts";
import { messageOf } from "../api/messages.ts";
import type { Resource } from "../api/scheme.ts";
import { isStatus, notFound, refuse, type Status, timedOut } from "../api/status.ts";
import { within } from "../base/within.ts";
import { limits } from "../config/limits.ts";
import { strategyOf } from "../kinds/table.ts";
import { type Action, actionOf, actionShape } from "./actions/actions.ts";
import { writeScale } from "./actions/scale.ts";
import { formRefusal } from "./answer/forms.ts";
import { hangUp, sendStatus, warningHeaders } from "./answer/response.ts";
import { fieldReportOf, isPatch, readSent, type Sent } from "./body/body.ts";
import {
  deleteOptionsDocument,
  type OptionsKind,
  readDeleteOptions,
  readWriteOptions,
  type WriteOptions,
  writeOptionsDocument,
} from "./body/options.ts";
import { newestOf, pastOf, type RequestContext } from "./call/call.ts";
import { catchUp } from "./commit/attempts.ts";
import { isObjectSubresource } from "./commit/metadata.ts";
import { readCurrent, storeOf } from "./commit/objectstore.ts";
import { othersFirst } from "./commit/steps.ts";
import type { WriteRequest, WriteServices, Written } from "./commit/writerequest.ts";
import { deleteItems, deleteObject } from "./delete/delete.ts";
import { sendList } from "./list/sendlist.ts";
import { readList } from "./read/read.ts";
import { answerWritten, formInput } from "./render.ts";
import { isOpen, isScale, shapeOf, unknownResource } from "./route/info.ts";
import { parseListOptions } from "./route/listoptions.ts";
import { isProtobuf, negotiateBody, negotiatePatch } from "./route/negotiate.ts";
import { selectionOf } from "./route/selectors.ts";
import { managerOfAgent } from "./write/ownership.ts";
import { goesToPool, writeObject } from "./write/write.ts";

/** Serves create, update, patch, delete and deletecollection. */
export async function writeResource(call: RequestContext): Promise<void> {
  const { info, reply, accepted, server } = call;
  const act = actionOf(info, server.identity);
  const done = act !== undefined || isStored(call) ? await dispatch(call, act) : unknownResource;
  if (done === undefined) return;
  if (isStatus(done)) return sendStatus(reply, done, accepted, warningHeaders(call.warnings));
  answerWritten(call, done, warningHeaders([...call.warnings, ...done.warnings]));
}

/** Kinds that are never stored, and connections to nodes, come with their own issues. */
function isStored({ info, server }: RequestContext): boolean {
  if (info.resource.stored === undefined) return false;
  if (info.subresource === undefined) return true;
  if (info.verb !== "update" && info.verb !== "patch") return false;
  if (isScale(info.subresource)) return true;
  return isObjectSubresource(strategyOf(info.resource, server.identity), info.subresource.name);
}

/** An answer to send; undefined: it was sent, or the client is gone. */
function dispatch(call: RequestContext, act: Action | undefined): Promise<Written | Status | undefined> {
  switch (call.info.verb) {
    case "create":
      return create(call, act);
    case "update":
      return update(call);
    case "patch":
      return patch(call);
    case "delete":
      return deleteOne(call);
    default:
      return deleteCollection(call);
  }
}

async function create(call: RequestContext, act: Action | undefined): Promise<Written | Status | undefined> {
  if (call.info.resource.ending === true) return endingRefusal(call.info.resource);
  const format = negotiateBody(call.exchange.header("content-type"), call.types);
  if (typeof format !== "string") return format;
  const bytes = await receiveBody(call, act === undefined ? limits.bodyBytesMax : limits.smallBodyBytesMax);
  if (bytes === undefined || isStatus(bytes)) return bytes;
  const request = requestOf(call, "CreateOptions");
  if (isStatus(request)) return request;
  const sent: Sent = { kind: "create", format, force: false, bytes };
  const isAtName = act === undefined && request.name !== "";
  return write(call, isAtName ? { ...request, name: "", newName: request.name } : request, sent, act);
}

/** An apply that creates is let through (upstream): it goes with what else is left. */
function endingRefusal({ group, resource }: Resource): Status {
  const why = "create not allowed while custom resource definition is terminating";
  return refuse("MethodNotAllowed", why, { group, kind: resource });
}

async function update(call: RequestContext): Promise<Written | Status | undefined> {
  const bytes = await receiveBody(call, limits.bodyBytesMax);
  if (bytes === undefined || isStatus(bytes)) return bytes;
  const request = requestOf(call, "UpdateOptions");
  if (isStatus(request)) return request;
  const format = negotiateBody(call.exchange.header("content-type"), call.types);
  if (typeof format !== "string") return format;
  return write(call, request, { kind: "update", format, force: false, bytes });
}

async function patch(call: RequestContext): Promise<Written | Status | undefined> {
  const { info, server, reply, exchange } = call;
  const kind = negotiatePatch(exchange.header("content-type"), exchange.header("content-length"), isOpen(info));
  if (isStatus(kind)) return kind;
  const bytes = await receiveBody(call, limits.bodyBytesMax);
  if (bytes === undefined || isStatus(bytes)) return bytes;
  reply.audit?.patched(bytes);
  const options = readWriteOptions("PatchOptions", info.query, server.identity, kind === "apply");
  if (isStatus(options)) return options;
  // An apply names its manager.
  const request = requestWith(call, options);
  return write(call, request, { kind, format: kind === "apply" ? "yaml" : "json", force: options.force, bytes });
}

/**
 * The body, at most `bytesMax` of it (what acts or asks instead of being stored, and options of deletes, is small). Its
 * bytes are charged to its user before the first is awaited, and it has to be there by the request's deadline. Seats of
 * flow control are held for it for a moment only, and those without it taken when it is there: an upload that drips holds
 * up no other. A Status of 413 or 429; undefined when the request
 * was answered (429 without a seat, 504 past its deadline) or the client went away.
 */
async function receiveBody(call: RequestContext, bytesMax: number): Promise<Uint8Array | Status | undefined> {
  const { exchange, holdings, reply, trace } = call;
  const expected = expectedBytes(exchange.header("content-length"), exchange.header("transfer-encoding"), bytesMax);
  const full = expected === 0 ? undefined : holdings.receive(expected);
  if (full !== undefined) return full;
  const body = exchange.body(bytesMax);
  const leftMs = (): number => call.deadline - call.server.clock.monotonic();
  let bytes = await within(body, Math.min(limits.bodySeatMsMax, leftMs()));
  if (bytes === "late") {
    holdings.lendSeats();
    bytes = await within(body, leftMs());
  }
  trace.done("body");
  if (bytes === "aborted") return undefined;
  if (bytes === "too-large") {
    return refuse("RequestEntityTooLarge", `Request entity too large: limit is ${bytesMax}`);
  }
  if (bytes !== "late") {
    const entered = call.enter();
    return entered === true || (await entered) ? bytes : undefined;
  }
  sendStatus(reply, timedOut, call.accepted, hangUp);
  return undefined;
}

/** Bytes to expect, and the most that are taken where a client does not say. */
function expectedBytes(length: string | undefined, encoding: string | undefined, bytesMax: number): number {
  if (length === undefined) return encoding === undefined ? 0 : bytesMax;
  const bytes = Number(length);
  return bytes >= 0 && bytes <= bytesMax ? bytes : bytesMax;
}

/** Reads what was sent, unless it is so big that the pool reads it, and does what it is for. */
async function write(call: RequestContext, request: WriteRequest, sent: Sent, act?: Action): Promise<Written | Status> {
  const { info, server, reply, trace, accepted } = call;
  const { writers } = server;
  const scaled = isScale(info.subresource);
  // What is sent to these is not merged into what is stored.
  const whole = act !== undefined || scaled ? request : { ...request, sent, inProtobuf: isProtobuf(accepted) };
  if (goesUnread(call, whole)) return warned(request, await writeObject(writers, whole, undefined));
  const shape = act === undefined ? shapeOf(info.resource, info.subresource) : actionShape(info, sent);
  const body = readSent(server.scheme, shape, sent, request.fields);
  trace.done("decode");
  // Upstream reads a patch when it has the object to apply it to.
  if (isStatus(body)) return (isPatch(sent.kind) ? await missing(writers, request) : undefined) ?? body;
  if (body.kind === "object") {
    body.show(reply.audit);
    // Of what is big the audit event has taken enough of this turn.
    if (writers.merges?.takes(sent.bytes.length)) await othersFirst(writers, request);
    if (act) return warned(request, await act(server, request, body.take()));
  }
  return warned(request, await (scaled ? writeScale : writeObject)(writers, whole, body));
}

/** 404 for an object that is not there. */
async function missing(writers: WriteServices, request: WriteRequest): Promise<Status | undefined> {
  const { resource, namespace, name, deadline } = request;
  const late = await catchUp(writers, deadline);
  if (late !== undefined) return late;
  return readCurrent(writers, resource, namespace, name) === undefined ? notFound(resource, name) : undefined;
}

/** Whether a body is so big that the pool reads it, whatever it is for. An audit event wants to see objects here. */
function goesUnread({ server, reply }: RequestContext, request: WriteRequest): boolean {
  const { sent } = request;
  if (sent === undefined || !goesToPool(server.writers, request, sent.bytes.length)) return false;
  return reply.audit === undefined || (sent.kind !== "create" && sent.kind !== "update");
}

/** What came of a write, with what is to be said about the fields that were sent. */
function warned({ fields, heard }: WriteRequest, done: Written | Status): Written | Status {
  // They go before what plugins say, and to the client of a refused write as well.
  if (fields !== undefined && fields.warnings.length > 0) heard?.unshift(...fields.warnings);
  return done;
}

async function deleteOne(call: RequestContext): Promise<Written | Status | undefined> {
  const options = await deleteOptions(call);
  if (options === undefined || isStatus(options)) return options;
  warnOfDefaultPolicy(call, options);
  return deleteObject(call.server.writers, deleteRequest(call, options), options);
}

/** The list is taken first and answered last: what is in it was deleted, or is being deleted. */
async function deleteCollection(call: RequestContext): Promise<Status | undefined> {
  const { info, server, reply, exchange, accepted } = call;
  const listOptions = parseListOptions(info.query);
  if (isStatus(listOptions)) return listOptions;
  const selector = selectionOf(listOptions, info.resource, server.identity);
  if (isStatus(selector)) return selector;
  const options = await deleteOptions(call);
  if (options === undefined || isStatus(options)) return options;
  warnOfDefaultPolicy(call, options);
  const { view } = storeOf(server.writers, info.resource);
  const { resource, namespace } = info;
  const about = { resource, namespace, view, identity: server.identity, aborted: () => exchange.aborted };
  const input = { ...about, lane: reply.lane, newest: newestOf(call), past: pastOf(call) };
  const form = formInput(call);
  const list = await readList(input, listOptions, selector);
  if (isStatus(list)) return list;
  const hold = list.view.hold();
  try {
    const request = deleteRequest(call, options);
    const refused = await deleteItems(server.writers, request, list.view, list.items, options);
    if (refused !== undefined) return refused;
    // Deleted, but it took so long that what there was cannot be shown any more.
    if (hold.expired) return timedOut;
    const unfit = form && formRefusal(form.form, resource, true);
    if (unfit !== undefined) return unfit;
    const warning = { ...reply, extra: [...reply.extra, ...warningHeaders(call.warnings)] };
    await sendList(warning, input, list, accepted, form);
    return undefined;
  } finally {
    hold.release();
  }
}

async function deleteOptions(call: RequestContext): Promise<ReturnType<typeof readDeleteOptions> | undefined> {
  const { exchange, types, info, server } = call;
  const bytes = await receiveBody(call, limits.smallBodyBytesMax);
  if (bytes === undefined || isStatus(bytes)) return bytes;
  if (bytes.length === 0) return readDeleteOptions(undefined, info.query, server.identity);
  const format = negotiateBody(exchange.header("content-type"), types);
  if (typeof format !== "string") return format;
  const options = readDeleteOptions({ bytes, format }, info.query, server.identity);
  if (!isStatus(options)) call.reply.audit?.requested(messageOf("meta/v1.DeleteOptions"), options);
  return options;
}

/** What a client is told that left to the kind what becomes of the dependents, whether the object is there or not. */
function warnOfDefaultPolicy({ info, server, warnings }: RequestContext, options: DeleteOptions): void {
  const { unnamedPolicyWarning } = strategyOf(info.resource, server.identity);
  const isNamed = options.propagationPolicy !== undefined || options.orphanDependents !== undefined;
  if (unnamedPolicyWarning !== undefined && !isNamed) warnings.push(unnamedPolicyWarning);
}

function requestOf(call: RequestContext, kind: OptionsKind): WriteRequest | Status {
  const options = readWriteOptions(kind, call.info.query, call.server.identity);
  return isStatus(options) ? options : requestWith(call, options);
}

/** One literal, for every write makes one. */
function requestWith(call: RequestContext, options: WriteOptions): WriteRequest {
  const { info, user, permit, deadline, trace, reply, warnings } = call;
  return {
    resource: info.resource,
    subresource: info.subresource?.name ?? "",
    namespace: info.namespace,
    name: info.name,
    user,
    permit,
    manager: options.fieldManager || managerOfAgent(call.exchange.header("user-agent")),
    dryRun: options.dryRun,
    heard: warnings,
    annotations: reply.audit?.annotations,
    deadline,
    trace,
    fields: fieldReportOf(options.fieldValidation),
    options: writeOptionsDocument(options),
    sent: undefined,
  };
}

function deleteRequest(call: RequestContext, options: DeleteOptions): WriteRequest {
  const dryRun = (options.dryRun ?? []).length > 0;
  return { ...plainRequest(call), dryRun, options: deleteOptionsDocument(options) };
}

function plainRequest({ info, user, permit, deadline, trace, reply, warnings: heard }: RequestContext): WriteRequest {
  const { resource, subresource, namespace, name } = info;
  const at = { resource, subresource: subresource?.name ?? "", namespace, name };
  const { annotations } = reply.audit ?? {};
  return { ...at, user, permit, manager: "", dryRun: false, heard, annotations, deadline, trace };
}
