// The collector's graph against a plain list, and what it costs.
import t from "tap";
import { OwnerGraph } from "../../../src/controllers/garbage/graph.ts";
import { calmMs, leastOf, threadCpuMs } from "../../support/cost.ts";
import { fuzzRun, random } from "../../support/random.ts";

interface Reference {
  log: number;
  at: number;
  owner: number;
  kind: number;
}

function textOf(places: readonly { log: number; at: number }[]): string {
  return places
    .map(({ log, at }) => `${log} ${at}`)
    .sort()
    .join();
}

t.test("random references are found as in a list, through moves, growth and shrinking", async (t) => {
  const { seed, rounds } = fuzzRun(30_000);
  const below = random(seed);
  t.comment(`ORCH_FUZZ_SEED=${seed}`);
  const graph = new OwnerGraph();
  // Many owners in one chain, and places of more than 32 bits.
  const ownerOf = (number: number): number => (number - 25) << 8;
  const placeOf = (number: number): number => number * 700_000_007;
  let list: Reference[] = [];
  let at = 0;
  const gone: number[] = [];
  for (let step = 0; step < rounds; step++) {
    const isGrowing = step % 10_000 < 5_000;
    const chosen = list[below(Math.max(1, list.length))];
    const what = below(10);
    if (chosen === undefined || what < (isGrowing ? 7 : 2)) {
      at += 1;
      const log = below(3);
      for (let count = 1 + below(2); count > 0; count--) {
        const reference = { log, at: placeOf(at), owner: ownerOf(below(50)), kind: below(4) };
        graph.add(reference.log, reference.at, reference.owner, reference.kind);
        list.push(reference);
      }
    } else if (what === 9) {
      at += 1;
      graph.move(chosen.log, chosen.at, placeOf(at));
      const { log, at: from } = chosen;
      for (const each of list) if (each.log === log && each.at === from) each.at = placeOf(at);
    } else {
      gone.length = 0;
      graph.remove(chosen.log, chosen.at, (owner) => void gone.push(owner));
      const removed = list.filter((each) => each.log === chosen.log && each.at === chosen.at);
      list = list.filter((each) => !removed.includes(each));
      if (
        gone.sort().join() !==
        removed
          .map(({ owner }) => owner)
          .sort()
          .join()
      )
        t.fail("other owners were told");
    }
    if (step % 1_000 !== 0) continue;
    t.equal(graph.size, list.length);
    for (let number = 0; number < 50; number++) {
      const owner = ownerOf(number);
      const found: Reference[] = [];
      const walk = graph.walk(owner);
      for (let place = graph.next(walk); place !== undefined; place = graph.next(walk))
        found.push({ ...place, owner, kind: 0 });
      graph.end(walk);
      const wanted = list.filter((each) => each.owner === owner);
      if (textOf(found) !== textOf(wanted)) t.fail(`dependents of ${owner} at step ${step}`);
      if (graph.hasDependents(owner) !== wanted.length > 0) t.fail(`hasDependents(${owner}) at step ${step}`);
    }
    const found: { log: number; at: number }[] = [];
    for (const _ of graph.eachOfKinds(new Set([1, 3]), (log, place) => found.push({ log, at: place })));
    if (textOf(found) !== textOf(list.filter(({ kind }) => kind % 2 === 1))) t.fail(`kinds at step ${step}`);
  }
  for (const _ of graph.removeLog(1, () => undefined));
  t.equal(graph.size, list.filter(({ log }) => log !== 1).length);
  graph.clear();
  t.equal(graph.size, 0);
});

