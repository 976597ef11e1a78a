// Items of a list whose objects a webhook converts: asked for in batches, a chunk's worth before the chunk is written, so
// that a list of any length is converted in few calls and keeps no more than one batch.
import type { Identity } from "../../api/identity.ts";
import type { Resource } from "../../api/scheme.ts";
import { isStatus, type Status, timedOut } from "../../api/status.ts";
import { assert } from "../../base/assert.ts";
import { copyOf } from "../../base/copy.ts";
import { limits } from "../../config/limits.ts";
import { longWork } from "../../config/longwork.ts";
import { ConversionNeeded, type ConversionTerms, remoteOf } from "../../kinds/remote.ts";
import { represent, storedBytes } from "../answer/toversion.ts";
import type { ListAnswer, ReadInput } from "../read/read.ts";

/** The items of a list, at the version asked for. */
export class ConvertedItems {
  readonly #input: ReadInput;
  readonly #list: ListAnswer;
  readonly #expired: () => boolean;
  /** Those from #first on. */
  #items: (Uint8Array | undefined)[] = [];
  #first = 0;

  /** `expired`: whether what the list reads is gone. */
  constructor(input: ReadInput, list: ListAnswer, expired: () => boolean) {
    this.#input = input;
    this.#list = list;
    this.#expired = expired;
  }

  /** Index of the first item that is not there. */
  get end(): number {
    return this.#first + this.#items.length;
  }

  /** Makes items from `index` on ready, unless they are; a Status says why not. */
  async prepare(index: number): Promise<Status | undefined> {
    if (index < this.end || index >= this.#list.items.length) return undefined;
    if (this.#expired()) return timedOut;
    const { resource, identity, terms = {} } = this.#input;
    const sources: Uint8Array[] = [];
    let bytes = 0;
    for (let at = index; at < this.#list.items.length && sources.length < limits.conversionObjectsMax; at += 1) {
      const source = storedBytes(this.#list.view, this.#list.items[at] ?? 0, resource, identity);
      if (sources.length > 0 && bytes + source.length > limits.conversionBytesMax) break;
      // The log may go on while the webhook is asked.
      sources.push(copyOf(source));
      bytes += source.length;
    }
    const made = await representAll(sources, resource, identity, terms);
    if (isStatus(made)) return made;
    this.#items = made;
    this.#first = index;
    return undefined;
  }

  /** An item that is there; it is given away. */
  take(index: number): Uint8Array {
    const item = this.#items[index - this.#first];
    assert(item !== undefined, "An item of a list was converted before it is written");
    return item;
  }
}

/** The items of a list a webhook converts; undefined: none does. */
export function convertedItems(input: ReadInput, list: ListAnswer, expired: () => boolean): ConvertedItems | undefined {
  return remoteOf(input.resource) === undefined ? undefined : new ConvertedItems(input, list, expired);
}

/** Objects at the version of `resource`: what is there, and one round of calls for the rest. */
async function representAll(
  sources: readonly Uint8Array[],
  resource: Resource,
  identity: Identity,
  terms: ConversionTerms,
): Promise<Uint8Array[] | Status> {
  const made: (Uint8Array | undefined)[] = sources.map(() => undefined);
  for (let round = 0; round < limits.conversionRoundsMax; round += 1) {
    const needs: ConversionNeeded[] = [];
    for (const [index, source] of sources.entries()) {
      if (made[index] !== undefined) continue;
      try {
        made[index] = represent(resource, identity, source);
      } catch (error) {
        if (!(error instanceof ConversionNeeded)) throw error;
        needs.push(error);
      }
      if (longWork.isOver) await longWork.later(terms.owner?.name);
    }
    const [first] = needs;
    if (first === undefined) return made.filter((item) => item !== undefined);
    const refused = await first.remote.ask(needs, terms);
    if (refused !== undefined) return refused;
  }
  return timedOut;
}
