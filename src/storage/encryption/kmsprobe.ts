// Looks after a KMS plugin: asks it at the start, then again and again, sooner after a failure; and the words in which the
// store thread tells the fronts whether the plugins work, for their health checks.
import { assertShared } from "../../base/assert.ts";

/** How long after a look the next one comes, in milliseconds. */
export interface ProbeTimes {
  readonly wellMs: number;
  readonly illMs: number;
}

/** What is known of one plugin. */
export class Probe {
  /** Of the plugin, as the file has it. */
  readonly name: string;
  /** Why it cannot be used now; undefined: it can. */
  failure: string | undefined = "it was not asked yet";
  /** Called after each look, and with what it failed at when that is news. */
  onLook: (news: string | undefined) => void = () => undefined;
  readonly #ask: () => Promise<void>;
  readonly #times: ProbeTimes;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  /** `ask` rejects when the plugin does not work. */
  constructor(name: string, ask: () => Promise<void>, times: ProbeTimes) {
    this.name = name;
    this.#ask = ask;
    this.#times = times;
  }

  /** Looks now, and from now on. Resolves after the first look, whatever it found. Called once. */
  async start(): Promise<void> {
    await this.look();
    if (this.#isClosed) return;
    const { wellMs, illMs } = this.#times;
    this.#timer = setTimeout(() => void this.start(), this.failure === undefined ? wellMs : illMs);
    this.#timer.unref();
  }

  /** Looks once. */
  async look(): Promise<void> {
    const before = this.failure;
    try {
      await this.#ask();
      this.failure = undefined;
    } catch (error) {
      this.failure = (error as Error).message;
    }
    if (!this.#isClosed) this.onLook(this.failure === before ? undefined : this.failure);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }
}

/** Which health checks of KMS plugins fail: one word each, written by the store thread, read by every front. */
export class KmsHealth {
  readonly #words: Int32Array<SharedArrayBuffer>;

  constructor(memory: SharedArrayBuffer) {
    this.#words = new Int32Array(memory);
  }

  /** Memory for so many checks; all fail until they are set. */
  static memory(checks: number): SharedArrayBuffer {
    return new SharedArrayBuffer(checks * Int32Array.BYTES_PER_ELEMENT);
  }

  /** Number of checks. */
  get count(): number {
    return this.#words.length;
  }

  passes(check: number): boolean {
    return Atomics.load(this.#words, check) === 1;
  }

  set(check: number, passes: boolean): void {
    assertShared(check < this.count, `Health check ${check} of ${this.count} KMS plugins`);
    Atomics.store(this.#words, check, passes ? 1 : 0);
  }
}
