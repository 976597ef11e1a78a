// A peer that asks and does not read loses nothing: what it was sent when it reads at last is whole, byte for byte,
// and there is an end to what is kept for it.
import t from "tap";
import type { Exchange } from "../../src/request/exchange/transport.ts";
import { until } from "../support/inprocess.ts";
import { fronts, Stand } from "./fronts.ts";
import { codes, type Wire } from "./toy.ts";

const headers = [["Content-Type", "application/octet-stream"]] as const;
/** More than kernel and front keep for a peer; each case must stop before. */
const bytesMax = 64_000_000;

/** Bytes that tell which answer they belong to, and where in it. */
function bodyOf(id: number, size: number): Buffer {
  const body = Buffer.alloc(size);
  for (let at = 0; at < size; at += 8) body.write(String(id * 100_000 + at / 8).padStart(8, "0"), at, "latin1");
  return body;
}

/** Answers `/how/id/size`. */
function handle(exchange: Exchange): void {
  const [, how, id, size] = exchange.path.split("/");
  const body = bodyOf(Number(id), Number(size));
  if (how === "send") {
    exchange.send(200, headers, body);
  } else if (how === "warn") {
    exchange.send(200, [...headers, ...Array.from({ length: 9 }, () => ["Warning", "w".repeat(2_000)] as const)], body);
  } else {
    const stream = exchange.stream(200, headers, how === "measured" ? { length: body.length } : {});
    stream.write(body);
    stream.end();
  }
}

/** The number of answers in `received`, all whole; a text tells what is wrong. */
function wholeAnswers(received: Buffer, size: number): number | string {
  let count = 0;
  for (let at = 0; at < received.length; count += 1) {
    const end = received.indexOf("\r\n\r\n", at);
    const head = received.toString("latin1", at, end);
    if (end < 0 || !head.startsWith("HTTP/1.1 200 OK\r\n")) return `Not a head after ${count} answers`;
    at = end + 4;
    let body = received.subarray(at, at + size);
    if (/^transfer-encoding: chunked$/im.test(head)) {
      const pieces: Buffer[] = [];
      for (let length = -1; length !== 0; ) {
        const line = received.indexOf("\r\n", at);
        length = Number.parseInt(received.toString("latin1", at, line), 16);
        pieces.push(received.subarray(line + 2, line + 2 + length));
        at = line + 4 + length;
        if (Number.isNaN(length) || received.toString("latin1", at - 2, at) !== "\r\n") return `Torn chunk in ${count}`;
      }
      body = Buffer.concat(pieces);
    } else {
      at += size;
    }
    if (!body.equals(bodyOf(count, size))) return `Answer ${count} is not what was sent`;
  }
  return count;
}

/** How a front is doing. */
interface Counted {
  readonly answered: () => number;
  readonly pending: () => number;
}

/** Asks, without reading, until an answer stays under way; returns how many were asked for. */
async function ask(wire: Wire, stand: Counted, how: string, size: number, atOnce: number): Promise<number> {
  let asked = 0;
  const before = stand.answered();
  while (asked * size < bytesMax) {
    const heads = Array.from({ length: atOnce }, (_, index) => `GET /${how}/${asked + index}/${size} HTTP/1.1\r\n`);
    wire.send(heads.map((head) => `${head}Host: localhost\r\n\r\n`).join(""));
    asked += atOnce;
    await until(() => wire.closed || stand.answered() === before + asked, 2_000);
    if (!(await until(() => wire.closed || stand.pending() === 0, 100))) break;
    if (wire.closed) break;
  }
  return asked;
}

const cases: readonly (readonly [how: string, size: number, atOnce: number])[] = [
  ["send", 12_000, 6],
  ["send", 40_000, 1],
  ["send", 200_000, 1],
  ["warn", 40_000, 1],
  ["stream", 40_000, 1],
  ["stream", 200_000, 1],
  ["measured", 40_000, 1],
  ["measured", 2_000_000, 1],
];

t.jobs = fronts.length;
for (const front of fronts) {
  t.test(
    `${front.name}${front.secure ? " over TLS" : ""} loses nothing of what a peer is behind with`,
    { buffered: true },
    async (t) => {
      let answered = 0;
      const stand = await Stand.open(front, undefined, (exchange) => {
        answered += 1;
        handle(exchange);
      });
      const counted = { answered: () => answered, pending: () => stand.listener.pending };
      t.teardown(() => stand.close());
      for (const [how, size, atOnce] of cases) {
        const wire = await stand.wire();
        const pieces: Buffer[] = [];
        wire.socket.removeAllListeners("data");
        wire.socket.pause();
        const asked = await ask(wire, counted, how, size, atOnce);
        const name = `${how} ${size} bytes, ${atOnce} at once`;
        t.ok(asked * size < bytesMax, `${name}: there is an end to what is kept`);
        wire.socket.on("data", (piece: Buffer) => pieces.push(piece));
        wire.socket.resume();
        const tail = bodyOf(asked - 1, size).subarray(-8);
        await until(() => wire.closed || Buffer.concat(pieces.slice(-2)).subarray(-32).includes(tail), 10_000);
        const whole = wholeAnswers(Buffer.concat(pieces), size);
        // With several requests at once, the front may have to give up on a peer that does not read.
        if (atOnce > 1) t.type(whole, "number", `${name}: whatever arrived is whole`);
        else t.equal(whole, asked, `${name}: every answer is whole`);
        wire.cut();
      }
    },
  );
}

