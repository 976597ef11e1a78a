// One test file in a process of its own: its TAP is read line by line, and its points are counted. The runner of tap
// itself preloads a module loader into each process and thread below it: a server that a test starts costs three times the
// CPU with it, and a test file five times (DECISIONS 120).
import { spawn } from "node:child_process";

/** Lines of a failure's explanation that are shown. */
const shownMax = 60;

/** Of what was written to standard error, as much is kept: the rest of a file that fails. */
const errorsMax = 100_000;

/** Counts the points of a TAP stream: the innermost ones of the tree; lines that only sum up subtests are left out. */
export class TapCount {
  passed = 0;
  /** Names of points that failed, with the subtests they are in. */
  failures = [];
  /** Why points were skipped, with how many. */
  skipped = new Map();
  /** Points at the top level, and how many were planned; undefined: the plan has not come. */
  points = 0;
  planned;
  #path = [];

  take(line) {
    const subtest = /^( *)# Subtest: (.*)$/.exec(line);
    if (subtest !== null) {
      this.#path[subtest[1].length / 4] = { name: subtest[2], open: true };
      return;
    }
    const plan = /^1\.\.(\d+)/.exec(line);
    if (plan !== null) this.planned = Number(plan[1]);
    const point = /^( *)(not ok|ok) \d+(?: - (.*))?$/.exec(line);
    if (point === null) return;
    const [, indent, result, text = ""] = point;
    const level = indent.length / 4;
    if (level === 0) this.points++;
    const reason = / # SKIP (.+?)(?: # time=.*)?$/.exec(text)?.[1];
    if (reason !== undefined) {
      this.skipped.set(reason, (this.skipped.get(reason) ?? 0) + 1);
      return;
    }
    const name = text.replace(/ # time=.*$/, "").replace(/ \{$/, "");
    const own = this.#path[level];
    const sumsUp = own?.open === true && own.name === name;
    if (sumsUp) own.open = false;
    const full = [...this.#path.slice(0, level).map((p) => p.name), name].join(" > ");
    // A subtest that failed without a failing point of its own (it timed out) counts by itself.
    if (result === "not ok" && !(sumsUp && this.failures.some((f) => f.startsWith(full)))) this.failures.push(full);
    if (result === "ok" && !sumsUp) this.passed++;
  }

  /** What is wrong with the stream as a whole; undefined: it ended as planned. */
  get fault() {
    if (this.planned === undefined) return "it ended before its plan";
    return this.planned === this.points ? undefined : `${this.points} of ${this.planned} planned points came`;
  }
}

/** Keeps the failing points of a TAP stream with their explanations. */
class Explanations {
  lines = [];
  /** How many lines of the present one were kept; -1: outside of one. */
  #kept = -1;

  take(line) {
    if (/^\s*not ok/.test(line)) this.#kept = 0;
    else if (/^\s*(ok|# Subtest|1\.\.)/.test(line)) this.#kept = -1;
    if (this.#kept >= 0 && this.#kept++ < shownMax) this.lines.push(line);
    if (/^\s*\.\.\.$/.test(line)) this.#kept = -1;
  }
}

/**
 * Runs a test file on `runtime`, `msMax` at most. Resolves with its count (a file that did not end as it should has a
 * failure of its own), how long it took, and what explains its failures. `line` hears each line it writes.
 */
export function runTapFile(file, { runtime, cwd, env, msMax, line: hear = () => undefined }) {
  const startedMs = performance.now();
  const count = new TapCount();
  const explained = new Explanations();
  // A group of its own, so that what the file started and left ends with it.
  const child = spawn(runtime, ["--enable-source-maps", file], {
    cwd,
    env: { ...env, TAP_TIMEOUT: String(msMax / 1000) },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  let rest = "";
  let errors = "";
  const take = (line) => {
    hear(line);
    count.take(line);
    explained.take(line);
  };
  child.stdout.on("data", (chunk) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop();
    for (const line of lines) take(line);
  });
  child.stderr.on("data", (chunk) => {
    errors = (errors + chunk).slice(-errorsMax);
  });
  let isLate = false;
  const endGroup = () => {
    try {
      process.kill(-child.pid, "SIGKILL");
    } catch {
      // No process is left of it.
    }
  };
  process.once("exit", endGroup);
  const late = setTimeout(() => {
    isLate = true;
    endGroup();
  }, msMax);
  return new Promise((resolve) => {
    const done = (fault) => {
      clearTimeout(late);
      process.off("exit", endGroup);
      if (fault !== undefined) count.failures.push(fault);
      const ms = performance.now() - startedMs;
      resolve({ count, ms, explained: explained.lines, errors: count.failures.length > 0 ? errors : "" });
    };
    child.on("error", (error) => done(error.message));
    // What the file started and left would keep its output open.
    child.on("exit", endGroup);
    child.on("close", (code, signal) => {
      if (rest !== "") take(rest);
      if (isLate) {
        const points = count.fault === undefined ? "all its points came, and it" : "it";
        return done(`${points} did not end within ${msMax / 1000} s`);
      }
      if (signal !== null) return done(`it was ended by ${signal}`);
      if (count.failures.length > 0) return done(undefined);
      done(code === 0 ? count.fault : `it ended with exit code ${code}`);
    });
  });
}
