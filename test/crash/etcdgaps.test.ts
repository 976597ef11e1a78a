import t from "tap";
import { Gaps } from "./etcdgaps.ts";

/** Gaps on a clock that the test sets. */
function prepared(): { gaps: Gaps; at: (ms: number, does: (gaps: Gaps) => void) => void } {
  let nowMs = 0;
  const gaps = new Gaps(2, () => nowMs);
  const at = (ms: number, does: (gaps: Gaps) => void): void => {
    nowMs = ms;
    does(gaps);
  };
  at(0, () => gaps.acknowledged(0));
  at(0, () => gaps.acknowledged(1));
  return { gaps, at };
}

const longest = ({ leaderGaps: [gap] }: Gaps): number => gap?.ms ?? 0;

t.test("the time after the loss of a leader is that of the server that took longest", async (t) => {
  const { gaps, at } = prepared();
  at(1000, () => gaps.leaderLost());
  at(1100, () => gaps.acknowledged(0));
  at(1900, () => gaps.acknowledged(1));
  at(3000, () => gaps.acknowledged(0));
  t.same(gaps.leaderGaps[0], { server: 0, ms: 1900, afterMs: 100 }, "a change that was under way ends nothing");
  t.equal(gaps.gapMsMax, 1100);
});

t.test("a second loss does not shorten the time after the first", async (t) => {
  const { gaps, at } = prepared();
  at(1000, () => gaps.leaderLost());
  at(4000, () => gaps.leaderLost());
  at(7000, () => gaps.acknowledged(1));
  t.equal(longest(gaps), 6000);
});

t.test("a server that acknowledges nothing any more is counted when the next fault comes", async (t) => {
  const { gaps, at } = prepared();
  at(1000, () => gaps.leaderLost());
  at(1200, () => gaps.acknowledged(0));
  at(9000, () => gaps.close());
  t.equal(longest(gaps), 8000);
});

t.test("times with another cause are not counted", async (t) => {
  const { gaps, at } = prepared();
  at(30_000, () => gaps.acknowledged(0));
  t.equal(longest(gaps), 0, "no leader was lost");
  at(31_000, () => gaps.leaderLost());
  at(31_500, () => gaps.acknowledged(0));
  t.equal(longest(gaps), 500, "nothing before the loss is");
  at(31_600, () => gaps.acknowledged(1));
  at(31_700, () => gaps.down(1));
  at(60_000, () => gaps.acknowledged(1));
  at(60_100, () => gaps.acknowledged(1));
  t.equal(longest(gaps), 600, "nor is the restart of a server");
  at(60_200, () => gaps.acknowledged(0));
  at(60_300, () => gaps.close());
  const { length } = gaps.leaderGaps;
  at(90_000, () => gaps.acknowledged(0));
  t.equal(gaps.leaderGaps.length, length, "nor what a fault after it causes");
});