t.test("what goes over references meets all that stay and all that come, through any changes in between", async (t) => {
  const { seed, rounds } = fuzzRun(40);
  const below = random(seed);
  t.comment(`ORCH_FUZZ_SEED=${seed}`);
  for (let round = 0; round < rounds; round++) {
    const graph = new OwnerGraph();
    /** Objects by their place. */
    const all = new Map<number, { readonly id: number; readonly owner: number }>();
    let last = 0;
    const add = (owner: number): void => {
      all.set(++last, { id: last, owner });
      graph.add(owner & 1, last, owner, owner);
    };
    const remove = (at: number): void => {
      graph.remove((all.get(at)?.owner ?? 0) & 1, at, () => undefined);
      all.delete(at);
    };
    const move = (from: number): void => {
      const object = all.get(from);
      if (object === undefined) return;
      graph.move(object.owner & 1, from, ++last);
      all.delete(from);
      all.set(last, object);
    };
    const change = (): void => {
      const some = 1 + below(last);
      const what = below(8);
      if (what < 3) add(below(4));
      else if (what < 4) for (let count = below(2_000); count > 0; count--) add(below(2) === 0 ? 1 : 5);
      else if (what < 6) remove(some);
      else if (what < 7) for (let at = some; at < some + 1_500; at++) remove(at);
      else move(some);
    };
    for (let count = 0; count < 3_000; count++) add(below(4));
    const owner = below(4);
    const met = new Set<number>();
    const walk = graph.walk(owner);
    for (let place = graph.next(walk); place !== undefined; place = graph.next(walk)) {
      const object = all.get(place.at);
      if (object?.owner !== owner) t.fail("a place that is not the owner's was met");
      else met.add(object.id);
      if (below(10) === 0 && last < 60_000) change();
    }
    graph.end(walk);
    const missed = [...all.values()].filter((object) => object.owner === owner && !met.has(object.id));
    if (missed.length > 0) t.fail(`seed ${seed}, round ${round}: ${missed.length} of ${all.size} were not met`);
    const before = [...all.values()].filter((object) => object.owner === owner);
    met.clear();
    const take = (_log: number, at: number): void => void met.add(all.get(at)?.id ?? 0);
    for (const _ of graph.eachOfKinds(new Set([owner]), take)) change();
    const left = new Set([...all.values()].map(({ id }) => id));
    if (before.some(({ id }) => left.has(id) && !met.has(id)) || met.has(0))
      t.fail(`seed ${seed}, round ${round}: kinds`);
    for (const _ of graph.removeLog(1, () => undefined)) add(2);
    if ([1, 3, 5].some((odd) => graph.hasDependents(odd))) t.fail("a log is not removed");
  }
  t.pass();
});

t.test("a reference costs less than 100 bytes, and memory comes back", async (t) => {
  const graph = new OwnerGraph();
  const empty = graph.bytes;
  const count = 100_000;
  let most = 0;
  for (let at = 1; at <= count; at++) {
    graph.add(1, 65_536 + at, at % 1_000, 5);
    if (at >= 10_000) most = Math.max(most, graph.bytes / at);
  }
  t.comment(`${(graph.bytes / count).toFixed(1)} bytes for a reference, at most ${most.toFixed(1)}`);
  t.ok(most < 100, `${most} bytes`);
  const start = threadCpuMs();
  for (let at = 1; at <= count; at++) graph.remove(1, 65_536 + at, () => undefined);
  const ms = calmMs(threadCpuMs() - start, 2_000);
  t.ok(ms < 2_000, `the end of many dependents of one owner is linear: ${ms} ms`);
  t.equal(graph.size, 0);
  t.equal(graph.bytes, empty);
});

t.test("no change takes longer in a graph of a million references", async (t) => {
  const count = 1_000_000;
  const together = 1_000;
  const most = await leastOf(20, () => {
    const graph = new OwnerGraph();
    let mostMs = 0;
    const measure = (change: (at: number) => void): void => {
      for (let at = 0; at < count; ) {
        const start = threadCpuMs();
        for (const end = at + together; at < end; at++) change(at);
        mostMs = Math.max(mostMs, threadCpuMs() - start);
      }
    };
    measure((at) => graph.add(1, at, at % 1_000, 5));
    measure((at) => graph.remove(1, at, () => undefined));
    t.equal(graph.size, 0);
    return mostMs;
  });
  t.comment(`${most.toFixed(1)} ms for ${together} changes at most`);
  t.ok(most <= 20, `${most} ms`);
});
