// `npm start` on hosts with another Node than the pinned one: it serves on theirs where it is a later one on which a build
// of the uws front loads, or where the node front is asked for, else on the pinned one, and says which. Those come from
// the package `node`; where the registry cannot be reached, a comment says so.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import t, { type Test } from "tap";
import { eventually } from "../support/server.ts";

const root = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))));
const folder = mkdtempSync(join(tmpdir(), "orch-hosts-"));
t.teardown(() => rmSync(folder, { recursive: true, force: true }));

/** Installs a Node of this major version in a folder of its own; the folder of its binary, or undefined. */
function hostNode(major: number): string | undefined {
  const home = join(folder, `node${major}`);
  mkdirSync(home);
  writeFileSync(join(home, "package.json"), '{ "private": true }\n');
  const args = ["install", `node@${major}`, "--no-save", "--no-fund", "--no-audit", "--ignore-scripts=false"];
  const { status } = spawnSync("npm", args, { cwd: home, stdio: "ignore", timeout: 60_000 });
  const bin = join(home, "node_modules", "node", "bin");
  return status === 0 && existsSync(join(bin, "node")) ? bin : undefined;
}

/** Code of a GET of /readyz without credentials: any code is an answer of the server. */
function answers(base: string): Promise<number> {
  return new Promise((resolve) => {
    const sent = request(`${base}/readyz`, { rejectUnauthorized: false, agent: false }, (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? 0);
    });
    sent.on("error", () => resolve(0));
    sent.end();
  });
}

/** Starts the server as that host would, and ends it as its operator would at a terminal. */
async function starts(
  t: Test,
  bin: string,
  by: readonly string[],
  flags: readonly string[],
  runtime: RegExp,
): Promise<void> {
  const dataDir = mkdtempSync(join(folder, "data-"));
  // npm itself runs on the host's Node, too.
  const env = { ...process.env, PATH: `${bin}${delimiter}${process.env["PATH"] ?? ""}`, NODE_OPTIONS: "" };
  const [command = "", ...args] = [...by, `--data-dir=${dataDir}`, "--secure-port=0", ...flags];
  // A group of processes, as a terminal makes one of each command.
  const child = spawn(command, args, { cwd: root, env, stdio: ["ignore", "pipe", "pipe"], detached: true });
  let out = "";
  let errors = "";
  child.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()));
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  let isOver = false;
  void ended.then(() => {
    isOver = true;
  });
  const base = (): string | undefined => /^ready: (\S+)$/m.exec(out)?.[1];
  await eventually(() => base() !== undefined || isOver, 90_000);
  t.match(out, runtime, `says in a line what it runs on: ${out}${errors}`);
  t.equal(out.match(/^runtime: /gm)?.length, 1, "in one line");
  t.equal(await answers(base() ?? "https://127.0.0.1:1"), 200, "serves");
  // Ctrl-C: each of the group has it from the terminal, and those that start the server pass it on, too.
  if (child.pid !== undefined) process.kill(-child.pid, "SIGINT");
  const code = await ended;
  // npm passes the signal on, waits, and then ends by it itself.
  if (command !== "npm") t.equal(code, 0, "ends in order");
  t.match(errors, /The server has ended/, "having let go of all it held");
  t.equal(await answers(base() ?? ""), 0, "and is gone");
}

t.test("npm start serves on a host with Node 24", { timeout: 240_000 }, async (t) => {
  const bin = hostNode(24);
  if (bin === undefined) {
    t.comment("not run: Node 24 could not be had from the registry");
    return;
  }
  const npm = ["npm", "start", "--silent", "--"];
  // Its own where the C library is new enough for the build, else the pinned one.
  await starts(t, bin, npm, [], /^runtime: Node v(?:24|22)\.\d+\.\d+, uws front, uWebSockets\.js 20\.\d+\.\d+$/m);
  const plain = [join(bin, "node"), join("scripts", "start.mjs")];
  await starts(t, bin, plain, ["--front=node"], /^runtime: Node v24\.\d+\.\d+, node front$/m);
});

t.test("npm start on a host with Node 20 serves on the pinned one", { timeout: 240_000 }, async (t) => {
  const bin = hostNode(20);
  if (bin === undefined) {
    t.comment("not run: Node 20 could not be had from the registry");
    return;
  }
  const plain = [join(bin, "node"), join("scripts", "start.mjs")];
  await starts(t, bin, plain, [], /^runtime: Node v22\.\d+\.\d+, uws front, uWebSockets\.js 20\.51\.4$/m);
  await starts(t, bin, plain, ["--front=node"], /^runtime: Node v20\.\d+\.\d+, node front$/m);
});
