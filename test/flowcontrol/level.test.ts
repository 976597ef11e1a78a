// Levels: who gets seats, who waits, and who is rejected.
import t from "tap";
import type { Clock } from "../../src/base/clock.ts";
import { SeatBoard } from "../../src/flowcontrol/board.ts";
import { Dealer } from "../../src/flowcontrol/dealer.ts";
import { Level, type LevelShape } from "../../src/flowcontrol/level.ts";
import { Seats, SeatWords } from "../../src/flowcontrol/seats.ts";
import { type Flow, HeldSeats, Rejection, Ticket } from "../../src/flowcontrol/ticket.ts";
import { FlowCounts } from "../../src/observe/flowcontrol.ts";
import { draws, fuzzRun } from "../support/random.ts";

const dealer = new Dealer("secret");

const queued: LevelShape = {
  name: "level",
  uid: "",
  isExempt: false,
  seats: 4,
  queues: 16,
  handSize: 4,
  lengthMax: 50,
};

const asking = {
  user: { name: "u", uid: "", groups: [], extra: new Map() },
  asked: {
    verb: "get",
    isResource: false,
    group: "",
    version: "",
    resource: "",
    subresource: "",
    namespace: "",
    name: "",
    path: "/",
  },
};

/** Levels of one name on several fronts, which share their seats, by a clock of the test's. */
class Bench {
  nowMs = 0;
  readonly levels: readonly Level[];
  readonly words: SeatWords;
  readonly board: SeatBoard;
  idle = 0;

  constructor(shape: LevelShape, fronts = 1, waitMsMax = 1_000_000) {
    this.board = new SeatBoard(fronts);
    this.words = new SeatWords(this.board.memory, fronts);
    const clock: Clock = { now: () => this.nowMs, monotonic: () => this.nowMs };
    this.levels = Array.from({ length: fronts }, (_, front) => {
      const level = new Level(shape, new Seats(this.words, front, shape.seats), {
        clock,
        waitMsMax,
        listens: () => undefined,
        idle: () => this.idle++,
      });
      level.seats.share(this.board.open(front, shape.name) ?? -1);
      return level;
    });
  }

  get level(): Level {
    return this.levels[0] as Level;
  }

  get used(): number {
    return this.words.used(this.board.open(0, "level") ?? -1);
  }

  close(): void {
    for (const level of this.levels) level.close();
  }
}

function flowOf(name: string, { queues, handSize }: LevelShape = queued): Flow {
  const hand = queues > 1 ? dealer.deal(name, queues, handSize) : [0];
  return { schema: "schema", distinguisher: name, hand, owner: name, counts: new FlowCounts() };
}

/** What became of a ticket by now. */
async function settled(ticket: Ticket): Promise<HeldSeats | Rejection | undefined> {
  return Promise.race([ticket.outcome, new Promise<undefined>((resolve) => setImmediate(() => resolve(undefined)))]);
}

t.test("a level without queues rejects what finds no seat", (t) => {
  const bench = new Bench({ ...queued, seats: 3, queues: 0, handSize: 0, lengthMax: 0 });
  const flow = flowOf("u");
  const held = [1, 2, 3].map(() => bench.level.enter(flow, 1, asking));
  t.ok(held.every((one) => one instanceof HeldSeats));
  const fourth = bench.level.enter(flow, 1, asking);
  t.same(fourth, new Rejection("concurrency-limit"));
  (held[0] as HeldSeats).release();
  (held[0] as HeldSeats).release();
  t.equal(bench.used, 2, "seats are given back once");
  t.ok(bench.level.enter(flow, 1, asking) instanceof HeldSeats);
  t.equal(flow.counts.rejected["concurrency-limit"], 1);
  t.equal(flow.counts.executing, 3);
  t.end();
});

t.test("requests wait in their queue, run in their order, and leave it when their client does", async (t) => {
  const bench = new Bench({ ...queued, seats: 1, queues: 1, handSize: 1, lengthMax: 2 });
  const flow = flowOf("u", { ...queued, queues: 1 });
  const first = bench.level.enter(flow, 1, asking) as HeldSeats;
  const [second, third] = [bench.level.enter(flow, 1, asking), bench.level.enter(flow, 1, asking)] as Ticket[];
  t.same(bench.level.enter(flow, 1, asking), new Rejection("queue-full"));
  second?.cancel();
  t.same(await settled(second as Ticket), new Rejection("cancelled"));
  const fourth = bench.level.enter(flow, 1, asking) as Ticket;
  first.release();
  const held = (await settled(third as Ticket)) as HeldSeats;
  t.ok(held instanceof HeldSeats);
  t.equal(await settled(fourth), undefined);
  held.release();
  t.ok((await settled(fourth)) instanceof HeldSeats);
  t.same({ ...flow.counts.rejected }, { "queue-full": 1, "concurrency-limit": 0, "time-out": 0, cancelled: 1 });
  bench.close();
});

