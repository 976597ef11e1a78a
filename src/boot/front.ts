// The body of a front thread: it opens what the server answers from, then its listeners, and does what main tells it.
// A bug ends the thread, but not before its listeners are closed: an open one would take the whole process along.
import { statSync } from "node:fs";
import type { MessagePort } from "node:worker_threads";
import { limits } from "../config/limits.ts";
import type { Listener, ListenOptions } from "../http/listener.ts";
import { listenNode } from "../http/node.ts";
import { listenUws } from "../http/uws.ts";
import type { FromFront, FrontData, ListenerPlan, ToFront } from "./messages.ts";
import { type FrontServer, openServer } from "./server.ts";

/** How often a draining front looks whether it is done, in milliseconds. */
const drainLookMs = 20;
/** Time for the last message of a thread to leave, and for its sockets to be closed. */
const endingMs = 20;

/** How a front gets what it answers from. */
type Open = typeof openServer;

/** Runs a front on this thread. Resolves when its listeners are open. */
export async function startFront(data: FrontData, main: MessagePort, open: Open = openServer): Promise<void> {
  const front = new Front(main);
  process.on("uncaughtException", (error) => front.crash(error));
  try {
    await front.open(data, open);
  } catch (error) {
    front.crash(error);
  }
}

class Front {
  readonly #main: MessagePort;
  readonly #listeners: Listener[] = [];
  #server: FrontServer | undefined;
  #crashed = false;
  /** Its first listener takes connections from a descriptor that siblings use. */
  #shares = false;

  constructor(main: MessagePort) {
    this.#main = main;
  }

  async open(data: FrontData, open: Open): Promise<void> {
    const server = await open(data, (message) => this.#tell(message));
    this.#server = server;
    this.#main.on("message", (message: ToFront) => this.#take(message));
    const [first] = data.listeners;
    this.#shares = first?.front === "node" && !first.reusePort && data.config.frontWorkers > 1;
    for (const plan of data.listeners) {
      const { handle } = server;
      const onHandshakeError = (): void => server.handshakeFailed();
      const options = { host: data.config.bindAddress, tls: data.tls, handle, onHandshakeError };
      this.#listeners.push(await listen(plan, options));
    }
    this.#watch(data);
    const ports = this.#listeners.map((listener) => listener.port);
    this.#tell({ kind: "listening", ports, fd: this.#listeners[0]?.fd });
  }

  /** Looks at the files of certificates now and then, and has them read again when one of them changed. */
  #watch({ config, tls }: FrontData): void {
    const pairs = [tls, ...(tls.named ?? [])].flatMap(({ certFile, keyFile }) => [certFile, keyFile]);
    const { clientCaFile, requestHeader } = config.authn;
    const paths = [...pairs, clientCaFile, requestHeader?.caFile ?? ""].filter((path) => path !== "");
    const changed = changeOf(paths);
    const look = (): void => {
      if (!changed()) return;
      const faults = this.#listeners.map((listener) => listener.reload());
      this.#server?.reload(faults.filter((fault) => fault !== undefined));
    };
    setInterval(look, limits.fileLookMs).unref();
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
        for (const listener of this.#listeners) listener.close();
        server.close();
        setTimeout(() => process.exit(0), endingMs);
        return;
      case "level":
        server.logAt(message.level);
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
    // A request on a connection that is open may begin a watch meanwhile; answers that are no watches run to their end.
    for (;;) {
      await this.#server?.endWatches(perSecond);
      if (this.#listeners.every((listener) => listener.pending === 0)) break;
      await new Promise((resolve) => setTimeout(resolve, drainLookMs));
    }
    this.#tell({ kind: "drained" });
  }

  /** A bug: nothing more is answered here. Main starts another front as soon as it hears of it. */
  crash(error: unknown): void {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    if (this.#crashed) return;
    this.#crashed = true;
    for (const listener of this.#listeners) {
      if (this.#shares) listener.cut();
      else listener.close();
    }
    this.#tell({ kind: "crashed", error: text });
    this.#server?.close();
    if (this.#shares) {
      // Its end would close the descriptor its siblings listen on; asleep, it costs memory until the process ends.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    }
    setTimeout(() => process.exit(1), endingMs);
  }
}

/** A function that says whether any of these files changed since it was asked before. */
function changeOf(paths: readonly string[]): () => boolean {
  const look = (): string =>
    paths
      .map((path) => {
        const found = statSync(path, { throwIfNoEntry: false });
        return found === undefined ? "" : `${found.ino} ${found.size} ${found.mtimeMs}`;
      })
      .join();
  let before = look();
  return () => {
    const now = look();
    const changed = now !== before;
    before = now;
    return changed;
  };
}

function listen(plan: ListenerPlan, options: Omit<ListenOptions, "port">): Promise<Listener> {
  const { front, port, fd, reusePort } = plan;
  if (front === "uws") return listenUws({ ...options, port });
  return listenNode({ ...options, port, reusePort, ...(fd === undefined ? {} : { fd }) });
}
