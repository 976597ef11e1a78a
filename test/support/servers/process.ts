// The built server as a process.
import type { ChildProcess } from "node:child_process";
import { allocatorEnvironment } from "../../../src/boot/allocator.ts";
import { spawnBound } from "./bound.ts";
import { program } from "./program.ts";

/** How long a start may take on a busy machine. */
const readyMsMax = 120_000;

/** How a process is started. */
export interface ProcessOptions {
  /** Open files it may have. */
  readonly filesMax?: number;
  /** The Node that runs it; default: that of this process. */
  readonly runtime?: string;
  /** Options of the runtime (NODE_OPTIONS). */
  readonly nodeOptions?: string;
  /** A command that runs it, such as one that enters a network namespace (Host.within). */
  readonly within?: readonly string[];
  /** Called with the process when it begins to start. */
  readonly spawned?: (process: ChildProcess) => void;
}

/** A server's process that said it is ready. */
export interface ServerProcess {
  readonly process: ChildProcess;
  /** `https://host:port`. */
  readonly base: string;
  /** Path of the client configuration that it wrote. */
  readonly kubeconfig: string;
  /** What it wrote to standard error so far. */
  readonly errors: () => string;
}

/** Starts a server's process with these flags and waits until it says it is ready. */
export async function startProcess(
  flags: readonly string[],
  { filesMax, runtime = process.execPath, nodeOptions, within = [], spawned }: ProcessOptions = {},
): Promise<ServerProcess> {
  const limit = filesMax === undefined ? "" : `ulimit -n ${filesMax}; `;
  const variables = nodeOptions === undefined ? {} : { NODE_OPTIONS: nodeOptions };
  const [command, ...args] = [...within, "sh", "-c", `${limit}exec "$0" "$@"`, runtime, program, ...flags];
  const child = spawnBound(command as string, args, {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...allocatorEnvironment, ...process.env, ...variables },
  });
  spawned?.(child);
  let out = "";
  let errors = "";
  child.stderr?.on("data", (chunk: Buffer) => {
    errors = (errors + chunk.toString()).slice(-100_000);
  });
  const [base, kubeconfig] = await new Promise<[string, string]>((resolve, reject) => {
    const limit = setTimeout(() => {
      child.kill("SIGKILL");
      reject(new Error(`The server was not ready in ${readyMsMax / 1000} s: ${errors}`));
    }, readyMsMax);
    child.stdout?.on("data", (chunk: Buffer) => {
      out += chunk.toString();
      const ready = /^ready: (\S+)$/m.exec(out)?.[1];
      const config = /^kubeconfig: (.+)$/m.exec(out)?.[1];
      if (ready === undefined || config === undefined) return;
      clearTimeout(limit);
      resolve([ready, config]);
    });
    child.once("exit", (code, signal) => {
      clearTimeout(limit);
      reject(new Error(`The server ended with ${code ?? signal}: ${errors}`));
    });
  });
  return { process: child, base, kubeconfig, errors: () => errors };
}
