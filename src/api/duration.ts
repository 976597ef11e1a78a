// Durations as Go's time package reads and writes them: `1h30m`, `1.5s`, `300ms`.
import { durationParts } from "../config/duration.ts";

const durationMax = (1n << 63n) - 1n;

/** Nanoseconds; undefined when the text is no duration or exceeds an int64. */
export function parseDuration(text: string): bigint | undefined {
  const read = durationParts(text);
  if (read === undefined) return undefined;
  let sum = 0n;
  for (const { whole, fraction, nanos } of read.parts) {
    const scale = BigInt(nanos);
    sum += BigInt(whole === "" ? "0" : whole) * scale;
    if (fraction !== "") sum += (BigInt(fraction) * scale) / 10n ** BigInt(fraction.length);
  }
  if (sum > durationMax) return undefined;
  return read.negative ? -sum : sum;
}

/** Go's text of a duration in nanoseconds: `1h30m0s`, `1.5s`, `300ms`, `0s`. */
export function formatDuration(nanos: bigint): string {
  if (nanos === 0n) return "0s";
  const sign = nanos < 0n ? "-" : "";
  const value = nanos < 0n ? -nanos : nanos;
  if (value < 1_000_000_000n) {
    const [unit, scale] = value < 1000n ? ["ns", 1n] : value < 1_000_000n ? ["µs", 1000n] : ["ms", 1_000_000n];
    return `${sign}${decimal(value, scale as bigint)}${unit as string}`;
  }
  const minutes = value / 60_000_000_000n;
  const seconds = `${decimal(value % 60_000_000_000n, 1_000_000_000n)}s`;
  if (minutes === 0n) return sign + seconds;
  if (minutes < 60n) return `${sign}${minutes}m${seconds}`;
  return `${sign}${minutes / 60n}h${minutes % 60n}m${seconds}`;
}

/** Go's text of a client's duration; undefined when it is none. */
export function canonicalDuration(text: string): string | undefined {
  const nanos = parseDuration(text);
  return nanos === undefined ? undefined : formatDuration(nanos);
}

function decimal(value: bigint, scale: bigint): string {
  const rest = value % scale;
  if (rest === 0n) return String(value / scale);
  const digits = String(rest).padStart(String(scale).length - 1, "0");
  let end = digits.length;
  while (digits.charCodeAt(end - 1) === 48) end -= 1;
  return `${value / scale}.${digits.slice(0, end)}`;
}
