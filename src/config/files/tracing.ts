// --tracing-config-file: a TracingConfiguration.
import { type Static, Type } from "typebox";
import type { Spell } from "./parts.ts";

/** The schema; unknown fields are refused, as upstream does. */
export function tracingConfiguration(spell: Spell) {
  return Type.Object(
    {
      apiVersion: Type.Literal(spell("apiserver.config.k8s.io/v1alpha1")),
      kind: Type.Literal("TracingConfiguration"),
      endpoint: Type.Optional(
        Type.String({
          minLength: 1,
          pattern: "^(?:[^/:][^/]*|dns:[^:].*|unix:.+)$",
          patternErrorMessage: "a target of gRPC: host:port, dns:///host:port or unix:///path",
          description: "Where the collector listens for OTLP over gRPC, without TLS; localhost:4317 if left out.",
        }),
      ),
      samplingRatePerMillion: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: 1_000_000,
          description: "How many of a million requests are sampled; none if left out.",
        }),
      ),
    },
    { additionalProperties: false },
  );
}

/** A file that fits its schema. */
export type TracingConfiguration = Static<ReturnType<typeof tracingConfiguration>>;
