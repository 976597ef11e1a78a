// Structured logs by pino on standard error (standard output is for the lines of the start), one line each: JSON for
// machines, or text for people (--logging-format). Written synchronously: a line is out before a crash; request lines are
// rare unless asked for (-v=3).
import { destination, type Logger, pino } from "pino";
import { type LogFormat, textLine } from "./logtext.ts";

export type { Logger } from "pino";

/** Levels of `--log-level`. */
export const logLevels = ["fatal", "error", "warn", "info", "debug", "trace"] as const;

/** The level of `-v`: 3 and 6 add messages; below, `--log-level` decides. */
export function levelOf(verbosity: number, otherwise: string): string {
  return verbosity >= 6 ? "trace" : verbosity >= 3 ? "debug" : otherwise;
}

/** Where lines go, each with its end. */
export interface LogSink {
  write(line: string): void;
}

/** A logger for one thread; `thread` names it in every line. Secrets never get here: callers log names, not headers. */
export function createLog(
  level: string,
  thread: string,
  format: LogFormat = "json",
  sink: LogSink = destination({ dest: 2, sync: true }),
): Logger {
  const options = {
    level,
    base: { thread },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  if (format === "json") return pino(options, sink);
  return pino(options, { write: (line: string) => sink.write(textLine(line)) });
}
