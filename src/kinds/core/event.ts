// Event, of both groups: both are stored in the core one's form.
import { type FieldError, invalid, required } from "../../api/fielderror.ts";
import type { Event, EventSource } from "../../api/gen/core/v1.ts";
import type { Event as NewEvent } from "../../api/gen/events/v1.ts";
import type { Resource } from "../../api/scheme.ts";
import type { OwnBehaviour } from "../behaviour.ts";
import { type Columns, column, since, wide } from "../columns.ts";
import { isDns1123Subdomain, isQualifiedName } from "../formats.ts";
import { strategyFor } from "../generic.ts";
import type { Strategy, StrategyContext } from "../strategy.ts";
import { type Errors, empty, faults } from "../validation/check.ts";
import { namesOf } from "../validation/names.ts";

/** Behaviour of events of both groups. */
export function eventBehaviour(resource: Resource): OwnBehaviour {
  const isCore = resource.group === "";
  return {
    strategy: eventStrategy(resource),
    columns: eventColumns(),
    // Those of the other group are counted (so upstream).
    ...(isCore ? { evaluator: "uncounted" } : {}),
    conversion: isCore ? { toHub: eventFromCore, fromHub: eventToCore } : undefined,
    // Events in their first form, whichever group they come in, keep rules older than those of metadata.
    metaRules:
      !isCore && resource.version === "v1"
        ? { update: [0, 1] }
        : { update: [0, 0], parts: { status: [0, 0] }, last: true },
  };
}

/** Fields of the object an event is about. */
const objectFields = ["kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"] as const;

/** Events of both groups; selectable fields are those of the stored version, core. */
function eventStrategy(resource: Resource): Strategy<AnyEvent> {
  const core = resource.group === "";
  return strategyFor<AnyEvent>(resource, {
    allowCreateOnUpdate: true,
    validate: validateEvent,
    validateUpdate: validateEventUpdate,
    selectableFields: (event) => eventFields(event as Event),
    fieldLabels: core
      ? [...objectFields.map((f) => `involvedObject.${f}`), "reason", "reportingComponent", "source", "type"]
      : [
          ...objectFields.map((f) => [`regarding.${f}`, `involvedObject.${f}`] as const),
          ["reportingController", "reportingComponent"],
          "reason",
          "type",
        ],
  });
}

function eventFields({ involvedObject, reason, type, source, reportingComponent }: Event): [string, string][] {
  return [
    ...objectFields.map((f): [string, string] => [`involvedObject.${f}`, involvedObject[f] ?? ""]),
    ["reason", reason ?? ""],
    ["reportingComponent", reportingComponent],
    ["source", source.component || reportingComponent],
    ["type", type ?? ""],
  ];
}

/** Columns of events; those of both groups are stored in the core one's form. */
function eventColumns(): Columns<Event> {
  return {
    columns: [
      column("Last Seen", "Time since the event was last observed", lastSeen),
      column("Type", "Kind of event: Normal or Warning", ({ type }) => type ?? ""),
      column("Reason", "Short word for why it happened", ({ reason }) => reason ?? ""),
      column("Object", "What the event is about", ({ involvedObject: { kind = "", name = "" } }) =>
        name === "" ? kind.toLowerCase() : `${kind.toLowerCase()}/${name}`,
      ),
      column("Subobject", "The part of it", ({ involvedObject }) => involvedObject.fieldPath ?? "", wide),
      column("Source", "Who reported it", source, wide),
      column("Message", "What happened, for people", ({ message }) => (message ?? "").trim()),
      column("First Seen", "Time since the event was first observed", firstSeen, wide),
      column(
        "Count",
        "How often it was observed",
        ({ series, count }) => series?.count ?? (series ? 0 : count || 1),
        wide,
      ),
      column("Name", "Name of the event", ({ metadata }) => metadata.name ?? "", { format: "name", wide: true }),
    ],
  };
}

function lastSeen(event: Event, now: () => number): string {
  if (event.series !== undefined) return since(event.series.lastObservedTime, now);
  return event.lastTimestamp === undefined ? firstSeen(event, now) : since(event.lastTimestamp, now);
}

function firstSeen({ firstTimestamp, eventTime }: Event, now: () => number): string {
  return since(firstTimestamp ?? eventTime, now);
}

function source({ source, reportingComponent, reportingInstance }: Event): string {
  const component = source.component || reportingComponent;
  const host = source.host || reportingInstance;
  return host === "" ? component : `${component}, ${host}`;
}

/** An event of either group. */
export type AnyEvent = Event | NewEvent;

/** One event seen as upstream sees it, whatever version it came in. */
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
  readonly source: EventSource;
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

/** Event of events.k8s.io from the core one. */
export function eventFromCore(event: Event): NewEvent {
  const { involvedObject, message, source, firstTimestamp, lastTimestamp, count, reportingComponent, series, ...same } =
    event;
  return {
    ...same,
    series: series && { ...series, count: series.count ?? 0 },
    reportingController: reportingComponent,
    regarding: involvedObject,
    note: message,
    deprecatedSource: source,
    deprecatedFirstTimestamp: firstTimestamp,
    deprecatedLastTimestamp: lastTimestamp,
    deprecatedCount: count,
  };
}

/** Core event from that of events.k8s.io. */
export function eventToCore(event: NewEvent): Event {
  const {
    regarding,
    note,
    deprecatedSource,
    deprecatedFirstTimestamp,
    deprecatedLastTimestamp,
    deprecatedCount,
    reportingController,
    reportingInstance,
    ...same
  } = event;
  return {
    ...same,
    involvedObject: regarding,
    message: note,
    source: deprecatedSource,
    firstTimestamp: deprecatedFirstTimestamp,
    lastTimestamp: deprecatedLastTimestamp,
    count: deprecatedCount,
    reportingComponent: reportingController ?? "",
    reportingInstance: reportingInstance ?? "",
  };
}
