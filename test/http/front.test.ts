// What both fronts promise: the contract of request/transport.ts, seen from a raw socket.
import t, { type Test } from "tap";
import { limits } from "../../src/config/limits.ts";
import type { AnswerStream } from "../../src/request/exchange/transport.ts";
import { type FrontUnderTest, fronts, Stand } from "./fronts.ts";
import { codes, type Wire } from "./toy.ts";

const host = "Host: localhost\r\n";
const get = (path: string, more = ""): string => `GET ${path} HTTP/1.1\r\n${host}${more}\r\n`;
const post = (path: string, body: string, more = ""): string =>
  `POST ${path} HTTP/1.1\r\n${host}Content-Length: ${body.length}\r\n${more}\r\n${body}`;

/** Bytes after the first head. */
function bodyOf(received: string): string {
  return received.slice(received.indexOf("\r\n\r\n") + 4);
}

const answered =
  (count: number) =>
  (wire: Wire): boolean =>
    codes(wire.received).length >= count && wire.received.includes("\r\n\r\n");
const ends =
  (text: string) =>
  (wire: Wire): boolean =>
    wire.received.endsWith(text);

for (const front of fronts) {
  const name = `${front.name}${front.secure ? " over TLS" : ""}`;
  t.test(name, async (t) => {
    const stand = await Stand.open(front);
    t.teardown(() => stand.close());
    await requests(t, stand);
    await bodies(t, stand);
    await answers(t, stand);
    await streams(t, stand);
    await connections(t, stand, front);
    await endings(t, stand);
  });
}

async function requests(t: Test, stand: Stand): Promise<void> {
  const named = await stand.ask(get("/describe", "X-Name: jos\xc3\xa9 \xff smith\r\n"), (w) =>
    w.received.endsWith("}"),
  );
  const text = Buffer.from(bodyOf(named.received), "latin1").toString();
  t.match(text, '["x-name","jos\u00e9 \ufffd smith"]', "values are read as UTF-8");
  const outer = await stand.ask(get("/describe", "X-Name: \xc3\xa9mil\xc3\xa9\r\n"), (w) => w.received.endsWith("}"));
  const { headers, clipsValues } = JSON.parse(Buffer.from(bodyOf(outer.received), "latin1").toString()) as {
    headers: string[][];
    clipsValues?: boolean;
  };
  const isWhole = headers.some(([, value]) => value === "\u00e9mil\u00e9");
  t.equal(clipsValues === true, !isWhole, "a front that drops the ends of a value says so");
  const head = get("/describe?a=b%20c&d", "X-Twice: 1\r\nX-Twice:  2 \r\n");
  const wire = await stand.ask(head, (w) => w.received.endsWith("}"));
  const seen = JSON.parse(bodyOf(wire.received)) as {
    method: string;
    path: string;
    query: string;
    headers: string[][];
    remote: string;
  };
  t.equal(seen.method, "GET");
  t.equal(seen.path, "/describe");
  t.equal(seen.query, "a=b%20c&d", "the query is raw");
  t.same(
    seen.headers.filter(([key]) => key === "x-twice"),
    [
      ["x-twice", "1"],
      ["x-twice", "2"],
    ],
    "duplicates are kept",
  );
  t.equal(seen.remote, "127.0.0.1");
  const source = "\x0d\x0a\x0d\x0a\0\x0d\x0aQUIT\n\x21\x11\0\x0c\x01\x02\x03\x04\x05\x06\x07\x08\0\x01\0\x02";
  const relayed = await stand.ask(source + get("/describe"), (w) => w.received.endsWith("}") || w.closed);
  t.ok(
    codes(relayed.received)[0] === 400 || /"remote":"127\.0\.0\.1"/.test(relayed.received),
    "PROXY changes no address",
  );
  t.notMatch(relayed.received, /1\.2\.3\.4/);
  const raw = await stand.ask(get("/%2e%2E//a%2Fb/"), ends("/"));
  t.ok(raw.received.endsWith("GET /%2e%2E//a%2Fb/"), "the path is raw");
  const methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
  for (const method of methods) {
    const answer = await stand.ask(`${method} /m HTTP/1.1\r\n${host}\r\n`, ends(`${method} /m`));
    t.same(codes(answer.received), [200], method);
  }
}

