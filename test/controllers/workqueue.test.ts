// The keys of a controller: each in one place at a time, and when it is taken.
import t from "tap";
import { type QueuePace, WorkQueue } from "../../src/controllers/workqueue.ts";
import { cpuMs } from "../support/random.ts";

const usual: QueuePace = {
  retryMsMin: 100,
  retryMsMax: 10_000,
  retriesPerSecond: 1_000,
  keysMax: 1_000_000,
  gatherMs: 0,
  gatheredMax: 1,
};

function open(pace: Partial<QueuePace> = {}, random = 0.999_999) {
  const counts = { added: 0, retried: 0, waited: [] as number[], worked: [] as number[] };
  const queue = new WorkQueue({ ...usual, ...pace }, () => random, {
    added: () => void counts.added++,
    retried: () => void counts.retried++,
    waited: (seconds) => void counts.waited.push(seconds),
    worked: (seconds) => void counts.worked.push(seconds),
    close: () => undefined,
  });
  return { queue, counts };
}

t.test("WorkQueue works on a key once however often it is asked for, and again when asked for meanwhile", async (t) => {
  const { queue, counts } = open();
  for (const key of ["a", "b", "a", "a"]) queue.add(key, 0);
  t.equal(queue.take(2_000), "a");
  queue.add("a", 2_500);
  queue.add("a", 2_600);
  t.equal(queue.readyCount, 2, "it waits until it is out of work");
  t.equal(queue.take(3_000), "b");
  t.equal(queue.take(3_000), undefined);
  queue.done("a", 3_500);
  t.equal(queue.take(3_500), "a");
  queue.done("a", 3_500);
  queue.done("b", 4_000);
  t.equal(queue.take(4_000), undefined);
  t.same(counts, { added: 3, retried: 0, waited: [2, 3, 1], worked: [1.5, 0, 1] });
});

t.test("WorkQueue.addAt() keeps the earliest time, postpone() the last one", async (t) => {
  const { queue } = open();
  queue.addAt("a", 3_000);
  queue.addAt("a", 1_000);
  queue.addAt("a", 2_000);
  t.equal(queue.nextMs, 1_000);
  queue.wake(999);
  t.equal(queue.take(999), undefined);
  queue.postpone("a", 2_500);
  queue.wake(1_500);
  t.equal(queue.take(1_500), undefined);
  queue.add("a", 1_500);
  queue.postpone("a", 4_000);
  t.equal(queue.take(1_500), undefined, "also when it was ready");
  t.ok(queue.has("a"));
  queue.wake(4_000);
  t.equal(queue.take(4_000), "a");
  t.notOk(queue.has("a"));
  queue.addAt("a", 5_000);
  queue.add("a", 4_000);
  queue.done("a", 4_500);
  t.equal(queue.take(4_500), "a");
  t.equal(queue.nextMs, Number.POSITIVE_INFINITY, "now is sooner than later");
});

t.test(
  "WorkQueue.failed() waits longer after each failure in a row, by chance up to the half of it less",
  async (t) => {
    for (const [random, part] of [
      [0, 0.5],
      [0.999_999, 1],
    ] as const) {
      const { queue } = open({}, random);
      const pauses: number[] = [];
      let now = 0;
      queue.add("a", now);
      for (let count = 1; count <= 10; count++) {
        queue.take(now);
        t.equal(queue.failed("a", now), count);
        pauses.push(Math.round(queue.nextMs - now) / part);
        now = queue.nextMs;
        queue.wake(now);
      }
      t.same(pauses, [100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000, 10_000]);
      queue.take(now);
      queue.done("a", now);
      queue.add("a", now);
      queue.take(now);
      t.equal(queue.failed("a", now), 1, "success forgets");
      queue.add("a", now);
      t.equal(queue.take(now), "a", "what is asked for is worked on at once");
      queue.add("a", now);
      queue.failed("a", now);
      t.equal(queue.take(now), undefined, "but not what asked for itself while it failed");
      t.equal(queue.nextMs, now + 100);
    }
  },
);

