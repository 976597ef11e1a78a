// Places at other servers: bounded at one, at all, for a user, and by the connections of the front.
import t from "tap";
import type { Owner } from "../../src/base/shares.ts";
import { limits } from "../../src/config/limits.ts";
import { Openings } from "../../src/http/openings.ts";
import { Backends } from "../../src/outbound/backends.ts";

const owner = (name: string): Owner => ({ name, level: "ordinary" });
const connection = { url: "https://127.0.0.1:1", insecure: true };

t.test("enter() takes places until a bound is reached, and gives all of them back", (t) => {
  const backends = new Backends();
  const one = backends.at(connection);
  const taken: (() => void)[] = [];
  for (;;) {
    const place = backends.enter(one, owner("jane"));
    if (typeof place !== "function") {
      t.equal(place, one.calls, "the bound of this one");
      break;
    }
    taken.push(place);
  }
  t.ok(taken.length < limits.passedCallsAtOneMax, `${taken.length} of ${limits.passedCallsAtOneMax}: a share is left`);
  t.type(backends.enter(one, owner("joe")), "function");
  t.type(backends.enter(backends.at({ ...connection, url: "https://127.0.0.1:2" }), owner("jane")), "function");
  for (const leave of taken) leave();
  t.equal(one.calls.heldBy("jane"), 0);
  t.equal(backends.calls.used, 2);
  t.end();
});

t.test("enterLasting() counts among the connections of the front", (t) => {
  const openings = new Openings(16);
  const backends = new Backends(openings.max, () => openings.lend());
  const place = backends.enterLasting(owner("jane"));
  t.equal(openings.open, 1);
  for (let at = openings.open; at < openings.max; at++) openings.opened("10.0.0.1");
  t.equal(backends.enterLasting(owner("joe")), backends.streams, "there is no connection left");
  t.equal(backends.streams.used, 1);
  if (typeof place === "function") place();
  t.equal(openings.open, openings.max - 1);
  t.end();
});

t.test("at() keeps one client for what connects alike, and so many of them", (t) => {
  const backends = new Backends();
  const one = backends.at(connection);
  t.equal(backends.at({ ...connection }), one);
  t.not(backends.at({ ...connection, serverName: "a" }), one);
  t.not(backends.at({ ...connection, authorities: "x" }), one);
  for (let at = 0; at < limits.backendsMax; at++) backends.at({ url: `https://127.0.0.1:${at + 2}`, insecure: true });
  t.not(backends.at(connection), one, "the one used least lately was given up");
  backends.close();
  t.end();
});
