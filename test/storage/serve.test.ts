import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MessageChannel } from "node:worker_threads";
import t from "tap";
import { limits } from "../../src/config/limits.ts";
import type { Tracer, TraceSpans } from "../../src/observe/spans.ts";
import { openLmdb } from "../../src/storage/lmdb/store.ts";
import { PortClient, type QueueLimits } from "../../src/storage/port.ts";
import { type StoreLoop, serveStore } from "../../src/storage/serve.ts";
import { type Outcome, type Record, type Store, StoreError } from "../../src/storage/store.ts";
import { type ChangesRequest, ReplyWriter } from "../../src/storage/wire.ts";
import { HandClock } from "../contract/store.ts";
import { openTracing } from "../observe/tracing.ts";
import { openShared, type SharedStore, sharedTraits } from "../servers/sharedmemory.ts";
import { change, readBody } from "../support/changes.ts";

const root = mkdtempSync(join(tmpdir(), "orch-serve-"));
t.teardown(() => rmSync(root, { recursive: true, force: true }));
let places = 0;
const clock = new HandClock();

interface Rig {
  readonly store: Store;
  readonly loop: StoreLoop;
  readonly published: Record[];
  readonly batches: number[];
  connect(queue?: QueueLimits): PortClient;
}

async function rig(
  wrap: (store: Store) => Store = (store) => store,
  historyMs = 300_000,
  compactionMs = 1000,
  tracer?: Tracer,
): Promise<Rig> {
  const store = wrap(openLmdb({ path: join(root, `store-${places++}`), identity: "orch", clock }));
  const published: Record[] = [];
  const batches: number[] = [];
  const loop = await serveStore({
    store,
    after: 0,
    publish: (records) => published.push(...records),
    historyMs,
    compactionMs,
    observe: ({ changes }) => batches.push(changes),
    tracer,
  });
  const connect = (queue?: QueueLimits): PortClient => {
    const { port1, port2 } = new MessageChannel();
    loop.add(port2);
    return new PortClient(port1, queue);
  };
  return { store, loop, published, batches, connect };
}

function say(outcome: Outcome): string {
  if ("refused" in outcome) return outcome.refused;
  if ("guarded" in outcome) return `guarded ${outcome.guarded}`;
  return "revision" in outcome ? `revision ${outcome.revision}` : `actual ${outcome.actual}`;
}

t.test("commit() of a turn's changes is one transaction and keeps their order", async (t) => {
  const { loop, published, batches, connect } = await rig();
  const client = connect();
  const outcomes = await Promise.all([
    client.commit(change("create", "x", 0, "é")),
    client.commit(change("create", "x", 0, "again")),
    client.commit(change("update", "x", 1, "two")),
    client.commit(change("create", "big", 0, "", 2_000_000)),
    client.commit(change("delete", "x", 2, "three")),
    client.commit(change("create", "y\u{1f600}", 0, "four")),
  ]);
  t.same(outcomes.map(say), ["revision 1", "actual 1", "revision 2", "too-large", "revision 3", "revision 4"]);
  t.same(batches, [6]);
  t.same(
    published.map(({ revision, key }) => [revision, key.slice(21)]),
    [
      [1, "x"],
      [2, "x"],
      [3, "x"],
      [4, "y\u{1f600}"],
    ],
  );
  t.same(
    published.map(({ body }) => readBody(body)),
    [
      { version: "1", value: "é" },
      { version: "2", value: "two" },
      { version: "3", value: "three" },
      { version: "4", value: "four" },
    ],
  );
  t.same(
    published.map(({ selection }) => Buffer.from(selection).toString()),
    ["x", "x", "x", "y\u{1f600}"].map((key) => `selection of ${key}`),
  );
  client.close();
  await loop.stop();
});

