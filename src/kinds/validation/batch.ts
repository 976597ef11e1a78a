// Job and CronJob.
import type { FieldError } from "../../api/fielderror.ts";
import type * as batch from "../../api/gen/batch_v1.ts";
import type { StrategyContext } from "../strategy.ts";

/** Rules of a new Job. */
export function validateJob(_object: batch.Job, _context: StrategyContext): FieldError[] {
  return [];
}

/** Rules of a changed Job. */
export function validateJobUpdate(_object: batch.Job, _old: batch.Job, _context: StrategyContext): FieldError[] {
  return [];
}

/** Rules of a changed status of a Job. */
export function validateJobStatusUpdate(_object: batch.Job, _old: batch.Job, _context: StrategyContext): FieldError[] {
  return [];
}

/** Rules of a new CronJob. */
export function validateCronJob(_object: batch.CronJob, _context: StrategyContext): FieldError[] {
  return [];
}

/** Rules of a changed CronJob. */
export function validateCronJobUpdate(
  _object: batch.CronJob,
  _old: batch.CronJob,
  _context: StrategyContext,
): FieldError[] {
  return [];
}

/** Rules of a changed status of a CronJob. */
export function validateCronJobStatusUpdate(
  _object: batch.CronJob,
  _old: batch.CronJob,
  _context: StrategyContext,
): FieldError[] {
  return [];
}
