// What watches hold of a front, divided among users: the watches themselves, the requirements of their selectors, which
// every change of what is watched is compared with, and those that wait for a resource version to come.
import { formatFieldSelector, formatLabelSelector, type Selector } from "../../api/selector.ts";
import { isStatus, type Status } from "../../api/status.ts";
import { type Owner, Shares } from "../../base/shares.ts";
import { limits } from "../../config/limits.ts";
import { exceeded } from "../exchange/exceeded.ts";

/** What a selector costs besides its terms: it is evaluated for records that are none of its watchers' business. */
const evaluationTerms = 10;

/** What a selector is charged; nothing where one hash finds its watchers. */
export function selectionTerms({ labels, fields }: Selector): number {
  const [label] = labels;
  if (labels.length + fields.length === 0) return 0;
  if (labels.length === 0 && fields.length === 1 && fields[0]?.operator === "=") return 0;
  if (fields.length === 0 && labels.length === 1 && label?.operator === "=" && label.values.length === 1) return 0;
  let terms = evaluationTerms + fields.length;
  for (const { values } of labels) terms += Math.max(1, values.length);
  return terms;
}

/** The watches of one front. */
export class WatchBounds {
  readonly watches: Shares;
  /** Terms of selectors, each selector of a user counted once however many of its watches have it. */
  readonly terms: Shares;
  /** Requests that wait for a resource version without a seat. */
  readonly waits: Shares;
  readonly #selectors = new Map<string, { watches: number; readonly leave: () => void }>();

  /** The bounds of limits.ts; a test may have others. */
  constructor(
    watches: number = limits.watchersMax,
    terms: number = limits.watchTermsMax,
    waits: number = limits.watchWaitsMax,
  ) {
    this.watches = new Shares("watches", watches);
    this.terms = new Shares("selector terms of watches", terms);
    this.waits = new Shares("watches waiting for a resource version", waits);
  }

  /** Charges a watch of `place` (what is watched, in which form). Returns how to end it, or a 429 Status. */
  open(owner: Owner, place: string, selector: Selector): (() => void) | Status {
    const leave = this.watches.take(owner);
    if (leave === undefined) return exceeded(this.watches, owner);
    const forget = this.#select(owner, place, selector);
    if (isStatus(forget)) {
      leave();
      return forget;
    }
    return () => {
      leave();
      forget();
    };
  }

  #select(owner: Owner, place: string, selector: Selector): (() => void) | Status {
    const terms = selectionTerms(selector);
    if (terms === 0) return nothing;
    const { labels, fields } = selector;
    const key = [owner.name, place, formatLabelSelector(labels), formatFieldSelector(fields)].join("\n");
    let known = this.#selectors.get(key);
    if (known === undefined) {
      const leave = this.terms.take(owner, terms);
      if (leave === undefined) return exceeded(this.terms, owner);
      known = { watches: 0, leave };
      this.#selectors.set(key, known);
    }
    const held = known;
    held.watches += 1;
    let ended = false;
    return () => {
      if (ended) return;
      ended = true;
      held.watches -= 1;
      if (held.watches > 0) return;
      this.#selectors.delete(key);
      held.leave();
    };
  }

  /** Charges a wait for a resource version. Returns how to end it, or a 429 Status. */
  wait(owner: Owner): (() => void) | Status {
    return this.waits.take(owner) ?? exceeded(this.waits, owner);
  }
}

const nothing = (): void => undefined;
