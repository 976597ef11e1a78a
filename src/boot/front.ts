// The body of a front thread: it opens what the server answers from, then its listeners, and does what main tells it.
// A bug ends the thread, but not before its listeners are closed: an open one would take the whole process along.
import type { MessagePort } from "node:worker_threads";
import { limits } from "../config/limits.ts";
import type { Listener, ListenOptions } from "../http/listener.ts";
import { listenNode } from "../http/node.ts";
import { listenUws } from "../http/uws.ts";
import { nameThread } from "../observe/threads.ts";
import type { Exchange, Headers } from "../request/exchange/transport.ts";
import { Beats } from "./beats.ts";
import { profiled } from "./console/profiled.ts";
import { changeOf } from "./filechanges.ts";
import type { FromFront, FrontData, ListenerPlan, ToFront } from "./messages.ts";
import { type FrontServer, openServer } from "./server.ts";
import { signingFilesOf } from "./signing.ts";
import { watchHeap } from "./v8/heap.ts";

/** How often a draining front looks whether it is done, in milliseconds. */
const drainLookMs = 20;
/** Time for the last message of a thread to leave, and for its sockets to be closed. */
const endingMs = 20;

const refusalHeaders: Headers = [
  ["Content-Type", "text/plain; charset=utf-8"],
  ["Retry-After", "5"],
  ["Connection", "close"],
];

/** How a front gets what it answers from. */
type Open = typeof openServer;

/** Runs a front on this thread. Resolves when its listeners are open. */
export async function startFront(data: FrontData, main: MessagePort, open: Open = openServer): Promise<void> {
  nameThread(data.name);
  const front = new Front(main);
  process.on("uncaughtException", (error) => front.crash(error));
  watchHeap((message) => front.crash(new Error(message)));
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
  #draining = false;
  /** When a request was refused last, while draining. */
  #refusedMs = 0;

  constructor(main: MessagePort) {
    this.#main = main;
  }

  async open(data: FrontData, open: Open): Promise<void> {
    const server = await open(data, (message) => this.#tell(message));
    this.#server = server;
    this.#main.on("message", (message: ToFront) => this.#take(message));
    const beats = new Beats(data.beats);
    beats.beat(data.name);
    setInterval(() => beats.beat(data.name), limits.frontBeatMs).unref();
    for (const plan of data.listeners) {
      const handle = (exchange: Exchange): void => this.#handle(server, exchange);
      const onHandshakeError = (): void => server.handshakeFailed();
      const options = {
        host: data.config.bindAddress,
        tls: data.tls,
        handle,
        openings: server.openings,
        onHandshakeError,
      };
      this.#listeners.push(await listen(plan, options));
    }
    this.#watch(data);
    server.listening();
    this.#tell({ kind: "listening" });
  }

  /** Looks at the files of certificates now and then, and has them read again when one of them changed. */
  #watch({ config, tls, controls }: FrontData): void {
    const pairs = [tls, ...(tls.named ?? [])].flatMap(({ certFile, keyFile }) => [certFile, keyFile]);
    const { clientCaFile, requestHeader } = config.authn;
    const { certFile, keyFile } = config.aggregation;
    const signing = controls
      ? [...signingFilesOf(config).values()].flatMap((files) => [files.certFile, files.keyFile])
      : [];
    const named = [clientCaFile, requestHeader?.caFile ?? "", certFile, keyFile, ...signing];
    const paths = [...new Set([...pairs, ...named])].filter((path) => path !== "");
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
        // What fails in ending watches or controllers must not cut the requests of others: they have until the limit.
        this.#drain(message.streamsPerSecond).catch((error: unknown) => server.fault(error));
        return;
      case "close":
        for (const listener of this.#listeners) listener.close();
        server.close();
        setTimeout(() => process.exit(0), endingMs);
        return;
      case "level":
        server.logAt(message.level);
        return;
      case "slot":
      case "dump":
      case "dumps":
        server.flowTold(message);
        return;
      case "collect":
        this.#tell({ kind: "collected", id: message.id, ...server.collect(message.detailed) });
        return;
      case "profile":
        void profiled(message).then((answer) => this.#tell(answer));
        return;
      case "spansTaken":
        server.spansTaken();
        return;
      case "gathered":
        server.gathered(message.id, message.answer);
        return;
    }
  }

  /** While draining, a request on a connection that was open is refused, and nothing of it is begun. */
  #handle(server: FrontServer, exchange: Exchange): void {
    if (!this.#draining) return server.handle(exchange);
    this.#refusedMs = performance.now();
    exchange.send(503, refusalHeaders, "The server is shutting down, please try again later.\n");
  }

  /** Done when every request that began has its answer, every change its outcome, and no client sends more. */
  async #drain(perSecond: number): Promise<void> {
    this.#draining = true;
    this.#refusedMs = performance.now();
    for (const listener of this.#listeners) listener.stopAccepting();
    for (;;) {
      await this.#server?.endWatches(perSecond);
      const isIdle = this.#listeners.every((listener) => listener.pending === 0) && this.#server?.queued() === 0;
      const isQuiet = performance.now() - this.#refusedMs > limits.drainQuietMs || this.#listeners.length === 0;
      if (isIdle && isQuiet) break;
      await new Promise((resolve) => setTimeout(resolve, drainLookMs));
    }
    this.#tell({ kind: "drained" });
  }

  /** A bug: nothing more is answered here. Main starts another front as soon as it hears of it. */
  crash(error: unknown): void {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    if (this.#crashed) return;
    this.#crashed = true;
    for (const listener of this.#listeners) listener.close();
    this.#tell({ kind: "crashed", error: text });
    this.#server?.close();
    setTimeout(() => process.exit(1), endingMs);
  }
}

function listen(plan: ListenerPlan, options: Omit<ListenOptions, "port">): Promise<Listener> {
  const { front, port, reusePort } = plan;
  if (front === "uws") return listenUws({ ...options, port });
  return listenNode({ ...options, port, reusePort });
}
