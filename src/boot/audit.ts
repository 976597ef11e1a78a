// The body of the thread that writes audit events: the one place that has the log file open and talks to the webhook.
// Every front sends it events over a port of its own; main asks it for metrics and ends it.

import type { MessagePort } from "node:worker_threads";
import { identities } from "../api/identity.ts";
import { createDelivery } from "../audit/delivery.ts";
import { createLosses, type Delivery, type Destination } from "../audit/destination.ts";
import { LogFile } from "../audit/logfile.ts";
import { Webhook } from "../audit/webhook.ts";
import { EventWriter } from "../audit/writer.ts";
import { assert } from "../base/assert.ts";
import { systemClock } from "../base/clock.ts";
import { within } from "../base/within.ts";
import type { AuditDelivery } from "../config/auditflags.ts";
import { limits } from "../config/limits.ts";
import { clientCalls } from "../observe/clientcalls.ts";
import { createLog } from "../observe/log.ts";
import { Registry } from "../observe/metrics.ts";
import { countThread, nameThread } from "../observe/threads.ts";
import { profiled } from "./console/profiled.ts";
import { reasonOf } from "./fault.ts";
import type { AuditData, FromAudit, ToAudit } from "./messages.ts";
import { openTracer } from "./tracing/tracing.ts";

/** Runs the writer on this thread. */
export function startAudit(data: AuditData, main: MessagePort): void {
  const tell = (message: FromAudit): void => main.postMessage(message);
  nameThread("audit");
  const { audit, logLevel, logFormat } = data.config;
  assert(audit !== undefined, "Nothing is to be audited");
  const registry = new Registry();
  countThread(registry, "audit");
  clientCalls.register(registry);
  const log = createLog(logLevel, "audit", logFormat);
  const tracer = openTracer(data.config, "audit", registry, tell);
  const losses = createLosses(registry, (line, text) => log.error(line, text));
  const identity = identities[data.config.identity];
  const annotation = identity.spell("audit.k8s.io/truncated");
  const destinations: Destination[] = [];
  const deliveries: Delivery[] = [];
  const add = (to: Destination, config: AuditDelivery): void => {
    destinations.push(to);
    deliveries.push(createDelivery({ to, config, losses, annotation }));
  };
  try {
    if (audit.log !== undefined) add(new LogFile(audit.log, systemClock), audit.log);
  } catch (error) {
    tell({ kind: "failed", message: `cannot open --audit-log-path ${audit.log?.path}: ${reasonOf(error)}` });
    main.close();
    return;
  }
  const { connection } = data;
  if (audit.webhook !== undefined && connection !== undefined) {
    add(new Webhook(connection, identity, audit.webhook.initialBackoffMs, tracer), audit.webhook);
  }
  const writer = new EventWriter(deliveries);
  tell({ kind: "opened" });
  main.on("message", (message: ToAudit) => {
    switch (message.kind) {
      case "front":
        writer.connect(message.port);
        return;
      case "collect":
        tell({ kind: "collected", id: message.id, families: registry.snapshot() });
        return;
      case "profile":
        void profiled(message).then(tell);
        return;
      case "spansTaken":
        tracer?.taken();
        return;
      case "level":
        log.level = message.level;
        return;
      case "close":
        for (const destination of destinations) destination.hurry();
        void within(writer.finish(), limits.auditEndMsMax).then(() => {
          for (const destination of destinations) destination.close();
          tracer?.close();
          main.close();
          process.exit(0);
        });
        return;
    }
  });
}
