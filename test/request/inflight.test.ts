// The limit on requests under way.
import t from "tap";
import { Inflight } from "../../src/request/inflight.ts";

const alice = { name: "alice", uid: "", groups: ["system:authenticated"], extra: new Map() };
const admin = { ...alice, groups: ["system:masters"] };

t.test("Inflight.enter() refuses beyond its limits, each kind for itself", (t) => {
  const inflight = new Inflight(2, 1);
  const first = inflight.enter("readOnly", alice);
  const second = inflight.enter("readOnly", alice);
  t.ok(first);
  t.ok(second);
  t.equal(inflight.enter("readOnly", alice), undefined, "a third read is refused");
  t.ok(inflight.enter("readOnly", admin), "administrators are not");
  t.ok(inflight.enter("long", alice), "watches do not count");
  t.ok(inflight.enter("mutating", alice), "writes have places of their own");
  t.equal(inflight.enter("mutating", alice), undefined);
  first?.();
  second?.();
  t.ok(inflight.enter("readOnly", alice), "a place that was given back can be taken");
  t.end();
});

t.test("Inflight.enter() without limits refuses nobody", (t) => {
  const inflight = new Inflight(0, 0);
  for (let i = 0; i < 1000; i++) if (inflight.enter("mutating", alice) === undefined) t.fail("refused");
  t.end();
});