t.test("a request that waits too long is rejected", async (t) => {
  const bench = new Bench({ ...queued, seats: 1 }, 1, 5);
  const flow = flowOf("u");
  bench.level.enter(flow, 1, asking);
  const ticket = bench.level.enter(flow, 1, asking) as Ticket;
  bench.nowMs = 5;
  t.same(await ticket.outcome, new Rejection("time-out"));
  t.equal(bench.level.waiting, 0);
  bench.close();
});

t.test("a wide request runs when nothing else does, and none overtakes it", async (t) => {
  const bench = new Bench({ ...queued, queues: 1, handSize: 1 });
  const flow = flowOf("u", { ...queued, queues: 1 });
  const small = bench.level.enter(flow, 1, asking) as HeldSeats;
  const wide = bench.level.enter(flow, 10, asking) as Ticket;
  const later = bench.level.enter(flow, 1, asking) as Ticket;
  t.equal(await settled(later), undefined);
  small.release();
  const held = (await settled(wide)) as HeldSeats;
  t.equal(held.width, 10);
  t.equal(bench.used, 10);
  held.release();
  t.ok((await settled(later)) instanceof HeldSeats);
  bench.close();
});

t.test("one owner's requests, however many and slow, leave seats for the next owner's", async (t) => {
  const bench = new Bench({ ...queued, seats: 48, queues: 128, handSize: 6 });
  const heavy = flowOf("heavy");
  const outcomes = Array.from({ length: 100 }, () => bench.level.enter(heavy, 1, asking));
  t.equal(outcomes.filter((one) => one instanceof HeldSeats).length, 32, "two thirds");
  const tickets = outcomes.filter((one) => one instanceof Ticket);
  const light = bench.level.enter(flowOf("light"), 1, asking) as Ticket;
  t.ok((await settled(light)) instanceof HeldSeats, "it starts at once, past those that wait");
  t.equal(await settled(tickets[0] as Ticket), undefined);
  for (const one of outcomes) if (one instanceof HeldSeats) one.release();
  t.ok((await settled(tickets[0] as Ticket)) instanceof HeldSeats);
  bench.close();
});

t.test("a flow that asks now and then goes before one that asks all the time", async (t) => {
  // Too few seats to keep some free: fairness of queues alone.
  const bench = new Bench({ ...queued, seats: 4, queues: 128, handSize: 6, lengthMax: 1_000 });
  const running: HeldSeats[] = [];
  const heavy = flowOf("heavy");
  const waits: Ticket[] = [];
  for (let at = 0; at < 500; at++) {
    const one = bench.level.enter(heavy, 1, asking);
    if (one instanceof HeldSeats) running.push(one);
    else waits.push(one as Ticket);
  }
  for (const ticket of waits) void ticket.outcome.then((held) => held instanceof HeldSeats && running.push(held));
  let all = 0;
  for (let round = 0; round < 50; round++) {
    const light = bench.level.enter(flowOf("light"), 1, asking) as Ticket;
    let held: HeldSeats | Rejection | undefined;
    let releases = 0;
    for (; held === undefined && releases < 10; releases++) {
      bench.nowMs += 100;
      running.shift()?.release();
      held = await settled(light);
    }
    all += releases;
    t.ok(releases <= 7, `round ${round}: after ${releases} requests of the other, which has six queues`);
    (held as HeldSeats).release();
    await settled(light);
  }
  t.ok(all < 150, `${all} requests of the other before 50 of its own, of 400 there were first`);
  bench.close();
});

t.test("fronts take turns while requests wait on several", async (t) => {
  const bench = new Bench({ ...queued, seats: 1, queues: 1, handSize: 1 }, 2);
  const [a, b] = bench.levels as [Level, Level];
  const flow = flowOf("u", { ...queued, queues: 1 });
  let running = a.enter(flow, 1, asking) as HeldSeats;
  const tickets: [string, Ticket][] = [];
  for (let at = 0; at < 10; at++) {
    tickets.push(["a", a.enter(flow, 1, asking) as Ticket], ["b", b.enter(flow, 1, asking) as Ticket]);
  }
  const order: string[] = [];
  for (const [front, ticket] of tickets) {
    void ticket.outcome.then((held) => {
      order.push(front);
      running = held as HeldSeats;
    });
  }
  while (order.length < tickets.length) {
    running.release();
    // Bells: each front looks when another one gave something back.
    for (const level of [a, b, a]) level.pump();
    await new Promise((resolve) => setImmediate(resolve));
  }
  t.equal(order.join("").replaceAll("ab", "").replaceAll("ba", ""), "", order.join(""));
  bench.close();
});

