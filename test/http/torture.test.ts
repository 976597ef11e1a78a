// What attackers and broken clients send (ATTACKS H01 and H02): refused with 400 and a close, and nothing smuggled
// behind it is ever run.
import t, { type Test } from "tap";
import { type FrontUnderTest, fronts, Stand } from "./fronts.ts";
import { codes, type Wire } from "./toy.ts";

t.jobs = 8;

const host = "Host: localhost\r\n";
const probe = `GET /probe HTTP/1.1\r\n${host}\r\n`;

/** What a malformed request gets: a code and a close; "close" alone where the parser below gives no answer. */
interface Case {
  readonly name: string;
  readonly bytes: string;
  /** Default 400. */
  readonly node?: readonly (number | "close")[];
  readonly uws?: readonly (number | "close")[] | "served";
}

function body(fields: string, content: string): string {
  return `POST /echo HTTP/1.1\r\n${host}${fields}\r\n${content}`;
}

const chunked = "Transfer-Encoding: chunked\r\n";

const cases: readonly Case[] = [
  { name: "two equal lengths", bytes: body("Content-Length: 4\r\nContent-Length: 4\r\n", "abcd") },
  { name: "two different lengths", bytes: body(`Content-Length: 4\r\nContent-Length: 0\r\n`, "abcd") },
  { name: "a list of lengths", bytes: body("Content-Length: 4, 4\r\n", "abcd") },
  { name: "a signed length", bytes: body("Content-Length: +4\r\n", "abcd") },
  { name: "a negative length", bytes: body("Content-Length: -4\r\n", "abcd") },
  { name: "a length of 20 digits", bytes: body(`Content-Length: ${"1".repeat(20)}\r\n`, "abcd") },
  { name: "a length of letters", bytes: body("Content-Length: four\r\n", "abcd") },
  { name: "length and chunked", bytes: body(`Content-Length: 4\r\n${chunked}`, "0\r\n\r\n") },
  { name: "chunked and length", bytes: body(`${chunked}Content-Length: 4\r\n`, "0\r\n\r\n") },
  { name: "gzip, chunked", bytes: body("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n") },
  { name: "chunked, gzip", bytes: body("Transfer-Encoding: chunked, gzip\r\n", "0\r\n\r\n") },
  { name: "identity", bytes: body("Transfer-Encoding: identity\r\n", "") },
  { name: "Chunked", bytes: body("Transfer-Encoding: Chunked\r\n", "0\r\n\r\n") },
  { name: "xchunked", bytes: body("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n") },
  { name: "two codings", bytes: body(`${chunked}${chunked}`, "0\r\n\r\n") },
  { name: "a tab before chunked", bytes: body("Transfer-Encoding: \x0bchunked\r\n", "0\r\n\r\n"), uws: [400, "close"] },
  { name: "a chunk size that is none", bytes: body(chunked, "xyz\r\nabc\r\n0\r\n\r\n"), uws: [400, 505, "close"] },
  { name: "a signed chunk size", bytes: body(chunked, "+3\r\nabc\r\n0\r\n\r\n"), uws: [400, 505, "close"] },
  {
    name: "a huge chunk size",
    bytes: body(chunked, `${"f".repeat(20)}\r\nabc\r\n0\r\n\r\n`),
    uws: [400, 505, 413, "close"],
    node: [400, 413],
  },
  { name: "a chunk longer than said", bytes: body(chunked, "3\r\nabcd\r\n0\r\n\r\n"), uws: [400, 505, "close"] },
  { name: "two hosts", bytes: `GET /a HTTP/1.1\r\n${host}${host}\r\n` },
  { name: "no host", bytes: "GET /a HTTP/1.1\r\nX: 1\r\n\r\n" },
  { name: "a malformed host", bytes: "GET /a HTTP/1.1\r\nHost: a/b\r\n\r\n" },
  { name: "a folded header", bytes: `GET /a HTTP/1.1\r\n${host}X: a\r\n b\r\n\r\n` },
  { name: "a blank before the colon", bytes: `GET /a HTTP/1.1\r\n${host}X : a\r\n\r\n` },
  // The uWS build takes it for the end of the list: what follows is not seen, by it or by another reader.
  { name: "an empty name", bytes: `GET /a HTTP/1.1\r\n${host}: a\r\n\r\n`, uws: "served" },
  { name: "a zero byte in a value", bytes: `GET /a HTTP/1.1\r\n${host}X: a\0b\r\n\r\n` },
  { name: "a zero byte in a name", bytes: `GET /a HTTP/1.1\r\n${host}X\0: a\r\n\r\n` },
  { name: "a bare CR in a value", bytes: `GET /a HTTP/1.1\r\n${host}X: a\rb\r\n\r\n`, uws: ["close"] },
  { name: "a bare LF after a header", bytes: `GET /a HTTP/1.1\r\n${host}X: a\n\r\n` },
  { name: "bare LFs all over", bytes: "GET /a HTTP/1.1\nHost: a\n\n", uws: [505, 400, "close"] },
  { name: "a fragment", bytes: `GET /a#b HTTP/1.1\r\n${host}\r\n` },
  { name: "a control byte in the path", bytes: `GET /a\x01b HTTP/1.1\r\n${host}\r\n`, uws: [505, 400] },
  { name: "DEL in the path", bytes: `GET /a\x7fb HTTP/1.1\r\n${host}\r\n` },
  { name: "no path", bytes: `GET HTTP/1.1\r\n${host}\r\n`, uws: [505, 400] },
  { name: "HTTP/0.9", bytes: "GET /a\r\n\r\n", uws: ["close"] },
  { name: "HTTP/3.7", bytes: `GET /a HTTP/3.7\r\n${host}\r\n`, uws: [505, 400], node: [400, 505] },
  { name: "HTTP/2 in clear", bytes: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", uws: [505, 400], node: [400, 505] },
  { name: "an unknown expectation", bytes: `GET /a HTTP/1.1\r\n${host}Expect: more\r\n\r\n`, node: [417], uws: [417] },
  { name: "garbage", bytes: "\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", uws: [505, 400, "close"] },
];

/** How long a parser that says nothing may keep a connection: the build's timer ticks in steps of four seconds. */
const silentMsMax = 16_000;

async function refused(t: Test, stand: Stand, front: FrontUnderTest, { name, bytes, node, uws }: Case): Promise<void> {
  const expected = (front.name === "node" ? node : uws) ?? [400];
  if (expected === "served") return;
  const wire = await stand.wire();
  const behind = `/probe-${cases.findIndex((c) => c.name === name)}`;
  wire.send(bytes + probe.replace("/probe", behind));
  const closed = await wire.until((w) => w.closed, silentMsMax);
  const [code = "close", ...more] = codes(wire.received);
  t.ok(closed, `${name}: closed`);
  t.ok(expected.includes(code), `${name}: ${code} is one of ${expected.join(", ")}`);
  t.same(more, [], `${name}: one answer at most`);
  t.notOk(stand.toy.seen.includes(`GET ${behind}`), `${name}: what follows is not run`);
}

for (const front of fronts) {
  const name = `${front.name}${front.secure ? " over TLS" : ""}`;
  t.test(`${name} refuses malformed requests and runs nothing behind them`, { buffered: true }, async (t) => {
    const stand = await Stand.open(front);
    t.teardown(() => stand.close());
    await Promise.all(cases.map((c) => refused(t, stand, front, c)));
    const alive = await stand.ask(probe, (w) => w.received.endsWith("/probe"));
    t.same(codes(alive.received), [200], "others are served");
  });

  t.test(`${name} takes requests in any two pieces`, { buffered: true }, async (t) => {
    const stand = await Stand.open(front);
    t.teardown(() => stand.close());
    const content = `{"kind":"Probe"}`;
    const line = "POST /echo?a=b HTTP/1.1\r\n";
    const request = `${line}${host}Content-Length: ${content.length}\r\n\r\n${content}`;
    const chunks = `${line}${host}${chunked}\r\n6\r\n{"kind\r\na\r\n":"Probe"}\r\n0\r\n\r\n`;
    for (const bytes of [request, chunks]) {
      const wires = await Promise.all(Array.from({ length: bytes.length - 1 }, () => stand.wire()));
      await Promise.all(wires.map((wire, i) => inTwo(wire, bytes, i + 1)));
      wires.forEach((wire, i) => {
        const [code] = codes(wire.received);
        if (code !== 200) t.equal(code, 200, `split at ${i + 1} of ${JSON.stringify(bytes)}`);
        else if (!wire.received.endsWith(content)) t.fail(`split at ${i + 1}: ${wire.received}`);
      });
      t.pass(`${wires.length} splits`);
    }
  });
}

/** Sends in two writes with a turn of the loop between, so that they are two reads. */
async function inTwo(wire: Wire, bytes: string, at: number): Promise<void> {
  wire.send(bytes.slice(0, at));
  await new Promise((resolve) => setTimeout(resolve, 30));
  wire.send(bytes.slice(at));
  await wire.until((w) => w.closed || /\r\n\r\n[\s\S]*}$/.test(w.received));
}
