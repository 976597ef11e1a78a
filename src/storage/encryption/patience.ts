// How a start waits for a KMS plugin that does not answer, whatever engine it reads its store from.
import { type Clock, systemClock } from "../../base/clock.ts";
import { limits } from "../../config/limits.ts";
import { TransformError } from "./transformers.ts";

/** How long a KMS plugin is waited for while a store is read, in milliseconds. */
export interface Patience {
  readonly clock: Clock;
  readonly waitMsMax: number;
}

/** That of a server. */
export const startPatience: Patience = { clock: systemClock, waitMsMax: limits.kmsStartMsMax };

/** Whether what could not be decrypted may be later, with the keys that are here. */
export function isPassing(failure: unknown): boolean {
  return failure instanceof TransformError && failure.isPassing;
}
