import t from "tap";
import type { Event } from "../../../src/api/gen/core/v1.ts";
import type * as events from "../../../src/api/gen/events/v1.ts";
import { validateEvent, validateEventUpdate } from "../../../src/kinds/core/event.ts";
import { context, contextOf, type Json, lines, make, texts } from "../build.ts";

t.test("validateEvent() checks where an event belongs and what a timed one says", (t) => {
  const namespace = "involvedObject.namespace";
  const event = (more: Json, metadata: Json = { namespace: "a" }): Event =>
    make("Event", { metadata: { name: "e", ...metadata }, involvedObject: { namespace: "a" }, ...more });
  const rows: [why: string, object: Event, expected: string[]][] = [
    ["an event", event({}), []],
    [
      "of another namespace",
      event({ involvedObject: { namespace: "b" } }),
      [`${namespace}: Invalid value: "b": does not match event.namespace`],
    ],
    ["of a cluster's object", event({ involvedObject: {} }, { namespace: "default" }), []],
    [
      "of a cluster's object elsewhere",
      event({ involvedObject: {} }),
      [`${namespace}: Invalid value: "": does not match event.namespace`],
    ],
    [
      "timed, of the system",
      event(
        {
          involvedObject: {},
          eventTime: "2026-01-01T00:00:00.000000Z",
          reportingComponent: "a.b/c",
          reportingInstance: "i",
          action: "a",
          reason: "r",
        },
        { namespace: "kube-system" },
      ),
      [],
    ],
    [
      "timed, empty",
      event({ eventTime: "2026-01-01T00:00:00.000000Z", message: "x".repeat(1025), reason: "r".repeat(129) }),
      [
        "reportingComponent: Required value",
        `reportingComponent: Invalid value: "": name part must be non-empty`,
        `reportingComponent: Invalid value: "": ${texts.name}`,
        "reportingInstance: Required value",
        "action: Required value",
        'reason: Invalid value: "": can have at most 128 characters',
        'message: Invalid value: "": can have at most 1024 characters',
      ],
    ],
    [
      "in no namespace",
      event({ involvedObject: {} }, { namespace: "" }),
      [`namespace: Invalid value: "": ${texts.subdomain}`],
    ],
  ];
  for (const [why, object, expected] of rows) {
    t.same(lines(validateEvent(object, context)), expected, why);
    t.same(lines(validateEventUpdate(object, event({}), context)), expected, `${why}, changed`);
  }
  t.end();
});

t.test("validateEvent() is stricter in events.k8s.io/v1", (t) => {
  const context = contextOf("events.k8s.io");
  const event = (more: Json): events.Event =>
    make("Event", { metadata: { name: "e", namespace: "a" }, regarding: { namespace: "a" }, ...more }, "events.k8s.io");
  const good = {
    eventTime: "2026-01-01T00:00:00.000000Z",
    reportingController: "a.b/c",
    reportingInstance: "i",
    action: "a",
    reason: "r",
    type: "Normal",
  };
  t.same(lines(validateEvent(event(good), context)), []);
  t.same(
    lines(
      validateEvent(
        event({
          ...good,
          series: { count: 1 },
          type: "X",
          deprecatedCount: 1,
          deprecatedFirstTimestamp: "2026-01-01T00:00:00Z",
          deprecatedLastTimestamp: "2026-01-01T00:00:00Z",
          deprecatedSource: { host: "h" },
        }),
        context,
      ),
    ),
    [
      'series.count: Invalid value: "": should be at least 2',
      "series.lastObservedTime: Required value",
      'type: Invalid value: "": has invalid value: X',
      'firstTimestamp: Invalid value: "": needs to be unset',
      'lastTimestamp: Invalid value: "": needs to be unset',
      'count: Invalid value: "": needs to be unset',
      'source: Invalid value: "": needs to be unset',
    ],
  );
  t.same(lines(validateEvent(event({ type: "Normal" }), context)), ["eventTime: Required value"]);
  t.same(lines(validateEventUpdate(event({ ...good, series: { count: 1 } }), event(good), context)), [
    'series.count: Invalid value: "": should be at least 2',
    "series.lastObservedTime: Required value",
  ]);
  t.end();
});
