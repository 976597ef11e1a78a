// How many seats a request takes: one, more for lists of many or large objects, and more for changes of a kind with many
// watchers. Upstream (1.23) counts objects; later releases count bytes, and watchers of what is changed.
import { Recent } from "../base/recent.ts";
import type { LogView } from "../cache/view/view.ts";
import { limits } from "../config/limits.ts";

/** A request, as far as its work depends on it. */
export interface Work {
  readonly verb: string;
  readonly view: LogView;
  /** Empty: all. */
  readonly namespace: string;
  /** Empty: none in particular. */
  readonly name: string;
  /** Objects of a page; 0: all. */
  readonly limit: number;
  /** Objects are selected, so that more are looked at than are sent. */
  readonly isSelective: boolean;
  /** Watches of the kind, on all fronts. */
  readonly watchers: number;
}

/** What a list was found to hold. */
interface Estimate {
  readonly untilMs: number;
  /** At least so many; as many as make the widest request. */
  readonly objects: number;
  /** Of one object. */
  readonly bytes: number;
}

/** Objects from which on a list is as wide as lists are. */
const objectsMax = limits.seatsPerRequestMax * limits.listObjectsPerSeat;

/** Estimates of one front. */
export class Widths {
  readonly #known = new WeakMap<LogView, Recent<string, Estimate>>();

  /** Seats of a request at `nowMs`. */
  of(work: Work, nowMs: number): number {
    if (work.verb === "list") return work.name === "" ? this.#ofList(work, nowMs) : 1;
    if (work.verb === "get" || work.verb === "watch") return 1;
    return Math.min(limits.seatsPerRequestMax, 1 + Math.floor(work.watchers / limits.watchersPerSeat));
  }

  #ofList({ view, namespace, limit, isSelective }: Work, nowMs: number): number {
    const { objects, bytes } = this.#estimate(view, namespace, nowMs);
    const sent = limit > 0 && !isSelective ? Math.min(limit, objects) : objects;
    const seats = Math.max(sent / limits.listObjectsPerSeat, (sent * bytes) / limits.listBytesPerSeat);
    return Math.min(limits.seatsPerRequestMax, Math.max(1, Math.ceil(seats)));
  }

  #estimate(view: LogView, namespace: string, nowMs: number): Estimate {
    let ofView = this.#known.get(view);
    if (ofView === undefined) {
      ofView = new Recent(limits.listEstimatesMax);
      this.#known.set(view, ofView);
    }
    const known = ofView.get(namespace);
    if (known !== undefined && nowMs < known.untilMs) return known;
    const estimate = { untilMs: nowMs + limits.listEstimateMs, ...measure(view, namespace) };
    ofView.set(namespace, estimate);
    return estimate;
  }
}

/** Counts and weighs, as far as it matters. */
function measure(view: LogView, namespace: string): Pick<Estimate, "objects" | "bytes"> {
  let [counted, weighed, bytes] = [0, 0, 0];
  view.scan(namespace, "", 0, (at) => {
    if (weighed < limits.listSampleMax) {
      weighed++;
      bytes += view.object(at).length;
    }
    counted++;
    // The number of all objects is known.
    return namespace === "" ? weighed < limits.listSampleMax : counted < objectsMax;
  });
  const objects = namespace === "" ? Math.min(objectsMax, view.count) : counted;
  return { objects, bytes: weighed === 0 ? 0 : bytes / weighed };
}
