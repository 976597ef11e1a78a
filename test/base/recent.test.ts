import t from "tap";
import { Recent } from "../../src/base/recent.ts";
import { threadCpuMs } from "../support/cost.ts";

interface Box {
  readonly size: number;
}

const sizes = (max: number): Recent<string, Box> => new Recent<string, Box>(max, (_key, { size }) => size);

t.test("get() keeps what is used, and what is not used goes", (t) => {
  const recent = new Recent<number, object>(100);
  const used = {};
  recent.set(-1, used);
  for (let key = 0; key < 1000; key += 1) {
    recent.set(key, { key });
    if (key % 40 === 0) t.equal(recent.get(-1), used, `after ${key} others`);
  }
  const kept = Array.from({ length: 1000 }, (_, key) => key).filter((key) => recent.get(key) !== undefined);
  t.ok(kept.length >= 49 && kept.length <= 100, `${kept.length} are kept of at most 100`);
  t.ok((kept[0] ?? 0) >= 900, "those of late");
  t.end();
});

t.test("set() counts sizes, and that of what it replaces no more", (t) => {
  const recent = sizes(100);
  for (let round = 0; round < 100; round += 1) recent.set("one", { size: 30 });
  recent.set("two", { size: 20 });
  t.same([recent.get("one"), recent.get("two")], [{ size: 30 }, { size: 20 }], "fifty are half of what may be kept");
  recent.set("three", { size: 40 });
  recent.set("four", { size: 40 });
  t.equal(recent.get("one"), undefined);
  t.same(recent.get("four"), { size: 40 });
  recent.set("huge", { size: 1000 });
  t.same(recent.get("huge"), { size: 1000 }, "what is larger than all is kept alone");
  recent.set("next", { size: 1 });
  recent.set("last", { size: 60 });
  t.equal(recent.get("huge"), undefined, "and not for long");
  t.end();
});

t.test("a key that is used often costs no more for it", (t) => {
  const recent = new Recent<string, object>(200_000);
  for (let key = 0; key < 20_000; key += 1) recent.set(`key ${key}`, {});
  const cost = (keys: number): number => {
    const begun = threadCpuMs();
    for (let use = 0; use < 100_000; use += 1) recent.get(`key ${use % keys}`);
    return threadCpuMs() - begun;
  };
  cost(1);
  const [one = 0, many = 0] = [cost(1), cost(20_000)];
  // In a Map in order of use the one key costs fifty times as much as each of many.
  t.ok(one < 5 * many + 20, `${one.toFixed(0)} ms for one key, ${many.toFixed(0)} ms for many`);
  t.end();
});
