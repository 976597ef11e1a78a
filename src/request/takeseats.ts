// A request at flow control: its schema and level, which its answer names, and its seats. Upstream's place for it is behind
// impersonation and before authorization, so that a request that is refused took part, too.
import { isStatus } from "../api/status.ts";
import type { User } from "../api/user.ts";
import type { LogView } from "../cache/view/view.ts";
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
  if (flow === undefined || isApart(route)) return true;
  const placement = flow.control.classify(user, asked);
  const { schema, level } = placement;
  if (schema.uid !== "") book.headers.push([flow.headers.schema, schema.uid]);
  if (level.shape.uid !== "") book.headers.push([flow.headers.level, level.shape.uid]);
  const kind = book.kind === "mutating" ? "mutating" : "readOnly";
  const width = level.shape.isExempt ? 1 : widthOf(server, flow, route);
  return holdings.sit(flow.control.seat(placement, user, asked, holdings.owner.name, kind, width), onGone(reply));
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
