// Lines of the log as text: `2026-11-24T10:00:00.000Z INFO  front-0  Request  code=500 user=admin`. Made of the JSON line,
// so that both formats say the same.

/** Values of `--logging-format`. */
export const logFormats = ["text", "json"] as const;

/** One of them. */
export type LogFormat = (typeof logFormats)[number];

/** Widths of the columns that most lines fill. */
const levelWidth = 5;
const threadWidth = 11;

/** Turns a line of JSON into text, both with their end. What is no such line stays. */
export function textLine(json: string): string {
  let fields: Readonly<Record<string, unknown>>;
  try {
    fields = JSON.parse(json) as typeof fields;
  } catch {
    return json;
  }
  const { time, level, thread, msg, err, ...others } = fields;
  const head = [String(time), String(level).toUpperCase().padEnd(levelWidth), String(thread).padEnd(threadWidth)];
  const values = Object.entries(others).map(([name, value]) => `${name}=${valueText(value)}`);
  const text = [head.join(" "), String(msg ?? ""), values.join(" ")].filter((part) => part !== "").join("  ");
  return `${text}${errorText(err)}\n`;
}

/** A value of a line: bare where it is one word, else as JSON, so that a line stays one line. */
function valueText(value: unknown): string {
  if (typeof value === "string" && /^[\w./:@+-]+$/.test(value)) return value;
  return JSON.stringify(value);
}

/** The stack of an error, indented below its line. */
function errorText(error: unknown): string {
  if (typeof error !== "object" || error === null) return error === undefined ? "" : `  err=${valueText(error)}`;
  const { stack, message } = error as { readonly stack?: unknown; readonly message?: unknown };
  return `\n${String(stack ?? message)}`.replaceAll("\n", "\n    ");
}
