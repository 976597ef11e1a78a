// What one user's watches may hold of a front.
import t from "tap";
import { isStatus } from "../../../src/api/status.ts";
import type { Owner } from "../../../src/base/shares.ts";
import { selectionTerms, WatchBounds } from "../../../src/request/watch/watchbounds.ts";
import { selectorOf } from "../../support/fakefront.ts";
import { openInProcess, until } from "../../support/inprocess.ts";

const alice: Owner = { name: "alice", level: "ordinary" };
const bob: Owner = { name: "bob", level: "ordinary" };

function manyTerms(number: number): string {
  return Array.from({ length: 400 }, (_, index) => `k${index}!=v${number}`).join(",");
}

t.test("selectionTerms() charges nothing for what is found by hash", (t) => {
  const table: [string, string, number][] = [
    ["", "", 0],
    ["app=a", "", 0],
    ["", "spec.nodeName=n1", 0],
    ["app!=a", "", 11],
    ["app", "", 11],
    ["app in (a,b,c)", "", 13],
    ["app=a,tier=b", "", 12],
    ["app=a", "spec.nodeName=n1", 12],
    ["", "status.phase!=Failed", 11],
  ];
  for (const [labels, fields, terms] of table)
    t.equal(selectionTerms(selectorOf(labels, fields)), terms, labels + fields);
  t.end();
});

t.test("WatchBounds.open() refuses a user's watches of many terms and lets another user's through", (t) => {
  const bounds = new WatchBounds();
  const opened: (() => void)[] = [];
  let refused: unknown;
  for (let number = 0; number < 400 && refused === undefined; number += 1) {
    const held = bounds.open(alice, "pods", selectorOf(manyTerms(number), ""));
    if (isStatus(held)) refused = held;
    else opened.push(held);
  }
  t.match(refused, {
    code: 429,
    message: /^too many selector terms of watches: user "alice" holds \d+, .* at most 50000/,
  });
  t.ok(opened.length > 20, `${opened.length} are open`);
  t.equal(bounds.watches.used, opened.length, "what was refused holds nothing");
  t.notOk(isStatus(bounds.open(alice, "pods", selectorOf(manyTerms(0), ""))), "the same selector is free");
  t.notOk(isStatus(bounds.open(alice, "pods", selectorOf("app=a", ""))), "and so is one equality");
  t.notOk(isStatus(bounds.open(bob, "pods", selectorOf(manyTerms(0), ""))));
  const before = bounds.terms.used;
  for (const end of opened) end();
  for (const end of opened) end();
  t.equal(bounds.terms.used, before - (opened.length - 1) * 410, "the selector another watch has stays");
  t.end();
});

t.test("a user's watches are counted from their start to their end", async (t) => {
  const server = await openInProcess("kubernetes");
  t.teardown(() => server.close());
  const { watches } = server.server.bounds;
  server.user = { name: "alice", uid: "", groups: [], extra: new Map() };
  const path = "/api/v1/namespaces/default/pods?watch=1&labelSelector=a!%3Db,c!%3Dd";
  const answers = [server.call("GET", path), server.call("GET", path), server.call("GET", "/api/v1/pods?watch=1")];
  t.ok(await until(() => watches.watches.heldBy("alice") === 3));
  t.equal(watches.terms.heldBy("alice"), 12);
  t.equal((await server.call("GET", `${path}&resourceVersion=x`)).code, 400);
  await server.fanout.closeAll(1e9);
  await Promise.all(answers);
  t.equal(watches.watches.used, 0);
  t.equal(watches.terms.used, 0);
});