async function bodies(t: Test, stand: Stand): Promise<void> {
  for (const size of [0, 1, 1000, 65_536, 3 * 1024 * 1024]) {
    const body = "0123456789abcdef".repeat(Math.ceil(size / 16)).slice(0, size);
    const wire = await stand.ask(
      post("/echo", body),
      (w) => w.received.includes("\r\n\r\n") && bodyOf(w.received).length >= size,
    );
    t.ok(bodyOf(wire.received) === body, `a body of ${size} bytes arrives`);
  }
  const chunked = `POST /echo HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n`;
  t.ok((await stand.ask(chunked, ends("abcdefg"))).received.endsWith("\r\n\r\nabcdefg"), "a chunked body arrives");
  const over = 3 * 1024 * 1024 + 1;
  const tooLarge = await stand.ask(post("/echo", "x".repeat(over)), ends("too large"));
  t.same(codes(tooLarge.received), [413], "one byte more is too large, and its sender is told");
  const chunks = `POST /echo HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\n${over.toString(16)}\r\n${"x".repeat(over)}\r\n0\r\n\r\n`;
  t.same(codes((await stand.ask(chunks, ends("too large"))).received), [413], "also in chunks");
  const expecting = await stand.wire();
  expecting.send(`POST /echo HTTP/1.1\r\n${host}Expect: 100-continue\r\nContent-Length: 2\r\n\r\n`);
  t.ok(await expecting.until((w) => codes(w.received)[0] === 100), "100-continue is answered");
  expecting.send("ok");
  t.ok(await expecting.until(ends("ok")), "and then the request");
}

async function answers(t: Test, stand: Stand): Promise<void> {
  const head = await stand.ask(`HEAD /a HTTP/1.1\r\n${host}\r\n${get("/b")}`, ends("GET /b"));
  t.same(codes(head.received), [200, 200], "a HEAD has no body and the connection goes on");
  const none = await stand.ask(`${get("/none")}${get("/b")}`, ends("GET /b"));
  t.same(codes(none.received), [204, 200], "a 204 has no body and the connection goes on");
  t.notMatch(none.received.split("HTTP/1.1 200")[0], /content-length|transfer-encoding/i, "nor a length");
  const streamed = await stand.ask(`HEAD /stream HTTP/1.1\r\n${host}\r\n${get("/b")}`, ends("GET /b"));
  t.same(codes(streamed.received), [200, 200], "a streamed HEAD too");
  const shared = await stand.ask(get("/shared"), (w) => w.received.length > 200_000);
  t.ok(/^a{200000}$/.test(bodyOf(shared.received)), "a body in shared memory is not looked at after send()");
  const large = await stand.ask(get("/shared-large"), (w) => bodyOf(w.received).length === 1_500_000);
  t.ok(/^a{1500000}$/.test(bodyOf(large.received)), "nor a large one, which is sent as the peer takes it");
  const closing = await stand.ask(get("/shared", "Connection: close\r\n"), (w) => w.closed);
  t.ok(/^a{200000}$/.test(bodyOf(closing.received)), "nor one whose connection is closed behind it");
  const evil = await stand.ask(get("/inject"), ends("ok"));
  const fields = evil.received.slice(0, evil.received.indexOf("\r\n\r\n")).split("\r\n");
  t.ok(
    fields.some((field) => field === "X-Evil: a%0D%0AX-Split: 1%0D%0A%0D%0AHTTP/1.1 200 OK"),
    "no value ends a header",
  );
  t.ok(
    fields.some((field) => field === 'Warning: 299 - "grÃ¼Ã\u009fe%00"'),
    "values are sent as UTF-8",
  );
  const big = await stand.ask(get("/big"), (w) => bodyOf(w.received).length === 5_000_000);
  t.ok(bodyOf(big.received) === "0123456789".repeat(500_000), "a large answer is whole");
  t.match(big.received.slice(0, 500), /content-length: 5000000\r\n/i, "and has its length");
  const order = await stand.ask(["/1", "/2", "/3"].map((path) => get(path)).join(""), ends("GET /3"));
  t.same(
    [...order.received.matchAll(/GET (\/\d)/g)].map((match) => match[1]),
    ["/1", "/2", "/3"],
    "pipelined answers are in order",
  );
}

