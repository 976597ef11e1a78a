// The request path, top to bottom: resolve, authenticate, impersonate, authorize, negotiate, then one of read, watch and write.
// Whatever a stage refuses leaves through one exit as a Status; a fault of ours becomes a 500 and a line in the log.
import { internalError, isStatus, refuse, type Status } from "../api/status.ts";
import type { User } from "../api/user.ts";
import type { Credentials } from "../authn/authenticator.ts";
import type { Sender } from "../authn/table.ts";
import { askedBy, type Decision, mastersGroup } from "../authz/authorizer.ts";
import { refusalOf } from "../authz/denial.ts";
import { createImpersonation, type Impersonate } from "../authz/impersonation.ts";
import { ownerOf } from "../authz/owner.ts";
import { SharedStateFailure } from "../base/assert.ts";
import { type Awaitable, andThen } from "../base/awaitable.ts";
import { ownerAt } from "../base/network.ts";
import type { Owner } from "../base/shares.ts";
import { inSlices } from "../base/turn.ts";
import { UnknownLog } from "../cache/view/view.ts";
import { parseDuration } from "../config/duration.ts";
import { longWork } from "../config/longwork.ts";
import { hasSchema, stepsBefore } from "../kinds/custom/definition.ts";
import { type TraceSpans, waiting } from "../observe/spans.ts";
import { StageTrace } from "../observe/trace.ts";
import { connect } from "./actions/connect.ts";
import { type Reply, sendNothing, sendStatus, sendText, warningHeaders } from "./answer/response.ts";
import { auditArrival, auditStranger } from "./call/audited.ts";
import type { RequestContext } from "./call/call.ts";
import type { Server } from "./call/context.ts";
import { Holdings } from "./call/holdings.ts";
import { Book } from "./call/requestrecord.ts";
import { RequestPermit } from "./exchange/permit.ts";
import type { Exchange, Handler } from "./exchange/transport.ts";
import { newestRoute } from "./newestroute.ts";
import { servePage } from "./pages/pages.ts";
import { serveRemote } from "./proxy/remote.ts";
import { readAll, readOne } from "./readresource.ts";
import {
  isConnect,
  isOpen,
  opensByGet,
  type ResourceInfo,
  type Route,
  resolve,
  unknownResource,
} from "./route/info.ts";
import { type MediaTypes, mediaTypes, negotiateAccept, wantsPretty, withTableOptions } from "./route/negotiate.ts";
import { first, type Query } from "./route/query.ts";
import { onGone, takeSeats } from "./takeseats.ts";
import { watchResource } from "./watchresource.ts";
import { writeResource } from "./writeresource.ts";

const unauthorized = refuse("Unauthorized", "Unauthorized");
const tooManyTokens = refuse(
  "TooManyRequests",
  "The server has too many questions about tokens waiting, please try again later.",
  { retryAfterSeconds: 1 },
);

/** Has the client open another connection. */
const endsConnection = ["Connection", "close"] as const;

/** The gate of a later release that demands the right to create a connection from who opens it by GET, too. */
const createGate = "AuthorizePodWebsocketUpgradeCreatePermission";

/** What is made once for all requests of a front. */
interface Stages {
  readonly types: MediaTypes;
  readonly impersonate: Impersonate;
  readonly packs: boolean;
}

/** Makes the function a front calls for each request. */
export function createHandler(server: Server): Handler {
  const types = mediaTypes(server.identity);
  const impersonate = createImpersonation(server.identity, server.authorizer);
  const packs = server.scheme.gates.has("APIResponseCompression");
  const stages: Stages = { types, impersonate, packs };
  return (exchange) => {
    // Only a fault in reporting a fault gets here.
    serve(server, stages, exchange).catch((error: unknown) => giveUp(server, exchange, error));
  };
}

/** Answers a request whose fault cannot be told in its own form. */
function giveUp(server: Server, exchange: Exchange, error: unknown): void {
  endIfShared(error);
  try {
    exchange.send(500, [["Content-Type", "text/plain; charset=utf-8"]], "Internal Server Error\n");
  } catch (answered) {
    endIfShared(answered);
  }
  server.observer.fault("", error);
}

/** Ends the thread when what is broken is not one request's: in a later turn, so that an answer can leave before. */
function endIfShared(error: unknown): void {
  if (!(error instanceof SharedStateFailure)) return;
  setImmediate(() => {
    throw error;
  });
}

