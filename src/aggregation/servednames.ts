// Names of resources of extension servers, as far as metrics tell them apart. What a path says is a client's word: a name
// counts once the extension server answered a request for it with success, and so many of them at most.
import { limits } from "../config/limits.ts";

/** What a request is for, by its path. */
interface Asked {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
}

/** The names one front has learned. */
export class ServedNames {
  readonly #known = new Set<string>();

  /** Whether there is such a resource, or subresource. */
  has(asked: Asked): boolean {
    return this.#known.has(keyOf(asked));
  }

  /** The extension server has it. */
  learn(asked: Asked): void {
    if (this.#known.size < limits.servedNamesMax) this.#known.add(keyOf(asked));
  }
}

function keyOf({ group, version, resource, subresource }: Asked): string {
  return JSON.stringify([group, version, resource, subresource]);
}
