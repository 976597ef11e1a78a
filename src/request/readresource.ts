// From a GET to the log and back: of one object, of a collection, and of what is computed rather than stored.
import { isStatus, type Status } from "../api/status.ts";
import { strategyOf } from "../kinds/table.ts";
import { readScale } from "./actions/scale.ts";
import { componentDocuments, readComponent } from "./answer/componentstatus.ts";
import { formRefusal } from "./answer/forms.ts";
import { protoCache } from "./answer/protocache.ts";
import { sendStatus } from "./answer/response.ts";
import { representRecord } from "./answer/toversion.ts";
import { type RequestContext, readInput } from "./call/call.ts";
import type { Server } from "./call/context.ts";
import { isObjectSubresource } from "./commit/metadata.ts";
import { sendList } from "./list/sendlist.ts";
import { locateObject, readList, readObject } from "./read/read.ts";
import { answerList, answerMessage, answerObject, formInput } from "./render.ts";
import { isScale, unknownResource } from "./route/info.ts";
import { parseListOptions } from "./route/listoptions.ts";
import { isProtobuf } from "./route/negotiate.ts";
import { first } from "./route/query.ts";
import { selectionOf } from "./route/selectors.ts";

const encoder = new TextEncoder();

/** Serves a GET of one object or object-shaped subresource. */
export async function readOne(call: RequestContext): Promise<void> {
  if (takesMessage(call)) return readMessage(call);
  const { reply, accepted } = call;
  const found = await find(call);
  call.trace.done("find");
  if (isStatus(found)) return sendStatus(reply, found, accepted);
  answerObject(call, 200, found);
}

/** Whether a stored object is answered as its message in protobuf, and its JSON is not needed beside. */
function takesMessage({ accepted, info, reply }: RequestContext): boolean {
  const { resource, subresource } = info;
  const isBuiltIn = !resource.computed && resource.provided !== true;
  return isProtobuf(accepted) && isBuiltIn && subresource === undefined && reply.audit?.wantsResponse !== true;
}

/** Serves a GET of one object in protobuf from the messages that are kept for lists and watches. */
async function readMessage(call: RequestContext): Promise<void> {
  const { reply, accepted, info } = call;
  const input = readInput(call);
  const { view, resource, identity } = input;
  const at = await locateObject(input, info.name, askedVersion(call));
  call.trace.done("find");
  if (isStatus(at)) return sendStatus(reply, at, accepted);
  // What is large is encoded in the pool.
  if (reply.printer?.takes(view.object(at).length) === true) {
    return answerObject(call, 200, representRecord(view, at, resource, identity));
  }
  answerMessage(call, 200, protoCache.shelf(view, resource, identity).listed(at));
}

/** The version that a read of one object asks for; empty: the newest. */
function askedVersion({ info }: RequestContext): string {
  return first(info.query, "resourceVersion") ?? "";
}

async function find(call: RequestContext): Promise<Uint8Array | Status> {
  const { info, server } = call;
  const { resource, subresource, name } = info;
  if (resource.computed) {
    const component = readComponent(resource, name, await storageFault(server));
    return isStatus(component) ? component : encoder.encode(component);
  }
  if (isScale(subresource)) return readScale(readInput(call), name, askedVersion(call));
  if (subresource !== undefined && !isObjectSubresource(strategyOf(resource, server.identity), subresource.name)) {
    return unknownResource;
  }
  return readObject(readInput(call), name, askedVersion(call));
}

/** Serves a list. */
export async function readAll(call: RequestContext): Promise<void> {
  const refused = await list(call);
  if (refused !== undefined) sendStatus(call.reply, refused, call.accepted);
}

async function list(call: RequestContext): Promise<Status | undefined> {
  const { info, reply, server, accepted } = call;
  const sent = parseListOptions(info.query);
  if (isStatus(sent)) return sent;
  const { gates } = server.scheme;
  const options = gates.has("APIListChunking") ? sent : { ...sent, limit: 0, continueToken: "" };
  const selector = selectionOf(options, info.resource, server.identity);
  if (isStatus(selector)) return selector;
  if (info.resource.computed) {
    answerList(call, componentDocuments(info.resource, selector, await storageFault(server)));
    return undefined;
  }
  const form = formInput(call);
  const refused = form && formRefusal(form.form, info.resource, true);
  if (refused !== undefined) return refused;
  const unread = call.holdings.sendList();
  if (unread !== undefined) return unread;
  const input = readInput(call);
  const found = await readList(input, options, selector);
  call.trace.done("find");
  if (isStatus(found)) return found;
  // Lists of nothing but metadata do not have it (upstream).
  const isCounted = gates.has("RemainingItemCount") && accepted.form?.kind !== "PartialObjectMetadataList";
  if (!isCounted) delete found.metadata.remainingItemCount;
  server.observer.listed(found.view.prefix, found.items.length);
  await sendList(reply, input, found, accepted, form);
  return undefined;
}

/** What the health check of the store says; undefined: it is well. */
async function storageFault(server: Server): Promise<string | undefined> {
  const page = await server.health("/livez/etcd", false, []);
  return page?.code === 200 ? undefined : "the store does not answer";
}