t.test("commit() answers after publication, and the changes of all callers have one order", async (t) => {
  const { loop, published, connect } = await rig();
  const clients = [connect(), connect(), connect()];
  const told: number[] = [];
  await Promise.all(
    clients.flatMap((client, c) =>
      Array.from({ length: 8 }, async (_, writer) => {
        let mod = 0;
        for (let i = 0; i < 20; i++) {
          const outcome = await client.commit(change(mod === 0 ? "create" : "update", `${c}/${writer}`, mod, `${i}`));
          if (!("revision" in outcome)) throw new Error(say(outcome));
          mod = outcome.revision;
          told.push(mod);
          if ((published.at(-1) as Record).revision < mod) throw new Error("Acknowledged before published");
        }
      }),
    ),
  );
  t.same(
    published.map(({ revision }) => revision),
    Array.from({ length: 480 }, (_, i) => i + 1),
  );
  t.same(
    told.sort((a, b) => a - b),
    published.map(({ revision }) => revision),
  );
  for (const client of clients) client.close();
  await loop.stop();
});

t.test("commit() says busy when its front's queue is full, by count and by bytes", async (t) => {
  const { loop, connect } = await rig();
  const few = connect({ storeQueueMax: 3, storeQueueBytesMax: 1_000_000 });
  const small = connect({ storeQueueMax: 1000, storeQueueBytesMax: 2500 });
  const fill = async (client: PortClient, name: string): Promise<string[]> =>
    (await Promise.all([1, 2, 3, 4, 5].map((i) => client.commit(change("create", `${name}${i}`, 0, "", 800))))).map(
      say,
    );
  t.same(
    (await fill(few, "a")).map((text) => text.split(" ")[0]),
    ["revision", "revision", "revision", "busy", "busy"],
  );
  t.same(
    (await fill(small, "b")).map((text) => text.split(" ")[0]),
    ["revision", "revision", "busy", "busy", "busy"],
  );
  t.equal(few.queued, 0);
  t.match(say(await few.commit(change("create", "a6", 0))), /revision/, "there is room again");
  few.close();
  small.close();
  await loop.stop();
});

t.test("commit() divides its front's queue among users, by count and by bytes", async (t) => {
  const { loop, connect } = await rig();
  const client = connect({ storeQueueMax: 40, storeQueueBytesMax: 40_000 });
  const commit = async (name: string, key: string, padding: number): Promise<string> =>
    say(await client.commit(change("create", key, 0, "", padding), { name, level: "ordinary" })).split(
      " ",
    )[0] as string;
  const some = (name: string, count: number, padding: number): Promise<string[]> =>
    Promise.all(Array.from({ length: count }, (_, index) => commit(name, `${name}${padding}${index}`, padding)));
  const accepted = async (outcomes: Promise<string[]>): Promise<number> =>
    (await outcomes).filter((outcome) => outcome === "revision").length;
  const [small, large, other] = [some("alice", 30, 1), some("bob", 2, 5_000), some("carol", 1, 1_000)];
  t.equal(await accepted(small), 20, "two thirds of three quarters of the places");
  t.same([await accepted(large), await accepted(other)], [2, 1]);
  const [huge, last] = [some("alice", 9, 5_000), some("bob", 1, 1_000)];
  t.equal(await accepted(huge), 4, "and of the bytes");
  t.equal(await accepted(last), 1);
  t.equal(await accepted(some("bob", 20, 2)), 20, "all was given back");
  client.close();
  await loop.stop();
});

t.test("a store that goes away rejects what waits and refuses what comes", async (t) => {
  const { port1, port2 } = new MessageChannel();
  const client = new PortClient(port1);
  const waiting = [client.commit(change("create", "x", 0)), client.commit(change("create", "y", 0))];
  port2.close();
  for (const promise of waiting) await t.rejects(promise, { name: "StoreError", kind: "unavailable" });
  t.equal(say(await client.commit(change("create", "z", 0))), "unavailable");
});

t.test("stop() commits and answers what is queued", async (t) => {
  const { loop, store, connect } = await rig();
  const client = connect();
  const waiting = [1, 2, 3].map((i) => client.commit(change("create", `k${i}`, 0)));
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  await loop.stop();
  t.same((await Promise.all(waiting)).map(say), ["revision 1", "revision 2", "revision 3"]);
  t.equal(store.revision, 3);
});

