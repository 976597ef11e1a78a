// WebSockets to extension servers, over each front: what the client and the extension server send each other, how both
// end, and what is refused before. The uws front speaks the protocol itself; bytes of the node front pass unread.
import { connect as connectPlain, type Socket } from "node:net";
import { connect } from "node:tls";
import type { Test } from "tap";
import t from "tap";
import { alwaysAllow } from "../../../src/authz/authorizer.ts";
import { limits } from "../../../src/config/limits.ts";
import { acceptOf } from "../../../src/outbound/frames.ts";
import { type Got, type Peer, type PeerOptions, watch, ws } from "../../outbound/websocket.ts";
import { base, onFronts, type World } from "../../support/aggregated.ts";
import { until } from "../../support/inprocess.ts";

t.setTimeout(280_000);

const path = `${base}/things/a/console`;
const key = "dGhlIHNhbXBsZSBub25jZQ==";

/** Opens a WebSocket through the server. */
function dial({ port, ca }: World, protocols: string[] = [], options: PeerOptions = {}, at = path): Got {
  const url = `${ca === undefined ? "ws" : "wss"}://127.0.0.1:${port}${at}`;
  return watch(new ws(url, protocols, { ca, checkServerIdentity: () => undefined, ...options }));
}

/** Has the extension server accept WebSockets. Answers with those it has, and the headers of each. */
function accepts({ extension }: World, subprotocol: string | false = false) {
  const peers: Got[] = [];
  const headers: Record<string, unknown>[] = [];
  const server = new ws.Server({ noServer: true, maxPayload: 8 << 20, handleProtocols: () => subprotocol });
  extension.server.removeAllListeners("upgrade");
  extension.server.on("upgrade", (request, socket: Socket, head: Buffer) => {
    headers.push(request.headers);
    server.handleUpgrade(request, socket, head, (peer) => peers.push(watch(peer)));
  });
  return { peers, headers };
}

/** Has the extension server answer with these bytes, made from the key. */
function answers({ extension }: World, bytes: (accept: string) => string): { sockets: Socket[]; received: string[] } {
  const sockets: Socket[] = [];
  const received: string[] = [];
  extension.server.removeAllListeners("upgrade");
  extension.server.on("upgrade", (request, socket: Socket) => {
    sockets.push(socket);
    socket.on("error", () => undefined);
    socket.on("data", (chunk: Buffer) => received.push(chunk.toString("latin1")));
    socket.write(bytes(acceptOf(request.headers["sec-websocket-key"] ?? "")), "latin1");
  });
  return { sockets, received };
}

const switching = (accept: string, more = ""): string =>
  `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ${accept}\r\n${more}\r\n`;

function headOf(more = "", at = path): string {
  return `GET ${at} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${key}\r\n${more}\r\n`;
}

/** A client's connection of bytes. */
function line({ port, ca }: World, bytes: string) {
  const send = (): unknown => socket.write(bytes, "latin1");
  const at = { host: "127.0.0.1", port };
  const socket: Socket = ca === undefined ? connectPlain(at, send) : connect({ ...at, ca }, send);
  const one = { socket, text: "", closed: false };
  socket.on("data", (chunk) => {
    one.text += chunk.toString("latin1");
  });
  socket.on("error", () => undefined);
  socket.on("close", () => {
    one.closed = true;
  });
  return one;
}

function onBoth(name: string, run: (t: Test, world: World) => Promise<void>): void {
  onFronts(name, run, undefined, { secure: true });
  onFronts(`${name} (no TLS)`, run);
}

function onUws(name: string, run: (t: Test, world: World) => Promise<void>): void {
  onFronts(name, run, undefined, { secure: true, only: "uws" });
}

const first = <T>(list: readonly T[]): T => list[0] as T;

