// Long works of a thread, piece by piece: in order, all of them together for no more than their time in a turn.
import t from "tap";
import { inSlices, nextTurn, Pieces, Turn } from "../../src/base/turn.ts";

function busy(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

t.test("pieces are done in their order, and a turn ends when their time is over", async (t) => {
  const pieces = new Pieces(5);
  const done: string[] = [];
  const turns: number[] = [];
  let turn = 0;
  let isWorking = true;
  const count = async (): Promise<void> => {
    for (; isWorking; turn += 1) await nextTurn();
  };
  void count();
  // Three works of four pieces each: every piece takes more than the time of a turn.
  const work = async (name: string): Promise<void> => {
    for (let at = 0; at < 4; at += 1) {
      await pieces.do(() => {
        busy(6);
        turns.push(turn);
        done.push(`${name}${at}`);
      });
    }
  };
  await Promise.all(["a", "b", "c"].map(work));
  isWorking = false;
  t.same(done, ["a0", "b0", "c0", "a1", "b1", "c1", "a2", "b2", "c2", "a3", "b3", "c3"]);
  t.equal(new Set(turns).size, turns.length, "one in each turn");
});

t.test("an owner with many works leaves every other one its turns", async (t) => {
  const pieces = new Pieces(5);
  const done: string[] = [];
  const work = async (owner: string, count: number): Promise<void> => {
    for (let at = 0; at < count; at += 1) {
      await pieces.do(() => {
        busy(6);
        done.push(owner);
      }, owner);
    }
  };
  const many = Array.from({ length: 20 }, () => work("many", 3));
  await Promise.all([work("few", 5), ...many]);
  t.ok(done.lastIndexOf("few") < 12, done.join());
  t.equal(done.length, 65);
});

t.test("short pieces share a turn", async (t) => {
  const pieces = new Pieces(10_000);
  let turn = 0;
  const first = nextTurn().then(() => (turn += 1));
  const turns = await Promise.all(Array.from({ length: 50 }, () => pieces.do(() => turn)));
  await first;
  t.equal(new Set(turns).size, 1);
});

t.test("what a piece comes to, or throws, is its own matter", async (t) => {
  const pieces = new Pieces(1);
  const results = await Promise.allSettled([
    pieces.do(() => 1),
    pieces.do(() => {
      throw new Error("a fault");
    }),
    pieces.do(() => Promise.resolve(3)),
    pieces.do(() => Promise.reject(new Error("a late fault"))),
    pieces.do(() => 5),
  ]);
  t.same(
    results.map((result) => (result.status === "fulfilled" ? result.value : (result.reason as Error).message)),
    [1, "a fault", 3, "a late fault", 5],
  );
});

/** Counts turns of the loop until `work` is done. */
async function countingTurns(work: (turn: () => number) => Promise<unknown>): Promise<void> {
  let turns = 0;
  let isWorking = true;
  const count = async (): Promise<void> => {
    for (; isWorking; turns += 1) await nextTurn();
  };
  void count();
  await work(() => turns);
  isWorking = false;
}

t.test("however many works there are, a turn has their time once, and one of them goes on at least", async (t) => {
  const turn = new Turn(5);
  const steps: number[] = [];
  const work = async (): Promise<void> => {
    for (let at = 0; at < 4; at += 1) {
      await turn.giveWay();
      busy(6);
      steps.push(now());
    }
  };
  let now = (): number => 0;
  await countingTurns(async (turnNow) => {
    now = turnNow;
    await Promise.all([work(), work(), work()]);
  });
  t.equal(steps.length, 12);
  // All three looked before any of them had worked.
  const later = steps.slice(3);
  t.equal(new Set(later).size, later.length, `one step in each turn: ${steps.join()}`);
});

t.test("work that begins while others wait takes its turn, and owners take turns", async (t) => {
  const turn = new Turn(0);
  const done: string[] = [];
  const begin = async (owner: string): Promise<void> => {
    await turn.enter(owner);
    done.push(owner);
  };
  const all = ["many", "many", "many", "many"].map(begin);
  await nextTurn();
  all.push(begin("few"));
  await Promise.all(all);
  t.ok(done.indexOf("few") <= 2, done.join());
  t.equal(new Turn(Number.POSITIVE_INFINITY).enter("few"), undefined, "nothing is waited for where nobody waits");
});

t.test("what waits goes on within the time that a turn has", async (t) => {
  const turn = new Turn(10_000);
  await countingTurns(async (turnNow) => {
    const turns = await Promise.all(
      Array.from({ length: 50 }, async () => {
        await turn.later();
        // Work is done in microtasks, and what comes next waits for them.
        for (let at = 0; at < 5; at += 1) await undefined;
        return turnNow();
      }),
    );
    t.equal(new Set(turns).size, 1);
  });
});

t.test("slices end with their result, or with what a step throws", async (t) => {
  const turn = new Turn(0);
  function* steps(fails: boolean): Generator<undefined, number> {
    for (let at = 0; at < 5; at += 1) yield;
    if (fails) throw new Error("a fault");
    return 7;
  }
  t.equal(await inSlices(steps(false), turn), 7);
  await t.rejects(inSlices(steps(true), turn), { message: "a fault" });
  t.equal(await inSlices(steps(false), turn, "an owner"), 7, "and others go on after it");
});