t.test("a full disk refuses the batch and the loop goes on", async (t) => {
  let full = true;
  const { loop, connect } = await rig((store) => {
    const commit = store.commit.bind(store);
    store.commit = async (changes) => {
      if (full && changes.length > 0) throw new StoreError("full", "No space left");
      return commit(changes);
    };
    return store;
  });
  const client = connect();
  t.same(await client.commit(change("create", "x", 0)), { refused: "full", message: "No space left" });
  full = false;
  t.equal(say(await client.commit(change("create", "x", 0))), "revision 1");
  client.close();
  await loop.stop();
});

t.test("the loop compacts what has grown old", async (t) => {
  const { loop, store, connect } = await rig(undefined, 0, 5);
  const client = connect();
  let mod = 0;
  for (let i = 0; i < 600; i++) {
    const outcome = await client.commit(change(mod === 0 ? "create" : "update", "x", mod));
    if ("revision" in outcome) mod = outcome.revision;
  }
  t.equal(store.floor, 0);
  clock.time += 20_000;
  const limit = Date.now() + 10_000;
  while (store.floor < mod && Date.now() < limit) await new Promise((resolve) => setTimeout(resolve, 2));
  t.equal(store.floor, 600);
  const left: number[] = [];
  await store.replay((records) => left.push(...records.map(({ revision }) => revision)));
  t.same(left, [600]);
  client.close();
  await loop.stop();
});

t.test("a store that is nearly full drops young history before it refuses changes", async (t) => {
  const path = join(root, `store-${places++}`);
  const store = openLmdb({ path, identity: "orch", clock, mapBytesMax: 4 * 1024 * 1024 });
  const loop = await serveStore({ store, after: 0, publish: () => undefined, compactionMs: 5 });
  const { port1, port2 } = new MessageChannel();
  loop.add(port2);
  const client = new PortClient(port1);
  const limit = Date.now() + 60_000;
  const outcomes: string[] = [];
  const floors = new Set<number>();
  for (let mod = 0; mod < 200; mod++) {
    outcomes.push(say(await client.commit(change(mod === 0 ? "create" : "update", "x", mod, "", 100_000))));
    while (store.nearlyFull && Date.now() < limit) await new Promise((resolve) => setTimeout(resolve, 2));
    floors.add(store.floor);
  }
  t.same(
    outcomes,
    Array.from({ length: 200 }, (_, i) => `revision ${i + 1}`),
  );
  t.ok(store.floor < 195, `the floor rose no further than it had to, to ${store.floor}`);
  t.ok(floors.size > 5, `step by step: ${[...floors].join(", ")}`);
  client.close();
  await loop.stop();
});

t.test("probe() is answered by the store's loop, without a transaction, and not at all when it is gone", async (t) => {
  const { loop, batches, connect } = await rig();
  const client = connect();
  const [outcome] = await Promise.all([client.commit(change("create", "x", 0)), client.probe(), client.probe()]);
  t.equal(say(outcome), "revision 1");
  t.same(batches, [1]);
  await loop.stop();
  await t.rejects(client.probe(), { name: "StoreError" });
});

