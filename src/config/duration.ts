// Go durations (`1m30s`, `250ms`), as flags, query parameters and fields of this API spell times. Read part by part from
// left to right, so that time is linear in the text, and only up to a length.
import { limits } from "./limits.ts";

/** One number with its unit: `1.5h` has the digits 1 and 5. */
export interface DurationPart {
  /** Digits before the point; perhaps none. */
  readonly whole: string;
  /** Digits after it; perhaps none. */
  readonly fraction: string;
  /** Nanoseconds of the unit. */
  readonly nanos: number;
}

const unitsNanos: ReadonlyMap<string, number> = new Map([
  ["ns", 1],
  ["us", 1e3],
  ["µs", 1e3],
  ["μs", 1e3],
  ["ms", 1e6],
  ["s", 1e9],
  ["m", 6e10],
  ["h", 36e11],
]);
const part = /(\d*)(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)/y;

/** The largest duration of Go's integer of nanoseconds, nearly. */
const nanosMax = 2 ** 63;

/** The parts of a Go duration and its sign; undefined when the text is none. `0` has no parts. */
export function durationParts(text: string): { negative: boolean; parts: DurationPart[] } | undefined {
  if (text.length > limits.durationCharsMax) return undefined;
  const negative = text.startsWith("-");
  let at = negative || text.startsWith("+") ? 1 : 0;
  const parts: DurationPart[] = [];
  if (at === text.length - 1 && text.endsWith("0")) return { negative, parts };
  while (at < text.length) {
    part.lastIndex = at;
    const [all = "", whole = "", fraction = "", unit = ""] = part.exec(text) ?? [];
    if (whole === "" && fraction === "") return undefined;
    parts.push({ whole, fraction, nanos: unitsNanos.get(unit) ?? 0 });
    at += all.length;
  }
  return parts.length === 0 ? undefined : { negative, parts };
}

/** Milliseconds of a Go duration; undefined when it is none (Go's time.ParseDuration). */
export function parseDuration(text: string): number | undefined {
  const read = durationParts(text);
  if (read === undefined) return undefined;
  let ms = 0;
  for (const { whole, fraction, nanos } of read.parts) ms += Number(`${whole}.${fraction}0`) * (nanos / 1e6);
  if (ms * 1e6 >= nanosMax) return undefined;
  return read.negative ? -ms : ms;
}

/** A duration as Go prints it: `1h0m0s`, `500ms`. */
export function formatDuration(ms: number): string {
  if (ms === 0) return "0s";
  if (Math.abs(ms) < 1000) return `${ms}ms`;
  const hours = Math.floor(ms / 36e5);
  const minutes = Math.floor((ms % 36e5) / 6e4);
  const seconds = `${(ms % 6e4) / 1e3}s`;
  if (hours > 0) return `${hours}h${minutes}m${seconds}`;
  return minutes > 0 ? `${minutes}m${seconds}` : seconds;
}