async function streams(t: Test, stand: Stand): Promise<void> {
  const { toy } = stand;
  const wire = await stand.ask(get("/stream"), (w) => w.received.includes("\r\n\r\n"));
  t.ok(wire.received.includes("\r\n\r\n"), "an idle stream sends its head at once");
  t.match(wire.received, /transfer-encoding: chunked/i);
  const stream = toy.streams.at(-1);
  t.equal(stand.listener.streaming, 1);
  const shared = new Uint8Array(new SharedArrayBuffer(4));
  shared.set(Buffer.from("one\n"));
  t.equal(stream?.write(shared), true, "shared memory can be written");
  shared.fill(0);
  stream?.write(Buffer.from("two\n"));
  stream?.write(new Uint8Array(0));
  t.ok(await wire.until((w) => w.received.includes("two\n")), "chunks arrive");
  t.ok(wire.received.includes("one\n"), "what is written is not kept");
  stream?.end();
  t.ok(await wire.until(ends("\r\n0\r\n\r\n")), "the end arrives");
  t.equal(stand.listener.streaming, 0);
  wire.send(get("/after"));
  t.ok(await wire.until(ends("GET /after")), "the connection goes on after a stream");

  const opened = await stand.ask(get("/opening"), (w) => w.received.includes("\r\n\r\n"));
  toy.streams.at(-1)?.write(Buffer.from("abc"));
  toy.streams.at(-1)?.write(Buffer.from("ade"));
  toy.streams.at(-1)?.end();
  t.ok(await opened.until(ends("\r\n0\r\n\r\n")), "the end arrives");
  const body = bodyOf(opened.received).replace(/(?:^|\r\n)[0-9a-f]+\r\n/g, "");
  t.equal(body.trim(), "abcade", "a body with a known first byte is nothing but itself");

  const cut = await stand.ask(get("/stream"), (w) => w.received.includes("\r\n\r\n"));
  toy.streams.at(-1)?.write(Buffer.from("part"));
  toy.streams.at(-1)?.abort();
  t.ok(await cut.until((w) => w.closed), "an aborted stream cuts the connection");
  t.notOk(cut.received.endsWith("0\r\n\r\n"), "without an end");

  await measured(t, stand);
  await backpressure(t, stand);
  await aborts(t, stand);
}

/** Streams of 600,000 bytes, which is known before. */
async function measured(t: Test, stand: Stand): Promise<void> {
  const { toy } = stand;
  const begin = async (): Promise<[Wire, AnswerStream]> => {
    const before = toy.streams.length;
    const wire = await stand.wire();
    wire.send(get("/measured"));
    t.ok(await eventually(() => toy.streams.length > before));
    return [wire, toy.streams.at(-1) as AnswerStream];
  };
  const [wire, stream] = await begin();
  let written = 0;
  const shared = new Uint8Array(new SharedArrayBuffer(200_000));
  const more = (): void => {
    while (written < 600_000) {
      shared.fill(0x61 + written / shared.length);
      written += shared.length;
      if (!stream.write(shared)) return;
    }
    stream.end();
  };
  stream.onDrain(more);
  wire.socket.pause();
  more();
  shared.fill(0);
  wire.socket.resume();
  const body = ["a", "b", "c"].map((letter) => letter.repeat(200_000)).join("");
  t.ok(await wire.until((w) => bodyOf(w.received) === body), "a stream of known length arrives, and is not kept");
  t.match(wire.received.slice(0, 500), /content-length: 600000\r\n/i);
  t.notMatch(wire.received.slice(0, 500), /transfer-encoding/i);
  t.ok(await eventually(() => stand.listener.streaming === 0), "and has ended");
  wire.send(get("/after"));
  t.ok(await wire.until(ends("GET /after")), "the connection goes on after it");

  const [short, cut] = await begin();
  cut.write(Buffer.from("part"));
  cut.end();
  t.ok(await short.until((w) => w.closed), "one that ends too early cuts the connection");
  t.ok(await eventually(() => stand.listener.pending === 0), "and nothing is kept");
  const [long, over] = await begin();
  t.throws(() => over.write(Buffer.alloc(600_001)), /has 1 more/, "more than its length is refused");
  over.abort();
  t.ok(await long.until((w) => w.closed), "and the connection can be cut");
}

async function backpressure(t: Test, stand: Stand): Promise<void> {
  const { toy } = stand;
  const wire = await stand.ask(get("/stream"), (w) => w.received.includes("\r\n\r\n"));
  const stream = toy.streams.at(-1);
  wire.socket.pause();
  const chunk = Buffer.alloc(128 * 1024, "z");
  let written = 0;
  let behind = false;
  let drains = 0;
  stream?.onDrain(() => {
    drains += 1;
  });
  for (let i = 0; i < 1000 && !behind; i++) {
    written += chunk.length;
    behind = stream?.write(chunk) === false;
    await new Promise((resolve) => setImmediate(resolve));
  }
  t.ok(behind, "a peer that does not read is behind");
  t.ok(written < 64 * 1024 * 1024, `after ${written} bytes`);
  wire.socket.resume();
  t.ok(await wire.until((w) => w.bytes >= written, 20_000), "a peer that reads again gets it");
  t.ok(await eventually(() => drains > 0), "and the stream is told");
  stream?.end();
  t.ok(await wire.until(ends("0\r\n\r\n")), "and can be ended");
  t.equal(wire.received.split("z").length - 1, written, "nothing is lost");
}

