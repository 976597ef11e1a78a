// CPU of what flow control adds to a request: finding its schema, taking and giving back its seats.
// `node dist/perf/micro/flowcontrol.js [rounds]` prints one JSON line per case, `flowcontrol/<what>`, with the best and the
// median of nine runs. Expected: below 2 us.
import type { User } from "../../src/api/user.ts";
import type { Question } from "../../src/authz/authorizer.ts";
import { FlowControl } from "../../src/flowcontrol/flowcontrol.ts";
import { SeatWords, seatsMemory } from "../../src/flowcontrol/seats.ts";
import { Shedding } from "../../src/flowcontrol/shedding.ts";
import { flowMeter } from "../../src/observe/flowcontrol.ts";
import { Registry } from "../../src/observe/metrics.ts";
import { openInProcess } from "../../test/support/inprocess.ts";

const rounds = Number(process.argv[2] ?? 200_000);
const runs = 9;

const server = await openInProcess();
const { scheme, objects } = server;
const registry = new Registry();
const flow = new FlowControl({
  scheme,
  objects,
  clock: server.server.clock,
  seats: 600,
  readOnlyMax: 400,
  mutatingMax: 200,
  waitMsMax: 15_000,
  secret: "x",
  words: new SeatWords(seatsMemory(2), 2),
  front: 0,
  meter: (levels, kinds) => flowMeter(registry, levels, kinds),
  openSlot: () => undefined,
  closeSlot: () => undefined,
});
for (const [at, { shape }] of [...flow.levels].entries()) flow.slotted(shape.name, at);
const nothing = (): void => undefined;
const asked: Question = {
  verb: "get",
  isResource: true,
  group: "",
  version: "v1",
  resource: "configmaps",
  subresource: "",
  namespace: "default",
  name: "x",
  path: "/api/v1/namespaces/default/configmaps/x",
};

function userOf(name: string, ...groups: string[]): User {
  return { name, uid: "", groups: [...groups, "system:authenticated"], extra: new Map() };
}

function once(user: User, of: Question): void {
  const placement = flow.classify(user, of);
  const seat = flow.seat(placement, user, of, user.name, "readOnly", 1);
  if (seat.take(nothing) !== true) throw new Error("There is a seat");
  seat.release();
}

function measure(name: string, round: () => void): void {
  const times: number[] = [];
  for (let run = 0; run < runs + 2; run += 1) {
    // CPU rather than wall time: the machine may be busy with others.
    const start = process.cpuUsage();
    for (let at = 0; at < rounds; at += 1) round();
    const { user, system } = process.cpuUsage(start);
    times.push((user + system) / rounds);
  }
  // The first two runs warm up.
  const sorted = times.slice(2).sort((a, b) => a - b);
  const rounded = (value: number | undefined): number => Math.round((value ?? 0) * 100) / 100;
  const figures = { usBest: rounded(sorted[0]), usMedian: rounded(sorted[runs >> 1]) };
  console.log(JSON.stringify({ case: `flowcontrol/${name}`, ...figures }));
}

const [admin, node, account, plain] = [
  userOf("admin", "system:masters"),
  userOf("system:node:n", "system:nodes"),
  userOf("system:serviceaccount:default:a", "system:serviceaccounts", "system:serviceaccounts:default"),
  userOf("u"),
];
measure("exempt", () => once(admin, asked));
measure("node", () => once(node, asked));
measure("service account", () => once(account, asked));
measure("user", () => once(plain, asked));
measure("new user object", () => once(userOf("u"), asked));
/** A list that shedding counts, or refuses while the loop is late. */
function counted(shedding: Shedding): void {
  const of = { owner: { name: "u", level: "ordinary" }, level: "global-default" } as const;
  if (!shedding.sheds({ ...of, isLate: false, isHeavy: true, cost: 1 })) shedding.served(of.owner, 1_000);
}
let nowMs = 0;
const shedding = new Shedding({ limitMs: 500, now: () => nowMs, shed: nothing, turned: nothing });
measure("shedding, no lag", () => counted(shedding));
for (let at = 0; at < 40; at += 1) {
  nowMs += 1_000;
  for (let of = 0; of < 1_000; of += 1) counted(shedding);
  shedding.looked(1_000);
}
measure("shedding, late", () => counted(shedding));
for (let at = 0; at < 1_000; at += 1)
  shedding.sheds({ owner: { name: `u${at}`, level: "ordinary" }, level: "l", isLate: false, isHeavy: true, cost: 50 });
measure("look at 1,000 owners, late", () => shedding.looked(1_000));
measure("classify", () => void flow.classify(plain, asked));
flow.close();
server.close();
