// What all threads of a running server hold in memory: asked of their inspectors, with the collector run before. Unlike
// resident memory it does not depend on when the collector runs, how many threads there are or how much memory is free.

/** What a thread answers to a command of the inspector's protocol. */
type Result = Readonly<Record<string, unknown>>;
type Waiting = Map<number, (result: Result) => void>;

/** A message of the inspector: an answer, or an event. */
interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly sessionId: string; readonly message: string };
  readonly result?: Result;
}

/** What a server's process is to be started with (NODE_OPTIONS), so that it can be asked. */
export const inspectable = "--inspect=127.0.0.1:0";

/** Asks the threads of one process. */
export class LiveHeap {
  readonly #socket: WebSocket;
  readonly #waiting: Waiting = new Map();
  readonly #ofThread: Waiting = new Map();
  readonly #sessions = new Set<string>();
  #id = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => this.#take(JSON.parse(String(data)) as Message));
  }

  /** `errors`: what the process wrote to standard error by now, which says where its inspector is. */
  static async open(errors: string): Promise<LiveHeap> {
    const url = /Debugger listening on (ws:\S+)/.exec(errors)?.[1];
    if (url === undefined) throw new Error(`The process has no inspector: ${errors}`);
    const socket = new WebSocket(url);
    await new Promise((resolve, reject) => {
      socket.addEventListener("open", resolve);
      socket.addEventListener("error", () => reject(new Error(`The inspector at ${url} cannot be reached`)));
    });
    const heap = new LiveHeap(socket);
    await heap.#ask("NodeWorker.enable", { waitForDebuggerOnStart: false });
    return heap;
  }

  /** Bytes that are alive in all threads by now: objects, and memory beside the heap that objects own. */
  async bytes(): Promise<number> {
    const threads = [undefined, ...this.#sessions];
    let sum = 0;
    for (const thread of threads) {
      // What waits for a finalizer of the first run goes with the second.
      for (let run = 0; run < 2; run++) await this.#askThread(thread, "HeapProfiler.collectGarbage");
      const { usedSize, backingStorageSize } = await this.#askThread(thread, "Runtime.getHeapUsage");
      sum += Number(usedSize) + Number(backingStorageSize ?? 0);
    }
    return sum;
  }

  close(): void {
    this.#socket.close();
  }

  #ask(method: string, params: object = {}): Promise<Result> {
    const id = ++this.#id;
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      this.#socket.send(JSON.stringify({ id, method, params }));
    });
  }

  /** Undefined: the main thread. */
  #askThread(sessionId: string | undefined, method: string): Promise<Result> {
    if (sessionId === undefined) return this.#ask(method);
    const id = ++this.#id;
    const answered = new Promise<Result>((resolve) => this.#ofThread.set(id, resolve));
    void this.#ask("NodeWorker.sendMessageToWorker", { sessionId, message: JSON.stringify({ id, method }) });
    return answered;
  }

  #take({ id, method, params, result = {} }: Message): void {
    if (id !== undefined) return settle(this.#waiting, id, result);
    if (params === undefined) return;
    if (method === "NodeWorker.attachedToWorker") this.#sessions.add(params.sessionId);
    else if (method === "NodeWorker.detachedFromWorker") this.#sessions.delete(params.sessionId);
    else if (method === "NodeWorker.receivedMessageFromWorker") {
      const inner = JSON.parse(params.message) as Message;
      if (inner.id !== undefined) settle(this.#ofThread, inner.id, inner.result ?? {});
    }
  }
}

function settle(waiting: Waiting, id: number, result: Result): void {
  waiting.get(id)?.(result);
  waiting.delete(id);
}
