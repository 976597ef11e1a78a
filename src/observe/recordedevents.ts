// What became of the events controllers tell of.
import type { Registry } from "./metrics.ts";

/** Written; not written because there were too many; refused, or too many that wait. */
export type EventOutcome = "written" | "limited" | "dropped";

const outcomes: readonly EventOutcome[] = ["written", "limited", "dropped"];

/** Counts events by the controller they are of. */
export interface EventMeter {
  /** A controller may tell of events from now on. */
  open(component: string): void;
  count(component: string, outcome: EventOutcome): void;
}

/** Counts into `registry`; once per registry. */
export function eventMeter(registry: Registry): EventMeter {
  const events = registry.counter(
    "orch_recorded_events_total",
    "Events of the server's controllers, by what became of them.",
    "source",
    "outcome",
  );
  return {
    open: (component) => {
      // From the start on: a counter that appears with its first event has no rate for it.
      for (const outcome of outcomes) events.add(`${component}\0${outcome}`, 0);
    },
    count: (component, outcome) => events.add(`${component}\0${outcome}`),
  };
}