// The uWS build closes on a request behind an answer that is not taken; that is seen above.
for (const front of fronts.filter(({ name }) => name === "node")) {
  const name = `${front.name}${front.secure ? " over TLS" : ""}`;
  t.test(`${name} cuts a peer that takes nothing of what it asked for`, { buffered: true }, async (t) => {
    const stand = await Stand.open(front, undefined, handle, 500);
    t.teardown(() => stand.close());
    const wire = await stand.wire();
    wire.socket.pause();
    const heads = Array.from({ length: 40 }, (_, id) => `GET /send/${id}/200000 HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    wire.send(heads.join(""));
    t.ok(await until(() => stand.listener.pending > 0, 5_000), "answers wait");
    t.ok(await until(() => stand.listener.pending === 0, 20_000), "and are given up");
    const again = await stand.ask(`${heads[0]}${heads[1]}`, (w) => w.bytes > 400_000);
    t.ok(again.bytes > 400_000, "a peer that reads gets its answers");
    wire.cut();
  });
}

// The uWS build closes on a request behind one that waits.
for (const front of fronts.filter(({ name }) => name === "node")) {
  const name = `${front.name}${front.secure ? " over TLS" : ""}`;
  t.test(`${name} answers what was pipelined behind many answers that waited`, { buffered: true }, async (t) => {
    const held: (() => void)[] = [];
    const stand = await Stand.open(front, undefined, (exchange) => {
      if (exchange.path.startsWith("/held")) held.push(() => exchange.send(200, headers, bodyOf(0, size)));
      else handle(exchange);
    });
    t.teardown(() => stand.close());
    const size = 4_000;
    const wire = await stand.wire();
    for (let round = 1; round <= 5; round++) {
      // Several records of TLS: Node stops reading when answers wait, in the midst of what was decrypted.
      const heads = Array.from({ length: 40 }, (_, id) => `GET /${id === 0 ? "held" : "send"}/${id}/${size} HTTP/1.1`);
      wire.send(heads.map((head) => `${head}\r\nHost: localhost\r\nX-Pad: ${"x".repeat(1000)}\r\n\r\n`).join(""));
      t.ok(await until(() => held.length > 0), "the first one waits");
      held.pop()?.();
      t.ok(await until(() => codes(wire.received).length === round * 40 || wire.closed));
    }
    t.same(new Set(codes(wire.received)), new Set([200]));
    t.notOk(wire.closed, "and the connection goes on");
    wire.cut();
  });
}

for (const front of fronts.filter(({ name }) => name === "node")) {
  const name = `${front.name}${front.secure ? " over TLS" : ""}`;
  t.test(`${name} reads on after a request that came while an answer was not taken`, { buffered: true }, async (t) => {
    const stand = await Stand.open(front, undefined, (exchange) => {
      void exchange.body(1_000_000).then(() => handle(exchange));
    });
    t.teardown(() => stand.close());
    const wire = await stand.wire();
    const size = 8_000_000;
    const body = "x".repeat(189_000);
    const ask = (head: string, body = ""): void =>
      wire.send(`${head} HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    wire.socket.pause();
    ask(`POST /send/0/${size}`, body);
    t.ok(await until(() => stand.listener.pending === 1), "the first answer waits");
    ask(`GET /send/1/${size}`);
    t.ok(await until(() => stand.listener.pending === 2), "the second request is there");
    wire.socket.resume();
    t.ok(await until(() => wire.bytes > 2 * size), "both are answered");
    t.ok(await until(() => stand.listener.pending === 0), "and done");
    ask(`GET /send/2/${size}`);
    t.ok(await until(() => wire.bytes > 3 * size), "the next one is read");
    wire.cut();
  });
}

for (const front of fronts.filter(({ name }) => name === "node")) {
  const name = `${front.name}${front.secure ? " over TLS" : ""}`;
  t.test(`${name} goes on with a stream that began behind another answer`, { buffered: true }, async (t) => {
    const [size, chunks] = [100_000, 80];
    const stand = await Stand.open(front, undefined, (exchange) => {
      if (!exchange.path.startsWith("/chunks")) return handle(exchange);
      const stream = exchange.stream(200, headers);
      let written = 0;
      const write = (): void => {
        while (written < chunks) if (!stream.write(bodyOf(written++, size))) return;
        stream.end();
      };
      stream.onDrain(write);
      write();
    });
    t.teardown(() => stand.close());
    const wire = await stand.wire();
    wire.socket.pause();
    wire.send("GET /send/0/8000000 HTTP/1.1\r\nHost: localhost\r\n\r\n");
    t.ok(await until(() => stand.listener.pending === 1), "the first answer waits");
    wire.send("GET /chunks HTTP/1.1\r\nHost: localhost\r\n\r\n");
    t.ok(await until(() => stand.listener.pending === 2), "the stream begins");
    wire.socket.resume();
    t.ok(await until(() => wire.bytes > 8_000_000 + chunks * size), "and ends");
    t.same(codes(wire.received), [200, 200]);
    wire.cut();
  });
}
