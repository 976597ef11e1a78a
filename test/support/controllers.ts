// Controllers in a test: a reconciler around one, whose timers follow the test's clock.
import type { Clock } from "../../src/base/clock.ts";
import {
  type Controller,
  controllersTurn,
  Reconciler,
  type ReconcilerParts,
  type Report,
} from "../../src/controllers/reconciler.ts";
import type { Occurrence } from "../../src/controllers/recording/correlation.ts";
import type { Recorder, Recorders } from "../../src/controllers/recording/eventwriter.ts";
import { Registry } from "../../src/observe/metrics.ts";
import { workqueueMeter } from "../../src/observe/workqueues.ts";

/** What reconcilers of a test share; timers look at the clock, which a test may put forward. */
export function reconcilerParts(clock: Clock, report: Report = () => undefined): ReconcilerParts {
  return {
    clock,
    random: () => 0.5,
    meter: workqueueMeter(new Registry()),
    report,
    turn: controllersTurn(),
    timer: (due, ms) => {
      const atMs = clock.monotonic() + ms;
      const look = (): void => {
        if (clock.monotonic() < atMs) return;
        clearInterval(timer);
        due();
      };
      const timer = setInterval(look, 1);
      timer.unref();
      return () => clearInterval(timer);
    },
  };
}

/** Keeps what controllers tell, and writes nothing. */
export class Told implements Recorders {
  readonly events: Occurrence[] = [];

  recorder(component: string): Recorder {
    return (about, type, reason, message) => void this.events.push({ component, about, type, reason, message });
  }
}

/** A reconciler that has not started; `report` is told what it complains about. */
export function reconcilerOf(
  controller: Controller,
  clock: Clock,
  report: (message: string, cause: unknown) => void = () => undefined,
  parts: Partial<ReconcilerParts> = {},
): Reconciler {
  const told: Report = ({ message, cause }) => report(message, cause);
  return new Reconciler("test", controller, { ...reconcilerParts(clock, told), ...parts });
}
