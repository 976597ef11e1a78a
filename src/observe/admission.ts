// Durations of admission and results of its webhooks, by upstream's names and labels.
import type { Clock } from "../base/clock.ts";
import type { Family, Registry } from "./metrics.ts";

/** The halves as the metrics spell them. */
export type AdmissionHalf = "admit" | "validate";

/** Counts one call: of a plugin, or of all of them. */
export type StepMeter = (half: AdmissionHalf, operation: string, rejected: boolean, seconds: number) => void;

/** A webhook of one configuration; labels spell its kind this way (upstream). */
export interface AskedHook {
  readonly name: string;
  readonly type: "admit" | "validating";
  /** In lower case. */
  readonly operation: string;
}

/** Why a webhook's answer, or its silence, refused a write. */
export type RejectionCause = "no_error" | "calling_webhook_error" | "apiserver_internal_error";

/** Counts calls of webhooks. Codes are HTTP's; 0: there was none. */
export interface WebhookMeter {
  /** One was asked; `cause`: the write is refused for it. */
  asked(hook: AskedHook, code: number, cause: RejectionCause | undefined, seconds: number): void;
  /** One failed, and its policy overlooks that. */
  failedOpen(hook: AskedHook): void;
}

/** Counts for admission. */
export interface AdmissionMeter {
  plugin(name: string): StepMeter;
  readonly step: StepMeter;
  readonly webhook: WebhookMeter;
}

/** Seconds (upstream). */
const buckets = [0.005, 0.025, 0.1, 0.5, 1, 2.5];
const operations = ["create", "update", "delete", "connect"];

/** Codes above are one (upstream): their number stays small whatever a webhook answers. */
const codeMax = 600;

/** Quantiles cover the last one to two times this (upstream: five hours). */
const quantileAgeMs = 9_000_000;

/** Registers the metrics. */
export function admissionMeter(registry: Registry, clock: Clock): AdmissionMeter {
  const labels = ["operation", "rejected", "type"];
  const plugins = registry.histogram(
    "apiserver_admission_controller_admission_duration_seconds",
    "Time an admission plugin took for one question.",
    buckets,
    "name",
    ...labels,
  );
  const steps = registry.histogram(
    "apiserver_admission_step_admission_duration_seconds",
    "Time all admission plugins took for one write, by half.",
    buckets,
    ...labels,
  );
  const summary = registry.summary(
    "apiserver_admission_step_admission_duration_seconds_summary",
    "Time all admission plugins took for one write, by half, as quantiles of the last hours.",
    ...labels,
  );
  forget(registry, summary, clock);
  const keys = keysOf([]);
  return {
    plugin: (name) => {
      const own = keysOf([name]);
      const series: Float64Array[] = [];
      return (half, operation, rejected, seconds) => {
        const at = indexOf(half, operation, rejected);
        if (at < 0) return;
        series[at] ??= plugins.series(own[at] as string);
        plugins.observeIn(series[at], seconds);
      };
    },
    step: (half, operation, rejected, seconds) => {
      const at = indexOf(half, operation, rejected);
      if (at < 0) return;
      const key = keys[at] as string;
      steps.observe(key, seconds);
      summary.summarize(key, seconds);
    },
    webhook: webhookMeter(registry),
  };
}

/** Every plugin is asked about every write: the label values of all that can happen are joined once. */
function keysOf(first: readonly string[]): readonly string[] {
  return operations.flatMap((operation) =>
    (["admit", "validate"] as const).flatMap((half) =>
      [false, true].map((rejected) => [...first, operation.toUpperCase(), rejected, half].join("\0")),
    ),
  );
}

/** Place among these; below 0: the operation is none of them. */
function indexOf(half: AdmissionHalf, operation: string, rejected: boolean): number {
  return 4 * operations.indexOf(operation) + (half === "admit" ? 0 : 2) + (rejected ? 1 : 0);
}

function forget(registry: Registry, summary: Family, clock: Clock): void {
  let agedAt = clock.monotonic();
  registry.onCollect(() => {
    const now = clock.monotonic();
    if (now - agedAt < quantileAgeMs) return;
    agedAt = now;
    summary.age();
  });
}

function webhookMeter(registry: Registry): WebhookMeter {
  const durations = registry.histogram(
    "apiserver_admission_webhook_admission_duration_seconds",
    "Time a webhook took for one question.",
    buckets,
    "name",
    "operation",
    "rejected",
    "type",
  );
  const requests = registry.counter(
    "apiserver_admission_webhook_request_total",
    "Questions to webhooks, with the code of what came of each.",
    "code",
    "name",
    "operation",
    "rejected",
    "type",
  );
  const rejections = registry.counter(
    "apiserver_admission_webhook_rejection_count",
    "Writes refused for a webhook, because it said so or because it failed.",
    "error_type",
    "name",
    "operation",
    "rejection_code",
    "type",
  );
  const open = registry.counter(
    "apiserver_admission_webhook_fail_open_count",
    "Failures of webhooks that were overlooked, as their policy says.",
    "name",
    "type",
  );
  return {
    asked: ({ name, type, operation }, said, cause, seconds) => {
      const code = Math.min(said, codeMax);
      const rest = [operation.toUpperCase(), cause !== undefined, type];
      durations.observe([name, ...rest].join("\0"), seconds);
      requests.add([code, name, ...rest].join("\0"));
      if (cause !== undefined) rejections.add([cause, name, operation.toUpperCase(), code, type].join("\0"));
    },
    failedOpen: ({ name, type }) => open.add(`${name}\0${type}`),
  };
}
