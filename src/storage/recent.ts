// How recent a read must be where other servers write the same data: the store is asked, one question at a time, and an
// answer is given when everything up to it has been published here.
import { assertShared } from "../base/assert.ts";
import type { TraceSpans } from "../observe/spans.ts";
import { SharedQuestion } from "./sharedquestion.ts";
import type { Store } from "./store.ts";

/** The questions of all fronts. They bound them: limits.recentQuestionsMax each. */
export class RecentRevision {
  readonly #question: SharedQuestion<number>;
  #published: number;
  /** Those who wait for more to be published, in the order of revisions. */
  readonly #waiting: { readonly revision: number; readonly resolve: (revision: number) => void }[] = [];

  /** `published`: what has been published by now. */
  constructor(store: Pick<Store, "currentRevision">, published: number) {
    this.#question = new SharedQuestion(
      (spans) => store.currentRevision(spans),
      1,
      (work) => work(),
    );
    this.#published = published;
  }

  /** Resolves with a revision that was the store's newest after the call. Rejects as Store.currentRevision(). */
  async ask(spans?: TraceSpans): Promise<number> {
    const revision = await this.#question.ask(spans);
    if (revision <= this.#published) return revision;
    const last = this.#waiting.at(-1)?.revision ?? 0;
    assertShared(last <= revision, `The store's newest revision is ${revision} after ${last}`);
    return new Promise((resolve) => this.#waiting.push({ revision, resolve }));
  }

  /** Everything at or below `revision` has been published. */
  published(revision: number): void {
    assertShared(revision >= this.#published, `Revision ${revision} is published after ${this.#published}`);
    this.#published = revision;
    const reached = this.#waiting.findIndex((one) => one.revision > revision);
    const count = reached < 0 ? this.#waiting.length : reached;
    if (count > 0) for (const one of this.#waiting.splice(0, count)) one.resolve(one.revision);
  }
}
