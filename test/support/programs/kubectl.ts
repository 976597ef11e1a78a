// kubectl as a process of its own, run against a server of a test.
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import type { TestServer } from "../server.ts";

/** One kubectl and the server it talks to. Its cache and its home are in a folder of the test. */
export class Kubectl {
  readonly #binary: string;
  readonly #home: string;
  readonly #arguments: string[];

  constructor(binary: string, server: TestServer, folder: string, name: string) {
    this.#home = folder;
    this.#binary = binary;
    this.#arguments = [`--kubeconfig=${server.kubeconfig}`, `--cache-dir=${join(folder, `cache-${name}`)}`];
  }

  /** Runs it with these words, and with more in its environment; what it wrote, and its code. */
  async run(
    words: string,
    input?: string,
    more?: Readonly<Record<string, string>>,
  ): Promise<{ readonly code: number; readonly out: string; readonly errors: string }> {
    const child = this.start(words, more);
    let out = "";
    let errors = "";
    child.stdout?.on("data", (chunk: Buffer) => (out += chunk.toString()));
    child.stderr?.on("data", (chunk: Buffer) => (errors += chunk.toString()));
    // One that fails early reads nothing.
    child.stdin?.on("error", () => undefined);
    child.stdin?.end(input ?? "");
    const code = await new Promise<number>((resolve) => child.on("close", (exit) => resolve(exit ?? -1)));
    return { code, out, errors };
  }

  /** Starts it and lets it run. */
  start(words: string, more: Readonly<Record<string, string>> = {}): ChildProcess {
    const env = { PATH: process.env["PATH"], HOME: this.#home, ...more };
    return spawn(this.#binary, [...this.#arguments, ...words.split(" ")], { env, timeout: 60_000 });
  }
}
