// What a watcher of a collection saw: its objects at any revision from the beginning on.
import { eventually, type TestServer } from "../support/server.ts";

/** An object, as the API has it. */
export interface Seen {
  readonly kind?: string;
  readonly apiVersion?: string;
  readonly metadata: { readonly name: string; readonly resourceVersion: string };
}

/** Follows a collection from its list on. */
export class Witness {
  readonly faults: string[] = [];
  readonly #first: ReadonlyMap<string, Seen>;
  readonly #events: { readonly revision: number; readonly type: string; readonly object: Seen }[] = [];
  readonly #close: () => void;

  private constructor(server: TestServer, collection: string, first: ReadonlyMap<string, Seen>, from: string) {
    this.#first = first;
    this.#close = server.watch(
      `${collection}?watch=1&resourceVersion=${from}`,
      ({ type, object }) => {
        const seen = object as unknown as Seen;
        if (type === "ERROR") this.faults.push(JSON.stringify(object));
        else this.#events.push({ revision: Number(seen.metadata.resourceVersion), type, object: seen });
      },
      () => this.faults.push("the watch ended"),
    );
  }

  static async open(server: TestServer, collection: string): Promise<Witness> {
    const { items, metadata } = (await server.call("GET", collection)).json;
    return new Witness(server, collection, byName(items), metadata.resourceVersion);
  }

  /** How many events there were. */
  get events(): number {
    return this.#events.length;
  }

  /** Waits until it has seen a revision. */
  async reach(revision: number): Promise<void> {
    if (!(await eventually(() => (this.#events.at(-1)?.revision ?? 0) >= revision)))
      throw new Error(`The watch does not get to ${revision}: ${this.faults.join()}`);
  }

  /** The collection at a revision, by name. */
  at(revision: number): Map<string, Seen> {
    const state = new Map(this.#first);
    for (const { revision: made, type, object } of this.#events) {
      if (made > revision) break;
      if (type === "DELETED") state.delete(object.metadata.name);
      else state.set(object.metadata.name, object);
    }
    return state;
  }

  close(): void {
    this.faults.length = 0;
    this.#close();
  }
}

/** Items of a list by their names. */
export function byName(items: readonly Seen[]): Map<string, Seen> {
  return new Map(items.map((item) => [item.metadata.name, item]));
}

/** In what objects differ from a state, by name. `isRenumbered`: all have other resource versions. */
export function differences(
  state: ReadonlyMap<string, Seen>,
  found: ReadonlyMap<string, Seen>,
  isRenumbered = false,
): string[] {
  // Items of a list do not say what they are.
  const text = ({ kind: _kind, apiVersion: _apiVersion, metadata, ...rest }: Seen): string => {
    const { resourceVersion, ...others } = metadata;
    return JSON.stringify([isRenumbered ? "" : resourceVersion, others, rest]);
  };
  const differing: string[] = [];
  for (const [name, object] of found) {
    const expected = state.get(name);
    if (expected === undefined) differing.push(`${name} should not be there`);
    else if (text(expected) !== text(object)) differing.push(`${name}: ${text(expected)} and ${text(object)}`);
  }
  for (const name of state.keys()) if (!found.has(name)) differing.push(`${name} is missing`);
  return differing;
}
