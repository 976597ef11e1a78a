// What a late front refuses: from looks at the lag, by an injected clock, to who loses how much.
import t from "tap";
import type { Owner } from "../../src/base/shares.ts";
import { limits } from "../../src/config/limits.ts";
import { isLate, isSheddable, Shedding } from "../../src/flowcontrol/shedding.ts";

const limitMs = 500;
const lookMs = 250;

/** What users ask in each look, and what came of it. */
class Front {
  nowMs = 0;
  readonly levels: string[] = [];
  readonly turns: string[] = [];
  readonly shedding = new Shedding({
    limitMs,
    now: () => this.nowMs,
    shed: (level) => this.levels.push(level),
    turned: (begins, _lagMs, owner) => this.turns.push(`${begins ? "begins" : "ends"} ${owner}`),
  });

  constructor(aheadMs: number = limits.shedGraceMs) {
    this.nowMs = aheadMs;
  }

  /** Requests of a user that are refused. */
  ask(
    name: string,
    count: number,
    { isHeavy = false, isLate = false, cost = 1, bytes = 0 }: Partial<Ask> = {},
  ): number {
    const owner: Owner = { name, level: "ordinary" };
    let shed = 0;
    for (let at = 0; at < count; at++) {
      if (this.shedding.sheds({ owner, level: "global-default", isLate, isHeavy, cost })) shed++;
      else this.shedding.served(owner, bytes);
    }
    return shed;
  }

  /** Looks of one lag; `ask` is called before each. Returns what it adds up to. */
  looks(count: number, lagMs: number, ask: () => number = () => 0): number {
    let sum = 0;
    for (let at = 0; at < count; at++) {
      sum += ask();
      this.nowMs += Math.max(lookMs, lagMs);
      this.shedding.looked(lagMs);
    }
    return sum;
  }
}

interface Ask {
  readonly isHeavy: boolean;
  readonly isLate: boolean;
  readonly cost: number;
  readonly bytes: number;
}

t.test("nothing is shed without lag, by pauses, or just after the start", (t) => {
  const busy = new Front();
  t.equal(
    busy.looks(100, 200, () => busy.ask("u", 10_000, { isHeavy: true })),
    0,
    "however much is asked",
  );
  const pauses = new Front();
  const collects = (): number => pauses.looks(1, 100) + pauses.looks(7, 5, () => pauses.ask("u", 100));
  for (let at = 0; at < 50; at++) t.equal(collects(), 0);
  t.equal(pauses.looks(1, 30_000), 0);
  t.equal(pauses.shedding.pressure, 0, "one pause, however long");
  for (let at = 0; at < 20; at++) pauses.looks(1, 1_000) + pauses.looks(8, 5);
  t.same([pauses.shedding.pressure, pauses.turns], [0, []], "nor many long ones with time in between");
  const young = new Front(0);
  young.looks(Math.floor(limits.shedGraceMs / 2_000), 2_000);
  t.equal(young.shedding.pressure, 0);
  young.looks(20, 2_000);
  t.ok(young.shedding.pressure > 0, "later it counts");
  t.end();
});

t.test("one abusive user loses, first a part and at last nearly all, and others lose nothing", (t) => {
  const front = new Front();
  const others = (): number =>
    front.ask("a", 3) + front.ask("b", 1, { isHeavy: true, cost: 10 }) + front.ask("c", 20, { bytes: 1_000 });
  let shedOfOthers = 0;
  const abuse = (): number => {
    shedOfOthers += others();
    return front.ask("abuser", 1_000);
  };
  front.looks(20, 0, abuse);
  front.looks(3, 600, abuse);
  t.equal(front.levels.length, 0, "not at once");
  const parts = Array.from({ length: 12 }, () => front.looks(4, 600, abuse) / 4_000);
  t.comment(parts.map((part) => part.toFixed(2)).join(" "));
  for (const [at, part] of parts.entries()) t.ok(part >= (parts[at - 1] ?? 0) - 0.02, "more the longer it lasts");
  t.ok(
    parts.some((part) => part > 0.05 && part < 0.5),
    "gradually",
  );
  t.ok((parts.at(-1) ?? 0) > 0.85, "nearly all at last");
  t.equal(shedOfOthers, 0);
  t.same(new Set(front.levels), new Set(["global-default"]));
  t.same(front.turns, ["begins abuser"]);
  t.end();
});

t.test("users who ask alike lose alike", (t) => {
  const front = new Front();
  const shed = [0, 0, 0];
  const asks = (): number => {
    for (const at of shed.keys()) (shed[at] as number) += front.ask(`u${at}`, 200);
    return 0;
  };
  front.looks(45, 600, asks);
  const [least, most] = [Math.min(...shed), Math.max(...shed)];
  t.ok(least > 500, `${shed.join()} are shed`);
  t.ok(most - least <= 0.02 * most, `${shed.join()} are shed`);
  t.end();
});

