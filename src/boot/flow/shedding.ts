// Shedding as a front opens it: what it counts, and what the log tells of it.
import { systemClock } from "../../base/clock.ts";
import { limits } from "../../config/limits.ts";
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