onBoth("messages pass both ways, whole, in pieces and large, with pings and a subprotocol", async (t, world) => {
  const { server, extension } = world;
  const { peers, headers } = accepts(world, "v5");
  const token = "base64url.bearer.authorization.k8s.io.eA";
  const client = dial(world, [token, "v4", "v5"], {
    headers: { "x-remote-user": "forged", authorization: "Bearer x", "x-mine": "1" },
    perMessageDeflate: true,
  });
  t.ok(await until(() => client.isOpen && peers.length === 1));
  const peer = first(peers);
  t.equal(client.peer.protocol, "v5", "the extension server's choice");
  const seen = first(headers);
  t.equal(seen["x-remote-user"], "admin");
  t.equal(seen["authorization"], undefined);
  t.equal(seen["sec-websocket-protocol"], "v4, v5");
  t.equal(seen["x-mine"], "1");
  if (world.front === "uws") t.equal(seen["sec-websocket-extensions"], undefined, "nothing is compressed");
  const large = Buffer.alloc(1 << 20, "0123456789abcdef");
  const odd = Buffer.alloc(70_001, "x");
  const all = ["text é", "", Buffer.from([0, 255]), Buffer.alloc(0), odd, large, "y".repeat(200_000)];
  for (const [from, to] of [
    [client, peer],
    [peer, client],
  ] as const) {
    for (const one of all) from.peer.send(one);
    t.ok(await until(() => to.messages.length === all.length));
    t.same(to.messages, all);
    to.messages.length = 0;
    from.peer.send("one ", { fin: false });
    from.peer.ping("between");
    from.peer.send("two ", { fin: false });
    from.peer.send("three", { fin: true });
    t.ok(await until(() => to.messages.length === 1 && to.pings.includes("between")));
    t.equal(to.messages.pop(), "one two three");
    t.ok(await until(() => from.pongs.includes("between")), "a ping is answered");
  }
  t.equal(server.server.extensions.backends.streams.used, 1);
  t.equal(server.server.inflight.readOnly.used, 0, "no seat is held");
  client.peer.close(1000, "done");
  t.ok(await until(() => peer.closed !== undefined && client.closed !== undefined && extension.open.size === 0));
  t.same(peer.closed, [1000, "done"]);
  t.same(client.closed, [1000, "done"]);
  t.equal(server.lastRecord?.code, 101);
});

onBoth("codes and reasons of either side reach the other", async (t, world) => {
  const { peers } = accepts(world);
  const codes: [number | undefined, string][] = [
    [1000, ""],
    [1001, "é".repeat(61)],
    [1011, "why"],
    [4999, "own"],
    [undefined, ""],
  ];
  for (const [code, reason] of codes) {
    for (const closes of ["client", "extension server"]) {
      peers.length = 0;
      const client = dial(world);
      t.ok(await until(() => client.isOpen && peers.length === 1));
      const [from, to] = closes === "client" ? [client, first(peers)] : [first(peers), client];
      if (code === undefined) from.peer.close();
      else from.peer.close(code, reason);
      t.ok(await until(() => to.closed !== undefined));
      t.same(to.closed, [code ?? 1005, reason], `${closes} closes with ${code}`);
      t.ok(await until(() => from.closed !== undefined && world.extension.open.size === 0));
    }
  }
  peers.length = 0;
  const client = dial(world);
  t.ok(await until(() => client.isOpen && peers.length === 1));
  client.peer.close(3001, "registered");
  t.ok(await until(() => first(peers).closed !== undefined));
  t.same(first(peers).closed, world.front === "uws" ? [1005, ""] : [3001, "registered"]);
});