async function serve(server: Server, stages: Stages, exchange: Exchange): Promise<void> {
  const route = resolve(server.scheme.current(), exchange.method, exchange.path, exchange.query);
  const book = new Book(server, exchange, route);
  if (server.ends !== undefined && book.kind !== "long" && server.ends()) book.headers.push(endsConnection);
  const spans = server.tracer?.begin(exchange.header("traceparent"));
  const trace = new StageTrace(() => server.clock.monotonic(), book.startedMs, asksTrace(exchange.query), spans);
  book.trace = trace;
  trace.done("resolve");
  const answered = (code: number, bytes: number): void => book.answered(code, bytes);
  const { types, packs } = stages;
  const sent = (bytes: number): void => book.sent(bytes);
  const reply: Reply = { exchange, types, extra: book.headers, answered, sent, packs, trace };
  exchange.onAbort(() => book.gone());
  try {
    await answer(server, stages, route, reply, book);
  } catch (error) {
    // What was served when the request came is not any more.
    if (error instanceof UnknownLog && !book.done && isGone(server, route)) return sendStatus(reply, unknownResource);
    server.observer.fault(book.id, error);
    book.failed(error);
    if (!book.done) sendStatus(reply, internalError(error));
    endIfShared(error);
  } finally {
    book.close();
  }
}

/** Whether the resource of a request is served no more; a definition comes after its log, and goes after it. */
function isGone(server: Server, { asked, info }: Route): boolean {
  // It was not served when the request came, and for a moment after (newestroute.ts).
  if (isStatus(info) || !info.isResource) return asked.isResource;
  const { group, version, resource, provided } = info.resource;
  return provided === true || server.scheme.find(group, version, resource) !== info.resource;
}

async function answer(server: Server, stages: Stages, route: Route, reply: Reply, book: Book): Promise<void> {
  const { spans } = reply.trace;
  const found = server.authn.authenticate(spans === undefined ? reply.exchange : credentialsOf(reply.exchange, spans));
  const requester = found instanceof Promise ? await counted(server, reply.exchange, found) : found;
  reply.trace.done("authenticate");
  // Only administrators learn where the time goes.
  if (typeof requester !== "object" || !requester.groups.includes(mastersGroup)) hideTrace(reply, book);
  if (typeof requester !== "object") {
    const refused = requester === undefined ? unauthorized : tooManyTokens;
    if (refused === tooManyTokens) book.drop();
    const { audit } = server;
    return sendStatus(reply, audit === undefined ? refused : await auditStranger(audit, route, reply, book, refused));
  }
  book.user = requester.name;
  const arrival = server.audit && auditArrival(server.audit, server.authn, route, reply, book, requester);
  const unrecorded =
    arrival instanceof Promise ? await waiting(spans, "wait for audit events", { answer: arrival }) : arrival;
  if (unrecorded !== undefined) return sendStatus(reply, unrecorded);
  const acting = stages.impersonate(reply.exchange.headers, requester, reply.exchange.clipsValues, spans);
  const user = acting instanceof Promise ? await acting : acting;
  if (isStatus(user)) return sendStatus(reply, user);
  book.user = user.name;
  if (user !== requester) book.audit?.impersonates(user);
  await admit(server, stages.types, route, reply, book, user);
}

/** The credentials of a request that is sampled: who they are may be asked of others. */
function credentialsOf({ headers, clipsValues, peer, remote }: Exchange, spans: TraceSpans): Credentials {
  return { headers, peer, remote, spans, ...(clipsValues === undefined ? {} : { clipsValues }) };
}

/** The times of a request are not the client's to see. */
function hideTrace(reply: Reply, book: Book): void {
  if (reply.trace.timing === undefined) return;
  reply.trace = (reply.trace as StageTrace).hidden;
  book.trace = reply.trace;
}

/**
 * Waits for who sends a request, which counts among the arrivals of its address meanwhile: the exchange knows the address
 * from here on, also for questions to webhooks that come later.
 */
async function counted(server: Server, { remote }: Exchange, found: Promise<Sender>): Promise<Sender> {
  const leave = server.bounds.arrivals.take(ownerAt(remote, "ordinary"));
  if (leave === undefined) return "overloaded";
  try {
    return await found;
  } finally {
    leave();
  }
}

