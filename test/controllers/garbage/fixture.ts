// A server in this thread with the garbage collector running, and objects that own each other.
import type { Test } from "tap";
import { GarbageCollector } from "../../../src/controllers/garbage/collector.ts";
import type { Reconciler } from "../../../src/controllers/reconciler.ts";
import type { Recorders } from "../../../src/controllers/recording/eventwriter.ts";
import type { StoreClient } from "../../../src/storage/client.ts";
import { reconcilerOf, Told } from "../../support/controllers.ts";
import { type InProcess, until } from "../../support/inprocess.ts";
import { scenario } from "../../support/scenario.ts";

/** Merge patches. */
export const merge = { "content-type": "application/merge-patch+json" };
/** Where config maps are. */
export const maps = "/api/v1/namespaces/default/configmaps";

/** A reference to an owner. */
export interface Reference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly blockOwnerDeletion?: boolean;
}

/** A server with its collector. */
export class Yard {
  readonly server: InProcess;
  readonly reports: string[] = [];
  /** What the collector tells in events. */
  readonly told = new Told();
  readonly #recorders: Recorders;
  collector: GarbageCollector;
  reconciler: Reconciler;
  readonly #storeOf: (store: StoreClient) => StoreClient;
  #crashed: () => void = () => undefined;
  #nextCrash = this.#crash();

  /** `storeOf`: what each collector that is started writes to; left out: the server's store. */
  constructor(
    server: InProcess,
    recorders?: Recorders,
    storeOf: (store: StoreClient) => StoreClient = (store) => store,
  ) {
    this.server = server;
    this.#recorders = recorders ?? this.told;
    this.#storeOf = storeOf;
    [this.collector, this.reconciler] = this.#start();
  }

  #start(): [GarbageCollector, Reconciler] {
    const { server } = this.server;
    const writers = { ...server.writers, store: this.#storeOf(server.writers.store) };
    const collector = new GarbageCollector({ ...server, writers }, this.#recorders);
    const note = (message: string, cause: unknown): void => void this.reports.push(`${message}: ${String(cause)}`);
    const reconciler = reconcilerOf(collector, this.server.server.clock, note);
    reconciler.start();
    return [collector, reconciler];
  }

  /** Stops it, and starts another. */
  async restart(): Promise<void> {
    await this.reconciler.stop();
    [this.collector, this.reconciler] = this.#start();
  }

  /** Starts another, which finds what this one left: its store lets it do nothing more. */
  crash(): void {
    void this.reconciler.stop();
    [this.collector, this.reconciler] = this.#start();
    this.#crashed();
    this.#nextCrash = this.#crash();
  }

  #crash(): Promise<void> {
    return new Promise((resolve) => {
      this.#crashed = resolve;
    });
  }

  /** Creates an object; a reference to it. `kind`, `apiVersion` as the answer says. */
  async make(path: string, name: string, owners: readonly Reference[] = [], more: object = {}): Promise<Reference> {
    const metadata = { name, ...(owners.length > 0 ? { ownerReferences: owners } : {}), ...more };
    const { code, json, text } = await this.server.call("POST", path, { metadata });
    if (code !== 201) throw new Error(text);
    return { apiVersion: json.apiVersion, kind: json.kind, name, uid: json.metadata.uid };
  }

  remove(path: string, propagationPolicy?: string): ReturnType<InProcess["call"]> {
    return this.server.call("DELETE", path, propagationPolicy === undefined ? undefined : { propagationPolicy });
  }

  async metadata(path: string): Promise<Record<string, unknown> | undefined> {
    const { code, json } = await this.server.call("GET", path);
    return code === 200 ? json.metadata : undefined;
  }

  gone(path: string): Promise<boolean> {
    return until(async () => (await this.metadata(path)) === undefined);
  }

  /** Waits until an object is marked as deleted. */
  marked(path: string): Promise<boolean> {
    return until(async () => (await this.metadata(path))?.["deletionTimestamp"] !== undefined);
  }

  /** The names of the owners an object has. */
  async owners(path: string): Promise<string[] | undefined> {
    const metadata = await this.metadata(path);
    return metadata && ((metadata["ownerReferences"] ?? []) as Reference[]).map(({ name }) => name);
  }

  /** Resolves when the collector has looked at everything that was written by now. */
  async settled(): Promise<void> {
    const { store } = this.server;
    for (let before = -1; ; before = store.revision) {
      const { reconciler } = this;
      const isAll = reconciler.catchUp();
      // What was killed never comes to rest.
      await Promise.race([reconciler.idle(), this.#nextCrash]);
      const isSame = isAll && store.revision === before && this.reconciler === reconciler;
      if (isSame && reconciler.laterCount === 0) return;
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }

  /** Takes the finalizers off an object. */
  free(path: string): ReturnType<InProcess["call"]> {
    return this.server.call("PATCH", path, { metadata: { finalizers: null } }, merge);
  }
}

/** A test with a server of its own and the collector running. */
export function yard(name: string, check: (t: Test, yard: Yard) => Promise<void>): void {
  scenario(name, async (t, server) => {
    const one = new Yard(server);
    try {
      await check(t, one);
      t.strictSame(one.reports, []);
    } finally {
      await one.reconciler.stop();
    }
  });
}

/** A reference that keeps its owner from going. */
export function blocking(owner: Reference): Reference {
  return { ...owner, blockOwnerDeletion: true };
}
