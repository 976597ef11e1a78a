// Go durations (`1m30s`, `250ms`), as flags and query parameters of this API spell times.

const unitsMs: ReadonlyMap<string, number> = new Map([
  ["ns", 1e-6],
  ["us", 1e-3],
  ["µs", 1e-3],
  ["μs", 1e-3],
  ["ms", 1],
  ["s", 1e3],
  ["m", 6e4],
  ["h", 36e5],
]);
const whole = /^([+-]?)((?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)$/;
const part = /(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)/g;

/** Milliseconds of a Go duration; undefined when it is none (Go's time.ParseDuration). */
export function parseDuration(text: string): number | undefined {
  if (/^[+-]?0$/.test(text)) return 0;
  const match = whole.exec(text);
  if (match === null) return undefined;
  let ms = 0;
  for (const [, count, unit] of (match[2] ?? "").matchAll(part)) ms += Number(count) * (unitsMs.get(unit ?? "") ?? 0);
  return match[1] === "-" ? -ms : ms;
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
