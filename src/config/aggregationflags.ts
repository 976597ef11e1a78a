// The flags of API aggregation: how the server reaches extension servers. Names, defaults and rules are upstream's.
import type { Flag, FlagValues } from "./flag.ts";

const group = "Aggregation";

/** Flags that say how extension servers are reached. */
export const aggregationFlags = [
  {
    name: "proxy-client-cert-file",
    group,
    type: "string",
    default: "",
    brief: "certificate shown to extension servers, PEM",
    help: "PEM file of the client certificate that the server presents to extension servers, which trust the user named in its X-Remote headers by it. Read again when it changes.",
  },
  {
    name: "proxy-client-key-file",
    group,
    type: "string",
    default: "",
    brief: "its private key, PEM",
    help: "PEM file of the private key of --proxy-client-cert-file.",
  },
  {
    name: "enable-aggregator-routing",
    group,
    type: "bool",
    default: "false",
    help: "Connect to ready endpoints of an extension server's service instead of its cluster IP address.",
  },
] as const satisfies readonly Flag[];

/** How extension servers are reached. */
export interface AggregationConfig {
  /** Empty: no certificate is presented. */
  readonly certFile: string;
  readonly keyFile: string;
  readonly routing: "service" | "endpoints";
}

/** No flag says anything about aggregation. */
export const defaultAggregation: AggregationConfig = { certFile: "", keyFile: "", routing: "service" };

/** Reads the flags of aggregation. Returns the one line to print when they contradict each other. */
export function readAggregation(values: FlagValues): AggregationConfig | string {
  const certFile = values.get("proxy-client-cert-file") ?? "";
  const keyFile = values.get("proxy-client-key-file") ?? "";
  if ((certFile === "") !== (keyFile === "")) {
    return "--proxy-client-cert-file and --proxy-client-key-file belong together";
  }
  const byEndpoints = /^(?:1|t|true)$/i.test(values.get("enable-aggregator-routing") ?? "");
  return { certFile, keyFile, routing: byEndpoints ? "endpoints" : "service" };
}
