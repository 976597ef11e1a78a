// A watcher's sink that keeps what it was sent, can be told to fall behind, and holds the fan-out to its contract.
import { assert } from "../../src/base/assert.ts";
import type { Sink } from "../../src/cache/fanout/watcher.ts";

/** One event as a client reads it. */
export interface SeenEvent {
  readonly type: string;
  readonly name: string;
  readonly namespace: string;
  readonly revision: number;
  readonly labels: Readonly<Record<string, string>>;
}

/** Collects lines; `accepts` counts down the writes it takes before it is behind (Infinity: never). */
export class FakeSink implements Sink {
  readonly chunks: Buffer[] = [];
  accepts = Number.POSITIVE_INFINITY;
  ended = false;
  aborted = false;
  #behind = false;
  #drained: () => void = () => undefined;

  write(chunk: Uint8Array): boolean {
    assert(!this.#behind, "Written to while behind");
    assert(!this.ended && !this.aborted, "Written to after the end");
    this.chunks.push(Buffer.from(chunk));
    this.accepts -= 1;
    this.#behind = this.accepts <= 0;
    return !this.#behind;
  }

  onDrain(drained: () => void): void {
    this.#drained = drained;
  }

  end(): void {
    this.ended = true;
  }

  abort(): void {
    this.aborted = true;
  }

  get behind(): boolean {
    return this.#behind;
  }

  /** The peer read: `accepts` further writes are taken. */
  drain(accepts = Number.POSITIVE_INFINITY): void {
    if (!this.#behind) return;
    this.#behind = false;
    this.accepts = accepts;
    this.#drained();
  }

  get text(): string {
    return Buffer.concat(this.chunks).toString();
  }

  /** Everything received, parsed: each line must be whole. */
  get events(): SeenEvent[] {
    const { text } = this;
    assert(text === "" || text.endsWith("\n"), "The last line is torn");
    return text
      .split("\n")
      .slice(0, -1)
      .map((line) => {
        const { type, object } = JSON.parse(line);
        if (type === "ERROR") return { type, name: object.message, namespace: "", revision: object.code, labels: {} };
        const { name, namespace, resourceVersion } = object.metadata;
        return { type, name, namespace, revision: Number(resourceVersion), labels: object.spec?.labels ?? {} };
      });
  }

  /** `TYPE name@revision` of everything received. */
  get seen(): string[] {
    return this.events.map(({ type, name, revision }) => `${type} ${name}@${revision}`);
  }
}
