// The webhook backend: events are posted as an EventList. A post that failed for a reason that may pass is tried again,
// later each time; the peer's answers are looked at for their code only.
import type { Identity } from "../api/identity.ts";
import { limits } from "../config/limits.ts";
import { clientCalls } from "../observe/clientcalls.ts";
import { spanKinds, type Tracer, type TraceSpans } from "../observe/spans.ts";
import { type Answer, CallFailure, type Connection, isWell, OutboundClient } from "../outbound/client.ts";
import { mayPass, post } from "../outbound/post.ts";
import { countOf, type Destination } from "./destination.ts";
import { auditVersion } from "./event.ts";

/** How much longer a wait may be, at random (upstream: 0.2). */
const jitter = 0.2;

/** There was no connection to be had: of calls of its own there are never too many. */
function isShort(outcome: Answer | CallFailure): boolean {
  return outcome instanceof CallFailure && outcome.failure === "busy";
}

/** Posts events to a peer. */
export class Webhook implements Destination {
  readonly name = "webhook";
  readonly #client: OutboundClient;
  readonly #head: string;
  readonly #backoffMs: number;
  readonly #wakes = new Set<() => void>();
  readonly #tracer: Tracer | undefined;
  #hurries = false;

  /** `tracer`: each post is a trace of its own, where it is sampled: it has events of many requests. */
  constructor(connection: Connection, identity: Identity, backoffMs: number, tracer?: Tracer) {
    this.#tracer = tracer;
    this.#client = new OutboundClient(connection, clientCalls);
    this.#head = `{"kind":"EventList","apiVersion":"${identity.spell(auditVersion)}","metadata":{},"items":[`;
    this.#backoffMs = backoffMs;
  }

  async write(lines: string): Promise<string | undefined> {
    const spans = this.#tracer?.begin();
    const fault = await this.#post(lines, spans);
    spans?.end("audit events", spanKinds.internal, [["audit.events", countOf(lines)]], fault !== undefined);
    return fault;
  }

  async #post(lines: string, spans: TraceSpans | undefined): Promise<string | undefined> {
    const body = `${this.#head}${lines.slice(0, -1).replaceAll("\n", ",")}]}`;
    const answer = await post(this.#client, body, {
      pauseMs: this.#backoffMs,
      callMs: () => (this.#hurries ? limits.auditEndMsMax : limits.auditPostMsMax),
      mayHelp: (outcome) => !this.#hurries && (mayPass(outcome) || isShort(outcome)),
      traced: spans && { spans, name: "audit webhook" },
      pause: (ms) => this.#wait(ms * (1 + Math.random() * jitter)),
    });
    if (answer instanceof CallFailure) return answer.message;
    return isWell(answer) ? undefined : `the webhook answered ${answer.code}`;
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
