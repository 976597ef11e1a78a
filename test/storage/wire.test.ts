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
  ];
  const writer = new RequestWriter();
  for (const round of [1, 2]) {
    for (const one of changes) writer.add(one);
    t.equal(writer.count, changes.length);
    const read = readRequest(structuredClone(writer.take()));
    const plain = (one: (typeof read)[number]) => ({
      ...one,
      selection: Buffer.from(one.selection),
      body: Buffer.from(one.body),
    });
    t.same(read.map(plain), changes.map(plain), `round ${round}`);
  }
  t.same(readRequest(writer.take()), []);
});

t.test("add() copies: the caller may use its bytes again", async (t) => {
  const writer = new RequestWriter();
  const one = change("create", "a", 0, "kept");
  writer.add(one);
  one.body.fill(0);
  t.match(Buffer.from(readRequest(writer.take())[0]?.body ?? []).toString(), /kept/);
});

t.test("readReply() gives the outcomes that were added", async (t) => {
  const outcomes: Outcome[] = [
    { revision: Number.MAX_SAFE_INTEGER },
    { actual: 0 },
    { refused: "full", message: "no space" },
    { actual: 7 },
    { refused: "too-large", message: "" },
    { refused: "invalid-key", message: "key" },
    { refused: "busy", message: "b" },
    { refused: "unavailable", message: "u" },
    { revision: 1 },
  ];
  const writer = new ReplyWriter(outcomes.length);
  for (const outcome of outcomes) {
    t.notOk(writer.complete);
    writer.add(outcome);
  }
  t.ok(writer.complete);
  t.throws(() => writer.add({ actual: 1 }), { name: "SharedStateFailure" });
  t.same(readReply(structuredClone(writer.take())), outcomes);
});
