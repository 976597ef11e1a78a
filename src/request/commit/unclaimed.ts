// Claims of services that have none: kube-apiserver, which keeps bitmaps of its own, wrote them to the same store. They are
// made when the store is opened, before any request is served; else a new service could get an address that is in use.
// The other way round nothing is needed: kube-apiserver makes its bitmaps from the services that are there.
import type { Service } from "../../api/gen/core/v1.ts";
import type { ApiObject } from "../../api/object.ts";
import type { Resource } from "../../api/scheme.ts";
import { textOf } from "../../codec/engine/json.ts";
import { decodeLean, decodeStoredText } from "../../codec/engine/stored.ts";
import { limits } from "../../config/limits.ts";
import { type Change, changeTypes, type Record, type Store, StoreError } from "../../storage/store.ts";
import { heldBy, ownerOf } from "./allocate.ts";
import { type ClaimKind, claimChange, claimPrefixes, type Owner } from "./serviceallocations.ts";

interface Holder {
  readonly owner: Owner;
  readonly held: readonly (readonly [kind: ClaimKind, what: string])[];
}

/** Services and claims of a store, as its records tell them. */
export class UnclaimedAddresses {
  readonly #services: Resource;
  /** By the key of the service. */
  readonly #holders = new Map<string, Holder>();
  /** Keys of claims. */
  readonly #claimed = new Set<string>();

  /** `services`: at the version they are stored in. */
  constructor(services: Resource) {
    this.#services = services;
  }

  /** Takes in a record; call in the order of revisions. */
  take({ prefix, key, type, body }: Record): void {
    const isThere = type !== changeTypes.delete;
    if (prefix === this.#services.prefix) {
      if (isThere) this.#holders.set(key, this.#holderOf(body));
      else this.#holders.delete(key);
    } else if (prefix === claimPrefixes.address || prefix === claimPrefixes.port) {
      if (isThere) this.#claimed.add(key);
      else this.#claimed.delete(key);
    }
  }

  /** Claims what is not claimed. Where two services have the same, one gets it, and the repair tells of the other. */
  async claim(store: Pick<Store, "commit">, nowMs: number): Promise<void> {
    const changes = this.#changes(nowMs);
    try {
      for (let at = 0; at < changes.length; at += limits.commitChangesMax) {
        await store.commit(changes.slice(at, at + limits.commitChangesMax));
      }
    } catch (error) {
      // A store that is full takes no services either; the repair goes on where this ended.
      if (!(error instanceof StoreError) || error.kind !== "full") throw error;
    }
  }

  #changes(nowMs: number): Change[] {
    const changes = new Map<string, Change>();
    for (const { owner, held } of this.#holders.values()) {
      for (const [kind, what] of held) {
        const change = claimChange(kind, what, owner, nowMs);
        if (!this.#claimed.has(change.key) && !changes.has(change.key)) changes.set(change.key, change);
      }
    }
    return [...changes.values()];
  }

  #holderOf(body: Uint8Array): Holder {
    const text = textOf(body);
    const object = decodeLean(this.#services, text)?.object ?? decodeStoredText(this.#services, text);
    return { owner: ownerOf(object), held: heldBy(object as ApiObject & Service) };
  }
}
