// Finds the items of a list in the log. What takes longer than a few milliseconds goes on in later turns of the loop:
// the first piece reads the state as it is, the others the same state as of its revision, which a hold keeps readable.
import type { Selector } from "../../api/selector.ts";
import type { Status } from "../../api/status.ts";
import { compileSelector, examinationCost } from "../../cache/fanout/select.ts";
import type { Location } from "../../cache/shared/record.ts";
import type { LogView } from "../../cache/view/view.ts";
import { limits } from "../../config/limits.ts";
import { readOn } from "../exchange/longreads.ts";
import { pinnedName } from "../route/selectors.ts";

/** What is to be found. */
export interface WalkInput {
  readonly view: LogView;
  readonly namespaced: boolean;
  readonly namespace: string;
  readonly selector: Selector;
  /** Key the items come after; empty: the start. */
  readonly after: string;
  /** The revision the list is of: the one of the last drain() where `now` is set. */
  readonly revision: number;
  /** The view is at the revision, so that its present state is the one to read. */
  readonly now: boolean;
  readonly limit: number;
  /** The owner of its long work; left out: the server itself. */
  readonly lane?: string | undefined;
  readonly aborted: () => boolean;
}

/** Items found; they are good for the turn in which the walk ended: hold() what is to live longer. */
export interface Page {
  readonly items: readonly Location[];
  /** Key of the last item when more follow. */
  readonly next: string | undefined;
  /** As of which revision what follows can be read; 0: the present state, still. */
  readonly at: number;
}

/** Finds a page of items; 504 when that took longer than the state was kept. */
export async function walk(input: WalkInput): Promise<Page | Status> {
  const { namespace, namespaced, selector } = input;
  const name = pinnedName(selector);
  if (name !== undefined && (namespace !== "" || !namespaced)) return pinned(input, name);
  const steps = new Steps(input);
  if (steps.step(input.now ? 0 : input.revision)) return steps.page(input.now ? 0 : input.revision);
  const hold = input.view.hold();
  try {
    const isGone = (): boolean => hold.expired || input.aborted();
    const late = await readOn(() => steps.step(input.revision), isGone, input.lane);
    if (late !== undefined) return late;
  } finally {
    hold.release();
  }
  return steps.page(input.revision);
}

/** At most one object can match: it is looked up. */
function pinned({ view, namespace, selector, after, revision, now }: WalkInput, name: string): Page {
  const match = compileSelector(selector);
  const at = name === "" ? 0 : now ? view.get(namespace, name) : view.getAt(namespace, name, revision);
  const found = at !== 0 && (after === "" || view.keyOf(at) > after) && (match === undefined || match(view, at));
  return { items: found ? [at] : [], next: undefined, at: 0 };
}

/** A walk under way. */
class Steps {
  readonly #input: WalkInput;
  readonly #match: ReturnType<typeof compileSelector>;
  readonly #cost: number;
  readonly #items: Location[] = [];
  /** Key looked at last. */
  #after: string;
  /** Key of the last item. */
  #last = "";
  #next: string | undefined;

  constructor(input: WalkInput) {
    this.#input = input;
    this.#match = compileSelector(input.selector);
    this.#cost = examinationCost(input.selector);
    this.#after = input.after;
  }

  /** Looks at the next objects as of `revision` (0: now); true when that was all. */
  step(revision: number): boolean {
    const { view, namespace, limit } = this.#input;
    const match = this.#match;
    const items = this.#items;
    let examined = 0;
    let done = true;
    view.scan(namespace, this.#after, revision, (at, key) => {
      // Whether what follows matches is for the next page to find out.
      if (items.length >= limit) {
        this.#next = this.#last;
        return false;
      }
      if (match === undefined || match(view, at)) {
        items.push(at);
        this.#last = key;
      }
      examined += this.#cost;
      if (examined < limits.initialRecordsMax) return true;
      this.#after = key;
      done = false;
      return false;
    });
    return done;
  }

  page(at: number): Page {
    return { items: this.#items, next: this.#next, at };
  }
}
