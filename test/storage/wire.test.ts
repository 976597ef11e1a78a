import t from "tap";
import type { Outcome } from "../../src/storage/store.ts";
import { ReplyWriter, RequestWriter, readReply, readRequest } from "../../src/storage/wire.ts";
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
