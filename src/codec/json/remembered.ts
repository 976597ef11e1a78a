// A cache of frequent raw JSON: the fieldsV1 of a manager is the same text in every object of one shape, it is
// a third of such objects, and every write reads it. A cached text is not parsed again: its value is
// shared. Bounded in texts and characters; the least recently used text is evicted first.
import { RawJson } from "../../api/schema.ts";
import type { Value, ValueMap } from "../../api/value.ts";
import { flatText } from "../../base/flattext.ts";
import { Recent } from "../../base/recent.ts";
import { limits } from "../../config/limits.ts";
import { writeValue } from "./write.ts";

/** A text and its value, once parsed; the value must not be changed. */
interface Remembered {
  readonly raw: RawJson;
  value: ValueMap | undefined;
}

/** By text. */
const memory = new Recent<string, Remembered>(limits.rawRememberedCharsMax, ({ length }) => length);

/** The raw form of values that are remembered: they need not be written. */
const raws = new WeakMap<ValueMap, RawJson>();

/** The cached value of a text. */
export function recall(text: string): ValueMap | undefined {
  return memory.get(text)?.value;
}

/** Caches the value of a text; only compact text is cached, because it is also the encoding of the value. */
export function remember(text: string, value: ValueMap): void {
  const known = memory.get(text);
  if (known !== undefined) {
    known.value = value;
    raws.set(value, known.raw);
    return;
  }
  const raw = new RawJson(writeValue(value));
  raws.set(value, raw);
  // The text that was handed in may be a part of a whole document, and would keep it.
  if (raw.text === text) memory.set(raw.text, { raw, value });
}

/** The one raw JSON of a text, compact as writeValue() writes it; it need not be parsed yet. */
export function sharedRaw(text: string): RawJson {
  const known = memory.get(text);
  if (known !== undefined) return known.raw;
  const raw = new RawJson(flatText(text));
  memory.set(raw.text, { raw, value: undefined });
  return raw;
}

/** The raw JSON of a value. A cached value has one raw form in all objects. */
export function rawOf(value: Value): RawJson {
  const known = value instanceof Map ? raws.get(value) : undefined;
  if (known !== undefined) return known;
  const raw = new RawJson(writeValue(value));
  // A document is often decoded twice, as it is and with a change; a value too long for the cache is written once.
  if (value instanceof Map && raw.text.length > limits.rawCharsMax) raws.set(value, raw);
  return raw;
}

/**
 * Where the object that begins at `from` ends, if it is JSON and no longer than cached texts; -1 otherwise.
 * Braces are counted outside of strings.
 */
export function endOfRaw(text: string, from: number): number {
  const last = Math.min(text.length, from + limits.rawCharsMax);
  let depth = 0;
  let quoted = false;
  for (let at = from; at < last; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 34) quoted = !quoted;
    else if (code === 92) at += 1;
    else if (quoted) continue;
    else if (code === 123) depth += 1;
    else if (code === 125) {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return -1;
}
