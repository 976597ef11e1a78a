// The flag of tracing, and what its file comes to.
import type { Flag } from "./flag.ts";

/** All of them, in the order of --help logging. */
export const tracingFlags: readonly Flag[] = [
  {
    name: "tracing-config-file",
    group: "Logging",
    type: "string",
    default: "",
    brief: "where spans of requests are exported",
    help: "File with a TracingConfiguration: where spans of requests are exported by OTLP, and how many of a million requests are sampled. Needs --feature-gates=APIServerTracing=true.",
  },
];

/** The gate that tracing is behind (upstream: alpha). */
export const tracingGate = "APIServerTracing";

/** How spans are exported. */
export interface TracingConfig {
  /** A name gRPC resolves. */
  readonly endpoint: string;
  /** Part of the requests that are sampled, 0 to 1. */
  readonly ratio: number;
}
