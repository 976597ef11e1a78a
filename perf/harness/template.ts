// Texts of requests with places that are filled in for each one: `<n>`, the number of the request; `<n:6>`, with that
// many digits; `<n%5000>`, its remainder; `<mark%64>`, a mark for watchers (marks.ts); `<us>`, the time in
// microseconds. JSON holds no such thing.
import { markOf, microseconds } from "./marks.ts";

const place = /<(n|mark|us)(?:%(\d+))?(?::(\d+))?>/g;

/** Makes the text of a request of its number. */
export type Template = (n: number) => string;

/** Reads a template. `changes` counts the changes of each object that marks are of. */
export function templateOf(text: string, changes: Int32Array = new Int32Array(0)): Template {
  const parts: string[] = [];
  const fills: Template[] = [];
  let from = 0;
  for (const match of text.matchAll(place)) {
    parts.push(text.slice(from, match.index));
    fills.push(fillOf(match[1] ?? "", Number(match[2] ?? 0), Number(match[3] ?? 0), changes));
    from = match.index + match[0].length;
  }
  const tail = text.slice(from);
  if (fills.length === 0) return () => tail;
  return (n) => {
    let made = "";
    for (let index = 0; index < fills.length; index += 1) made += parts[index] + (fills[index] as Template)(n);
    return made + tail;
  };
}

function fillOf(kind: string, modulus: number, digits: number, changes: Int32Array): Template {
  const number = modulus === 0 ? (n: number): number => n : (n: number): number => n % modulus;
  if (kind === "n") return (n) => String(number(n)).padStart(digits, "0");
  if (kind === "us") return () => String(microseconds());
  return (n) => {
    const object = number(n);
    const change = (changes[object] ?? 0) + 1;
    changes[object] = change;
    return markOf(object, change, microseconds());
  };
}