onBoth("what the extension server answers instead reaches the client", async (t, world) => {
  const text = "HTTP/1.1 403 No\r\nContent-Type: text/plain\r\nX-Mine: 1\r\nContent-Length: 3\r\n\r\nwhy";
  answers(world, () => text);
  const client = dial(world);
  t.ok(await until(() => client.refused !== undefined));
  t.match(client.refused, { code: 403, text: "why", headers: { "x-mine": "1" } });
  answers(world, () => "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
  const other = dial(world);
  t.ok(await until(() => other.refused !== undefined));
  t.match(other.refused, { code: 503, text: /invalid upgrade response: status code 200/ });
  world.extension.server.removeAllListeners("upgrade");
  world.extension.server.on("upgrade", (_request, socket: Socket) => socket.destroy());
  const dead = dial(world);
  t.ok(await until(() => dead.refused !== undefined));
  t.match(dead.refused, { code: 503, text: /error dialing backend: / });
  t.ok(await until(() => world.extension.open.size === 0));
});

onBoth("who may not is refused before the extension server is asked", async (t, world) => {
  const { server, extension } = world;
  const { peers } = accepts(world);
  server.authorizer = { authorize: () => ({ allowed: "no", reason: "" }) } as never;
  const refused = dial(world);
  t.ok(await until(() => refused.refused !== undefined));
  t.equal(refused.refused?.code, 403);
  t.match(refused.refused?.text, /things/);
  server.authorizer = alwaysAllow;
  server.stranger = true;
  const stranger = dial(world);
  t.ok(await until(() => stranger.refused !== undefined));
  t.equal(stranger.refused?.code, 401);
  server.stranger = false;
  server.checks = true;
  const token = dial(world, [`base64url.bearer.authorization.k8s.io.${Buffer.from("no").toString("base64url")}`, "v4"]);
  t.ok(await until(() => token.refused !== undefined));
  t.equal(token.refused?.code, 401, "a wrong token among the subprotocols");
  server.checks = false;
  const hopped = dial(world, [], { headers: { "x-forwarded-for": Array(10).fill("10.0.0.1").join(", ") } });
  t.ok(await until(() => hopped.refused !== undefined));
  t.equal(hopped.refused?.code, 508);
  t.equal(peers.length, 0);
  t.equal(extension.open.size, 0, "no connection was opened");
});

onBoth("either side that goes ends the other", async (t, world) => {
  const { extension } = world;
  const { peers } = accepts(world);
  const client = dial(world);
  t.ok(await until(() => client.isOpen && peers.length === 1));
  client.peer.terminate();
  t.ok(await until(() => first(peers).closed !== undefined && extension.open.size === 0));
  t.equal(first(peers).closed?.[0], 1006, "as if it were the client's own connection");
  peers.length = 0;
  const other = dial(world);
  t.ok(await until(() => other.isOpen && peers.length === 1));
  first(peers).peer.send("last");
  for (const socket of extension.open) (socket as Socket).end();
  t.ok(await until(() => other.closed !== undefined));
  t.same(other.messages, ["last"]);
  t.equal(other.closed?.[0], world.front === "uws" ? 1011 : 1006);
});

onBoth("a client that goes before the answer leaves nothing behind", async (t, world) => {
  const { extension } = world;
  const sockets: Socket[] = [];
  extension.server.removeAllListeners("upgrade");
  extension.server.on("upgrade", (_request, socket: Socket) => {
    socket.on("error", () => undefined);
    sockets.push(socket);
  });
  const client = dial(world);
  t.ok(await until(() => sockets.length === 1));
  client.peer.terminate();
  t.ok(await until(() => extension.open.size === 0), "its connection is closed");
  const late = dial(world, [], {}, `${path}?timeout=200ms`);
  t.ok(await until(() => late.refused !== undefined));
  t.equal(late.refused?.code, 504);
  t.ok(await until(() => extension.open.size === 0));
});

/** Sends until it is told to stop; says how much. */
function flood(peer: Peer, chunk: Buffer): { sent: () => number; stop: () => void } {
  let sent = 0;
  let isOver = false;
  const more = (): void => {
    if (isOver || peer.readyState !== 1) return;
    sent += chunk.length;
    peer.send(chunk, {}, () => setImmediate(more));
  };
  for (let count = 0; count < 8; count++) more();
  return {
    sent: () => sent,
    stop: () => {
      isOver = true;
    },
  };
}

async function stops(sent: () => number): Promise<boolean> {
  let last = -1;
  let still = 0;
  return until(async () => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    still = sent() === last ? still + 1 : 0;
    last = sent();
    return last > 0 && still > 20;
  }, 30_000);
}

