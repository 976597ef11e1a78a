// Answers in chunks over real sockets, on every front: compressed ones are nothing but what they say they are.
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { gunzipSync } from "node:zlib";
import t from "tap";
import { identities } from "../../src/api/identity.ts";
import { Shares } from "../../src/base/shares.ts";
import { noTrace } from "../../src/observe/trace.ts";
import type { Reply } from "../../src/request/answer/response.ts";
import { sendChunks } from "../../src/request/answer/stream.ts";
import type { Exchange } from "../../src/request/exchange/transport.ts";
import { mediaTypes } from "../../src/request/route/negotiate.ts";
import { until } from "../support/inprocess.ts";
import { fronts, Stand } from "./fronts.ts";
import type { Target } from "./toy.ts";

const types = mediaTypes(identities.kubernetes);
const held = { expired: false, release: () => undefined };
const chunkBytes = 300_000;
const chunkCount = 5;

/** How long a peer may take nothing here. */
const stallMs = 200;
/** Answers that ended, whichever way. */
let ended = 0;

/** What the answer says: digits that differ from chunk to chunk. */
function chunkAt(index: number): Buffer {
  return Buffer.alloc(chunkBytes, String(index));
}

function answer(exchange: Exchange): void {
  const reply: Reply = { exchange, types, extra: [], answered: () => undefined, packs: true, trace: noTrace };
  let next = 1;
  const chunks = {
    get done() {
      return next === chunkCount && exchange.query !== "endless";
    },
    next: () => {
      if (exchange.query === "faulty") throw new Error("a fault of ours");
      return chunkAt(next++ % 10);
    },
  };
  const gzip = exchange.query === "gzip";
  void sendChunks(reply, chunks, chunkAt(0), held, "application/json", gzip, stallMs)
    .catch(() => undefined)
    .then(() => {
      ended += 1;
    });
}

function fetchBytes({ port, ca }: Target, path: string): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const request = ca === undefined ? httpRequest : httpsRequest;
    request({ host: "127.0.0.1", port, path, ca, agent: false }, (response) => {
      const pieces: Buffer[] = [];
      response.on("data", (piece: Buffer) => pieces.push(piece));
      response.on("end", () => resolve(Buffer.concat(pieces)));
      response.on("error", reject);
    })
      .on("error", reject)
      .end();
  });
}

const whole = Buffer.concat(Array.from({ length: chunkCount }, (_, index) => chunkAt(index)));

for (const front of fronts) {
  const name = `${front.name} ${front.secure ? "TLS" : "plain"}`;
  t.test(`sendChunks() sends the same document plain and gzipped on ${name}`, async (t) => {
    const stand = await Stand.open(front, undefined, answer);
    t.teardown(() => stand.close());
    t.equal((await fetchBytes(stand.target, "/plain")).toString().trim(), whole.toString());
    const packed = await fetchBytes(stand.target, "/packed?gzip");
    t.equal(packed[0], 0x1f, "a gzipped body begins with its magic number");
    t.ok(gunzipSync(packed).equals(whole));
  });
}

for (const front of fronts) {
  const name = `${front.name} ${front.secure ? "TLS" : "plain"}`;
  t.test(`sendChunks() cuts off who reads nothing on ${name}`, async (t) => {
    const stand = await Stand.open(front, undefined, answer);
    t.teardown(() => stand.close());
    const wire = await stand.wire();
    const before = ended;
    wire.socket.pause();
    wire.send("GET /list?endless HTTP/1.1\r\nHost: localhost\r\n\r\n");
    t.ok(await until(() => ended > before), "the answer ended without its reader");
    t.equal(stand.listener.streaming, 0);
  });
}

for (const front of fronts.filter(({ name }) => name === "node")) {
  t.test(`sendChunks() frames nothing for HTTP/1.0 on node ${front.secure ? "TLS" : "plain"}`, async (t) => {
    const stand = await Stand.open(front, undefined, answer);
    t.teardown(() => stand.close());
    const wire = await stand.ask("GET /list HTTP/1.0\r\nHost: localhost\r\n\r\n", () => false);
    const [head = "", body] = wire.received.split("\r\n\r\n");
    t.notMatch(head.toLowerCase(), "transfer-encoding");
    t.ok(body === whole.toString(), "the body is the document and nothing else");
  });
}

for (const front of fronts) {
  const name = `${front.name} ${front.secure ? "TLS" : "plain"}`;
  t.test(`sendChunks() cuts an answer that a fault ends on ${name}`, async (t) => {
    const stand = await Stand.open(front, undefined, answer);
    t.teardown(() => stand.close());
    const wire = await stand.ask("GET /list?faulty HTTP/1.1\r\nHost: localhost\r\n\r\n", () => false);
    t.ok(wire.closed, "the connection is closed");
    t.notOk(wire.received.endsWith("0\r\n\r\n"), "without an end");
  });
}

for (const front of fronts) {
  const name = `${front.name} ${front.secure ? "TLS" : "plain"}`;
  t.test(`what is kept of whole answers for peers that do not read is paid for on ${name}`, async (t) => {
    const unread = new Shares("bytes", 64 * 1024 * 1024);
    const body = Buffer.alloc(8 * 1024 * 1024, "x");
    const owner = { name: "mallory", level: "ordinary" } as const;
    let asked = 0;
    const handle = (exchange: Exchange): void => {
      asked += 1;
      exchange.payer = { take: (bytes) => unread.take(owner, bytes) };
      exchange.send(200, [["Content-Type", "text/plain"]], body);
    };
    const stand = await Stand.open(front, undefined, handle);
    t.teardown(() => stand.close());
    const wires = await Promise.all(Array.from({ length: 24 }, () => stand.wire()));
    for (const wire of wires) {
      wire.socket.pause();
      wire.send("GET /whole HTTP/1.1\r\nHost: localhost\r\n\r\n");
    }
    // The kernel takes some megabytes of each.
    const isCut = (): boolean => asked === wires.length && stand.listener.pending < 20;
    t.ok(await until(isCut, 9_000), "the user's further ones are cut");
    t.ok(unread.used < 40 * 1024 * 1024, `${unread.used} bytes are kept`);
    for (const wire of wires) wire.socket.destroy();
    t.ok(await until(() => unread.used === 0, 20_000), "and nothing when they are gone");
    const reader = await stand.ask(
      "GET /whole HTTP/1.1\r\nHost: localhost\r\n\r\n",
      (w) => w.received.length > body.length,
    );
    t.ok(reader.received.length > body.length);
    t.ok(await until(() => unread.used === 0, 20_000));
  });
}
