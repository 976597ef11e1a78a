// A bounded cache of recently used entries. Two generations: used entries are in the younger one; when that holds half
// of the bound, the older is dropped and it takes its place. A Map in order of use, with a delete and a set at each
// use, costs more the more often one key is used: V8 walks over the deleted entries of the key, up to 60 us each time.

/** Values by key, those that were not used for longest forgotten first, half of all at a time. */
export class Recent<K, V extends object> {
  readonly #sizeMax: number;
  readonly #sizeOf: (key: K, value: V) => number;
  #young = new Map<K, V>();
  #old = new Map<K, V>();
  /** Of the younger generation. */
  #size = 0;

  /** `sizeMax`: total size, as `sizeOf` measures it (default: entries). */
  constructor(sizeMax: number, sizeOf: (key: K, value: V) => number = () => 1) {
    this.#sizeMax = sizeMax;
    this.#sizeOf = sizeOf;
  }

  /** The value of a key, which counts as used now. */
  get(key: K): V | undefined {
    const known = this.#young.get(key);
    if (known !== undefined) return known;
    const old = this.#old.get(key);
    if (old !== undefined) this.set(key, old);
    return old;
  }

  /** Keeps a value, replacing the one of its key. */
  set(key: K, value: V): void {
    const before = this.#young.get(key);
    const size = this.#sizeOf(key, value) - (before === undefined ? 0 : this.#sizeOf(key, before));
    if (this.#size > 0 && this.#size + size > this.#sizeMax / 2) {
      this.#old = this.#young;
      this.#young = new Map();
      this.#size = this.#sizeOf(key, value);
    } else this.#size += size;
    this.#young.set(key, value);
  }
}