/** Authorizes a request and serves it with a seat. What only arrives, and what is refused, takes none. */
async function admit(
  server: Server,
  types: MediaTypes,
  route: Route,
  reply: Reply,
  book: Book,
  user: User,
): Promise<void> {
  const owner = ownerOf(server.identity, user, route.asked);
  // What may take long is logged with the address of its peer also when that leaves before the answer.
  if (route.asked.verb !== "get") reply.exchange.noteRemote?.();
  const holdings = new Holdings(server.bounds, server.inflight, book.kind, owner);
  try {
    reply.exchange.payer = holdings;
    reply.lane = owner.name;
    const full = holdings.arrive();
    if (full !== undefined) {
      book.drop();
      await server.refusals?.hold(owner);
      return sendStatus(reply, full);
    }
    const seated = takeSeats(server, route, reply, book, user, holdings);
    if (seated !== true && !(await queued(seated, reply))) return void (await sendTooMany(server, reply, book, owner));
    const authorizing = authorize(server, route, user, book);
    const refused = authorizing instanceof Promise ? await authorizing : authorizing;
    reply.trace.done("authorize");
    if (refused !== undefined) return sendStatus(reply, refused);
    const found = newestRoute(server, reply.exchange, route);
    const now = found instanceof Promise ? await found : found;
    if (isStatus(now)) return sendStatus(reply, now);
    const isElsewhere = now.remote !== undefined;
    const begins =
      awaitsBody(now.info) || (isElsewhere ? waitForTurn(owner, reply) : begin(server, reply, book, holdings));
    if (begins !== true && !(await begins)) return;
    await dispatch(server, types, now, reply, book, user, holdings);
    if (reply.packing !== undefined) await reply.packing;
  } finally {
    server.shedding?.served(owner, book.bytes);
    holdings.release();
  }
}

/** Waits for seats; the time is that of a stage. */
async function queued(seated: false | Promise<boolean>, { trace, exchange }: Reply): Promise<boolean> {
  exchange.noteRemote?.();
  const isSeated = await seated;
  if (isSeated) trace.done("queue");
  return isSeated;
}

/** Whether a request has a seat and its work is to begin; where it has none that is told. */
function begin(server: Server, reply: Reply, book: Book, holdings: Holdings): true | Promise<boolean> {
  const { owner } = holdings;
  const entered = holdings.enter(onGone(reply));
  if (entered === true) return waitForTurn(owner, reply);
  return queued(entered, reply).then((isSeated) =>
    isSeated ? waitForTurn(owner, reply) : sendTooMany(server, reply, book, owner),
  );
}

/**
 * Whether the work of a request is to begin, after that of others; the time is that of the same stage. Nothing is done for
 * a client that went away meanwhile.
 */
function waitForTurn({ name }: Owner, { trace, exchange }: Reply): true | Promise<boolean> {
  return (
    longWork.enter(name)?.then(() => {
      trace.done("queue");
      return !exchange.aborted;
    }) ?? true
  );
}

/** Whether a request takes its seat when its body is there (writeresource.ts). */
function awaitsBody(info: Route["info"]): boolean {
  if (isStatus(info) || !info.isResource || isConnect({ info })) return false;
  return info.verb !== "get" && info.verb !== "list" && info.verb !== "watch";
}

/** The 403 for a user who may not do what a request asks; undefined: may. */
function authorize(
  { authorizer, scheme }: Server,
  { asked, info }: Route,
  user: User,
  book: Book,
): Awaitable<Status | undefined> {
  const told = telling(book);
  const { spans } = book.trace;
  const refusal = refusalOf(authorizer, askedBy(user, asked, spans), told);
  if (!opensByGet(info) || !scheme.gates.has(createGate)) return refusal;
  return andThen(
    refusal,
    (refused) => refused ?? refusalOf(authorizer, { ...asked, verb: "create", user, spans }, told),
  );
}

/** Tells the audit event what was decided; undefined: there is none. */
function telling({ audit }: Book): ((decision: Decision) => void) | undefined {
  return audit && ((decision) => audit.decided(decision));
}

