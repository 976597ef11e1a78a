// Query strings and path segments from raw bytes: one parse, every repeated key kept, nothing a client sends indexes a
// plain object. The rules are those of Go's net/url, which upstream routes and authorizes by, but for one: a parameter
// that cannot be read is not left out, it is told, and its request refused.
import { refuse, type Status } from "../../api/status.ts";
import { limits } from "../../config/limits.ts";

/** A parsed query: values of each key in order. */
export type Query = ReadonlyMap<string, readonly string[]>;

const empty: Query = new Map();

/**
 * Parses a raw query. Into `unreadable` go the pairs that say nothing reliable, as they were sent: bad percent escapes,
 * bytes that are not UTF-8, bytes beyond ASCII without an escape (RFC 3986 2), which fronts read differently, and
 * semicolons, which some readers take for separators.
 */
export function parseQuery(raw: string, unreadable?: string[]): Query {
  if (raw === "") return empty;
  const query = new Map<string, string[]>();
  for (const pair of raw.split("&")) {
    if (pair === "") continue;
    const equals = pair.indexOf("=");
    const sound = !unsound.test(pair);
    const key = sound ? percentDecode(equals < 0 ? pair : pair.slice(0, equals), true) : undefined;
    const value = equals < 0 ? "" : percentDecode(pair.slice(equals + 1), true);
    if (key === undefined || value === undefined) {
      unreadable?.push(pair);
      continue;
    }
    const values = query.get(key);
    if (values === undefined) query.set(key, [value]);
    else values.push(value);
  }
  return query;
}

const unsound = /[^\x00-\x7f]|;/;

/** The 400 for a parameter that cannot be read; `pair` as it was sent. */
export function unreadableParameter(pair: string): Status {
  const equals = pair.indexOf("=");
  const name = (equals < 0 ? pair : pair.slice(0, equals)).slice(0, limits.unreadableNameCharsMax);
  const shown = JSON.stringify(unsound.test(name) ? name : (percentDecode(name, true) ?? name));
  const how = pair.includes(";") ? "a semicolon must be sent as %3B" : "it must be percent-encoded UTF-8";
  return refuse("BadRequest", `the query parameter ${shown} cannot be read: ${how}`);
}

/** First value of a key; undefined when the key is absent. */
export function first(query: Query, key: string): string | undefined {
  return query.get(key)?.[0];
}

/** The decoded path; undefined when a percent escape is malformed or the bytes are not UTF-8. */
export function unescapePath(raw: string): string | undefined {
  return percentDecode(raw, false);
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Percent-decodes; `plus` turns `+` into a space (queries). Raw bytes above 0x7f are taken as they came (latin1 of the wire). */
function percentDecode(text: string, plus: boolean): string | undefined {
  let plain = true;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit === 0x25 || unit > 0x7f || (plus && unit === 0x2b)) {
      plain = false;
      break;
    }
  }
  if (plain) return text;
  const bytes = new Uint8Array(text.length * 2);
  let length = 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit === 0x25) {
      const high = hex(text.charCodeAt(i + 1));
      const low = hex(text.charCodeAt(i + 2));
      if (high < 0 || low < 0) return undefined;
      bytes[length++] = high * 16 + low;
      i += 2;
    } else if (plus && unit === 0x2b) bytes[length++] = 0x20;
    else if (unit <= 0xff) bytes[length++] = unit;
    else return undefined;
  }
  try {
    return decoder.decode(bytes.subarray(0, length));
  } catch {
    return undefined;
  }
}

function hex(unit: number): number {
  if (unit >= 0x30 && unit <= 0x39) return unit - 0x30;
  if (unit >= 0x41 && unit <= 0x46) return unit - 0x37;
  if (unit >= 0x61 && unit <= 0x66) return unit - 0x57;
  return -1;
}
