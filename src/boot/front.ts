// The body of a front thread: it opens what the server answers from, then its listeners, and does what main tells it.
// A bug ends the thread, but not before its listeners are closed: an open one would take the whole process along.
import type { MessagePort } from "node:worker_threads";
import type { Listener, ListenOptions } from "../http/listener.ts";
import { listenNode } from "../http/node.ts";
import { listenUws } from "../http/uws.ts";
import type { FromFront, FrontData, ListenerPlan, ToFront } from "./messages.ts";
import { type FrontServer, openServer } from "./server.ts";

/** How often a draining front looks whether it is done, in milliseconds. */
const drainLookMs = 20;

/** Runs a front on this thread. Resolves when its listeners are open. */
export async function startFront(data: FrontData, main: MessagePort): Promise<void> {
  const front = new Front(main);
  process.on("uncaughtException", (error) => front.crash(error));
  try {
    await front.open(data);
  } catch (error) {
    front.crash(error);
  }
}

class Front {
  readonly #main: MessagePort;
  readonly #listeners: Listener[] = [];
  #server: FrontServer | undefined;

  constructor(main: MessagePort) {
    this.#main = main;
  }

  async open(data: FrontData): Promise<void> {
    const server = await openServer(data, (id) => this.#tell({ kind: "gather", id }));
    this.#server = server;
    this.#main.on("message", (message: ToFront) => this.#take(message));
    for (const plan of data.listeners) {
      this.#listeners.push(await listen(plan, { host: data.config.bindAddress, tls: data.tls, handle: server.handle }));
    }
    const ports = this.#listeners.map((listener) => listener.port);
    this.#tell({ kind: "listening", ports, fd: this.#listeners[0]?.fd });
  }

  #tell(message: FromFront): void {
    this.#main.postMessage(message);
  }

  #take(message: ToFront): void {
    const server = this.#server as FrontServer;
    switch (message.kind) {
      case "shutdown":
        server.shutdown();
        return;
      case "drain":
        void this.#drain(message.streamsPerSecond);
        return;
      case "close":
        this.#cut();
        server.close();
        this.#main.close();
        return;
      case "collect":
        this.#tell({ kind: "collected", id: message.id, families: server.families() });
        return;
      case "gathered":
        server.gathered(message.id, message.snapshots);
        return;
    }
  }

  async #drain(perSecond: number): Promise<void> {
    for (const listener of this.#listeners) listener.stopAccepting();
    await this.#server?.endWatches(perSecond);
    await Promise.all(this.#listeners.map((listener) => listener.endStreams(perSecond)));
    while (this.#listeners.some((listener) => listener.pending > 0)) {
      await new Promise((resolve) => setTimeout(resolve, drainLookMs));
    }
    this.#tell({ kind: "drained" });
  }

  #cut(): void {
    for (const listener of this.#listeners) listener.close();
  }

  crash(error: unknown): void {
    this.#cut();
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    this.#tell({ kind: "crashed", error: text });
    // The message must leave, and the build's closed sockets be freed, before the loop ends.
    setTimeout(() => process.exit(1), drainLookMs);
  }
}

function listen(plan: ListenerPlan, options: Omit<ListenOptions, "port">): Promise<Listener> {
  const { front, port, fd, reusePort } = plan;
  if (front === "uws") return listenUws({ ...options, port });
  return listenNode({ ...options, port, reusePort, ...(fd === undefined ? {} : { fd }) });
}
