// The other side of a process of a load: what starts it, asks it, and hears what it tells.
import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Endpoint } from "./connection.ts";
import {
  faultsOf,
  type Message,
  type ProcessData,
  type Question,
  type Tick,
  type WatchResult,
  type WatchWork,
  type Work,
  type WorkResult,
} from "./work.ts";

const script = fileURLToPath(new URL("./load.process.js", import.meta.url));

/** One process that sends requests, or holds watches. */
export class LoadProcess {
  readonly #child: ChildProcess;
  readonly #tick: (ticks: readonly Tick[]) => void;
  #settle: ((message: Message) => void) | undefined;
  #ended = "";
  #isStopping = false;

  private constructor(child: ChildProcess, tick: (ticks: readonly Tick[]) => void, died: (why: string) => void) {
    this.#child = child;
    this.#tick = tick;
    child.on("message", (message: Message) => this.#take(message));
    // Of a question to one that has died: its exit, which follows, says so.
    child.on("error", () => undefined);
    child.once("exit", (code, signal) => {
      this.#ended = `A process of the load ended with ${code ?? signal}`;
      if (!this.#isStopping) died(this.#ended);
      this.#take({ tell: "failed", why: this.#ended });
    });
  }

  /** Starts one; `tick` hears each second what happened, `died` when it ends without being told to. */
  static async start(
    endpoint: Endpoint,
    tick: (ticks: readonly Tick[]) => void,
    died: (why: string) => void = () => undefined,
  ): Promise<LoadProcess> {
    const child = fork(script, { serialization: "advanced", execArgv: ["--max-semi-space-size=64"] });
    const started = new LoadProcess(child, tick, died);
    await started.#send({ endpoint });
    return started;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Sends requests for so many seconds; `changes` of marked objects, where there are some, are counted on, in place. */
  async run(
    works: readonly Work[],
    seconds: number,
    changes: Int32Array = new Int32Array(0),
  ): Promise<readonly WorkResult[]> {
    const told = await this.#ask({ ask: "run", works, seconds, changes });
    if (told.tell !== "ran") throw new Error(`Told ${told.tell}`);
    changes.set(told.changes);
    return told.results;
  }

  /**
   * Sends requests that a scenario needs before it measures, for so many seconds at most; throws unless all are answered
   * as they should be. `what` they make stands in the message.
   */
  async prepare(work: Work, seconds: number, what = "Pods"): Promise<WorkResult> {
    const results = await this.run([work], seconds);
    const [fault] = faultsOf(results);
    if (fault !== undefined) throw new Error(`${what} could not be prepared: ${fault}`);
    const { countMax } = work;
    const result = results[0] as WorkResult;
    if (result.count === (countMax ?? result.count)) return result;
    throw new Error(
      `${what} could not be prepared: of ${countMax} requests ${result.count} were answered in ${Math.round(seconds)} s`,
    );
  }

  /** Opens watches. */
  async watch(watches: readonly WatchWork[], last: Int32Array): Promise<void> {
    await this.#ask({ ask: "watch", watches, last });
  }

  /** What the watches saw. */
  async report(isReset = false): Promise<WatchResult> {
    const told = await this.#ask({ ask: "report", isReset });
    if (told.tell !== "report") throw new Error(`Told ${told.tell}`);
    return told.report;
  }

  /** Closes all watches. */
  async drop(): Promise<void> {
    await this.#ask({ ask: "drop" });
  }

  /** Ends it. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    if (this.#ended !== "") return;
    const ended = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#child.send({ ask: "stop" } satisfies Question);
    await ended;
  }

  /** Ends it at once; what it was asked is rejected. */
  kill(): void {
    this.#isStopping = true;
    this.#child.kill("SIGKILL");
  }

  #ask(question: Question): Promise<Message> {
    return this.#send(question);
  }

  #send(question: Question | ProcessData): Promise<Message> {
    return new Promise((resolve, reject) => {
      if (this.#ended !== "") return reject(new Error(this.#ended));
      this.#settle = (message) => {
        if (message.tell === "failed") reject(new Error(message.why));
        else resolve(message);
      };
      this.#child.send(question);
    });
  }

  #take(message: Message): void {
    if (message.tell === "tick") return this.#tick(message.ticks);
    const settle = this.#settle;
    this.#settle = undefined;
    settle?.(message);
  }
}
