// Shedding, and refusals that are held back, as a front opens them: what they count, and what the log tells of them.
import { systemClock } from "../../base/clock.ts";
import { limits } from "../../config/limits.ts";
import { Refusals } from "../../flowcontrol/refusals.ts";
import { Shedding } from "../../flowcontrol/shedding.ts";
import type { Logger } from "../../observe/log.ts";
import type { Registry } from "../../observe/metrics.ts";

/** Opens it for a lag of `limitMs`; undefined: 0, nothing is shed. */
export function openShedding(limitMs: number, registry: Registry, log: Logger): Shedding | undefined {
  if (limitMs === 0) return undefined;
  const help = "Requests refused because the event loop of their front was late.";
  const shed = registry.counter("orch_requests_shed_total", help, "priority_level");
  let toldMs = Number.NEGATIVE_INFINITY;
  const turned = (begins: boolean, lagMs: number, owner: string): void => {
    const now = systemClock.monotonic();
    if (!begins || now - toldMs < limits.shedToldMs) return;
    toldMs = now;
    log.warn({ lagMs: Math.round(lagMs), owner }, "The event loop is late: requests of the heaviest users are shed");
  };
  return new Shedding({ limitMs, now: () => systemClock.monotonic(), shed: (level) => shed.add(level), turned });
}

/** Opens what holds back refusals. */
export function openRefusals(registry: Registry): Refusals {
  const help = "Refusals (429) held back for about a second, of users who were refused many times in it.";
  const delayed = registry.counter("orch_refusals_delayed_total", help);
  return new Refusals(systemClock, Math.random, () => delayed.add(""));
}
