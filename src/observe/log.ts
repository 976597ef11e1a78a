// Structured logs by pino, one JSON line each on standard error (standard output is for the two lines of the start).
// Written synchronously: a line is out before a crash; request lines are rare unless asked for (-v=3).
import { destination, type Logger, pino } from "pino";

export type { Logger } from "pino";

/** Levels of `--log-level`. */
export const logLevels = ["fatal", "error", "warn", "info", "debug", "trace"] as const;

/** The level of `-v`: 3 and 6 add messages; below, `--log-level` decides. */
export function levelOf(verbosity: number, otherwise: string): string {
  return verbosity >= 6 ? "trace" : verbosity >= 3 ? "debug" : otherwise;
}

/** A logger for one thread; `thread` names it in every line. Secrets never get here: callers log names, not headers. */
export function createLog(level: string, thread: string): Logger {
  return pino(
    { level, base: { thread }, timestamp: pino.stdTimeFunctions.isoTime },
    destination({ dest: 2, sync: true }),
  );
}
