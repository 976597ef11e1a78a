// The webhook backend: events are posted as an EventList. A post that failed for a reason that may pass is tried again,
// later each time (reference: webhook.WithExponentialBackoff); the peer's answers are looked at for their code only.
import type { Identity } from "../api/identity.ts";
import { limits } from "../config/limits.ts";
import { CallFailure, type Connection, OutboundClient } from "../outbound/client.ts";
import type { Destination } from "./destination.ts";
import { auditVersion } from "./event.ts";

/** How much longer each wait is, and the part of it that is random (reference: 1.5 and 0.2). */
const factor = 1.5;
const jitter = 0.2;

/** Posts events to a peer. */
export class Webhook implements Destination {
  readonly name = "webhook";
  readonly #client: OutboundClient;
  readonly #head: string;
  readonly #backoffMs: number;
  readonly #wakes = new Set<() => void>();
  #hurries = false;

  constructor(connection: Connection, identity: Identity, backoffMs: number) {
    this.#client = new OutboundClient(connection);
    this.#head = `{"kind":"EventList","apiVersion":"${identity.spell(auditVersion)}","metadata":{},"items":[`;
    this.#backoffMs = backoffMs;
  }

  async write(lines: string): Promise<string | undefined> {
    const body = `${this.#head}${lines.slice(0, -1).replaceAll("\n", ",")}]}`;
    let waitMs = this.#backoffMs;
    for (let tries = 1; ; tries += 1) {
      const timeoutMs = this.#hurries ? limits.auditEndMsMax : limits.auditPostMsMax;
      const headers = { "Content-Type": "application/json", Accept: "application/json" };
      const answer = await this.#client.call({ method: "POST", headers, body, timeoutMs });
      const failed = answer instanceof CallFailure;
      if (!failed && answer.code >= 200 && answer.code < 300) return undefined;
      const passes = failed ? answer.failure !== "closed" : answer.code === 429 || answer.code >= 500;
      const why = failed ? answer.message : `the webhook answered ${answer.code}`;
      if (!passes || this.#hurries || tries >= limits.auditPostTriesMax) return why;
      await this.#wait(waitMs * (1 + Math.random() * jitter));
      waitMs *= factor;
    }
  }

  hurry(): void {
    this.#hurries = true;
    for (const wake of this.#wakes) wake();
  }

  close(): void {
    this.#client.close();
  }

  #wait(ms: number): Promise<void> {
    if (this.#hurries) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        this.#wakes.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, ms);
      this.#wakes.add(wake);
    });
  }
}
