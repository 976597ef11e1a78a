// A change sent to each server at a steady pace, whatever became of those before. The other clients wait for one answer at a
// time, also at another server; when a server takes changes again is seen by these.
import { Agent, request } from "node:https";
import type { TestServer } from "../support/server.ts";

/** Where the objects are. What happens to them is not checked. */
export const pulseNamespace = "pulse";

const collection = `/api/v1/namespaces/${pulseNamespace}/configmaps`;
const paceMs = 200;
/** An answer that takes longer is not waited for. */
const patienceMs = 5000;
/** More than wait for an answer: each has an object to itself. */
const objects = 40;

/** Sends them to servers that are up. */
export class Pulse {
  readonly #acknowledged: (index: number) => void;
  readonly #ends = new Map<number, () => void>();

  constructor(acknowledged: (index: number) => void) {
    this.#acknowledged = acknowledged;
  }

  /** A server is there, again. */
  up(server: TestServer, index: number): void {
    this.down(index);
    const agent = new Agent({ keepAlive: true, ca: server.ca });
    let count = 0;
    const timer = setInterval(() => {
      count += 1;
      void this.#send(server, agent, index, count % objects);
    }, paceMs);
    this.#ends.set(index, () => {
      clearInterval(timer);
      agent.destroy();
    });
  }

  /** It is gone. */
  down(index: number): void {
    this.#ends.get(index)?.();
    this.#ends.delete(index);
  }

  stop(): void {
    for (const index of this.#ends.keys()) this.down(index);
  }

  async #send(server: TestServer, agent: Agent, index: number, number: number): Promise<void> {
    const name = `server-${index}-${number}`;
    const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { at: String(performance.now()) } };
    const updated = await codeOf(server, agent, "PUT", `${collection}/${name}`, object);
    const code = updated === 404 ? await codeOf(server, agent, "POST", collection, object) : updated;
    if (code === 200 || code === 201) this.#acknowledged(index);
  }
}

/** 0: no answer came. */
function codeOf(server: TestServer, agent: Agent, method: string, path: string, body: object): Promise<number> {
  return new Promise((resolve) => {
    const headers = { authorization: `Bearer ${server.token}`, "content-type": "application/json" };
    const signal = AbortSignal.timeout(patienceMs);
    const sent = request(server.base + path, { method, agent, headers, signal }, (answer) => {
      answer.resume();
      answer.on("error", () => resolve(0));
      answer.on("end", () => resolve(answer.statusCode ?? 0));
    });
    sent.on("error", () => resolve(0));
    sent.on("close", () => resolve(0));
    sent.end(JSON.stringify(body));
  });
}
