// How long admission plugins take, in the reference's names: one histogram by plugin, operation, half and outcome.
import type { Registry } from "./metrics.ts";

/** The halves as the metric spells them. */
export type AdmissionHalf = "admit" | "validate";

/** Counts one call of a plugin. */
export type PluginMeter = (half: AdmissionHalf, operation: string, rejected: boolean, seconds: number) => void;

/** Makes the meter of a plugin. */
export type AdmissionMeter = (plugin: string) => PluginMeter;

/** Seconds (reference). */
const buckets = [0.005, 0.025, 0.1, 0.5, 1, 2.5];
const operations = ["create", "update", "delete", "connect"];

/** Registers the metric. */
export function admissionMeter(registry: Registry): AdmissionMeter {
  const family = registry.histogram(
    "apiserver_admission_controller_admission_duration_seconds",
    "Time an admission plugin took for one question.",
    buckets,
    "name",
    "operation",
    "rejected",
    "type",
  );
  return (plugin) => {
    // Every plugin is asked about every write: keys are made once.
    const keys = new Map(
      operations.map((operation) => [
        operation,
        (["admit", "validate"] as const).flatMap((half) =>
          [false, true].map((rejected) => [plugin, operation.toUpperCase(), rejected, half].join("\0")),
        ),
      ]),
    );
    return (half, operation, rejected, seconds) => {
      const key = keys.get(operation)?.[(half === "admit" ? 0 : 2) + (rejected ? 1 : 0)];
      if (key !== undefined) family.observe(key, seconds);
    };
  };
}
