// Event in core/v1 and events.k8s.io: the namespace it belongs to, and what the newer form with an event time asks for.
import { type FieldError, invalid, required } from "../../api/fielderror.ts";
import type * as core from "../../api/gen/core/v1.ts";
import type * as events from "../../api/gen/events/v1.ts";
import { isDns1123Subdomain, isQualifiedName } from "../formats.ts";
import type { StrategyContext } from "../strategy.ts";
import { type Errors, empty, faults } from "./check.ts";
import { namesOf } from "./names.ts";

/** An event of either group. */
export type AnyEvent = core.Event | events.Event;

/** One event seen as the reference sees it, whatever version it came in. */
interface EventView {
  readonly namespace: string;
  readonly subjectNamespace: string;
  readonly eventTime: string | undefined;
  readonly controller: string;
  readonly instance: string;
  readonly action: string;
  readonly reason: string;
  readonly message: string;
  readonly type: string;
  readonly first: string | undefined;
  readonly last: string | undefined;
  readonly count: number;
  readonly source: core.EventSource;
  readonly series: { readonly count?: number | undefined; readonly lastObservedTime?: string | undefined } | undefined;
}

const textMax = 128;
const messageMax = 1024;

/** Rules of a new event. The stricter ones hold for events.k8s.io/v1 only. */
export function validateEvent(object: AnyEvent, context: StrategyContext): FieldError[] {
  const view = viewOf(object);
  const out: Errors = [];
  checkEvent(out, view, context);
  if (context.group === "" || context.version !== "v1") return out;
  checkSeries(out, view);
  if (view.eventTime === undefined) out.push(required("eventTime"));
  if (view.type !== "Normal" && view.type !== "Warning")
    out.push(invalid("type", "", `has invalid value: ${view.type}`));
  const unset = "needs to be unset";
  if (view.first !== undefined) out.push(invalid("firstTimestamp", "", unset));
  if (view.last !== undefined) out.push(invalid("lastTimestamp", "", unset));
  if (view.count !== 0) out.push(invalid("count", "", unset));
  if (!empty(view.source.component) || !empty(view.source.host)) out.push(invalid("source", "", unset));
  return out;
}

/** Rules of a changed event. */
export function validateEventUpdate(object: AnyEvent, old: AnyEvent, context: StrategyContext): FieldError[] {
  const view = viewOf(object);
  const out: Errors = [];
  checkEvent(out, view, context);
  if (context.group === "" || context.version !== "v1") return out;
  const before = viewOf(old).series;
  if (view.series?.count !== before?.count || view.series?.lastObservedTime !== before?.lastObservedTime) {
    checkSeries(out, view);
  }
  return out;
}

function viewOf(object: AnyEvent): EventView {
  const shared = {
    namespace: object.metadata.namespace ?? "",
    eventTime: object.eventTime,
    action: object.action ?? "",
    reason: object.reason ?? "",
    type: object.type ?? "",
    series: object.series,
    instance: object.reportingInstance ?? "",
  };
  if ("involvedObject" in object) {
    return {
      ...shared,
      subjectNamespace: object.involvedObject.namespace ?? "",
      controller: object.reportingComponent,
      message: object.message ?? "",
      first: object.firstTimestamp,
      last: object.lastTimestamp,
      count: object.count ?? 0,
      source: object.source,
    };
  }
  return {
    ...shared,
    subjectNamespace: object.regarding.namespace ?? "",
    controller: object.reportingController ?? "",
    message: object.note ?? "",
    first: object.deprecatedFirstTimestamp,
    last: object.deprecatedLastTimestamp,
    count: object.deprecatedCount ?? 0,
    source: object.deprecatedSource,
  };
}

/** Rules of every version. */
function checkEvent(out: Errors, view: EventView, context: StrategyContext): void {
  const timed = view.eventTime !== undefined;
  if (!namespaceFits(view, timed, context)) {
    out.push(invalid("involvedObject.namespace", view.subjectNamespace, "does not match event.namespace"));
  }
  if (timed) checkTimed(out, view, context.group === "" ? "reportingComponent" : "reportingController");
  faults(out, "namespace", view.namespace, isDns1123Subdomain(view.namespace));
}

/** Events of cluster-scoped objects live in the default namespace, timed ones also in the system's. */
function namespaceFits(view: EventView, timed: boolean, context: StrategyContext): boolean {
  if (view.subjectNamespace !== "") return timed || view.namespace === view.subjectNamespace;
  if (view.namespace === "default") return true;
  return timed ? view.namespace === namesOf(context.identity).systemNamespace : view.namespace === "";
}

function checkTimed(out: Errors, view: EventView, controllerField: string): void {
  if (view.controller === "") out.push(required(controllerField));
  faults(out, controllerField, view.controller, isQualifiedName(view.controller));
  for (const field of ["instance", "action", "reason"] as const) {
    const path = field === "instance" ? "reportingInstance" : field;
    if (view[field] === "") out.push(required(path));
    if (Buffer.byteLength(view[field]) > textMax) out.push(invalid(path, "", `can have at most ${textMax} characters`));
  }
  if (Buffer.byteLength(view.message) > messageMax) {
    out.push(invalid("message", "", `can have at most ${messageMax} characters`));
  }
}

function checkSeries(out: Errors, view: EventView): void {
  if (view.series === undefined) return;
  if ((view.series.count ?? 0) < 2) out.push(invalid("series.count", "", "should be at least 2"));
  if (view.series.lastObservedTime === undefined) out.push(required("series.lastObservedTime"));
}