t.test("lists and watches of a user go before its other requests", (t) => {
  const front = new Front();
  const shed = { heavy: 0, light: 0 };
  const asks = (): number => {
    shed.heavy += front.ask("u", 100, { isHeavy: true, cost: 2 });
    shed.light += front.ask("u", 200);
    return 0;
  };
  front.looks(13, 600, asks);
  t.ok(shed.heavy > 50, `${shed.heavy} lists`);
  t.equal(shed.light, 0);
  front.looks(20, 600, asks);
  t.ok(shed.light > 1_000, `${shed.light} other requests when it goes on`);
  t.end();
});

t.test("bytes of answers cost, and refused requests cost as much as those that were served", (t) => {
  const front = new Front();
  const shed = { lists: 0, reads: 0 };
  const asks = (): number => {
    shed.lists += front.ask("lists", 10, { isHeavy: true, bytes: 20e6 });
    shed.reads += front.ask("reads", 60);
    return 0;
  };
  front.looks(60, 600, asks);
  t.ok(shed.lists > 200, `${shed.lists} lists are shed`);
  t.equal(shed.reads, 0, "who is lighter stays so while the other is refused");
  t.end();
});

t.test("components of the control plane are shed last, and only their lists and watches", (t) => {
  const front = new Front();
  const shed = { ordinary: 0, lists: 0, changes: 0 };
  const asks = (): number => {
    shed.ordinary += front.ask("u", 200, { isHeavy: true });
    shed.lists += front.ask("c", 200, { isHeavy: true, isLate: true });
    shed.changes += front.ask("c", 50, { isLate: true });
    return 0;
  };
  while (front.shedding.pressure < 0.7) front.looks(1, 600, asks);
  t.ok(shed.ordinary > 500, `${shed.ordinary} are shed`);
  t.same([shed.lists, shed.changes], [0, 0]);
  front.looks(20, 600, asks);
  t.ok(shed.lists > 500, `${shed.lists} lists are shed`);
  t.equal(shed.changes, 0);
  t.end();
});

t.test("it goes on until the lag is down, and ends", (t) => {
  const front = new Front();
  const asks = (): number => front.ask("u", 200);
  front.looks(30, 600, asks);
  const { pressure } = front.shedding;
  t.ok(pressure > 0.5);
  front.looks(20, 0.8 * limitMs, asks);
  t.ok(front.shedding.pressure >= pressure, "below the limit is not yet down");
  const shed = front.looks(8, 20, asks);
  t.ok(shed > 0, "what is shed becomes less");
  t.ok(front.shedding.pressure < pressure);
  front.looks(60, 20, asks);
  t.equal(front.shedding.pressure, 0);
  t.equal(front.looks(10, 20, asks), 0, "until it is nothing");
  t.same(front.turns, ["begins u", "ends u"]);
  t.end();
});

t.test("lag that users have no part in does not shut them out", (t) => {
  const front = new Front();
  const seconds = 40;
  let [shed, asked] = [0, 0];
  front.looks(seconds, 1_000, () => {
    asked += 20;
    shed += front.ask("a", 10) + front.ask("b", 10, { isHeavy: true });
    return 0;
  });
  t.ok(front.shedding.pressure > 0.9);
  t.equal(shed, 0, `of ${asked}, in ${seconds} s`);
  t.end();
});

t.test("owners that are known are bounded, and a heavy one among many is cut", (t) => {
  const front = new Front();
  let shed = 0;
  let next = 0;
  front.looks(40, 600, () => {
    for (let at = 0; at < 400; at++) front.ask(`u${next++}`, 1);
    shed += front.ask("abuser", 500);
    return 0;
  });
  t.ok(front.shedding.owners <= limits.shedOwnersMax);
  t.ok(shed > 4_000, `${shed} are shed`);
  front.looks(400, 0);
  t.equal(front.shedding.owners, 0, "nothing is kept of who is gone");
  t.end();
});

t.test("isSheddable() leaves heartbeats, leader election, nodes and administrators alone", (t) => {
  const owner = (level: Owner["level"]): Owner => ({ name: "u", level });
  const rows: [level: string, isExempt: boolean, owner: Owner["level"], sheddable: boolean, late: boolean][] = [
    ["exempt", true, "ordinary", false, false],
    ["made-by-hand", true, "ordinary", false, false],
    ["leader-election", false, "system", false, true],
    ["node-high", false, "system", false, true],
    ["system", false, "system", false, true],
    ["global-default", false, "masters", false, false],
    ["global-default", false, "election", false, false],
    ["global-default", false, "ordinary", true, false],
    ["workload-low", false, "ordinary", true, false],
    ["workload-high", false, "system", true, true],
    ["workload-high", false, "ordinary", true, true],
    ["catch-all", false, "ordinary", true, false],
    // Without flow control the level is the owner's.
    ["ordinary", false, "ordinary", true, false],
    ["election", false, "election", false, false],
    ["masters", false, "masters", false, false],
  ];
  for (const [level, isExempt, of, sheddable, late] of rows) {
    t.equal(isSheddable(level, isExempt, owner(of)), sheddable, `${level} ${of}`);
    t.equal(isLate(level, owner(of)), late, `${level} ${of}`);
  }
  t.end();
});
