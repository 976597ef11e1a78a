// Long works of a thread, piece by piece: in order, all of them together for no more than their time in a turn.
import t from "tap";
import { nextTurn, Pieces } from "../../src/base/turn.ts";

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
