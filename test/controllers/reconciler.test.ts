// Passes of a controller: one at a time, another one for whoever asked meanwhile, none after the end.
import t from "tap";
import type { LogView } from "../../src/cache/view/view.ts";
import { Reconciler } from "../../src/controllers/reconciler.ts";
import { until } from "../support/inprocess.ts";

/** Passes that wait to be let go, and what became of them. */
function passes() {
  const told = { begun: 0, atOnce: 0, failures: [] as unknown[] };
  let letGo: ((error?: Error) => void) | undefined;
  let running = 0;
  const made = new Reconciler(
    async () => {
      told.begun++;
      told.atOnce = Math.max(told.atOnce, ++running);
      const error = await new Promise<Error | undefined>((resolve) => {
        letGo = resolve;
      });
      running--;
      if (error !== undefined) throw error;
    },
    (error) => void told.failures.push(error),
  );
  return { passes: made, told, go: (error?: Error) => letGo?.(error) };
}

t.test("Passes.ask() makes one more pass, however many ask while one runs", async (t) => {
  const { passes: made, told, go } = passes();
  const first = made.ask();
  await Promise.all([made.ask(), made.ask(), made.ask()]);
  t.equal(told.begun, 1, "not before the first is over");
  go();
  t.ok(await until(async () => told.begun === 2));
  go();
  await first;
  t.same(told, { begun: 2, atOnce: 1, failures: [] });
});

t.test("Passes.ask() passes again after a pass that threw, and tells of that", async (t) => {
  const { passes: made, told, go } = passes();
  const error = new Error("broken");
  const first = made.ask();
  go(error);
  await first;
  t.same(told.failures, [error]);
  const second = made.ask();
  t.equal(told.begun, 2);
  go();
  await second;
  t.equal(told.failures.length, 1);
});

t.test("Passes.askIn() keeps the earliest time it was asked for", async (t) => {
  const { passes: made, told, go } = passes();
  made.askIn(3_600_000);
  made.askIn(1);
  made.askIn(3_600_000);
  const held = setInterval(() => undefined, 1000);
  t.teardown(() => clearInterval(held));
  t.ok(await until(async () => told.begun === 1));
  go();
});

t.test("Passes.follow() asks at once, with every news of a log, and not after the end", async (t) => {
  const news: (() => void)[] = [];
  const view = {
    onNews: (told: () => void) => {
      news.push(told);
      return () => void news.splice(news.indexOf(told), 1);
    },
  } as LogView;
  const { passes: made, told, go } = passes();
  made.follow([view, view]);
  t.equal(told.begun, 1);
  go();
  for (const [index, tell] of news.entries()) {
    await new Promise((resolve) => setImmediate(resolve));
    tell();
    t.equal(told.begun, index + 2);
    go();
  }
  made.stop();
  t.same(news, []);
});

t.test("Passes.stop() lets the running pass end and none begin", async (t) => {
  const { passes: made, told, go } = passes();
  const first = made.ask();
  await made.ask();
  t.notOk(made.stopped);
  made.stop();
  t.ok(made.stopped);
  go();
  await first;
  await made.ask();
  made.askIn(0);
  await new Promise((resolve) => setImmediate(() => setTimeout(resolve, 2)));
  t.equal(told.begun, 1);
});
