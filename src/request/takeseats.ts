// A request at flow control: its schema and level, which its answer names, and its seats. Upstream's place for it is behind
// impersonation and before authorization, so that a request that is refused took part, too. What is shed is refused here.
import { isStatus } from "../api/status.ts";
import type { User } from "../api/user.ts";
import type { Owner } from "../base/shares.ts";
import type { LogView } from "../cache/view/view.ts";
import { limits } from "../config/limits.ts";
import { isLate, isSheddable } from "../flowcontrol/shedding.ts";
import type { Reply } from "./answer/response.ts";
import type { FlowParts, Server } from "./call/context.ts";
import type { Holdings } from "./call/holdings.ts";
import type { Book } from "./call/requestrecord.ts";
import { lasts, type Route } from "./route/info.ts";
import { first } from "./route/query.ts";

/** Calls what it is given when the request's client goes away. */
export function onGone({ exchange }: Reply): (cancel: () => void) => void {
  return (cancel) => exchange.onAbort(cancel);
}

/** Takes the seats of a request, or waits for them; false: it is rejected. True where it takes no part. */
export function takeSeats(
  server: Server,
  route: Route,
  reply: Reply,
  book: Book,
  user: User,
  holdings: Holdings,
): boolean | Promise<boolean> {
  const { flow } = server;
  const { asked } = route;
  if (isApart(route)) return true;
  const { owner } = holdings;
  if (flow === undefined) {
    const width = asked.verb === "list" ? limits.shedListCost : 1;
    return !isShed(server, route, book, owner, owner.level, false, width);
  }
  const placement = flow.control.classify(user, asked);
  const { schema, level } = placement;
  if (schema.uid !== "") book.headers.push([flow.headers.schema, schema.uid]);
  if (level.shape.uid !== "") book.headers.push([flow.headers.level, level.shape.uid]);
  const kind = book.kind === "mutating" ? "mutating" : "readOnly";
  const { name, isExempt } = level.shape;
  const width = isExempt ? 1 : widthOf(server, flow, route);
  if (isShed(server, route, book, owner, name, isExempt, width)) return false;
  return holdings.sit(flow.control.seat(placement, user, asked, owner.name, kind, width), onGone(reply));
}

/** Whether a request is refused because the event loop is late. `level`: the one it runs at, or its owner's. */
function isShed(
  { shedding }: Server,
  { asked }: Route,
  book: Book,
  owner: Owner,
  level: string,
  isExempt: boolean,
  width: number,
): boolean {
  if (shedding === undefined || !isSheddable(level, isExempt, owner)) return false;
  const isWatch = book.kind === "long";
  const cost = isWatch ? limits.shedWatchCost : book.kind === "mutating" ? width + limits.shedChangeCost : width;
  const isHeavy = asked.isResource && (isWatch || asked.verb === "list");
  return shedding.sheds({ owner, level, isLate: isLate(level, owner), isHeavy, cost });
}

/** Connections, logs and profiles last, and take no part (upstream); a watch does while it starts. */
function isApart({ asked }: Route): boolean {
  if (!asked.isResource) return asked.path.startsWith("/debug/pprof/");
  return asked.verb !== "watch" && lasts(asked);
}

function widthOf({ views, fanout, clock }: Server, { widths, fronts }: FlowParts, { asked, info }: Route): number {
  if (isStatus(info) || !info.isResource || asked.verb === "get" || asked.verb === "watch") return 1;
  const { prefix } = info.resource.stored ?? info.resource;
  const view: LogView | undefined = prefix === undefined ? undefined : views.find(prefix);
  if (view === undefined) return 1;
  const { query, namespace, name } = info;
  // One that cannot be read is refused before it does anything.
  const limit = Number(first(query, "limit") ?? "0") || 0;
  const isSelective = query.has("labelSelector") || query.has("fieldSelector");
  const watchers = asked.verb === "list" ? 0 : fanout.watchersOf(view) * fronts;
  const work = { verb: asked.verb, view, namespace, name: name || asked.name, limit, isSelective, watchers };
  return widths.of(work, clock.monotonic());
}