t.test(
  "WorkQueue tries a bounded number of failed keys per second, and the others as if nothing had been",
  async (t) => {
    const keys = 100_000;
    const { queue } = open({ retriesPerSecond: 100 }, 0);
    for (let i = 0; i < keys; i++) queue.add(`k${i}`, 0);
    for (let key = queue.take(0); key !== undefined; key = queue.take(0)) queue.failed(key, 0);
    let [tries, wakes] = [0, 0];
    for (let now = queue.nextMs; now < 60_000; now = queue.nextMs) {
      if (++wakes > 10_000) throw new Error("It spins");
      queue.wake(now);
      for (let key = queue.take(now); key !== undefined; key = queue.take(now)) {
        queue.failed(key, now);
        tries++;
      }
    }
    t.ok(tries > 5_900 && tries <= 6_100, `${tries} in a minute`);
    queue.add("new", 60_000);
    t.equal(queue.take(60_000), "new");
    queue.addAt("later", 60_001);
    queue.wake(60_001);
    const taken = [queue.take(60_001), queue.take(60_001)];
    t.ok(taken.includes("later"), "a time that was asked for is kept");
  },
);

t.test("WorkQueue takes 100,000 keys in order, at the same cost each", async (t) => {
  const cost = (keys: number): number => {
    const { queue } = open();
    const began = cpuMs();
    for (let i = 0; i < keys; i++) queue.add(`namespace/name-${i}`, i);
    for (let i = 0; i < keys; i++) {
      const key = queue.take(i);
      if (key !== `namespace/name-${i}`) return t.fail(`${key} at ${i}`) ? 0 : Number.POSITIVE_INFINITY;
      // As keys that come back do, a few at a time.
      if (i % 7 === 0) queue.add(key, i);
      queue.done(key, i);
    }
    return cpuMs() - began;
  };
  cost(10_000);
  const [few, many] = [cost(20_000), cost(200_000)];
  t.ok(many < 40 * Math.max(few, 5), `${few} ms, ${many} ms`);
});

t.test("WorkQueue refuses keys beyond its bound, but none it knows, and gathers what is due", async (t) => {
  const { queue } = open({ keysMax: 3, gatherMs: 1_000, gatheredMax: 2 });
  for (const key of ["a", "b", "c"]) t.ok(queue.addAt(key, 10));
  t.notOk(queue.add("d", 0));
  t.notOk(queue.addAt("d", 1));
  t.notOk(queue.postpone("d", 1));
  t.ok(queue.add("a", 0));
  t.ok(queue.postpone("a", 10));
  queue.wake(10);
  t.equal(queue.readyCount, 2);
  t.equal(queue.nextMs, 1_010);
  queue.wake(1_009);
  t.equal(queue.readyCount, 2);
  queue.wake(1_010);
  t.equal(queue.readyCount, 3);
  queue.clear();
  t.equal(queue.size, 0);
});

t.test("WorkQueue lets lanes take turns: many keys of one hold up another's by a key at a time", async (t) => {
  const laneOf = (key: string): string => key.slice(0, 1);
  const { queue } = open({ laneOf });
  for (let i = 0; i < 10_000; i++) queue.add(`a${i}`, 0);
  for (const key of ["b0", "b1", "c0"]) queue.add(key, 0);
  const taken: string[] = [];
  for (let i = 0; i < 8; i++) taken.push(queue.take(0) ?? "");
  t.same(taken, ["a0", "b0", "c0", "a1", "b1", "a2", "a3", "a4"]);
  queue.add("b2", 0);
  t.ok(queue.has("b2"));
  t.equal(queue.readyCount, 10_000 - 5 + 1);
  t.same([queue.take(0), queue.take(0)].sort(), ["a5", "b2"]);
  queue.postpone("a6", 1_000);
  t.equal(queue.take(0), "a7", "what is put off is in no lane");
  let left = 0;
  while (queue.take(0) !== undefined) left++;
  t.equal(left, 10_000 - 8);
  t.equal(queue.readyCount, 0);
  queue.wake(1_000);
  t.equal(queue.take(1_000), "a6");
});

t.test("WorkQueue takes no longer for a key however many lanes there are", async (t) => {
  const spent = (lanes: number): number => {
    const { queue } = open({ laneOf: (key) => key.slice(0, key.indexOf("/")) });
    const keys = 100_000;
    const beganMs = cpuMs();
    for (let i = 0; i < keys; i++) queue.add(`${i % lanes}/${i}`, 0);
    for (let key = queue.take(0); key !== undefined; key = queue.take(0)) queue.done(key, 0);
    return cpuMs() - beganMs;
  };
  spent(10);
  const [few, many] = [spent(10), spent(50_000)];
  t.ok(many < 5 * few + 100, `${few.toFixed(0)} ms with ten, ${many.toFixed(0)} ms with 50,000`);
});
