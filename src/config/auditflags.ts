// The flags of auditing: names and defaults are upstream's. Both backends have the same flags of delivery and of
// truncation; only their defaults differ.
import { parseDuration } from "./duration.ts";
import type { Flag, FlagValues } from "./flag.ts";

const group = "Audit";

/** The default settings of a backend. */
interface Defaults {
  readonly mode: string;
  readonly batchMax: number;
  readonly wait: string;
  readonly throttled: boolean;
}

const logDefaults: Defaults = { mode: "blocking", batchMax: 1, wait: "0s", throttled: false };
const webhookDefaults: Defaults = { mode: "batch", batchMax: 400, wait: "30s", throttled: true };

const intMax = 1_000_000_000;

/** The flags of how events reach a backend. */
function deliveryFlags(backend: string, { mode, batchMax, wait, throttled }: Defaults): Flag[] {
  const int = (name: string, value: number, help: string): Flag => {
    return { name: `audit-${backend}-${name}`, group, type: "int", default: String(value), min: 1, max: intMax, help };
  };
  return [
    {
      name: `audit-${backend}-mode`,
      group,
      type: "string",
      default: mode,
      choices: ["batch", "blocking", "blocking-strict"],
      help:
        "batch: events wait in a buffer; when it is full, they are dropped and counted. blocking: requests wait while " +
        "too many events are unwritten. blocking-strict: a request runs when the event of its arrival is written.",
    },
    int("batch-buffer-size", 10_000, "Size of the buffer in events in mode batch; more are dropped."),
    int("batch-max-size", batchMax, "Maximum number of events of a batch in mode batch."),
    {
      name: `audit-${backend}-batch-max-wait`,
      group,
      type: "duration",
      default: wait,
      min: 0,
      max: 3_600_000,
      help: "How long an incomplete batch waits in mode batch.",
    },
    {
      name: `audit-${backend}-batch-throttle-enable`,
      group,
      type: "bool",
      default: String(throttled),
      help: "Throttle batches in mode batch.",
    },
    {
      name: `audit-${backend}-batch-throttle-qps`,
      group,
      type: "string",
      default: "10",
      help: "Average number of batches per second in mode batch with throttling.",
    },
    int("batch-throttle-burst", 15, "Maximum number of batches at once in mode batch with throttling."),
    {
      name: `audit-${backend}-truncate-enabled`,
      group,
      type: "bool",
      default: "false",
      help: "Remove request and response from events that are too large, and drop events that still are.",
    },
    int("truncate-max-event-size", 102_400, "Maximum size of an event in bytes with truncation."),
    int("truncate-max-batch-size", 10_485_760, "Size in bytes above which a batch is split with truncation."),
  ];
}

/** All of them, in the order of --help audit. */
export const auditFlags: readonly Flag[] = [
  {
    name: "audit-policy-file",
    group,
    type: "string",
    default: "",
    brief: "audit policy",
    help: "File with the audit Policy: which requests are recorded, and how much of them. Without it, none is.",
  },
  {
    name: "audit-log-path",
    group,
    type: "string",
    default: "",
    brief: "file for events; - is standard output",
    help: "File that events are appended to, one per line; - is standard output.",
  },
  {
    name: "audit-log-format",
    group,
    type: "string",
    default: "json",
    choices: ["json", "legacy"],
    help: "json: the events themselves; legacy: a line of text with the main fields of each.",
  },
  {
    name: "audit-log-maxsize",
    group,
    type: "int",
    default: "0",
    min: 0,
    max: 1_000_000,
    help: "Size in megabytes at which the file is rotated; 0 is 100.",
  },
  {
    name: "audit-log-maxbackup",
    group,
    type: "int",
    default: "0",
    min: 0,
    max: 1_000_000,
    help: "Maximum number of rotated files; 0 is unlimited.",
  },
  {
    name: "audit-log-maxage",
    group,
    type: "int",
    default: "0",
    min: 0,
    max: 1_000_000,
    help: "Maximum age of rotated files in days; 0 is unlimited.",
  },
  {
    name: "audit-log-compress",
    group,
    type: "bool",
    default: "false",
    help: "Compress rotated files with gzip.",
  },
  ...deliveryFlags("log", logDefaults),
  {
    name: "audit-webhook-config-file",
    group,
    type: "string",
    default: "",
    brief: "kubeconfig of a webhook for events",
    help: "Kubeconfig of the service that batches of events are posted to.",
  },
  {
    name: "audit-webhook-initial-backoff",
    group,
    type: "duration",
    default: "10s",
    min: 1,
    max: 3_600_000,
    help: "Delay after a batch could not be posted; it grows with each of at most five tries.",
  },
  ...deliveryFlags("webhook", webhookDefaults),
];

