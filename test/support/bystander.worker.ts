// A client that uses the server while it is attacked, on a thread of its own: asks for one object again and again, and
// tells when asked how long the answers took and which failed.
import { Agent, request } from "node:https";
import { parentPort, workerData } from "node:worker_threads";

/** Worker data. */
export interface BystanderData {
  readonly url: string;
  readonly token: string;
  readonly ca: string;
}

/** What it says at the end. */
export interface BystanderReport {
  readonly latenciesMs: readonly number[];
  readonly failures: readonly string[];
}

const pauseMs = 10;

async function standBy({ url, token, ca }: BystanderData, ended: () => boolean): Promise<BystanderReport> {
  const agent = new Agent({ keepAlive: true, ca });
  const ask = (): Promise<number | string> =>
    new Promise((resolve) => {
      const sent = request(url, { agent, headers: { authorization: `Bearer ${token}` } }, (answer) => {
        answer.resume();
        answer.on("end", () => resolve(answer.statusCode ?? 0));
        answer.on("error", (error) => resolve(error.message));
      });
      sent.on("error", (error) => resolve(error.message));
      sent.end();
    });
  const latenciesMs: number[] = [];
  const failures: string[] = [];
  while (!ended()) {
    const before = performance.now();
    const result = await ask();
    if (result === 200) latenciesMs.push(performance.now() - before);
    else failures.push(`the bystander got ${result}`);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
  agent.destroy();
  return { latenciesMs, failures };
}

if (parentPort !== null) {
  const port = parentPort;
  let ended = false;
  port.once("message", () => {
    ended = true;
  });
  port.postMessage(await standBy(workerData as BystanderData, () => ended));
}
