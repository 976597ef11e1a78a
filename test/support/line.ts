// Requests over one connection each, so that all of them come to one front.
import { Agent, request } from "node:https";
import type { TestServer } from "./server.ts";

/** An answer; `json` is undefined when the body is no object. */
export interface Answer {
  readonly code: number;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into any answer
  readonly json: any;
}

/** A connection that stays, and so a front. */
export class Line {
  readonly #agent: Agent;
  readonly #server: TestServer;

  constructor(server: TestServer) {
    this.#server = server;
    this.#agent = new Agent({ keepAlive: true, maxSockets: 1, ca: server.ca });
  }

  /** Sends one request after the other with the administrator's token. */
  call(method: string, path: string, body?: object, accept = "application/json"): Promise<Answer> {
    const text = body === undefined ? "" : JSON.stringify(body);
    const sent = { "content-type": "application/json", "content-length": Buffer.byteLength(text) };
    const headers = { authorization: `Bearer ${this.#server.token}`, accept, ...(body === undefined ? {} : sent) };
    return new Promise((resolve, reject) => {
      const asked = request(this.#server.base + path, { method, agent: this.#agent, headers }, (answer) => {
        const chunks: Buffer[] = [];
        answer.on("data", (chunk: Buffer) => chunks.push(chunk));
        answer.on("error", reject);
        answer.on("end", () => {
          const all = Buffer.concat(chunks).toString();
          resolve({ code: answer.statusCode ?? 0, text: all, json: all.startsWith("{") ? JSON.parse(all) : undefined });
        });
      });
      asked.on("error", reject);
      asked.end(text);
    });
  }

  /** Closes it. */
  close(): void {
    this.#agent.destroy();
  }
}
