// How long the turns of a front are. CPU of this thread between two looks of a chain of immediates: what others do on the
// machine does not count, nor does what is done in the pool. The least of a few tries, because the collector and the
// compiler run whenever they like.

import { identities } from "../../src/api/identity.ts";
import { openPool } from "../../src/boot/pool.ts";
import { Merges } from "../../src/request/write/offload.ts";
import { threadCpuMs } from "./cost.ts";
import { type InProcess, openInProcess } from "./inprocess.ts";

/** Milliseconds of the longest turn while `work` goes on. */
export async function longestTurn(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let isOver = false;
  await new Promise<void>((resolve) => setImmediate(resolve));
  let since = frontCpuMs();
  const look = (): void => {
    const now = frontCpuMs();
    longest = Math.max(longest, now - since);
    if (isOver) return;
    since = frontCpuMs();
    setImmediate(look);
  };
  setImmediate(look);
  try {
    await work();
    // What the answer leaves to be done is part of it.
    for (let turns = 0; turns < 3; turns += 1) await new Promise<void>((resolve) => setImmediate(resolve));
  } finally {
    isOver = true;
  }
  return longest;
}

/** An answer of which nothing but this is looked at: to read it would be part of the turn. */
export interface Sent {
  readonly code: number;
  readonly chunks: readonly Uint8Array[];
}

/** Sends a request whose answer is taken as it comes. */
export function ask(
  server: InProcess,
  method: string,
  target: string,
  body?: Buffer,
  headers: Record<string, string> = {},
): Promise<Sent> {
  return new Promise((resolve) => {
    const chunks: Uint8Array[] = [];
    void server.call(method, target, body, headers, {
      send: (code, _head, answer) => {
        chunks.push(Buffer.from(answer));
        resolve({ code, chunks });
      },
      stream: (code) => ({
        write: (chunk) => chunks.push(Buffer.from(chunk)) > 0,
        onDrain: () => undefined,
        end: () => resolve({ code, chunks }),
        abort: () => resolve({ code: 0, chunks }),
      }),
    });
  });
}

/** Commits and publishes are work of another thread: they get a turn of their own, which is not looked at. */
export function storeElsewhere(server: InProcess): void {
  const { store } = server;
  const commit = store.commit.bind(store);
  store.commit = async (change) => {
    // The message to the store's thread copies the body.
    const copied = { ...change, body: Buffer.from(change.body) };
    return elsewhere(() => commit(copied));
  };
}

let apartMs = 0;

/** CPU of this thread without what stands for other threads. */
function frontCpuMs(): number {
  return threadCpuMs() - apartMs;
}

async function elsewhere<T>(work: () => Promise<T>): Promise<T> {
  const start = threadCpuMs();
  const done = await work();
  apartMs += threadCpuMs() - start;
  return done;
}

/** A server with what does big work for it, and commits that are not its own. */
export async function openWithPool(): Promise<{ server: InProcess; close: () => Promise<void> }> {
  const first = await openInProcess();
  const { gates, release } = first.scheme;
  first.close();
  const clock = { now: () => Date.now(), monotonic: () => performance.now() };
  const pool = openPool({ identity: "kubernetes", runtimeConfig: new Map(), gates, release });
  const merges = new Merges(pool, identities.kubernetes, clock);
  const server = await openInProcess("kubernetes", { merges });
  storeElsewhere(server);
  return {
    server,
    close: async () => {
      server.close();
      await pool.close();
    },
  };
}
