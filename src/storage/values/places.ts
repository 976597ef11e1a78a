// Which kind a key belongs to. Keys are as upstream has them: `<prefix>/<namespace>/<name>` or `<prefix>/<name>`, where the
// prefix is `/registry/<plural>` for most built-in kinds and `/registry/<group>/<plural>` for custom resources.
import type { Resource } from "../../api/scheme.ts";
import { definedAt } from "../../kinds/custom/prefix.ts";

/** What is kept below a prefix. */
export interface Place {
  readonly prefix: string;
  /** A built-in kind at the version it is stored in; undefined: a custom resource, whose definition may not be known. */
  readonly stored: Resource | undefined;
  /** Of a custom resource; empty for others. */
  readonly group: string;
  /** No objects of the API, but claims of addresses and ports. */
  readonly isClaims: boolean;
}

/** Everything before the first name of a key. */
const root = "/registry/";

/** The places of one server. */
export class Places {
  readonly #byPrefix = new Map<string, Place>();
  /** Of built-in kinds, served or not. */
  readonly #builtIn: ReadonlySet<string>;

  /** `builtIn`: every kind there is; `served`: those that have logs; `claims`: prefixes of claims. */
  constructor(builtIn: readonly Resource[], served: readonly Resource[], claims: readonly string[]) {
    this.#builtIn = new Set(builtIn.flatMap(({ prefix }) => prefix ?? []));
    const isServed = new Set(served.flatMap(({ prefix }) => prefix ?? []));
    for (const { stored } of builtIn) {
      if (stored?.prefix === undefined || !isServed.has(stored.prefix)) continue;
      this.#byPrefix.set(stored.prefix, { prefix: stored.prefix, stored, group: "", isClaims: false });
    }
    for (const prefix of claims) this.#byPrefix.set(prefix, { prefix, stored: undefined, group: "", isClaims: true });
  }

  /**
   * The place of a key; undefined: it belongs to nothing that is served. Upstream's own records beside objects (ranges of
   * addresses, leases of servers) are at keys of their own, which are no claims.
   */
  find(key: string): Place | undefined {
    if (!key.startsWith(root)) return undefined;
    const first = key.indexOf("/", root.length);
    if (first < 0) return undefined;
    const short = this.#byPrefix.get(key.slice(0, first));
    if (short !== undefined) return isBelow(short, key) ? short : undefined;
    const second = key.indexOf("/", first + 1);
    if (second < 0) return undefined;
    const long = this.at(key.slice(0, second));
    return long !== undefined && isBelow(long, key) ? long : undefined;
  }

  /** The place of a prefix; undefined: nothing is kept there. */
  at(prefix: string): Place | undefined {
    const known = this.#byPrefix.get(prefix);
    if (known !== undefined || this.#builtIn.has(prefix) || definedAt(prefix) === undefined) return known;
    const group = prefix.slice(root.length, prefix.lastIndexOf("/"));
    return { prefix, stored: undefined, group, isClaims: false };
  }
}

/** Whether what follows the prefix has as many names as the place asks for, none of them empty. */
function isBelow({ prefix, stored, isClaims }: Place, key: string): boolean {
  const slash = key.indexOf("/", prefix.length + 1);
  const isNamed = key.length > prefix.length + 1 && slash !== prefix.length + 1;
  if (!isNamed || slash < 0) return isNamed && (stored === undefined || !stored.namespaced);
  const isLast = key.indexOf("/", slash + 1) < 0 && slash < key.length - 1;
  return isLast && !isClaims && (stored === undefined || stored.namespaced);
}

/** Namespace and name of a key below a prefix; the namespace is empty where the kind has none. */
export function namesOf(prefix: string, key: string): { readonly namespace: string; readonly name: string } {
  const slash = key.indexOf("/", prefix.length + 1);
  if (slash < 0) return { namespace: "", name: key.slice(prefix.length + 1) };
  return { namespace: key.slice(prefix.length + 1, slash), name: key.slice(slash + 1) };
}