t.test("a front that does not take its turn is passed over, and seats of one that ended are free again", async (t) => {
  const bench = new Bench({ ...queued, seats: 2, queues: 1, handSize: 1 }, 2);
  const [a, b] = bench.levels as [Level, Level];
  const flow = flowOf("u", { ...queued, queues: 1 });
  const held = [a.enter(flow, 1, asking), b.enter(flow, 1, asking)] as HeldSeats[];
  // It never looks at its bell again.
  b.enter(flow, 1, asking);
  const ticket = a.enter(flow, 1, asking) as Ticket;
  held[0]?.release();
  a.pump();
  t.equal(await settled(ticket), undefined, "it is the other front's turn");
  bench.nowMs += 100;
  t.ok((await ticket.outcome) instanceof HeldSeats);
  t.equal(bench.used, 2);
  bench.board.reclaim(1);
  t.equal(bench.used, 1);
  t.ok(a.enter(flow, 1, asking) instanceof HeldSeats);
  bench.close();
});

t.test("a level that is configured no more serves what it has, and says when that is done", async (t) => {
  const bench = new Bench({ ...queued, seats: 1 });
  const flow = flowOf("u");
  const first = bench.level.enter(flow, 1, asking) as HeldSeats;
  const ticket = bench.level.enter(flow, 1, asking) as Ticket;
  bench.level.configure(undefined);
  t.ok(bench.level.isQuiescing);
  first.release();
  const held = (await settled(ticket)) as HeldSeats;
  t.equal(bench.idle, 0);
  held.release();
  t.equal(bench.idle, 1);
  bench.level.configure({ ...queued, seats: 2, queues: 2, handSize: 1 });
  t.notOk(bench.level.isQuiescing);
  bench.close();
});

t.test("a level that gets more seats starts what waits", async (t) => {
  const bench = new Bench({ ...queued, seats: 1 });
  const flow = flowOf("u");
  bench.level.enter(flow, 1, asking);
  const ticket = bench.level.enter(flow, 1, asking) as Ticket;
  bench.level.configure({ ...queued, seats: 2 });
  t.ok((await settled(ticket)) instanceof HeldSeats);
  bench.close();
});

t.test(
  "any arrivals on any fronts: no seat too many, no queue too long, and every request runs or is rejected once",
  async (t) => {
    const { seed, rounds } = fuzzRun(40);
    for (let round = 0; round < rounds; round++) {
      const { next, pick, chance } = draws(seed + round);
      const fronts = 1 + next(3);
      const shape = { ...queued, seats: 1 + next(20), queues: 1 + next(8), handSize: 1, lengthMax: 1 + next(10) };
      const bench = new Bench(shape, fronts);
      const flows = Array.from({ length: 1 + next(6) }, (_, at) => flowOf(`flow-${at}`, shape));
      const running = new Set<HeldSeats>();
      const waiting = new Set<Ticket>();
      let [asked, ended] = [0, 0];
      const take = (held: HeldSeats): void => {
        running.add(held);
        const all = [...running].reduce((sum, { width }) => sum + width, 0);
        if (all > shape.seats && running.size > 1) t.fail(`seed ${seed + round}: ${all} seats of ${shape.seats}`);
      };
      for (let step = 0; step < 300 || running.size + waiting.size > 0; step++) {
        bench.nowMs += next(20);
        const isOver = step >= 300;
        if (!isOver && chance(60)) {
          asked++;
          const outcome = pick(bench.levels).enter(pick(flows), chance(80) ? 1 : 1 + next(10), asking);
          if (outcome instanceof HeldSeats) take(outcome);
          else if (outcome instanceof Rejection) ended++;
          else {
            waiting.add(outcome);
            void outcome.outcome.then((held) => {
              if (!waiting.delete(outcome)) t.fail("settled twice");
              if (held instanceof HeldSeats) take(held);
              else ended++;
            });
          }
        } else if (chance(20) && waiting.size > 0) pick([...waiting]).cancel();
        else if (running.size > 0) {
          const held = pick([...running]);
          running.delete(held);
          held.release();
          ended++;
        }
        for (let look = 0; look < 2; look++) for (const level of bench.levels) level.pump();
        await Promise.resolve();
        for (const level of bench.levels) {
          for (const queue of level.queues.queues)
            if (queue.waiting.size > shape.lengthMax) t.fail("a queue is too long");
        }
        if (step > 20_000) {
          t.fail(`seed ${seed + round}: ${waiting.size} wait, ${running.size} run`);
          break;
        }
      }
      t.equal(ended, asked, `seed ${seed + round}`);
      t.equal(bench.used, 0);
      bench.close();
    }
  },
);
