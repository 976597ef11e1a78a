// Two servers of one store in this thread, each with its own log of what is delivered to it.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../src/base/clock.ts";
import { type InProcess, type InProcessOptions, openInProcess } from "../support/inprocess.ts";
import { openShared, type SharedStore } from "./sharedmemory.ts";

/** One of them. */
export interface OneServer extends Pick<InProcess, "call"> {
  readonly server: InProcess;
  /** Delivers to it, and fails. */
  readonly store: SharedStore;
}

/** Both, and how they end. */
export interface TwoServers {
  readonly a: OneServer;
  readonly b: OneServer;
  close(): void;
}

/** Starts them, with the system's namespaces and one called `ns`. */
export async function openTwo(options: InProcessOptions = {}): Promise<TwoServers> {
  const path = mkdtempSync(join(tmpdir(), "orch-two-"));
  const open = async (): Promise<OneServer> => {
    // Versions as clients know them: 0 and 1 mean something else.
    const store = openShared({ path, identity: "kubernetes", clock: systemClock, firstRevision: 1000 });
    const server = await openInProcess("kubernetes", { ...options, shared: store });
    return { server, store, call: (...args) => server.call(...args) };
  };
  const a = await open();
  const b = await open();
  await a.call("POST", "/api/v1/namespaces", { metadata: { name: "ns" } });
  const close = (): void => {
    a.store.resume();
    b.store.resume();
    a.server.close();
    b.server.close();
    rmSync(path, { recursive: true, force: true });
  };
  return { a, b, close };
}

/** Turns of the loop in which something that waits for nothing but turns is done. */
const turnsMax = 200;

/** Whether a promise is still unsettled after many turns of the loop, in which its messages and commits had time. */
export async function isPending(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  const settle = (): void => {
    settled = true;
  };
  promise.then(settle, settle);
  for (let turn = 0; turn < turnsMax && !settled; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  return !settled;
}

/** A header of an answer. */
export function headerOf({ headers }: { readonly headers: readonly (readonly [string, string])[] }, name: string) {
  return headers.find(([key]) => key.toLowerCase() === name.toLowerCase())?.[1];
}
