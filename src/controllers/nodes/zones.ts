// How fast nodes of a zone are tainted so that their pods are evicted. A zone of which many nodes are lost at once is more
// likely cut off than broken, and slows down; when no zone has a ready node, evictions end (upstream: handleDisruption).
import { Allowance } from "../../base/allowance.ts";
import type { NodesConfig } from "../../config/nodeflags.ts";

/** Nodes of a zone. */
export interface ZoneCount {
  ready: number;
  lost: number;
}

/** How a zone is: `new` until it was counted once. */
type ZoneState = "new" | "normal" | "partial" | "full";

type Rates = Pick<NodesConfig, "evictionRate" | "secondaryEvictionRate" | "smallZoneNodesMax" | "unhealthyFraction">;

/** Lost nodes from which on a zone may be unhealthy. */
const lostMin = 3;

interface Zone {
  state: ZoneState;
  /** Undefined: none is tainted. */
  pace: Allowance | undefined;
  /** Names of nodes to be tainted, in the order they were lost. */
  readonly waiting: Set<string>;
}

/** The zones of a cluster. Times are milliseconds of one clock that never goes back. */
export class Zones {
  readonly #rates: Rates;
  readonly #zones = new Map<string, Zone>();
  #isDisrupted = false;

  constructor(rates: Rates) {
    this.#rates = rates;
  }

  /** No node is ready anywhere: nodes are neither tainted nor keep such taints. */
  get isDisrupted(): boolean {
    return this.#isDisrupted;
  }

  /** Zones in which a node waits for its turn. */
  get waiting(): string[] {
    return [...this.#zones].flatMap(([name, zone]) => (zone.waiting.size > 0 ? name : []));
  }

  /** Takes in how many nodes of each zone are ready; true: isDisrupted changed. */
  count(counts: ReadonlyMap<string, ZoneCount>, nowMs: number): boolean {
    for (const name of counts.keys()) this.#at(name);
    for (const [name, { waiting }] of this.#zones) {
      if (!counts.has(name) && waiting.size === 0) this.#zones.delete(name);
    }
    const judged = [...counts].map(([name, count]) => ({ zone: this.#at(name), count, state: this.#judge(count) }));
    const isDisrupted = judged.length > 0 && judged.every(({ state }) => state === "full");
    const isChanged = isDisrupted !== this.#isDisrupted;
    this.#isDisrupted = isDisrupted;
    for (const { zone, count, state } of judged) {
      if (!isChanged && (isDisrupted || zone.state === state)) continue;
      zone.state = state;
      const rate = isDisrupted ? 0 : this.#rateOf(count, state);
      zone.pace = paceOf(rate, zone.pace, nowMs);
    }
    return isChanged;
  }

  /** A node is to be tainted when its turn comes. */
  want(name: string, node: string): void {
    this.#at(name).waiting.add(node);
  }

  /** A node is not to be tainted any more. */
  forget(name: string, node: string): void {
    this.#zones.get(name)?.waiting.delete(node);
  }

  /** Takes the node whose turn it is; a number: the milliseconds until it is; undefined: not before something changes. */
  take(name: string, nowMs: number): string | number | undefined {
    const { waiting, pace } = this.#zones.get(name) ?? {};
    const [node] = waiting ?? [];
    if (node === undefined || pace === undefined) return undefined;
    if (!pace.take(nowMs)) return Math.max(1, pace.nextMs - nowMs);
    waiting?.delete(node);
    return node;
  }

  #at(name: string): Zone {
    let zone = this.#zones.get(name);
    if (zone === undefined) {
      const { evictionRate } = this.#rates;
      const pace = this.#isDisrupted || evictionRate === 0 ? undefined : new Allowance(evictionRate, 1);
      zone = { state: "new", pace, waiting: new Set() };
      this.#zones.set(name, zone);
    }
    return zone;
  }

  #judge({ ready, lost }: ZoneCount): ZoneState {
    if (ready === 0 && lost > 0) return "full";
    const isUnhealthy = lost >= lostMin && lost / (ready + lost) >= this.#rates.unhealthyFraction;
    return isUnhealthy ? "partial" : "normal";
  }

  #rateOf({ ready, lost }: ZoneCount, state: ZoneState): number {
    if (state !== "partial") return this.#rates.evictionRate;
    return ready + lost > this.#rates.smallZoneNodesMax ? this.#rates.secondaryEvictionRate : 0;
  }
}

/** One at a time. What was taken of the pace before counts, and where none was tainted before, the first one waits. */
function paceOf(perSecond: number, before: Allowance | undefined, nowMs: number): Allowance | undefined {
  if (perSecond === 0) return undefined;
  const pace = new Allowance(perSecond, 1);
  if (before === undefined || before.nextMs > nowMs) pace.take(nowMs);
  return pace;
}
