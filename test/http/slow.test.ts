// Clients that take their time (ATTACKS H04, E16): they are closed, and cost no other client anything.
import t from "tap";
import { fronts, Stand } from "./fronts.ts";
import { codes, Wire } from "./toy.ts";

t.jobs = 8;

const host = "Host: localhost\r\n";
const probe = `GET /probe HTTP/1.1\r\n${host}\r\n`;
/** The node front's bound here; the uWS build has its own of ten seconds, in steps of four. */
const headMsMax = 2_000;

for (const front of fronts.filter(({ secure }) => secure)) {
  t.test(`${front.name} closes clients that stop in the handshake`, { buffered: true }, async (t) => {
    const stand = await Stand.open(front, headMsMax);
    t.teardown(() => stand.close());
    const plain = { port: stand.target.port, ca: undefined };
    const wires = await Promise.all(Array.from({ length: 30 }, () => Wire.open(plain)));
    const hello = Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00]);
    wires.forEach((wire, i) => {
      if (i % 3 === 1) wire.send(hello.subarray(0, 1 + (i % 7)));
      if (i % 3 === 2) wire.send(probe);
    });
    const msMax = front.name === "uws" ? 16_000 : headMsMax + 5_000;
    const closed = await Promise.all(wires.map((wire) => wire.until((w) => w.closed, msMax)));
    t.ok(closed.every(Boolean), "all are closed in time");
    t.notOk(stand.toy.seen.includes("GET /probe"), "nothing is served without TLS");
    const alive = await stand.ask(probe, (w) => w.received.endsWith("/probe"));
    t.same(codes(alive.received), [200], "others are served");
  });
}

for (const front of fronts) {
  t.test(
    `${front.name}${front.secure ? " over TLS" : ""} takes an upload that drips for longer than ten seconds`,
    { buffered: true },
    async (t) => {
      const stand = await Stand.open(front);
      t.teardown(() => stand.close());
      const wire = await stand.wire();
      const pieces = 65;
      wire.send(`POST /echo HTTP/1.1\r\n${host}Content-Length: ${pieces * 10}\r\n\r\n`);
      for (let i = 0; i < pieces && !wire.closed; i++) {
        wire.send("0123456789");
        await new Promise((resolve) => setTimeout(resolve, 200));
      }
      t.ok(await wire.until((w) => w.received.endsWith("0123456789")), "it is answered");
      t.same(codes(wire.received), [200]);
    },
  );

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
    const closed = await Promise.all(wires.map((wire) => wire.until((w) => w.closed, msMax)));
    t.ok(closed.every(Boolean), `${wires.length} closed in time`);
    if (front.name === "node") t.ok(await dripping.until((w) => w.closed, msMax), "a dripping head too");
    clearInterval(drip);
    t.ok(stand.listener.pending <= 0, "nothing is kept for them");
  });
}
