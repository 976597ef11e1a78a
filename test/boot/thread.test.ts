import t from "tap";
import { BootFault } from "../../src/boot/fault.ts";
import { KeptThreads } from "../../src/boot/keptthreads.ts";
import { type Crash, endsProcess, Thread, type ThreadKind } from "../../src/boot/thread.ts";
import { until } from "../support/inprocess.ts";
import type { OfTest, ToTest } from "./thread.worker.ts";

t.setTimeout(300_000);

const script = new URL("./thread.worker.js", import.meta.url);

type TestKind = ThreadKind<OfTest>;

const open = (start: string, more: Partial<TestKind> = {}): Thread<ToTest, OfTest> =>
  new Thread({ name: "test", script, data: { start }, opens: "opened", ended: () => {}, ...more });

t.test("opened rejects with why a thread cannot be opened", async (t) => {
  const cannotStart = "a test cannot start";
  const table: [string, Partial<TestKind>, { message: string | RegExp }][] = [
    ["fail", {}, { message: "the operator has to mend this" }],
    ["throw", {}, { message: "thrown at the start" }],
    ["throw", { cannotStart }, { message: "a test cannot start: Error: thrown at the start" }],
    ["crash", { cannotStart }, { message: "a test cannot start: crashed at the start" }],
    ["exit", { cannotStart }, { message: "a test cannot start: its thread ended" }],
    ["exit", {}, { message: "the test thread cannot start: its thread ended" }],
  ];
  for (const [start, more, expected] of table) {
    const thread = open(start, more);
    await t.rejects(thread.opened, expected, `${start} ${JSON.stringify(more)}`);
    t.equal(thread.isOpen, false);
    if (start === "crash") await thread.close();
    else await thread.exited;
  }
  await t.rejects(open("exit", { cannotStart }).opened, BootFault);
});

t.test("an open thread takes messages, is asked for its metrics, and ends when it is told to", async (t) => {
  const told: string[] = [];
  const thread = open("open", { take: ({ kind }) => told.push(kind), ended: () => t.fail("its end was asked for") });
  t.match(await thread.opened, { kind: "opened" });
  thread.tell({ kind: "greet" });
  t.match(await thread.collect(), { families: [] });
  t.same(told, ["greeted"]);
  await thread.close();
});

t.test("an unexpected end of a thread is reported once, with its reason", async (t) => {
  const table: [ToTest["kind"], TestKind["endsAt"], string | undefined][] = [
    ["throw", "error", "Error: thrown later"],
    ["throw", "exit", "Error: thrown later"],
    ["exit", "error", undefined],
    ["crash", "crashed", "crashed later"],
  ];
  for (const [kind, endsAt = "exit", expected] of table) {
    const ends: Crash[] = [];
    const thread = open("open", { endsAt, ended: (crash) => ends.push(crash) });
    await thread.opened;
    thread.tell({ kind });
    t.ok(await until(() => ends.length > 0), `${kind}, ${endsAt}`);
    t.equal(ends[0]?.text.split("\n", 1)[0], expected);
    thread.tell({ kind: "exit" });
    await thread.exited;
    t.equal(ends.length, 1);
  }
  const failed: string[] = [];
  const { ended } = endsProcess("store", (message) => failed.push(message));
  ended(undefined);
  ended({ text: "Error: x" });
  t.same(failed, ["the store thread ended", "the store thread failed: Error: x"]);
});

t.test("kept threads are started again until that is stopped", async (t) => {
  const crashes: string[] = [];
  let start = "open";
  const kept = new KeptThreads<ToTest, OfTest>(
    (name) => ({ name, script, data: { start }, opens: "opened" }),
    ({ name, wasOpen }) => {
      crashes.push(`${name} ${wasOpen}`);
      return true;
    },
  );
  await kept.start("a");
  const first = kept.get("a");
  first?.tell({ kind: "exit" });
  t.ok(await until(() => kept.get("a")?.isOpen === true && kept.get("a") !== first), "started again");
  t.same(crashes, ["a true"]);
  start = "throw";
  kept.get("a")?.tell({ kind: "exit" });
  t.ok(await until(() => crashes.length >= 3), "and again where it cannot start");
  t.same(crashes.slice(0, 3), ["a true", "a true", "a false"]);
  kept.stopStarting();
});
