// Connections that carry no further request: behind a head that asks for another protocol, behind a streamed answer to a
// chunked request, and behind a body whose length was hidden (ATTACKS F17, F18).
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import t, { type Test } from "tap";
import type { AnswerStream } from "../../src/request/exchange/transport.ts";
import { until } from "../support/inprocess.ts";
import { type FrontUnderTest, fronts, Stand } from "./fronts.ts";
import { codes } from "./toy.ts";

t.jobs = 4;

const host = "Host: localhost\r\n";
const upgrade = `${host}Connection: Upgrade\r\nUpgrade: websocket\r\n`;
const probe = (path: string): string => `GET ${path} HTTP/1.1\r\n${host}\r\n`;

/** The build of the uws front leaves a connection that is spent to its idle timer, which ticks in steps of four seconds. */
const spentMsMax = 20_000;

for (const front of fronts) {
  const name = `${front.name}${front.secure ? " over TLS" : ""}`;
  t.test(`${name} runs nothing behind a head that asks for another protocol`, (t) => behindUpgrades(t, front));
  t.test(`${name} runs nothing behind a streamed answer to a chunked request`, (t) => behindStream(t, front));
  t.test(`${name} runs nothing behind a long last answer, or one without a body`, (t) => behindWhole(t, front));
  if (!front.secure) {
    t.test(`${name} runs nothing behind a streamed answer that its peer was slow to take`, (t) =>
      behindSlowStream(t, front),
    );
  }
  t.test(`${name} runs no body of hidden length as a request`, (t) => behindHidden(t, front));
}

async function behindUpgrades(t: Test, front: FrontUnderTest): Promise<void> {
  const stand = await Stand.open(front);
  t.teardown(() => stand.close());
  for (const head of [
    `GET /up HTTP/1.1\r\n${upgrade}\r\n`,
    `GET /late HTTP/1.1\r\n${upgrade}\r\n`,
    `POST /echo HTTP/1.1\r\n${upgrade}Content-Length: 2\r\n\r\nab`,
    `GET /up HTTP/1.1\r\n${host}Upgrade: h2c\r\n\r\n`,
  ]) {
    const once = await stand.wire();
    once.send(head + probe("/behind"));
    t.ok(await once.until((w) => w.closed), "closed, with bytes behind the head");
    const twice = await stand.wire();
    twice.send(head);
    t.ok(await twice.until((w) => codes(w.received).length === 1 && w.closed), "answered and closed, without");
    t.same(codes(twice.received), [200], "in HTTP/1.1");
    t.match(twice.received, /\r\nconnection: close\r\n/i, "which the answer says");
  }
  const key = "Sec-WebSocket-Key: x3JJHMbDL1EzLkh9GBhXDw==\r\nSec-WebSocket-Version: 13\r\n";
  const socket = await stand.ask(`GET /ws HTTP/1.1\r\n${upgrade}${key}\r\n`, (w) => w.closed);
  t.same(codes(socket.received), [200], "no front makes a socket of it by itself");
  const stream = await stand.wire();
  stream.send(`GET /stream HTTP/1.1\r\n${upgrade}\r\n`);
  t.ok(await stream.until((w) => w.received.includes("\r\n\r\n")), "a stream begins");
  stand.toy.streams.at(-1)?.end();
  t.ok(await stream.until((w) => w.received.endsWith("0\r\n\r\n")), "and ends");
  stream.send(probe("/behind"));
  t.ok(await stream.until((w) => w.closed, spentMsMax), "with its connection");
  t.notOk(stand.toy.seen.includes("GET /behind"), "nothing was run");
}

async function behindStream(t: Test, front: FrontUnderTest): Promise<void> {
  const stand = await Stand.open(front);
  t.teardown(() => stand.close());
  const wire = await stand.wire();
  wire.send(`POST /stream HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n`);
  t.ok(await wire.until((w) => w.received.includes("\r\n\r\n")), "the answer begins");
  stand.toy.streams.at(-1)?.write(Buffer.from("said"));
  stand.toy.streams.at(-1)?.end();
  t.ok(await wire.until((w) => w.received.endsWith("said\r\n0\r\n\r\n")), "and ends whole");
  wire.send(probe("/behind"));
  if (front.name === "node") {
    // llhttp reads chunks strictly: what follows is a request of its own.
    t.ok(await wire.until((w) => w.received.endsWith("GET /behind")), "a sound connection goes on");
    return;
  }
  t.match(wire.received, /\r\nconnection: close\r\n/i, "the answer says that it is the last");
  t.ok(await wire.until((w) => w.closed, spentMsMax), "and the connection ends");
  t.notOk(stand.toy.seen.includes("GET /behind"), "nothing was run");
}