t.test("changes of prefixes that are not published any more are refused, between those that are made", async (t) => {
  const store = openLmdb({ path: join(root, `store-${places++}`), identity: "orch", clock });
  const published: Record[] = [];
  const expected: string[] = [];
  const loop = await serveStore({
    store,
    after: 0,
    publish: (records) => published.push(...records),
    prefixes: {
      expect: (prefix) => {
        if (prefix === "/registry/gone") return false;
        expected.push(prefix);
        return true;
      },
      settled: (prefix) => {
        t.equal(expected.shift(), prefix);
      },
    },
  });
  const { port1, port2 } = new MessageChannel();
  loop.add(port2);
  const client = new PortClient(port1);
  const gone = "/registry/gone";
  const outcomes = await Promise.all([
    client.commit(change("create", "x", 0, "a", 0, gone)),
    client.commit(change("create", "x", 0, "a")),
    client.commit(change("create", "y", 0, "a", 0, gone)),
    client.commit(change("update", "x", 7, "a")),
    client.commit(change("update", "x", 1, "b")),
  ]);
  t.same(outcomes.map(say), ["no-log", "revision 1", "no-log", "actual 1", "revision 2"]);
  t.same(outcomes[0], { refused: "no-log", message: "Nothing is served from /registry/gone" });
  t.equal(say(await client.commit(change("create", "z", 0, "a", 0, gone))), "no-log", "a batch of nothing else");
  t.same([published.length, expected.length, store.revision], [2, 0, 2]);
  client.close();
  await loop.stop();
});

/** A loop over a store that other servers write, and such a server. */
async function sharedRig(
  overlap: number,
  tracer?: Tracer,
): Promise<{
  loop: StoreLoop;
  store: SharedStore;
  other: SharedStore;
  published: Record[];
  connect(): PortClient;
}> {
  const path = join(root, `store-${places++}`);
  const store = openShared({ path, identity: "orch", clock });
  const other = openShared({ path, identity: "orch", clock });
  const published: Record[] = [];
  const publish = (records: readonly Record[]): void => void published.push(...records);
  const loop = await serveStore({ store, traits: { ...sharedTraits, overlap }, after: 0, publish, tracer });
  const connect = (): PortClient => {
    const { port1, port2 } = new MessageChannel();
    loop.add(port2);
    return new PortClient(port1, undefined, { isShared: true, hasPast: true, overlap });
  };
  return { loop, store, other, published, connect };
}

