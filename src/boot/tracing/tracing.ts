// Tracing as it is put together: every other thread but those of the pool takes spans, main exports them. gRPC is loaded
// where spans are exported only.

import { systemClock } from "../../base/clock.ts";
import type { Config } from "../../config/config.ts";
import { limits } from "../../config/limits.ts";
import type { Logger } from "../../observe/log.ts";
import type { Registry } from "../../observe/metrics.ts";
import { Tracer, type TracerOptions } from "../../observe/spans.ts";
import type { SpanExporter } from "../../outbound/otlp.ts";
import type { FromThread } from "../messages.ts";
import { versionDocument } from "../version.ts";

/** The side of any other thread, which is named; undefined: nothing is traced. */
export function openTracer(
  { tracing }: Pick<Config, "tracing">,
  name: string,
  registry: Registry,
  tell: (message: FromThread) => void,
): Tracer | undefined {
  if (tracing === undefined) return undefined;
  const { ratio } = tracing;
  const send: TracerOptions["send"] = (spans) => tell({ kind: "spans", spans });
  const tracer = new Tracer({ ratio, thread: name, clock: systemClock, send, spansMax: limits.spansKeptMax });
  const help = "Spans that a thread sent to be exported, and those there was no room for.";
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
