// The writer's side of the fronts' ports: passes each message to every backend, and notifies the front when those that
// requests wait for are done with it. Messages of one front are dealt with in order.
import type { MessagePort } from "node:worker_threads";
import type { Delivery } from "./destination.ts";
import type { FromWriter, ToWriter } from "./messages.ts";

/** Takes events from fronts. */
export class EventWriter {
  readonly #deliveries: readonly Delivery[];

  constructor(deliveries: readonly Delivery[]) {
    this.#deliveries = deliveries;
  }

  /** Takes events from a front from now on. */
  connect(port: MessagePort): void {
    port.on("message", ({ lines, owners }: ToWriter) => {
      const tell = (stored: boolean): void => port.postMessage({ stored } satisfies FromWriter);
      const done = this.#deliveries.map((delivery) => delivery.take(lines, owners));
      // Each backend answers in order: at once, unless a message before is still waiting there.
      if (done.some((outcome) => outcome instanceof Promise)) {
        void Promise.all(done).then((outcomes) => tell(outcomes.every(Boolean)));
      } else tell(done.every(Boolean));
    });
  }

  /** Writes waiting events. */
  async finish(): Promise<void> {
    await Promise.all(this.#deliveries.map((delivery) => delivery.finish()));
  }
}
