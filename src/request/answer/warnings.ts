// Warning headers of an answer. Their texts may hold what a client sent, so they are made safe for a header, told once
// each, and cut where they would outgrow what clients take (the bounds are upstream's warning filter's).
import { limits } from "../../config/limits.ts";
import type { Headers } from "../exchange/transport.ts";

/** One header per text; beyond `warningCharsMax` together, each is cut, and what still does not fit is left out. */
export function warningHeaders(texts: readonly string[]): Headers {
  const once = [...new Set(texts)];
  const whole = once.reduce((chars, text) => chars + text.length, 0) <= limits.warningCharsMax;
  if (whole) return once.map(header);
  const headers: Headers[number][] = [];
  let chars = 0;
  for (const text of once) {
    if (chars >= limits.warningCharsMax) break;
    const cut = text.slice(0, limits.warningTextCharsMax);
    headers.push(header(cut));
    chars += cut.length;
  }
  return headers;
}

/**
 * Warnings of many objects on their way into one answer: each text once, and none of those that warningHeaders() would
 * leave out anyway, so that they take no more room than one answer's.
 */
export class WarningSieve {
  readonly #into: string[];
  readonly #known: Set<string>;
  /** Characters of what is there, each text counted as far as it would be shown. */
  #chars = 0;

  /** What is in `into` already stays. */
  constructor(into: string[]) {
    this.#into = into;
    this.#known = new Set(into);
  }

  take(texts: readonly string[]): void {
    for (const text of texts) {
      if (this.#chars > limits.warningCharsMax) return;
      // One longer than all together is cut whatever its end is.
      const kept = text.slice(0, limits.warningCharsMax + 1);
      if (this.#known.has(kept)) continue;
      this.#known.add(kept);
      this.#into.push(kept);
      this.#chars += Math.min(kept.length, limits.warningTextCharsMax);
    }
  }
}

/** RFC 7234 warn-text: a quoted string, without what a header cannot hold. */
function header(text: string): Headers[number] {
  const safe = text.replace(/[^\x20-\x7e]/g, " ").replace(/["\\]/g, "\\$&");
  return ["Warning", `299 - "${safe}"`];
}
