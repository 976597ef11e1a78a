// The words of auditing: levels, stages, and what is known of one request when an event of it is written. Names and
// meanings are those of audit.k8s.io/v1.

/** How much of a request is written, in rising order. */
export type Level = "None" | "Metadata" | "Request" | "RequestResponse";

/** When an event is written. */
export type Stage = "RequestReceived" | "ResponseStarted" | "ResponseComplete" | "Panic";

/** What the policy says about one request; without a rule for it nothing is written. */
export interface Coverage {
  readonly level: Exclude<Level, "None">;
  readonly omitStages: ReadonlySet<Stage>;
  readonly omitManagedFields: boolean;
}
