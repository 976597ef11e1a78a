// Tracing as it is put together: fronts take spans, main exports them. gRPC is loaded where spans are exported only.

import { systemClock } from "../../base/clock.ts";
import type { Config } from "../../config/config.ts";
import { limits } from "../../config/limits.ts";
import type { Logger } from "../../observe/log.ts";
import type { Registry } from "../../observe/metrics.ts";
import { Tracer, type TracerOptions } from "../../observe/spans.ts";
import type { SpanExporter } from "../../outbound/otlp.ts";
import type { FromFront, FrontData } from "../messages.ts";
import { versionDocument } from "../version.ts";

/** A front's side; undefined: nothing is traced. The controllers' thread has no requests of clients. */
export function openTracer(
  { config, name, controls }: FrontData,
  registry: Registry,
  tell: (message: FromFront) => void,
): Tracer | undefined {
  if (config.tracing === undefined || controls) return undefined;
  const { ratio } = config.tracing;
  const send: TracerOptions["send"] = (spans) => tell({ kind: "spans", spans });
  const tracer = new Tracer({ ratio, thread: name, clock: systemClock, send, spansMax: limits.spansKeptMax });
  const help = "Spans of requests that a front sent to be exported, and those there was no room for.";
  const counts = registry.counter("orch_trace_spans_total", help, "outcome", "thread");
  registry.onCollect(() => {
    for (const outcome of ["sent", "dropped"] as const) counts.set(`${outcome}\0${name}`, tracer.counts[outcome]);
  });
  return tracer;
}

/** Main's side; undefined: nothing is traced. `holder` names this process. */
export async function openExporter(
  { tracing }: Config,
  holder: string,
  log: Logger,
): Promise<SpanExporter | undefined> {
  if (tracing === undefined) return undefined;
  const { SpanExporter: Exporter } = await import("../../outbound/otlp.ts");
  const { gitVersion = "" } = JSON.parse(versionDocument()) as { readonly gitVersion?: string };
  return new Exporter({
    endpoint: tracing.endpoint,
    // The first two are upstream's.
    resource: [
      ["service.name", "apiserver"],
      ["service.instance.id", holder],
      ["service.version", gitVersion],
    ],
    failed: (why) => log.warn({ endpoint: tracing.endpoint, why }, "Spans cannot be exported"),
  });
}
