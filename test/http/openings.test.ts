// Connections are bounded: quiet ones by address, all of them per front; a part is kept for those that come.
import { connect } from "node:net";
import t, { type Test } from "tap";
import { networkOf } from "../../src/base/network.ts";
import { Openings } from "../../src/http/openings.ts";
import { until } from "../support/inprocess.ts";
import { fronts, Stand } from "./fronts.ts";
import { codes, type Wire } from "./toy.ts";

t.setTimeout(600_000);

const get = "GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n";

t.test("networkOf() is an IPv4 address, or the part of an IPv6 address that its machine did not choose", async (t) => {
  const table: [string, string][] = [
    ["192.0.2.7", "192.0.2.7"],
    ["::ffff:192.0.2.7", "192.0.2.7"],
    ["0000:0000:0000:0000:0000:ffff:c000:0207", "c000:207"],
    ["2001:db8::1", "2001:db8:0:0"],
    ["2001:0db8:0000:0000:ffff:0000:0000:0002", "2001:db8:0:0"],
    ["2001:db8:0:1::", "2001:db8:0:1"],
    ["1::3:4:5:6:7:8", "1:0:3:4"],
    ["::1", "0:0:0:0"],
    ["", ""],
  ];
  for (const [remote, network] of table) t.equal(networkOf(remote), network, remote);
});

t.test("quiet connections are divided among addresses, and no more are counted than there are", async (t) => {
  const openings = new Openings(40);
  let opened = 0;
  while (openings.opened("192.0.2.1")) opened += 1;
  t.equal(opened, 7, "two thirds of a quarter");
  t.equal(openings.opened("192.0.2.2"), true, "another address has its share");
  t.same([openings.open, openings.quiet.used, openings.refused], [9, 8, 1]);
  // Requests of a connection that is counted no more.
  for (let request = 0; request < 20; request += 1) openings.heard("192.0.2.2");
  t.same([openings.quiet.used, openings.quiet.heldBy("192.0.2.1")], [7, 7]);
  openings.heard("192.0.2.1");
  t.equal(openings.opened("192.0.2.1"), true, "there is room where one asked");
  for (let count = 0; count < 7; count += 1) openings.heard("192.0.2.1");
  for (let count = 0; count < 10; count += 1) openings.closed();
  t.same([openings.open, openings.quiet.used, openings.quiet.owners], [0, 0, 0]);
});

/** Opens connections from an address of this machine that send nothing, and says how many of them stay. */
async function crowd(t: Test, stand: Stand, count: number, localAddress: string): Promise<() => number> {
  let stay = 0;
  const done = Array.from(
    { length: count },
    () =>
      new Promise<void>((resolve) => {
        const socket = connect({ host: "127.0.0.1", port: stand.listener.port, localAddress });
        t.teardown(() => socket.destroy());
        stay += 1;
        socket.on("connect", resolve).on("error", () => {});
        socket.on("close", () => {
          stay -= 1;
          resolve();
        });
        socket.resume();
      }),
  );
  await Promise.all(done);
  return () => stay;
}

for (const front of fronts) {
  const name = `${front.name}${front.secure ? " TLS" : ""}`;

  t.test(`connections that ask nothing take their address's share alone (${name})`, async (t) => {
    const openings = new Openings(40);
    const stand = await Stand.open(front, undefined, undefined, undefined, openings);
    t.teardown(() => stand.close());
    const stay = await crowd(t, stand, 30, "127.0.0.2");
    t.ok(await until(() => openings.refused === 23 && stay() === 7, 20_000), "the others were closed");
    const wire = await stand.wire();
    for (let round = 1; round <= 3; round += 1) {
      wire.send(get);
      t.ok(await wire.until((w) => codes(w.received).length === round), "another address is answered");
    }
    t.equal(openings.quiet.used, 7);
    t.notMatch(wire.received, /connection: close/i);
    wire.cut();
    t.ok(await until(() => openings.open === 7, 20_000));
  });

  t.test(`a front that has many connections ends those that it answered (${name})`, async (t) => {
    const openings = new Openings(8);
    const stand = await Stand.open(front, undefined, undefined, undefined, openings);
    const wires: Wire[] = [];
    // Six are three quarters.
    for (let count = 1; count <= 7; count += 1) {
      const wire = await stand.wire();
      wire.send(get);
      t.ok(await wire.until((w) => codes(w.received).length === 1));
      if (count === 7) t.ok(await wire.until((w) => w.closed), "beyond, an answer is the last one");
      else t.same([openings.open, wire.closed], [count, false]);
      wires.push(wire);
    }
    t.match(wires[6]?.received, /connection: close/i);
    t.ok(await until(() => openings.open === 6, 20_000));
    wires[0]?.send(get);
    t.ok(await wires[0]?.until((w) => codes(w.received).length === 2), "the others go on");
    await stand.close();
    t.ok(await until(() => openings.open === 0 && openings.quiet.used === 0, 20_000), "nothing stays counted");
  });

  t.test(`a connection of a front that has many ends with its answer, however that is sent (${name})`, async (t) => {
    const openings = new Openings(4);
    const stand = await Stand.open(front, undefined, undefined, undefined, openings);
    t.teardown(() => stand.close());
    for (let count = 1; count <= 3; count += 1) {
      (await stand.wire()).send(get.replace("/a", "/never"));
      t.ok(await until(() => stand.toy.seen.length === count, 20_000));
    }
    for (const path of ["/big", "/stream"]) {
      stand.toy.seen.length = 0;
      const wire = await stand.wire();
      wire.send(get.replace("/a", path));
      t.ok(await until(() => stand.toy.seen.length === 1, 20_000));
      stand.toy.streams[0]?.write(Buffer.from("x"));
      stand.toy.streams[0]?.end();
      t.ok(await wire.until((w) => (path === "/big" ? w.bytes > 5_000_000 : w.received.endsWith("0\r\n\r\n"))));
      t.match(wire.received.slice(0, 1_000), /connection: close/i, path);
      wire.send(get);
      t.ok(await wire.until((w) => w.closed), "whatever its client sends");
      t.same(stand.toy.seen, [`GET ${path}`]);
      t.ok(await until(() => openings.open === 3, 20_000));
    }
  });
}
