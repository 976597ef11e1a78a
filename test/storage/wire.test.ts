import t from "tap";
import type { Outcome } from "../../src/storage/store.ts";
import { ReplyWriter, RequestWriter, readReply, readRequest } from "../../src/storage/wire.ts";
import { openTracing } from "../observe/tracing.ts";
import { change } from "../support/changes.ts";

t.test("readRequest() gives the changes that were added", async (t) => {
  const changes = [
    change("create", "a", 0),
    change("update", "é\u{1f600}", Number.MAX_SAFE_INTEGER, "value", 100_000),
    { ...change("delete", "k".repeat(70_000), 2 ** 40), selection: new Uint8Array(0) },
    change("create", "", 0, "", 0, ""),
    { ...change("create", "b", 0), guard: { key: "/registry/namespaces/é", revision: Number.MAX_SAFE_INTEGER } },
    { ...change("create", "c", 0), guard: { key: "/registry/namespaces/c", revision: 0 } },
  ];
  const writer = new RequestWriter();
  for (const round of [1, 2]) {
    for (const one of changes) writer.add(one);
    t.equal(writer.count, changes.length);
    const read = readRequest(structuredClone(writer.take(1)));
    const plain = (one: (typeof read)[number]) => ({
      ...one,
      guard: one.guard,
      selection: Buffer.from(one.selection),
      body: Buffer.from(one.body),
    });
    t.same(read.map(plain), changes.map(plain), `round ${round}`);
  }
  t.same(readRequest(writer.take(1)), []);
});

t.test("add() copies: the caller may use its bytes again", async (t) => {
  const writer = new RequestWriter();
  const one = change("create", "a", 0, "kept");
  writer.add(one);
  one.body.fill(0);
  t.match(Buffer.from(readRequest(writer.take(1))[0]?.body ?? []).toString(), /kept/);
});

t.test("a change of a request that is sampled names its span behind its bytes, another takes no byte more", (t) => {
  const { tracer, spans, flush } = openTracing();
  const trace = tracer.begin();
  const guard = { key: "/registry/namespaces/a", revision: 7 };
  const [plain, guarded] = [change("create", "a", 0, "1"), { ...change("create", "b", 0, "2"), guard }];
  const writer = new RequestWriter();
  const sizes = [plain, guarded].map((one) => writer.add(one));
  t.equal(writer.add({ ...plain, spans: trace }), (sizes[0] ?? 0) + 24);
  t.equal(writer.add({ ...guarded, spans: trace }), (sizes[1] ?? 0) + 24);
  writer.add(plain);
  const request = structuredClone(writer.take(1));
  const read = readRequest(request, (parent) => tracer.within(parent));
  t.same(
    read.map(({ spans: of }) => of?.own),
    [undefined, undefined, trace?.own, trace?.own, undefined],
  );
  const same = [plain, guarded, plain, guarded, plain];
  t.same(
    read.map(({ key, type, guard: by, body }) => [key, type, by, Buffer.from(body).toString()]),
    same.map(({ key, type, guard: by, body }) => [key, type, by, body.toString()]),
  );
  t.same(
    readRequest(request).map(({ spans: of, key }) => [of, key]),
    same.map(({ key }) => [undefined, key]),
    "a store thread that traces nothing reads it all the same",
  );
  read[2]?.spans?.stage("store commit", 0, 1);
  flush();
  t.match(spans, [{ name: "store commit", traceId: trace?.own.traceId, parentId: trace?.own.spanId }]);
  t.end();
});

t.test("one request hands on so many changes to be traced, and no more", (t) => {
  const { tracer } = openTracing();
  const trace = tracer.begin();
  const writer = new RequestWriter();
  for (let index = 0; index < 200; index++) {
    const spans = index % 2 === 0 ? trace : trace?.begin("a write").spans();
    writer.add({ ...change("create", String(index), 0), spans });
  }
  const read = readRequest(writer.take(1), (parent) => tracer.within(parent));
  t.equal(read.length, 200);
  t.equal(read.filter(({ spans }) => spans !== undefined).length, 128);
  t.end();
});

t.test("readReply() gives the outcomes that were added", async (t) => {
  const outcomes: Outcome[] = [
    { revision: Number.MAX_SAFE_INTEGER },
    { actual: 0 },
    { refused: "full", message: "no space" },
    { actual: 7 },
    { guarded: 0 },
    { guarded: 12 },
    { refused: "too-large", message: "" },
    { refused: "invalid-key", message: "key" },
    { refused: "busy", message: "b" },
    { refused: "not-encrypted", message: "n" },
    { refused: "unavailable", message: "u" },
    { refused: "in-doubt", message: "d" },
    { revision: 1 },
  ];
  const writer = new ReplyWriter(outcomes.length);
  // In any order: commits overlap.
  for (const [index, outcome] of [...outcomes.entries()].toReversed()) {
    t.notOk(writer.complete);
    t.throws(() => writer.put(outcomes.length, outcome), { name: "SharedStateFailure" });
    writer.put(index, outcome);
    t.throws(() => writer.put(index, outcome), { name: "SharedStateFailure" });
  }
  t.ok(writer.complete);
  const reply = structuredClone(writer.take(7));
  t.equal(reply.number, 7);
  t.same(readReply(reply), outcomes);
});
