// The seats of requests under way.
import t from "tap";
import type { Owner } from "../../../src/base/shares.ts";
import { Inflight } from "../../../src/request/call/holdings.ts";

const alice: Owner = { name: "alice", level: "ordinary" };
const bob: Owner = { name: "bob", level: "ordinary" };
const admin: Owner = { name: "admin", level: "masters" };

t.test("Inflight.enter() refuses a user beyond its share, each kind of request for itself", (t) => {
  const inflight = new Inflight(8, 1);
  const seats = Array.from({ length: 4 }, () => inflight.enter("readOnly", alice));
  t.ok(seats.every((seat) => seat !== undefined));
  t.equal(inflight.enter("readOnly", alice), undefined, "a fifth read of one user is refused");
  t.ok(inflight.enter("readOnly", bob), "another user's is not");
  t.ok(inflight.enter("readOnly", admin), "administrators need no seat");
  t.equal(inflight.readOnly.used, 5);
  t.ok(inflight.enter("long", alice), "watches take none");
  t.ok(inflight.enter("mutating", alice), "writes have seats of their own");
  t.equal(inflight.enter("mutating", bob), undefined);
  for (const seat of seats) seat?.();
  t.ok(inflight.enter("readOnly", alice), "a seat that was given back can be taken");
  t.end();
});

t.test("Inflight.enter() without limits refuses no request", (t) => {
  const inflight = new Inflight(0, 0);
  for (let i = 0; i < 1000; i++) if (inflight.enter("mutating", alice) === undefined) t.fail("refused");
  t.end();
});
