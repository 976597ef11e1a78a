// Fields of a JSON document beyond its type: unknown and duplicate ones. Only computed
// by clients that want to know (fieldValidation): the decoder itself drops the first and lets the last of the second
// win. The document was decoded before, so that it is JSON and fits its type.
//
// One pass, with a stack of its own: documents may nest deeper than a thread's stack.
import type { Message } from "../../api/schema.ts";
import { limits } from "../../config/limits.ts";
import { type Plan, planOf, type Slot, shapes, slotPlan } from "./plan.ts";

/** The expected type of a value. */
interface Expected {
  /** An object of this message. */
  readonly plan: Plan | undefined;
  /** A list or map of this field's items. */
  readonly items: Slot | undefined;
  /** Anything: objects within are looked at for keys that come twice. */
  readonly any: boolean;
}

interface Frame extends Expected {
  readonly isMap: boolean;
  readonly keys: Set<string>;
  /** Keys with a reported fault: the next one is the same. */
  told?: Set<string>;
  readonly path: string;
  /** Items read of a list. */
  count: number;
}

const anything: Expected = { plan: undefined, items: undefined, any: true };
/** Not checked here. */
const opaque: Expected = { plan: undefined, items: undefined, any: false };

/** Unknown and duplicate fields of a document of `message`, with upstream's messages and in their order. */
export function strictFaults(message: Message, text: string): string[] {
  return new StrictReader(text).read({ plan: planOf(message), items: undefined, any: false });
}

/** Duplicate fields of a document of any type. */
export function duplicateFaults(text: string): string[] {
  return new StrictReader(text).read(anything);
}

class StrictReader {
  readonly #text: string;
  readonly #frames: Frame[] = [];
  readonly #faults = new Set<string>();
  /** Characters of them: each names its whole path, which may be as long as the document. */
  #chars = 0;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  read(root: Expected): string[] {
    this.#value(root, "");
    for (let frame = this.#frames.at(-1); frame !== undefined; frame = this.#frames.at(-1)) this.#step(frame);
    return [...this.#faults];
  }

  /** Reads the next part of a container. */
  #step(frame: Frame): void {
    const lead = this.#skipSpace();
    if (lead === 125 || lead === 93 || this.#at >= this.#text.length) {
      this.#at += 1;
      this.#frames.pop();
      return;
    }
    if (lead === 44) {
      this.#at += 1;
      return;
    }
    if (!frame.isMap) {
      const path = `${frame.path}[${frame.count}]`;
      frame.count += 1;
      return this.#value(frame.any ? anything : itemOf(frame.items), path);
    }
    const key = JSON.parse(this.#string()) as string;
    this.#skipSpace();
    this.#at += 1;
    const path = frame.path === "" ? key : `${frame.path}.${key}`;
    const slot = frame.plan?.byName.get(key);
    if (frame.plan?.open === true && slot === undefined) {
      // Its schema decides which fields are unknown; duplicates are reported here.
      if (frame.keys.has(key)) this.#report("duplicate field", frame, key, path);
      frame.keys.add(key);
      return this.#value(anything, path);
    }
    if (frame.plan !== undefined && slot === undefined) {
      this.#report("unknown field", frame, key, path);
      return this.#value(opaque, path);
    }
    if (frame.keys.has(key)) this.#report("duplicate field", frame, key, path);
    frame.keys.add(key);
    this.#value(frame.any ? anything : slot === undefined ? itemOf(frame.items) : fieldOf(slot), path);
  }

  #report(what: string, frame: Frame, key: string, path: string): void {
    if (this.#faults.size >= limits.strictFaultsMax || this.#chars >= limits.fieldErrorCharsMax) return;
    frame.told ??= new Set();
    if (frame.told.has(key)) return;
    frame.told.add(key);
    const fault = `${what} ${JSON.stringify(path)}`;
    this.#chars += fault.length;
    this.#faults.add(fault);
  }

  /** Reads a value, or opens it when it is a container that is looked into. */
  #value(expected: Expected, path: string): void {
    const lead = this.#skipSpace();
    const isMap = lead === 123;
    const looks = expected.any || (isMap ? (expected.plan ?? expected.items) : expected.items) !== undefined;
    if (!(isMap || lead === 91) || !looks) return this.#skip();
    this.#at += 1;
    this.#frames.push({ ...expected, isMap, keys: new Set(), path, count: 0 });
  }

  /** Passes over a whole value. */
  #skip(): void {
    let depth = 0;
    do {
      const lead = this.#skipSpace();
      if (lead === 34) this.#string();
      else {
        if (lead === 123 || lead === 91) depth += 1;
        else if (lead === 125 || lead === 93) depth -= 1;
        this.#at += 1;
        if (isScalar(lead)) while (isScalar(this.#text.charCodeAt(this.#at))) this.#at += 1;
      }
    } while (depth > 0 && this.#at < this.#text.length);
  }

  /** A string with its quotes, as it is written. */
  #string(): string {
    const start = this.#at;
    this.#at += 1;
    while (this.#at < this.#text.length) {
      const code = this.#text.charCodeAt(this.#at);
      this.#at += code === 92 ? 2 : 1;
      if (code === 34) break;
    }
    return this.#text.slice(start, this.#at);
  }

  #skipSpace(): number {
    for (;;) {
      const code = this.#text.charCodeAt(this.#at);
      if (code !== 32 && code !== 10 && code !== 13 && code !== 9) return code;
      this.#at += 1;
    }
  }
}

/** Part of a number or of true, false and null; no structure, string or space, and not the end (NaN). */
function isScalar(code: number): boolean {
  return (
    (code >= 48 && code <= 57) ||
    (code >= 97 && code <= 122) ||
    code === 43 ||
    code === 45 ||
    code === 46 ||
    code === 69
  );
}

function fieldOf(slot: Slot): Expected {
  if (slot.cardinality !== "one") return { plan: undefined, items: slot, any: false };
  return itemOf(slot);
}

/** The expected type of an item of a field: an object of its message, or none to check. */
function itemOf(slot: Slot | undefined): Expected {
  return slot?.shape === shapes.message ? { plan: slotPlan(slot), items: undefined, any: false } : opaque;
}
