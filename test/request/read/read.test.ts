import t from "tap";
import { identities } from "../../../src/api/identity.ts";
import { isStatus } from "../../../src/api/status.ts";
import type { Location } from "../../../src/cache/shared/record.ts";
import type { Hold } from "../../../src/cache/view/view.ts";
import { type ReadInput, readList } from "../../../src/request/read/read.ts";
import { selectorOf } from "../../support/fakefront.ts";

/** A view of one object, which is changed at each revision: its location is the revision of the state it was read from. */
class Changing {
  published = 5;
  floor = 0;
  #drained = 0;

  drain(): number {
    this.#drained = this.published;
    return this.#drained;
  }

  scan(_namespace: string, _after: string, revision: number, take: (at: Location, key: string) => boolean): void {
    take((revision === 0 ? this.#drained : revision) as Location, "ns/one");
  }
}

const options = {
  ...{ labelSelector: "", fieldSelector: "", watch: false, allowWatchBookmarks: false, resourceVersionMatch: "" },
  ...{ limit: 0, continueToken: "", timeoutSeconds: undefined, sendInitialEvents: undefined },
};

t.test("readList() names the state it reads, whoever drains the view in between", async (t) => {
  for (const resourceVersion of ["", "0", "3"]) {
    const view = new Changing();
    const resource = { namespaced: true, prefix: "/registry/configmaps" };
    const newest = (): Promise<number> => Promise.resolve(view.published);
    const input = { view, resource, namespace: "ns", identity: "orch", aborted: () => false, newest };
    const reading = readList(input as unknown as ReadInput, { ...options, resourceVersion }, selectorOf("", ""));
    // Other requests of this turn, in each of its steps.
    for (let step = 0; step < 10; step += 1) {
      view.published += 1;
      view.drain();
      await Promise.resolve();
    }
    const list = await reading;
    if (isStatus(list)) throw new Error(list.message);
    t.same(list.metadata.resourceVersion, String(list.items[0]), `of version "${resourceVersion}"`);
  }
});

/** A view of many objects, all of them there at revision 9. */
class Many {
  readonly floor = 1;
  readonly names = Array.from({ length: 25_000 }, (_, at) => `ns/${String(at).padStart(6, "0")}`);
  turns = 0;
  held = 0;

  drain(): number {
    return 10;
  }

  scan(_namespace: string, after: string, _revision: number, take: (at: Location, key: string) => boolean): void {
    this.turns += 1;
    for (let at = after === "" ? 0 : Number(after.slice(3)) + 1; at < this.names.length; at += 1)
      if (!take((at + 1) as Location, this.names[at] as string)) return;
  }

  hold(): Hold {
    this.held += 1;
    return { expired: false, release: () => void (this.held -= 1) };
  }
}

t.test("readList() counts what follows a page of a former state in several turns", async (t) => {
  for (const count of [25_000, 20_002, 20_001, 3]) {
    const view = new Many();
    view.names.length = count;
    const resource = { namespaced: true, prefix: "/registry/configmaps" };
    const input = { view, resource, namespace: "ns", identity: identities.orch, aborted: () => false };
    const exact = { ...options, limit: 2, resourceVersion: "9", resourceVersionMatch: "Exact" };
    const list = await readList(input as unknown as ReadInput, exact as never, selectorOf("", ""));
    if (isStatus(list)) throw new Error(list.message);
    t.match(list.metadata, { resourceVersion: "9", remainingItemCount: count - 2 });
    t.equal(list.items.length, 2);
    t.equal(view.turns, 1 + Math.ceil((count - 1) / 10_000), "no turn looks at more than ten thousand objects");
    t.equal(view.held, 0);
  }
});