const turns = async (count = 50): Promise<void> => {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

t.test("changes gather while a message is being committed", async (t) => {
  const { port1, port2 } = new MessageChannel();
  t.teardown(() => port2.close());
  const client = new PortClient(port1);
  const requests: ChangesRequest[] = [];
  port2.on("message", (request: ChangesRequest) => requests.push(request));
  const made: string[] = [];
  const commit = async (name: string): Promise<void> => {
    made.push(`${name} ${say(await client.commit(change("create", name, 0)))}`);
  };
  const answer = (request: ChangesRequest, ...revisions: number[]): void => {
    const reply = new ReplyWriter(request.count);
    for (const [index, revision] of revisions.entries()) reply.put(index, { revision });
    port2.postMessage(reply.take(request.number));
  };
  const until = async (messages: number): Promise<void> => {
    while (requests.length < messages) await new Promise((resolve) => setTimeout(resolve, 1));
  };
  const writing = [commit("a")];
  await until(1);
  writing.push(commit("b"));
  await turns();
  writing.push(commit("c"), commit("d"));
  await turns();
  t.same(
    requests.map(({ count }) => count),
    [1],
    "what would only wait there is not posted",
  );
  answer(requests[0] as ChangesRequest, 1);
  await until(2);
  t.equal(requests[1]?.count, 3, "it goes as one message");
  // Outcomes come by message: one that grew on would have its first changes wait for its last.
  const large = client.commit(change("create", "large", 0, "", limits.gatheredBytesMax));
  await until(3);
  const many = Array.from({ length: limits.gatheredChangesMax + 1 }, (_, index) =>
    client.commit(change("create", `many-${index}`, 0)),
  );
  await until(4);
  t.same(
    requests.slice(2).map(({ count }) => count),
    [1, limits.gatheredChangesMax + 1],
    "a large one and many go at once",
  );
  answer(requests[1] as ChangesRequest, 2, 3, 4);
  answer(requests[2] as ChangesRequest, 5);
  answer(requests[3] as ChangesRequest, ...many.map((_, index) => 6 + index));
  await Promise.all([...writing, large, ...many]);
  t.same(made, ["a revision 1", "b revision 2", "c revision 3", "d revision 4"]);
  client.close();
});

t.test("as many commits are under way as the engine takes, and each outcome goes to its change", async (t) => {
  const overlap = 3;
  const { loop, store, connect } = await sharedRig(overlap);
  // A front has no more messages on their way than the engine has use for.
  const clients = [connect(), connect()] as const;
  const gates = new Map<string, () => void>();
  store.before = ({ key }) => new Promise((resolve) => gates.set(key.slice(21), () => resolve("made")));
  const told: string[] = [];
  const commit = async (name: string): Promise<void> => {
    const client = clients[name < "d" ? 0 : 1];
    told.push(`${name} ${say(await client.commit(change("create", name, 0)))}`);
  };
  const writing: Promise<void>[] = [];
  for (const name of ["a", "b", "c", "d", "e"]) {
    writing.push(commit(name));
    await turns();
  }
  t.same([...gates.keys()], ["a", "b", "c"], "the others wait for one to end");
  t.equal(loop.queued, 2);
  gates.get("c")?.();
  await turns();
  t.same(told, ["c revision 1"]);
  t.same([...gates.keys()], ["a", "b", "c", "d", "e"], "all that was queued is taken by the next");
  t.equal(clients[0].queued + clients[1].queued, 4);
  for (const name of ["e", "b", "a", "d"]) gates.get(name)?.();
  await Promise.all(writing);
  t.same(told.map((text) => text.split(" ")[0]).toSorted(), ["a", "b", "c", "d", "e"]);
  t.equal(new Set(told.map((text) => text.slice(2))).size, 5, "and each has a revision of its own");
  for (const client of clients) {
    t.equal(client.queued, 0);
    client.close();
  }
  await loop.stop();
});

t.test("stop() waits for commits under way, and for what is queued behind them", async (t) => {
  const { loop, store, connect } = await sharedRig(2);
  const clients = [connect(), connect()] as const;
  const gates: (() => void)[] = [];
  store.before = () => new Promise((resolve) => gates.push(() => resolve("made")));
  const writing: Promise<Outcome>[] = [];
  for (const name of ["a", "b", "c"]) {
    writing.push(clients[name === "c" ? 1 : 0].commit(change("create", name, 0)));
    await turns();
  }
  let stopped = false;
  const stopping = loop.stop().then(() => (stopped = true));
  await turns();
  t.notOk(stopped);
  gates[1]?.();
  await turns();
  t.notOk(stopped, "one is under way, and one was queued");
  gates[0]?.();
  await turns();
  gates[2]?.();
  await stopping;
  t.same((await Promise.all(writing)).map(say).toSorted(), ["revision 1", "revision 2", "revision 3"]);
});

t.test("records of other servers are published, and recent() waits for them", async (t) => {
  const { loop, store, other, published, connect } = await sharedRig(4);
  const client = connect();
  const ask =
    (msMax: number): (() => Promise<void>) =>
    async () =>
      void (await client.recent?.(msMax));
  store.pause();
  await other.commit([change("create", "a", 0)]);
  const recent = client.recent?.(60_000);
  await turns();
  t.equal(published.length, 0);
  store.resume();
  t.equal(await recent, 1);
  t.same(
    published.map(({ key }) => key.slice(21)),
    ["a"],
  );
  const { questions } = store;
  t.same(await Promise.all([1, 2, 3].map(() => client.recent?.(60_000))), [1, 1, 1]);
  t.equal(store.questions, questions + 1);
  store.isAway = true;
  await t.rejects(ask(60_000), { name: "StoreError", kind: "unavailable" });
  store.isAway = false;
  store.answering = () => new Promise(() => undefined);
  await t.rejects(ask(5), { name: "StoreError", kind: "unavailable" });
  const lost = t.rejects(ask(60_000), { name: "StoreError", kind: "unavailable" });
  await turns();
  client.close();
  await lost;
  store.answering = undefined;
  await loop.stop();
  await other.close();
});

t.test("recent() has few questions without an answer, whatever comes meanwhile", async (t) => {
  const { loop, store, other } = await sharedRig(4);
  const { port1, port2 } = new MessageChannel();
  loop.add(port2);
  let posted = 0;
  const post = port1.postMessage.bind(port1);
  port1.postMessage = (message: { kind: string }) => {
    if (message.kind === "recent") posted += 1;
    post(message);
  };
  const client = new PortClient(port1, undefined, { isShared: true, hasPast: true, overlap: 1 });
  let release = (): void => undefined;
  store.answering = () => new Promise((resolve) => (release = resolve));
  const asked: Promise<number | undefined>[] = [];
  for (let turn = 0; turn < 20; turn += 1) {
    asked.push(client.recent?.(60_000) ?? Promise.resolve(undefined));
    await turns(2);
  }
  t.equal(posted, limits.recentQuestionsMax);
  store.answering = undefined;
  release();
  t.same(new Set(await Promise.all(asked)), new Set([0]));
  t.equal(posted, limits.recentQuestionsMax + 1, "the others shared one");
  client.close();
  await loop.stop();
  await other.close();
});

t.test("what a shared store does not know of a change is told, and nothing is compacted for its sake", async (t) => {
  const { loop, store, connect } = await sharedRig(4);
  const client = connect();
  store.before = () => "made in doubt";
  t.match(await client.commit(change("create", "a", 0)), { refused: "in-doubt" });
  store.before = () => "unavailable";
  t.match(await client.commit(change("create", "b", 0)), { refused: "unavailable" });
  store.before = undefined;
  const commit = store.commit.bind(store);
  store.commit = async (changes) => {
    if (changes.length > 0) throw new StoreError("full", "No space left");
    return commit(changes);
  };
  t.same(await client.commit(change("create", "x", 0)), { refused: "full", message: "No space left" });
  await turns();
  t.equal(store.floor, 0, "other servers may read the history");
  client.close();
  await loop.stop();
});

t.test("a change of a sampled request has spans of its wait and its commit, within that request", async (t) => {
  const { tracer, spans, flush } = openTracing();
  const { loop, connect } = await rig(undefined, undefined, undefined, tracer);
  const client = connect();
  const trace = tracer.begin();
  await Promise.all([
    client.commit(change("create", "a", 0)),
    client.commit({ ...change("create", "b", 0), spans: trace }),
    client.commit(change("create", "c", 0)),
  ]);
  flush();
  t.same(
    spans.map(({ name, traceId, parentId }) => [name, traceId, parentId]),
    ["store queue", "store commit"].map((name) => [name, trace?.own.traceId, trace?.own.spanId]),
  );
  const [queue, commit] = spans;
  t.same(commit?.attributes, [["store.changes", 3]]);
  t.ok((queue?.startMs ?? 0) <= (queue?.endMs ?? 0));
  t.ok(Math.abs((queue?.endMs ?? 0) - (commit?.startMs ?? 0)) < 0.01, "the commit begins where the wait ends");
  client.close();
  await loop.stop();
});

t.test(
  "a question to a shared store is asked for the first request, and the others show that they waited",
  async (t) => {
    const { tracer, spans, flush } = openTracing();
    const { loop, store, other, connect } = await sharedRig(4, tracer);
    const client = connect();
    const [first, second] = [tracer.begin(), tracer.begin()];
    const asked: unknown[] = [];
    const ask = store.currentRevision.bind(store);
    store.currentRevision = (of?: TraceSpans) => {
      asked.push(of?.own);
      return ask();
    };
    await Promise.all([first, second, undefined].map((of) => client.recent?.(60_000, of)));
    await client.recent?.(60_000);
    t.same(asked, [first?.own, undefined]);
    first?.end("first", 2, [], false);
    second?.end("second", 2, [], false);
    flush();
    t.match(
      spans.filter(({ name }) => name === "wait for the newest revision"),
      [{ traceId: second?.own.traceId, link: first?.own }],
    );
    client.close();
    await loop.stop();
    await other.close();
  },
);