onBoth("a client that does not read stops the extension server, and nothing is lost", async (t, world) => {
  const { peers } = accepts(world);
  const client = dial(world);
  t.ok(await until(() => client.isOpen && peers.length === 1));
  let bytes = 0;
  let faults = 0;
  client.peer.removeAllListeners("message");
  client.peer.on("message", (data: Buffer) => {
    bytes += data.length;
    if (data.some((byte, at) => byte !== (at & 255))) faults += 1;
  });
  client.peer.pause();
  const down = flood(first(peers).peer, Buffer.from(Array.from({ length: 50_000 }, (_, at) => at & 255)));
  t.ok(await stops(down.sent));
  t.ok(down.sent() < 40_000_000, `${down.sent()} bytes`);
  const before = down.sent();
  client.peer.resume();
  t.ok(await until(() => down.sent() > before + 4_000_000), "it goes on");
  down.stop();
  t.ok(await until(() => bytes >= down.sent()));
  t.equal(bytes, down.sent());
  t.equal(faults, 0);
  client.peer.terminate();
  t.ok(await until(() => world.extension.open.size === 0));
});

onBoth("an extension server that does not read costs no more than a bound", async (t, world) => {
  const { backends } = world.server.server.extensions;
  const { peers } = accepts(world);
  const client = dial(world);
  t.ok(await until(() => client.isOpen && peers.length === 1));
  first(peers).peer.pause();
  const chunk = Buffer.alloc(64 * 1024, "x");
  const up = flood(client.peer, chunk);
  if (world.front === "node") {
    t.ok(await stops(up.sent));
    t.ok(up.sent() < 40_000_000, `${up.sent()} bytes`);
    up.stop();
    client.peer.terminate();
    first(peers).peer.terminate();
    return void t.ok(await until(() => world.extension.open.size === 0));
  }
  t.ok(await until(() => backends.messages.used > limits.socketMessageBytesMax * 3, 30_000), "what waits is charged");
  t.ok(await until(() => client.closed !== undefined, 30_000));
  t.same(client.closed, [1013, "the extension server does not take what is sent to it"]);
  t.ok(up.sent() < 60_000_000, `${up.sent()} bytes`);
  t.equal(backends.messages.used, 0);
  first(peers).peer.resume();
  t.ok(await until(() => first(peers).closed !== undefined), "its own end comes behind what waited");
  t.same(first(peers).closed, [1011, "more waited for this connection than may wait"]);
  t.notOk(first(peers).messages.some((one) => !chunk.equals(one as Buffer)));
});

onUws("an extension server that is slow for a while loses nothing", async (t, world) => {
  const { peers } = accepts(world);
  const client = dial(world);
  t.ok(await until(() => client.isOpen && peers.length === 1));
  first(peers).peer.pause();
  const chunk = Buffer.from(Array.from({ length: 100_000 }, (_, at) => at % 251));
  for (let count = 0; count < 60; count++) client.peer.send(chunk);
  t.ok(await until(() => client.peer.bufferedAmount === 0), "the front took it");
  first(peers).peer.resume();
  t.ok(await until(() => first(peers).messages.length === 60));
  t.notOk(first(peers).messages.some((one) => !chunk.equals(one as Buffer)));
  t.ok(await until(() => world.server.server.extensions.backends.messages.used <= limits.socketMessageBytesMax * 2));
  client.peer.close(1000);
  t.ok(await until(() => world.extension.open.size === 0));
});

