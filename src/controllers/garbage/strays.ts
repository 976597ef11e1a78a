// Tells of objects that name an owner in another namespace, with an event (upstream: its garbage collector). Owners are
// found by name, not by uid, so all namespaces are searched for one: only where an object was written after its owner was
// not found, and a bounded number of times. An owner that was deleted with its dependents in place is not searched for.
import type { OwnerReference } from "../../api/object.ts";
import { Allowance } from "../../base/allowance.ts";
import { hashOfText } from "../../cache/shared/selection.ts";
import type { LogView } from "../../cache/view/view.ts";
import { decodeStored } from "../../codec/engine/stored.ts";
import { limits } from "../../config/limits.ts";
import type { Server } from "../../request/call/context.ts";
import type { Queue } from "../reconciler.ts";
import { type Recorder, referenceTo } from "../recording/eventwriter.ts";
import { storedKind } from "../storedkind.ts";
import { type Item, type OwnerState, uidHashOf } from "./owners.ts";

/** Looks for owners in other namespaces. */
export class StrayOwners {
  readonly #server: Server;
  readonly #record: Recorder;
  readonly #namespaces: LogView;
  readonly #searches = new Allowance(limits.collectorSearchesPerSecond, limits.collectorSearchesMax);
  /** Keys of objects that were written with an owner that is not where it should be. */
  readonly #noted = new Set<string>();

  constructor(server: Server, record: Recorder) {
    this.#server = server;
    this.#record = record;
    this.#namespaces = storedKind(server, "", "v1", "namespaces").view;
  }

  /** Every object is read anew, and noted again. */
  clear(): void {
    this.#noted.clear();
  }

  /** An object was written, and an owner was not found. */
  note(key: string): void {
    if (this.#noted.size < limits.collectorStrayMax) this.#noted.add(key);
  }

  /** Tells of the first owner of an object that is in another namespace, if the object was noted. */
  async tell(key: string, item: Item, states: readonly OwnerState[], queue: Queue): Promise<void> {
    if (!this.#noted.delete(key)) return;
    const { ownerReferences = [] } = item.object.metadata;
    for (const [index, owner] of ownerReferences.entries()) {
      const state = states[index];
      if (state !== "absent" && state !== "misplaced") continue;
      if (!this.#searches.take(this.#server.clock.monotonic())) return;
      if (!(await this.#isElsewhere(item, owner, queue))) continue;
      const { namespace } = item;
      const { apiVersion, kind, name, uid } = owner;
      const identity = `[${apiVersion}/${kind}, namespace: ${namespace}, name: ${name}, uid: ${uid}]`;
      const message = `ownerRef ${identity} does not exist in namespace "${namespace}"`;
      // Without its version, so upstream.
      const { resourceVersion: _, ...about } = referenceTo(item.resource, item.object);
      this.#record(about, "Warning", "OwnerRefInvalidNamespace", message);
      return;
    }
  }

  /** Whether an object of this kind, name and uid is in any other namespace. */
  async #isElsewhere(item: Item, { apiVersion, kind, name, uid }: OwnerReference, queue: Queue): Promise<boolean> {
    const slash = apiVersion.indexOf("/");
    const group = slash === -1 ? "" : apiVersion.slice(0, slash);
    const resource = this.#server.scheme.findKind(group, apiVersion.slice(slash + 1), kind);
    const stored = resource?.stored;
    const view = stored?.prefix === undefined ? undefined : this.#server.views.find(stored.prefix);
    if (stored === undefined || !stored.namespaced || view === undefined) return false;
    const uidHash = hashOfText(uid);
    let isFound = false;
    this.#namespaces.drain();
    if (!view.gone) view.drain();
    await queue.scan(this.#namespaces, (_at, namespace) => {
      if (isFound || view.gone || namespace === item.namespace) return;
      const at = view.get(namespace, name);
      if (at === 0 || uidHashOf(view.object(at)) !== uidHash) return;
      isFound = decodeStored(stored, view.object(at)).metadata.uid === uid;
    });
    return isFound;
  }
}