async function aborts(t: Test, stand: Stand): Promise<void> {
  const { toy } = stand;
  const places: [where: string, bytes: string, isKnown?: boolean][] = [
    ["before an answer", get("/never")],
    ["before an answer, once its address was asked for", get("/never?asked"), true],
    ["while a late answer is made", get("/held")],
    ["in a stream", get("/stream"), true],
    ["in a body", `POST /echo HTTP/1.1\r\n${host}Content-Length: 10\r\n\r\nabc`],
  ];
  for (const [where, bytes, isKnown = false] of places) {
    const before = toy.aborts;
    const seen = toy.seen.length;
    const wire = await stand.wire();
    wire.send(bytes);
    await eventually(() => toy.seen.length > seen);
    wire.cut();
    t.ok(await eventually(() => toy.aborts === before + 1), `the handler hears once of a client that leaves ${where}`);
    // A front may look the address up when it is first asked for.
    const addresses = isKnown ? ["127.0.0.1"] : ["127.0.0.1", ""];
    t.ok(addresses.includes(toy.gone), `its address: ${JSON.stringify(toy.gone)}`);
  }
  toy.release();
  t.ok(await eventually(() => stand.listener.pending === 0), "nothing is kept");
  const wire = await stand.wire();
  wire.send(get("/late"));
  wire.socket.end();
  t.ok(await wire.until((w) => w.closed), "a half-closed connection is closed");
  const alive = await stand.ask(get("/alive"), ends("GET /alive"));
  t.same(codes(alive.received), [200], "others are served");
}

async function connections(t: Test, stand: Stand, front: FrontUnderTest): Promise<void> {
  const { toy } = stand;
  const close = await stand.ask(get("/bye", "Connection: close\r\n"), () => false);
  t.ok(close.closed && close.received.endsWith("GET /bye"), "Connection: close is obeyed");
  toy.seen.length = 0;
  const more = await stand.ask(get("/bye", "Connection: close\r\n") + get("/probe"), () => false);
  t.ok(more.closed, "and closes");
  t.notOk(toy.seen.includes("GET /probe"), "nothing after it is run");
  const long = `/${"a".repeat(60_000)}`;
  const url = await stand.ask(get(long), ends(long));
  t.same(codes(url.received), [200], `a request line of ${long.length} bytes`);
  const fields = (count: number): string =>
    Array.from({ length: count - 1 }, (_, i) => `X-Header-${i}: ${"v".repeat(50)}\r\n`).join("");
  const many = await stand.ask(get("/h", fields(limits.headerCountMax)), ends("GET /h"));
  t.same(codes(many.received), [200], `${limits.headerCountMax} header fields`);
  const max = front.name === "node" ? limits.headerCountNodeMax : limits.headerCountMax;
  for (const count of front.name === "node" ? [max + 1] : [max + 1, max + 2, max + 3, 3 * max]) {
    const over = await stand.ask(get("/h", fields(count)), () => false);
    t.same(codes(over.received), [431], `${count} header fields`);
  }
  const odd = await stand.ask(get("/describe", "Impersonate-Extra-a%2fb.c_d: x\r\n!#$&'*+^`|~: y\r\n"), ends("}"));
  t.match(odd.received, /"impersonate-extra-a%2fb\.c_d","x"/, "names of every legal character");
  const method = await stand.ask(`PROPFIND /m HTTP/1.1\r\n${host}\r\n`, ends("/m"));
  t.match(method.received, /PROPFIND \/m$/, "methods beyond the usual");
  const halves = `GET ${long} HTTP/1.1\r\n${host}\r\n`;
  const split = await stand.wire();
  split.send(halves.slice(0, 30_000));
  await new Promise((resolve) => setTimeout(resolve, 30));
  split.send(halves.slice(30_000));
  t.ok(await split.until(ends(long)), "a long request line in two reads");
  const vast = await stand.ask(get("/h", `X-Vast: ${"v".repeat(limits.headBytesMax + 1)}\r\n`), () => false);
  t.same(codes(vast.received), [431], "a head beyond the limit is refused");
}

async function endings(t: Test, stand: Stand): Promise<void> {
  const held = await stand.wire();
  held.send(get("/held"));
  const stream = await stand.ask(get("/stream"), (w) => w.received.includes("\r\n\r\n"));
  const idle = await stand.ask(get("/idle"), answered(1));
  t.ok(await eventually(() => stand.listener.pending === 2), "two answers are under way");
  stand.listener.stopAccepting();
  await t.rejects(stand.wire(), "no new connection is taken");
  stand.toy.release();
  t.ok(await held.until((w) => w.received.includes("held") && w.closed), "an answer under way is sent, and closes");
  stand.toy.streams.at(-1)?.end();
  t.ok(await stream.until(ends("0\r\n\r\n")), "a stream can be ended");
  if (!idle.closed) {
    idle.send(get("/last"));
    t.ok(await idle.until((w) => w.closed), "a connection that is left closes after its next answer");
  }
  t.ok(await eventually(() => stand.listener.pending === 0), "nothing is left");
}

async function eventually(holds: () => boolean): Promise<boolean> {
  const end = performance.now() + 5_000;
  while (!holds() && performance.now() < end) await new Promise((resolve) => setTimeout(resolve, 5));
  return holds();
}
