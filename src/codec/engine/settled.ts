// Parts that many objects have as they are stored: the specs of one template's pods, with their defaults and what plugins
// added. One that was settled is shared by the objects that have the same, its JSON is written once, and what rules found
// in it is known. It is frozen: whoever changes it all the same is told, and changes no other object.
import type { Message } from "../../api/schema.ts";
import { flatText } from "../../base/flattext.ts";
import { planOf, type Slot, shapes, slotPlan } from "./plan.ts";

type Source = Readonly<Record<string, unknown>>;

/** One such part. */
export class Settled {
  readonly part: object;
  readonly #charsMax: number;
  #json: string | undefined;
  #sound: readonly unknown[] | undefined;

  private constructor(part: object, charsMax: number) {
    this.part = part;
    this.#charsMax = charsMax;
  }

  /** Freezes a part of `message`. Undefined: it has more than so many values, or what is not compared here. */
  static of(message: Message, part: object, valuesMax: number, charsMax: number): Settled | undefined {
    if (countValues(message, part, valuesMax) > valuesMax) return undefined;
    freeze(part);
    const one = new Settled(part, charsMax);
    settled.set(part, one);
    return one;
  }

  /** Its JSON as a field of an object, with the key; undefined until that was written. */
  get json(): string | undefined {
    return this.#json;
  }

  /** Keeps its JSON, unless it is too long. */
  keepJson(text: string): void {
    if (text.length <= this.#charsMax) this.#json = flatText(text);
  }

  /** Whether rules found nothing wrong with it under the same terms, which are compared one by one. */
  isSound(terms: readonly unknown[]): boolean {
    const known = this.#sound;
    return known !== undefined && known.length === terms.length && known.every((term, index) => term === terms[index]);
  }

  /** Says that rules found nothing wrong with it. They may look at nothing but the part and `terms`, which never change. */
  keepSound(terms: readonly unknown[]): void {
    this.#sound = terms;
  }
}

const settled = new WeakMap<object, Settled>();

/** What is known of a part; undefined: it is not settled. */
export function settledOf(part: object): Settled | undefined {
  return settled.get(part);
}

/** Whether two parts of `message` have the same JSON. May say no where they have. @hot: each new pod of a template. */
export function isSamePart(message: Message, one: object, other: object): boolean {
  const { byName } = planOf(message);
  const [first, second] = [one as Source, other as Source];
  for (const json in first) {
    const [value, against] = [first[json], second[json]];
    if (value === against) continue;
    const slot = byName.get(json);
    if (slot === undefined || typeof value !== "object" || typeof against !== "object") return false;
    if (value === null || against === null || !isSameField(slot, value, against)) return false;
  }
  for (const json in second) if (first[json] === undefined && second[json] !== undefined) return false;
  return true;
}

function isSameField(slot: Slot, one: object, other: object): boolean {
  if (slot.cardinality === "one") return isSameOne(slot, one, other);
  if (slot.cardinality === "list") {
    const [items, others] = [one as readonly unknown[], other as readonly unknown[]];
    if (items.length !== others.length) return false;
    for (let i = 0; i < items.length; i++) if (!isSameOne(slot, items[i], others[i])) return false;
    return true;
  }
  const [entries, others] = [one as ReadonlyMap<string, unknown>, other as ReadonlyMap<string, unknown>];
  if (entries.size !== others.size) return false;
  for (const [key, value] of entries) if (!others.has(key) || !isSameOne(slot, value, others.get(key))) return false;
  return true;
}

function isSameOne(slot: Slot, one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (slot.shape !== shapes.message || typeof one !== "object" || typeof other !== "object") return false;
  return one !== null && other !== null && isSamePart(slotPlan(slot).message, one, other);
}

/** How many values a part consists of, counted until there are too many; Infinity: some have a form of their own. */
function countValues(message: Message, part: object, valuesMax: number): number {
  const plan = planOf(message);
  if (plan.open || plan.union !== undefined) return Number.POSITIVE_INFINITY;
  let count = 0;
  for (const slot of plan.slots) {
    const value = (part as Source)[slot.json];
    if (value === undefined) continue;
    const items = slot.cardinality === "one" ? [value] : (value as Iterable<unknown>);
    for (const item of items) {
      const one = slot.cardinality === "map" ? (item as readonly unknown[])[1] : item;
      const isMessage = slot.shape === shapes.message && one !== undefined;
      count += 1 + (isMessage ? countValues(slotPlan(slot).message, one as object, valuesMax - count) : 0);
      if (count > valuesMax) return count;
    }
  }
  return count;
}

/** Freezes all objects and lists; maps cannot be. */
function freeze(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  if (value instanceof Map) for (const item of value.values()) freeze(item);
  else for (const item of Object.values(Object.freeze(value))) freeze(item);
}
