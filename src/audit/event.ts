// The terms of auditing: levels, stages, and the policy's decision about one request. Names and meanings are those of
// audit.k8s.io/v1.
import type { Attributes } from "../authz/authorizer.ts";

/** How much of a request is written, in rising order. */
export const levels = ["None", "Metadata", "Request", "RequestResponse"] as const;

/** How much of a request is written. */
export type Level = (typeof levels)[number];

/** When an event is written. */
export const stages = ["RequestReceived", "ResponseStarted", "ResponseComplete", "Panic"] as const;

/** When an event is written. */
export type Stage = (typeof stages)[number];

/** The policy's decision about one request; without a matching rule nothing is written. */
export interface Coverage {
  readonly level: Exclude<Level, "None">;
  readonly omitStages: ReadonlySet<Stage>;
  readonly omitManagedFields: boolean;
}

/** The attributes of a request, as for authorization. */
export type Asked = Omit<Attributes, "user">;

/** Group and version of events and policies, in canonical spelling. */
export const auditVersion = "audit.k8s.io/v1";
