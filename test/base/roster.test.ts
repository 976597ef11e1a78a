// Rosters and tallies: what is in them, and that nothing of what left them lives on because of them.
import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import t from "tap";
import { type Listed, Roster } from "../../src/base/roster.ts";
import { Tally } from "../../src/base/tally.ts";
import { random } from "../support/random.ts";

interface Named extends Listed {
  readonly name: string;
}

const named = (name: string): Named => ({ name, listedAt: -1 });
const namesOf = (roster: Roster<Named>): string[] => [...roster].map(({ name }) => name).sort();

t.test("Roster holds what was added and not taken out", (t) => {
  const draw = random(3);
  const roster = new Roster<Named>();
  const all = Array.from({ length: 40 }, (_, n) => named(`m${n}`));
  const inside = new Set<Named>();
  for (let step = 0; step < 4_000; step += 1) {
    const member = all[draw(all.length)] as Named;
    if (inside.delete(member)) roster.delete(member);
    else {
      inside.add(member);
      roster.add(member);
    }
    if (step % 50 !== 0) continue;
    t.same(namesOf(roster), [...inside].map(({ name }) => name).sort());
    t.equal(roster.size, inside.size);
  }
  t.end();
});

t.test("Roster lets go of one that is not in it, and may change while it is gone through", (t) => {
  const roster = new Roster<Named>();
  const [a, b, c] = [named("a"), named("b"), named("c")];
  roster.add(a);
  roster.add(b);
  roster.delete(c);
  roster.delete(a);
  roster.delete(a);
  t.same(namesOf(roster), ["b"]);
  const other = new Roster<Named>();
  other.add(a);
  roster.delete(a);
  t.same([namesOf(roster), namesOf(other)], [["b"], ["a"]], "of another one it takes nothing");
  roster.add(c);
  for (const member of roster) roster.delete(member);
  t.equal(roster.size, 0);
  t.equal(
    roster.members.find(() => true),
    undefined,
  );
  t.end();
});

t.test("Roster: what left it does not outlive collections of young objects", (t) => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as (options: { type: "minor" }) => void;
  const grown = (add: (member: Named) => void, remove: (member: Named) => void): number => {
    const under = Array.from({ length: 16 }, (_, n) => named(`w${n}`));
    for (const member of under) add(member);
    const before = getHeapStatistics().used_heap_size;
    for (let n = 0; n < 20_000; n += 1) {
      const place = n % under.length;
      remove(under[place] as Named);
      const next: Named & { request: number[] } = { ...named(`n${n}`), request: Array.from({ length: 200 }, () => n) };
      under[place] = next;
      add(next);
      if (n % 400 === 0) collect({ type: "minor" });
    }
    collect({ type: "minor" });
    collect({ type: "minor" });
    return getHeapStatistics().used_heap_size - before;
  };
  const roster = new Roster<Named>();
  const set = new Set<Named>();
  const mib = [
    grown(
      (member) => roster.add(member),
      (member) => roster.delete(member),
    ),
    grown(
      (member) => void set.add(member),
      (member) => void set.delete(member),
    ),
  ].map((bytes) => bytes / 2 ** 20);
  t.ok((mib[0] ?? 0) < 8, `${mib[0]?.toFixed(1)} MiB more with a roster, ${mib[1]?.toFixed(1)} with a set`);
  t.end();
});

t.test("Tally counts by name, and forgets names without any", (t) => {
  const tally = new Tally();
  tally.add("a", 2);
  tally.add("b", 1);
  tally.add("a", -1);
  t.same(
    [...tally],
    [
      ["a", 1],
      ["b", 1],
    ],
  );
  tally.add("b", -1);
  t.same([tally.of("a"), tally.of("b"), tally.of("c"), tally.size], [1, 0, 0, 1]);
  tally.add("a", -5);
  t.same([tally.of("a"), tally.size, [...tally]], [0, 0, []], "not below zero");
  for (let n = 0; n < 1_000; n += 1) {
    tally.add(`user-${n}`, 1);
    if (n > 0) tally.add(`user-${n - 1}`, -1);
  }
  t.same([...tally], [["user-999", 1]]);
  t.ok(tally.known < 100, `${tally.known} names are known`);
  t.end();
});
