// A server with an extension server behind it, over each front: what tests of aggregation ask.
import { Agent, type IncomingMessage, request } from "node:http";
import { connect } from "node:net";
import t, { type Test } from "tap";
import { limits } from "../../src/config/limits.ts";
import { createHandler } from "../../src/request/handle.ts";
import { fronts, Stand } from "../http/fronts.ts";
import { type Answering, type ExtensionServer, makeService, openExtension, register, say } from "./extension.ts";
import { type InProcess, type InProcessOptions, openInProcess, until } from "./inprocess.ts";

/** The group of the extension server. */
export const group = "ext.example.com";
/** Where its version is. */
export const base = `/apis/${group}/v1`;

/** An answer as a client gets it. */
export interface Answer {
  readonly code: number;
  readonly headers: IncomingMessage["headers"];
  readonly raw: readonly string[];
  readonly text: string;
  /** The connection broke off before the answer was whole. */
  readonly cut: boolean;
}

/** What a test works with. */
export interface World {
  readonly server: InProcess;
  readonly extension: ExtensionServer;
  readonly port: number;
  readonly front: string;
  /** PEM of the authority of its certificate; undefined: it speaks no TLS. */
  readonly ca: string | undefined;
  ask(method: string, path: string, headers?: Record<string, string | string[]>, body?: string): Promise<Answer>;
  /** Sends bytes on a connection of its own, and gathers what comes until it closes. */
  raw(bytes: string): Promise<string>;
}

/** Runs a test on every front, with an extension server that is registered. */
export function onFronts(
  name: string,
  run: (t: Test, world: World) => Promise<void>,
  answer: Answering = (_request, response) => say(response, {}),
  {
    secure = false,
    only,
    ...options
  }: InProcessOptions & { readonly secure?: boolean; readonly only?: "uws" | "node" } = {},
): void {
  for (const front of fronts.filter((one) => one.secure === secure && (only ?? one.name) === one.name)) {
    t.test(`${front.name}: ${name}`, async (t) => {
      const server = await openInProcess("kubernetes", options);
      const extension = await openExtension(answer);
      await makeService(server);
      await register(server, { group, port: extension.port, authority: extension.authority });
      const stand = await Stand.open(front, limits.headMsMax, createHandler(server.server));
      const agent = new Agent({ keepAlive: true });
      t.teardown(async () => {
        agent.destroy();
        await stand.close();
        server.server.extensions.backends.close();
        extension.close();
        server.close();
      });
      const { port } = stand.listener;
      const world: World = {
        server,
        extension,
        port,
        front: front.name,
        ca: stand.target.ca,
        ask: (method, path, headers = {}, body = "") => ask(agent, port, method, path, headers, body),
        raw: (bytes) => sendRaw(port, bytes),
      };
      await run(t, world);
      t.same(server.faults, [], "no fault of the server's own");
      t.ok(await until(() => held(server) === 0), `nothing is held afterwards: ${held(server)}`);
    });
  }
}

function held({ server: { extensions, bounds } }: InProcess): number {
  const { calls, streams, messages } = extensions.backends;
  return calls.used + streams.used + messages.used + bounds.bodyBytes.used + bounds.unread.used + bounds.arrivals.used;
}

function ask(
  agent: Agent,
  port: number,
  method: string,
  path: string,
  headers: Record<string, string | string[]>,
  body: string,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asked = request({ agent, host: "127.0.0.1", port, method, path, headers }, (response) => {
      const chunks: Buffer[] = [];
      let over = false;
      const done = (cut: boolean): void => {
        if (over) return;
        over = true;
        const { statusCode: code = 0, headers: got, rawHeaders: raw } = response;
        resolve({ code, headers: got, raw, text: Buffer.concat(chunks).toString(), cut });
      };
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () => done(false));
      response.on("error", () => done(true));
    });
    asked.on("error", reject);
    asked.end(body);
  });
}

function sendRaw(port: number, bytes: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => socket.write(bytes, "latin1"));
    const chunks: Buffer[] = [];
    socket.on("data", (chunk) => chunks.push(chunk));
    socket.on("error", () => undefined);
    socket.on("close", () => resolve(Buffer.concat(chunks).toString("latin1")));
  });
}