onUws("handshakes that are not right are refused", async (t, world) => {
  const { peers } = accepts(world);
  const cases: [string, string, RegExp][] = [
    ["version 8", headOf().replace("Version: 13", "Version: 8"), /version \\"8\\" of WebSocket/],
    ["no version", headOf().replace("Sec-WebSocket-Version: 13\r\n", ""), /version \\"\\" of WebSocket/],
    ["two versions", headOf("Sec-WebSocket-Version: 8\r\n"), /version \\"13, 8\\"/],
    ["no key", headOf().replace(/Sec-WebSocket-Key: .*\r\n/, ""), /Sec-WebSocket-Key/],
    ["a short key", headOf().replace(key, "eA=="), /Sec-WebSocket-Key/],
    ["a key that is none", headOf().replace(key, "x".repeat(24)), /Sec-WebSocket-Key/],
    ["two keys", headOf(`Sec-WebSocket-Key: ${key}\r\n`), /Sec-WebSocket-Key/],
    ["another protocol", headOf().replace("Upgrade: websocket", "Upgrade: SPDY/3.1"), /needs --front=node/],
    ["a choice", headOf().replace("Upgrade: websocket", "Upgrade: websocket, SPDY/3.1"), /needs --front=node/],
    ["two protocols", headOf("Upgrade: SPDY/3.1\r\n"), /needs --front=node/],
    ["one to send requests in", headOf().replace("Upgrade: websocket", "Upgrade: h2c"), /is not passed on/],
    ["a body", `${headOf("Content-Length: 2\r\n")}hi`, /without a body/],
    ["a POST", headOf("Content-Length: 0\r\n").replace("GET", "POST"), /must be a GET/],
  ];
  for (const [name, head, text] of cases) {
    const one = line(world, head);
    t.ok(await until(() => one.closed), name);
    t.match(one.text, /^HTTP\/1.1 400 /, name);
    t.match(one.text, text, name);
    if (name.includes("version")) t.match(one.text, /\r\nSec-WebSocket-Version: 13\r\n/i);
  }
  const plain = line(world, headOf().replace("Connection: Upgrade\r\n", "Connection: close\r\n"));
  t.ok(await until(() => plain.closed));
  t.match(plain.text, /^HTTP\/1.1 200 /, "no upgrade is asked for");
  t.equal(peers.length, 0);
  t.equal(world.extension.open.size, 1, "the connection that is kept");
});

onUws("an extension server that switches otherwise than asked is 503", async (t, world) => {
  const cases: [string, (accept: string) => string, RegExp][] = [
    ["another accept", () => switching("x"), /Sec-WebSocket-Accept/],
    ["two", (accept) => switching(accept, `Sec-WebSocket-Accept: ${accept}\r\n`), /Sec-WebSocket-Accept/],
    ["none", () => switching("").replace(/Sec-WebSocket-Accept: \r\n/, ""), /Sec-WebSocket-Accept/],
    [
      "an extension",
      (accept) => switching(accept, "Sec-WebSocket-Extensions: permessage-deflate\r\n"),
      /extension \S*"?permessage/,
    ],
    ["a subprotocol", (accept) => switching(accept, "Sec-WebSocket-Protocol: v9\r\n"), /subprotocol .*v9/],
    [
      "a token's",
      (accept) => switching(accept, "Sec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io.eA\r\n"),
      /subprotocol/,
    ],
    ["a long head", (accept) => switching(accept, `X-A: ${"x".repeat(6_000)}\r\n`.repeat(3)), /a head of/],
    ["another protocol", (accept) => switching(accept).replace("websocket", "SPDY/3.1"), /protocol/],
  ];
  for (const [name, answer, text] of cases) {
    const { sockets } = answers(world, answer);
    const one = line(
      world,
      headOf(
        "Sec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io.eA, v4\r\nSec-WebSocket-Extensions: permessage-deflate\r\n",
      ),
    );
    t.ok(await until(() => one.closed), name);
    t.match(one.text, /^HTTP\/1.1 503 /, name);
    t.match(one.text, text, name);
    t.ok(await until(() => sockets.every(({ destroyed }) => destroyed) && world.extension.open.size === 0));
  }
});

onUws("further headers of the switch are passed on, and none of the connection", async (t, world) => {
  answers(world, (accept) => switching(accept, "X-Mine: 1\r\nX-Hop: 1\r\nConnection: X-Hop\r\nSet-Cookie: a=b\r\n"));
  const one = line(world, headOf());
  t.ok(await until(() => one.text.includes("\r\n\r\n")));
  t.match(one.text, /^HTTP\/1.1 101 Switching Protocols\r\n/);
  t.match(one.text, /\r\nX-Mine: 1\r\n/);
  t.match(one.text, /\r\nSet-Cookie: a=b\r\n/);
  t.match(one.text, new RegExp(`\\r\\nSec-WebSocket-Accept: ${acceptOf(key).replaceAll("+", "\\+")}\\r\\n`));
  t.equal(one.text.split(/\r\nSec-WebSocket-Accept/).length, 2);
  t.equal(one.text.split(/\r\nUpgrade:/).length, 2);
  t.notMatch(one.text, /X-Hop|Sec-WebSocket-Protocol|Sec-WebSocket-Extensions/);
  one.socket.destroy();
});

