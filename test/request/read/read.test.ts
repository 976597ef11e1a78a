import t from "tap";
import { isStatus } from "../../../src/api/status.ts";
import type { Location } from "../../../src/cache/shared/record.ts";
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