function dispatch(
  server: Server,
  types: MediaTypes,
  { asked, info, scheme, remote }: Route,
  reply: Reply,
  book: Book,
  user: User,
  holdings: Holdings,
): Awaitable<void> {
  if (isStatus(info)) return sendStatus(reply, info);
  const deadline = deadlineOf(server, info.query);
  if (typeof deadline !== "number") return sendStatus(reply, deadline);
  if (!info.isResource && remote !== undefined) {
    const about = { server, remote, asked, info, reply, user, holdings, id: book.id, deadline };
    return serveRemote({ ...about, dropped: () => book.drop(), goesOn: () => book.lasts() });
  }
  if (!info.isResource) return servePage(server, types, info, reply);
  const pretty = wantsPretty(info.query, reply.exchange.header("user-agent"));
  const open = isOpen(info);
  // Subresources have no Table but the status of custom resources, nor has what is only asked (reviews, bindings).
  const isWhole = info.subresource === undefined || (open && info.subresource.name === "status");
  const offers = isWhole && !info.resource.virtual ? "table" : "metadata";
  const negotiated = negotiateAccept(reply.exchange.header("accept"), pretty, types, offers, open);
  if (isStatus(negotiated)) return sendStatus(reply, negotiated);
  const accepted = withTableOptions(negotiated, first(info.query, "includeObject"));
  if (isStatus(accepted)) return sendStatus(reply, accepted);
  const missing = stepsBefore(info.resource);
  const ready = missing && inSlices(missing, longWork, holdings.owner.name);
  return andThen(ready, () => {
    if (!hasSchema(info.resource)) return sendStatus(reply, unknownResource);
    const lasts = () => book.lasts();
    const { exchange, trace } = reply;
    trace.done("negotiate");
    const printer = printerFor(server, info, holdings.owner, deadline);
    if (printer !== undefined) reply.printer = printer;
    const permit = new RequestPermit(scheme, server.authorizer, user, asked, telling(book), trace.spans);
    const warnings: string[] = [];
    const enter = (): true | Promise<boolean> => begin(server, reply, book, holdings);
    const about = { server, types, exchange, reply, info, user, permit, accepted };
    const call: RequestContext = { ...about, holdings, enter, lasts, deadline, trace, warnings };
    return perform(call);
  });
}

function perform(call: RequestContext): Promise<void> {
  if (isConnect(call)) return connectTo(call);
  switch (call.info.verb) {
    case "get":
      return readOne(call);
    case "list":
      return readAll(call);
    case "watch":
      return watchResource(call);
    default:
      return writeResource(call);
  }
}

async function connectTo(call: RequestContext): Promise<void> {
  const { server, reply, accepted, warnings } = call;
  const answer = await connect(server.writers, call);
  return answer === undefined ? sendNothing(reply) : sendStatus(reply, answer, accepted, warningHeaders(warnings));
}

/** What prints large answers elsewhere: pool threads know the messages of built-in kinds, and need none for custom ones. */
function printerFor(
  { merges, clock }: Server,
  { resource }: ResourceInfo,
  owner: Owner,
  deadline: number,
): Reply["printer"] {
  if (merges === undefined || (resource.provided === true && resource.message.open !== true)) return undefined;
  const msLeft = (): number => deadline - clock.monotonic();
  return {
    takes: (bytes) => merges.takes(bytes),
    print: (format, message, json) => merges.print(format, message, json, owner, msLeft()),
    printItem: (format, json, item) => merges.printItem(format, json, item, owner, msLeft()),
  };
}

/** Whether `trace=1` stands in a raw query: told apart before anything is parsed, because most requests do not ask. */
function asksTrace(query: string): boolean {
  return query.includes("trace=1") && /(?:^|&)trace=1(?:&|$)/.test(query);
}

/** Upstream's plain text, which it writes before it knows of media types. */
async function sendTooMany(server: Server, reply: Reply, book: Book, owner: Owner): Promise<false> {
  await server.refusals?.hold(owner);
  // A client that went away while its request waited is told nothing.
  if (reply.exchange.aborted) return false;
  book.drop();
  book.headers.push(["Retry-After", "1"]);
  sendText(reply, 429, "Too many requests, please try again later.\n");
  return false;
}

/** `?timeout=` shortens upstream's 60 s; a bad value is a 400. */
function deadlineOf(server: Server, query: Query): number | Status {
  const now = server.clock.monotonic();
  const text = first(query, "timeout");
  if (text === undefined || text === "") return now + server.requestMsMax;
  const ms = parseDuration(text);
  if (ms === undefined)
    return refuse(
      "BadRequest",
      `invalid timeout specified in the request URL - time: invalid duration ${JSON.stringify(text)}`,
    );
  return now + (ms <= 0 ? server.requestMsMax : Math.min(ms, server.requestMsMax));
}