async function behindWhole(t: Test, front: FrontUnderTest): Promise<void> {
  const stand = await Stand.open(front);
  t.teardown(() => stand.close());
  const chunked = `${host}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`;
  // The node front reads chunks strictly and names of headers, too: those connections are sound.
  const lenient = [
    `GET /big HTTP/1.1\r\n${chunked}`,
    `HEAD /a HTTP/1.1\r\n${chunked}`,
    `POST /none HTTP/1.1\r\n${host}\r\n`,
  ];
  const heads = [
    `GET /big HTTP/1.1\r\n${upgrade}\r\n`,
    `HEAD /a HTTP/1.1\r\n${upgrade}\r\n`,
    `GET /none HTTP/1.1\r\n${upgrade}\r\n`,
    ...(front.name === "node" ? [] : lenient),
  ];
  // All at once: each waits for the build's timer.
  await Promise.all(heads.map((head) => oneBehindWhole(t, stand, head)));
  t.notOk(stand.toy.seen.includes("GET /behind"), "nothing was run");
}

/** A peer on a thread of its own, so that what it reads and sends meets a front that is busy. */
const slowPeer = `
const { parentPort, workerData } = require("node:worker_threads");
const socket = require("node:net").connect(workerData.port, "127.0.0.1");
let bytes = 0;
socket.pause();
socket.on("data", (piece) => (bytes += piece.length));
socket.on("error", () => {});
socket.on("close", () => parentPort.postMessage("closed"));
socket.write(workerData.head);
parentPort.on("message", () => {
  socket.resume();
  let before = -1;
  const timer = setInterval(() => {
    if (bytes !== before) return (before = bytes);
    clearInterval(timer);
    socket.write(workerData.behind);
  }, 50);
});
`;

async function behindSlowStream(t: Test, front: FrontUnderTest): Promise<void> {
  const stand = await Stand.open(front);
  t.teardown(() => stand.close());
  const { port } = stand.listener;
  const workerData = { port, head: `GET /stream HTTP/1.1\r\n${upgrade}\r\n`, behind: probe("/behind") };
  const peer = new Worker(slowPeer, { eval: true, workerData });
  t.teardown(() => peer.terminate());
  const closed = once(peer, "message");
  t.ok(await until(() => stand.toy.streams.length === 1, 20_000), "asked");
  const stream = stand.toy.streams[0] as AnswerStream;
  await new Promise((resolve) => setTimeout(resolve, 50));
  for (let piece = 0; piece < 100 && stream.write(Buffer.alloc(256 * 1024)); ) piece += 1;
  stream.end();
  peer.postMessage("go");
  // Meanwhile the peer takes everything and asks again: the front hears of both at once.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000);
  t.same(await closed, ["closed"], "the connection ends");
  t.notOk(stand.toy.seen.includes("GET /behind"), "nothing was run");
}

async function oneBehindWhole(t: Test, stand: Stand, head: string): Promise<void> {
  const wire = await stand.wire();
  wire.send(head);
  const whole = head.startsWith("GET /big") ? 5_000_000 : 0;
  t.ok(await wire.until((w) => w.bytes > whole && w.received.includes("\r\n\r\n")), "answered whole");
  t.match(wire.received, /\r\nconnection: close\r\n/i, "the answer says that it is the last");
  wire.send(probe("/behind"));
  t.ok(await wire.until((w) => w.closed, spentMsMax), `the connection ends: ${head.slice(0, 12)}`);
}

async function behindHidden(t: Test, front: FrontUnderTest): Promise<void> {
  const stand = await Stand.open(front);
  t.teardown(() => stand.close());
  const body = probe("/behind");
  for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
    const wire = await stand.wire();
    wire.send(`${method} /late HTTP/1.1\r\n${host}: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    t.ok(await wire.until((w) => w.closed), `${method}: closed`);
    const late = await stand.wire();
    late.send(`${method} /up HTTP/1.1\r\n${host}: x\r\nContent-Length: ${body.length}\r\n\r\n`);
    t.ok(await late.until((w) => codes(w.received).length === 1), `${method}: answered`);
    late.send(body);
    t.ok(await late.until((w) => w.closed), `${method}: closed`);
  }
  t.notOk(stand.toy.seen.includes("GET /behind"), "nothing was run");
}
