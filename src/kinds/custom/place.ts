// Where a walk is: keys and indices from the root, put into words only when something is wrong. Upstream has two ways to
// write a path: values name properties alone (`spec.list.name`), shapes name each step (`spec.list[2].name`).

/** How a step is written. */
const steps = { property: 0, key: 1, index: 2 } as const;
type Step = (typeof steps)[keyof typeof steps];

/** A path that grows and shrinks as a walk goes down and up. */
export class Place {
  /** Of what is walked: empty at the root of an object, `….default` for a default in a schema. */
  readonly prefix: string;
  readonly #keys: (string | number)[] = [];
  readonly #steps: Step[] = [];

  constructor(prefix = "") {
    this.prefix = prefix;
  }

  /** Down to a property that is declared. */
  enterProperty(name: string): void {
    this.#keys.push(name);
    this.#steps.push(steps.property);
  }

  /** Down to a key of a map. */
  enterKey(key: string): void {
    this.#keys.push(key);
    this.#steps.push(steps.key);
  }

  /** Down to an item. */
  enterIndex(index: number): void {
    this.#keys.push(index);
    this.#steps.push(steps.index);
  }

  /** Up again. */
  leave(): void {
    this.#keys.pop();
    this.#steps.pop();
  }

  get isRoot(): boolean {
    return this.#keys.length === 0;
  }

  /** The path as messages about values have it: items have the path of their list. */
  name(): string {
    let text = "";
    for (const [at, key] of this.#keys.entries()) {
      const step = this.#steps[at];
      if (step === steps.index) continue;
      text += text !== "" || step === steps.key ? `.${key}` : String(key);
    }
    return text;
  }

  /** The field of an error about a value whose path is `name`. */
  fieldOf(name: string): string {
    const own = name.startsWith(".") ? name.slice(1) : name;
    if (own === "") return this.whole();
    return this.prefix === "" ? own : `${this.prefix}.${own}`;
  }

  /** The field of an error about the whole that is walked. */
  whole(): string {
    return this.prefix === "" ? "<nil>" : this.prefix;
  }

  /** The path that names each step. */
  field(): string {
    let text = this.prefix;
    for (const [at, key] of this.#keys.entries()) {
      if (this.#steps[at] === steps.property) text += text === "" ? key : `.${key}`;
      else text += `[${key}]`;
    }
    return text === "" ? "<nil>" : text;
  }

  /** The path of a field here, each step named. */
  fieldAt(name: string): string {
    return this.isRoot && this.prefix === "" ? name : `${this.field()}.${name}`;
  }

  /** The path of a field that was dropped: keys of maps are written as properties are. */
  dropped(name: string): string {
    let text = "";
    for (const [at, key] of this.#keys.entries()) {
      if (this.#steps[at] === steps.index) text += `[${key}]`;
      else text += text === "" ? key : `.${key}`;
    }
    return text === "" ? name : `${text}.${name}`;
  }
}