onUws("a malformed frame of the extension server ends both, and frames before it arrive", async (t, world) => {
  const frames: [string, string][] = [
    ["a mask", "\x81\x82abcdhi"],
    ["a reserved bit", "\xc1\x01x"],
    ["an opcode", "\x83\x00"],
    ["a close code", "\x88\x02\x03\xee"],
    ["a close of one byte", "\x88\x01x"],
  ];
  for (const [name, bytes] of frames) {
    const { received } = answers(world, (accept) => `${switching(accept)}\x81\x02ok${bytes}`);
    const client = dial(world);
    t.ok(await until(() => client.closed !== undefined), name);
    t.same(client.messages, ["ok"], name);
    t.same(client.closed, [1011, "the extension server sent a malformed frame"]);
    t.ok(await until(() => received.join("").length > 0 && received.join("").startsWith("\x88")), "it is told");
    for (const socket of world.extension.open) (socket as Socket).destroy();
  }
});

onUws("a client that sends too much at once, or too large, is ended", async (t, world) => {
  const { peers } = accepts(world);
  const large = dial(world);
  t.ok(await until(() => large.isOpen && peers.length === 1));
  large.peer.send(Buffer.alloc(limits.socketMessageBytesMax + 1));
  t.ok(await until(() => large.closed !== undefined && first(peers).closed !== undefined));
  t.same(first(peers).messages, []);
  for (const [name, frame] of [
    ["messages", "\x82\x80\0\0\0\0"],
    ["pings", "\x89\x80\0\0\0\0"],
  ] as const) {
    peers.length = 0;
    const many = line(world, headOf());
    t.ok(await until(() => many.text.includes("\r\n\r\n") && peers.length === 1));
    many.socket.write(frame.repeat(60_000), "latin1");
    t.ok(await until(() => many.closed), name);
    t.match(many.text, /frames at once/, name);
    t.ok(await until(() => first(peers).closed !== undefined));
    // The extension server of these tests ends by itself what sends it many pings.
    if (name === "messages") t.equal(first(peers).closed?.[0], 1008);
  }
});

onUws("a client that sends pings and reads nothing is not answered without end", async (t, world) => {
  const { peers } = accepts(world);
  const many = line(world, headOf());
  t.ok(await until(() => many.text.includes("\r\n\r\n") && peers.length === 1));
  many.socket.pause();
  const before = process.memoryUsage().rss;
  const pings = Buffer.concat(
    Array.from({ length: 500 }, () => Buffer.concat([Buffer.from([0x89, 0xfd, 0, 0, 0, 0]), Buffer.alloc(125, "p")])),
  );
  first(peers).peer.removeAllListeners("ping");
  let sent = 0;
  while (sent < 100_000_000 && !many.closed) {
    sent += pings.length;
    const more = many.socket.write(pings);
    if (!more) await until(() => many.closed || many.socket.writableLength === 0);
  }
  const grown = process.memoryUsage().rss - before;
  t.ok(grown < 150_000_000, `${grown} bytes after ${sent}`);
  many.socket.destroy();
  t.ok(await until(() => world.extension.open.size === 0));
});

onBoth("they are ended at shutdown, and places are limited for each user", async (t, world) => {
  const { extension, server } = world;
  const { backends } = server.server.extensions;
  const { peers } = accepts(world);
  const clients = [dial(world), dial(world)];
  t.ok(await until(() => clients.every(({ isOpen }) => isOpen) && peers.length === 2));
  const full = world.front === "uws" ? backends.messages : backends.streams;
  const leave = full.charge({ name: "joe", level: "ordinary" }, full.max - full.used);
  const one = dial(world);
  t.ok(await until(() => one.refused !== undefined));
  t.equal(one.refused?.code, 429);
  leave();
  await backends.endLasting(1_000);
  t.ok(await until(() => clients.every(({ closed }) => closed !== undefined)));
  const end = world.front === "uws" ? [1001, "the server is shutting down"] : [1006, ""];
  t.same(
    clients.map(({ closed }) => closed),
    [end, end],
  );
  t.ok(await until(() => extension.open.size === 0));
  if (world.front === "uws") t.same(first(peers).closed, end);
});