/** How events reach a backend. */
export interface AuditDelivery {
  readonly mode: "batch" | "blocking" | "blocking-strict";
  /** Events that wait; those below are of mode batch only. */
  readonly bufferSize: number;
  /** Events of one batch. */
  readonly batchMax: number;
  readonly batchWaitMs: number;
  /** Undefined: as many batches as there are. */
  readonly throttle: { readonly perSecond: number; readonly burst: number } | undefined;
  /** Bytes; undefined: events are sent as they are. */
  readonly truncate: { readonly eventBytesMax: number; readonly batchBytesMax: number } | undefined;
}

/** The log backend. */
export interface AuditLogConfig extends AuditDelivery {
  /** `-`: standard output. */
  readonly path: string;
  readonly format: "json" | "legacy";
  readonly fileBytesMax: number;
  /** 0: no limit. */
  readonly backupsMax: number;
  readonly backupDaysMax: number;
  readonly compress: boolean;
}

/** The webhook backend. */
export interface AuditWebhookConfig extends AuditDelivery {
  readonly configFile: string;
  readonly initialBackoffMs: number;
}

/** The audit policy and its destinations. */
export interface AuditConfig {
  readonly policyFile: string;
  readonly log: AuditLogConfig | undefined;
  readonly webhook: AuditWebhookConfig | undefined;
}

const mebibyte = 1_048_576;
/** Where --audit-log-maxsize is 0 (upstream). */
const defaultMegabytes = 100;

/**
 * Reads the flags of auditing; undefined: nothing is to be written. Returns the one line to print when they cannot be: a
 * policy without a backend, or a backend without a policy, would look like auditing and be none (upstream starts).
 */
export function readAudit(values: FlagValues): AuditConfig | undefined | string {
  const text = (name: string): string => values.get(name) ?? "";
  const policyFile = text("audit-policy-file");
  const path = text("audit-log-path");
  const configFile = text("audit-webhook-config-file");
  const logged = path === "" ? undefined : readDelivery(values, "log");
  if (typeof logged === "string") return logged;
  const posted = configFile === "" ? undefined : readDelivery(values, "webhook");
  if (typeof posted === "string") return posted;
  if (logged === undefined && posted === undefined) {
    if (policyFile === "") return undefined;
    return "--audit-policy-file needs --audit-log-path or --audit-webhook-config-file: without either no event is written";
  }
  if (policyFile === "") {
    const flag = logged === undefined ? "--audit-webhook-config-file" : "--audit-log-path";
    return `${flag} needs --audit-policy-file: without a policy no event is written`;
  }
  const log = logged && {
    ...logged,
    path,
    format: text("audit-log-format") as AuditLogConfig["format"],
    fileBytesMax: (Number(text("audit-log-maxsize")) || defaultMegabytes) * mebibyte,
    backupsMax: Number(text("audit-log-maxbackup")),
    backupDaysMax: Number(text("audit-log-maxage")),
    compress: isTrue(text("audit-log-compress")),
  };
  const initialBackoffMs = parseDuration(text("audit-webhook-initial-backoff")) ?? 0;
  const webhook = posted && { ...posted, configFile, initialBackoffMs };
  return { policyFile, log, webhook };
}

function readDelivery(values: FlagValues, backend: string): AuditDelivery | string {
  const text = (name: string): string => values.get(`audit-${backend}-${name}`) ?? "";
  const perSecond = Number(text("batch-throttle-qps"));
  if (!(perSecond > 0) || perSecond > intMax) return `--audit-${backend}-batch-throttle-qps must be a positive number`;
  const eventBytesMax = Number(text("truncate-max-event-size"));
  const batchBytesMax = Number(text("truncate-max-batch-size"));
  if (batchBytesMax < eventBytesMax) {
    return `--audit-${backend}-truncate-max-batch-size must not be less than --audit-${backend}-truncate-max-event-size`;
  }
  const burst = Number(text("batch-throttle-burst"));
  return {
    mode: text("mode") as AuditDelivery["mode"],
    bufferSize: Number(text("batch-buffer-size")),
    batchMax: Number(text("batch-max-size")),
    batchWaitMs: parseDuration(text("batch-max-wait")) ?? 0,
    throttle: isTrue(text("batch-throttle-enable")) ? { perSecond, burst } : undefined,
    truncate: isTrue(text("truncate-enabled")) ? { eventBytesMax, batchBytesMax } : undefined,
  };
}

function isTrue(text: string): boolean {
  return /^(?:1|t|true)$/i.test(text);
}
