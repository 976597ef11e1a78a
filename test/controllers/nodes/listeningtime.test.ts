// The clock that silence is measured on.
import t from "tap";
import { ListeningTime } from "../../../src/controllers/nodes/listeningtime.ts";

t.test("ListeningTime counts a part of a pause, and everything else", (t) => {
  let ms = 1_000;
  const time = new ListeningTime({ now: () => 0, monotonic: () => ms }, 10);
  t.equal(time.nowMs, 0);
  for (const [passedMs, totalMs] of [
    [3, 3],
    [10, 13],
    [11, 23],
    [3_600_000, 33],
    [0, 33],
    [1, 34],
  ] as const) {
    ms += passedMs;
    t.equal(time.nowMs, totalMs, `after ${passedMs} ms`);
  }
  t.end();
});
