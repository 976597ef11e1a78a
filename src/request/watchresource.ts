// From a watch request to the fan-out: options, selectors and format as for lists, then watch.ts.
import type { Resource, Scheme } from "../api/scheme.ts";
import { isStatus, refuse, type Status } from "../api/status.ts";
import { headersOf, sendStatus, sendStreamHead } from "./answer/response.ts";
import { newestOf, type RequestContext, viewOf } from "./call/call.ts";
import { formInput } from "./render.ts";
import { parseListOptions } from "./route/listoptions.ts";
import { selectionOf } from "./route/selectors.ts";
import { pinName, planWatch, serveWatch } from "./watch/watch.ts";

/** Serves a watch; resolves when it has begun, so that an idle watch costs no promise. */
export async function watchResource(call: RequestContext): Promise<void> {
  const refused = await start(call);
  if (refused !== undefined) sendStatus(call.reply, refused, call.accepted);
}

async function start(call: RequestContext): Promise<Status | undefined> {
  const { accepted, exchange, info, reply, server, types } = call;
  const { resource } = info;
  const options = parseListOptions(info.query);
  if (isStatus(options)) return options;
  const parsed = selectionOf({ ...options, watch: true }, resource, server.identity);
  if (isStatus(parsed)) return parsed;
  const selector = info.name === "" ? parsed : pinName(parsed, info.name);
  if (isStatus(selector)) return selector;
  const { format } = accepted;
  if (format === "yaml") {
    const offered = `application/json;stream=watch, ${types.protobufWatch}`;
    return refuse("NotAcceptable", `only the following media types are accepted: ${offered}`);
  }
  const contentType = format === "protobuf" ? types.protobufWatch : "application/json";
  if (exchange.method === "HEAD") {
    const plan = planWatch(options);
    if (isStatus(plan)) return plan;
    sendStreamHead(reply, headersOf(reply, contentType));
    return undefined;
  }
  return serveWatch({
    fanout: server.fanout,
    bounds: server.bounds.watches,
    owner: call.holdings.owner,
    view: viewOf(call),
    resource,
    identity: server.identity,
    format,
    form: formInput(call),
    isCurrent: resource.provided === true ? () => isDefined(server.scheme, resource) : undefined,
    namespace: info.namespace,
    selector,
    options,
    aborted: () => exchange.aborted,
    newest: newestOf(call),
    open: () => {
      reply.answered(200, -1);
      const ended = call.lasts();
      // Frames of protobuf begin with their length, whose first byte is zero for any object that can be stored.
      const opening = format === "protobuf" ? 0 : undefined;
      return { sink: exchange.stream(200, headersOf(reply, contentType), { opening }), ended };
    },
    onAbort: (gone) => exchange.onAbort(gone),
  });
}

/**
 * Whether a custom resource is defined as it was when a request for it was resolved. One that is gone was changed no more:
 * its log ends watches, when they have got what was in it.
 */
function isDefined(scheme: Scheme, { group, version, resource, definedAs }: Resource): boolean {
  const found = scheme.find(group, version, resource);
  if (found !== undefined) return found.definedAs === definedAs;
  return !scheme.providedIn(group).some((other) => other.resource === resource);
}
