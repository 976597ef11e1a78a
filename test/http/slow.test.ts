// Clients that take their time (ATTACKS H04, E16): they are closed, and cost nobody else anything.
import t from "tap";
import { fronts, Stand } from "./fronts.ts";
import { codes, type Wire } from "./toy.ts";

t.jobs = 8;

const host = "Host: localhost\r\n";
const probe = `GET /probe HTTP/1.1\r\n${host}\r\n`;
/** The node front's bound here; the uWS build has its own of ten seconds, in steps of four. */
const headMsMax = 2_000;

for (const front of fronts) {
  const name = `${front.name}${front.secure ? " over TLS" : ""}`;
  t.test(`${name} closes clients that say nothing or stop in a head`, { buffered: true }, async (t) => {
    const stand = await Stand.open(front, headMsMax);
    t.teardown(() => stand.close());
    const starts = ["", "GET", `GET /a HTTP/1.1\r\n`, `GET /a HTTP/1.1\r\n${host}X: `];
    const wires: Wire[] = [];
    for (let i = 0; i < 40; i++) {
      const wire = await stand.wire();
      wire.send(starts[i % starts.length] as string);
      wires.push(wire);
    }
    const dripping = await stand.wire();
    const drip = setInterval(() => dripping.send("x"), 500);
    dripping.send(`GET /a HTTP/1.1\r\n${host}X: `);
    const before = performance.now();
    const alive = await stand.ask(probe, (w) => w.received.endsWith("/probe"));
    t.same(codes(alive.received), [200], "others are served");
    t.ok(performance.now() - before < 1_000, "at once");
    const msMax = front.name === "uws" ? 16_000 : headMsMax + 5_000;
    // A silent connection without a first byte is idle, not slow: Node closes it after its idle time at the latest.
    const closing = wires.filter((_, i) => front.name === "uws" || i % starts.length !== 0);
    const closed = await Promise.all(closing.map((wire) => wire.until((w) => w.closed, msMax)));
    t.ok(closed.every(Boolean), `${closing.length} closed in time`);
    if (front.name === "node") t.ok(await dripping.until((w) => w.closed, msMax), "a dripping head too");
    clearInterval(drip);
    t.ok(stand.listener.pending <= 0, "nothing is kept for them");
  });
}
