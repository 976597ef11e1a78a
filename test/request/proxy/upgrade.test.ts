// Connections that speak another protocol through this server (ATTACKS B01, B02, B05, B08): they begin with a 101 of the
// extension server for a protocol the client named, and whatever is answered otherwise ends them.
import { connect as connectPlain, type Socket } from "node:net";
import { connect } from "node:tls";
import t, { type Test } from "tap";
import { base, onFronts, type World } from "../../support/aggregated.ts";
import { type ExtensionServer, openExtension, say } from "../../support/extension.ts";
import { until } from "../../support/inprocess.ts";

t.setTimeout(240_000);

function headOf(path: string, protocol = "SPDY/3.1", more = ""): string {
  return `GET ${base}${path} HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\nUpgrade: ${protocol}\r\n${more}\r\n`;
}

/** A client's connection: what it sent and got. */
class Line {
  readonly socket: Socket;
  text = "";
  closed = false;

  constructor({ port, ca }: Pick<World, "port" | "ca">, bytes: string) {
    const send = (): unknown => this.socket.write(bytes, "latin1");
    const at = { host: "127.0.0.1", port };
    this.socket = ca === undefined ? connectPlain(at, send) : connect({ ...at, ca }, send);
    this.socket.on("data", (chunk) => {
      this.text += chunk.toString("latin1");
    });
    this.socket.on("error", () => undefined);
    this.socket.on("close", () => {
      this.closed = true;
    });
  }

  get code(): number {
    return Number(this.text.split(" ")[1] ?? 0);
  }
}

/** Has the extension server switch, and echo. Answers with the connections it has. */
function echoes(extension: ExtensionServer, more = ""): Socket[] {
  const sockets: Socket[] = [];
  extension.server.removeAllListeners("upgrade");
  extension.server.on("upgrade", (request, socket: Socket, head: Buffer) => {
    sockets.push(socket);
    const protocol = request.headers.upgrade ?? "";
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n${more}\r\n`);
    if (head.length > 0) socket.write(head);
    socket.on("data", (chunk: Buffer) => socket.write(chunk));
    socket.on("error", () => undefined);
    socket.on("end", () => socket.end());
  });
  return sockets;
}

/** As onFronts(), for what needs a connection's bytes. */
function onNode(name: string, run: (t: Test, world: World) => Promise<void>): void {
  onFronts(
    name,
    async (t, world) => {
      if (world.front === "node") return run(t, world);
      const line = new Line(world, headOf("/things/a/exec"));
      t.ok(await until(() => line.closed));
      t.equal(line.code, 400);
      t.match(line.text, /an upgrade to \\"SPDY\/3.1\\" needs --front=node/);
    },
    undefined,
    { secure: true },
  );
}

onNode("bytes pass both ways once the extension server has switched, early ones too", async (t, world) => {
  const { extension, server } = world;
  const sockets = echoes(extension, "X-Mine: 1\r\nX-Hop: 1\r\nConnection: X-Hop\r\n");
  let seen: Record<string, unknown> = {};
  extension.server.on("upgrade", (request) => {
    seen = request.headers;
  });
  const more = `Authorization: Bearer x\r\nX-Remote-User: forged\r\nX-Stream-Protocol-Version: v4\r\nSec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io.eA, v4\r\n`;
  const line = new Line(world, `${headOf("/things/a/exec?command=ls&tty=true", "SPDY/3.1", more)}early`);
  t.ok(await until(() => line.text.endsWith("early")));
  t.match(line.text, /^HTTP\/1.1 101 Switching Protocols\r\n/);
  t.match(line.text, /\r\nUpgrade: SPDY\/3.1\r\n/);
  t.match(line.text, /\r\nX-Mine: 1\r\n/);
  t.notMatch(line.text, /X-Hop/);
  t.equal(seen["x-remote-user"], "admin");
  t.equal(seen["authorization"], undefined);
  t.equal(seen["sec-websocket-protocol"], "v4");
  t.equal(seen["x-stream-protocol-version"], "v4");
  t.equal(seen["connection"], "Upgrade");
  t.equal(seen["accept-encoding"], undefined);
  for (const text of ["GET / HTTP/1.1\r\n\r\n", "\x00\xff"]) {
    line.socket.write(text, "latin1");
    t.ok(await until(() => line.text.endsWith(text)));
  }
  t.equal(server.server.extensions.backends.streams.used, 1);
  t.equal(server.server.inflight.readOnly.used, 0, "no seat is held");
  line.socket.destroy();
  t.ok(await until(() => sockets[0]?.destroyed === true && extension.open.size === 0), "ends with the client");
  const other = new Line(world, headOf("/things/a/exec"));
  t.ok(await until(() => other.code === 101));
  sockets[1]?.end("last");
  t.ok(await until(() => other.closed));
  t.match(other.text, /last$/, "ends with the extension server, everything sent");
});

onNode("what is no switch to a protocol that was asked for ends both connections", async (t, world) => {
  const { extension } = world;
  const away = await openExtension((_request, response) => say(response, {}));
  t.teardown(() => away.close());
  const to = `https://127.0.0.1:${away.port}/`;
  const answers: [string, number, RegExp][] = [
    ["HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", 503, /invalid upgrade response: status code 200/],
    ["HTTP/1.1 204 No Content\r\n\r\n", 503, /status code 204/],
    [`HTTP/1.1 302 Found\r\nLocation: ${to}\r\nContent-Length: 0\r\n\r\n`, 503, /status code 302/],
    [`HTTP/1.1 307 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n`, 503, /status code 307/],
    ["HTTP/1.1 400 Bad\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n\r\nwhy", 400, /why/],
    [
      "HTTP/1.1 403 No\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
      403,
      /\{\}/,
    ],
    ["HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n", 503, /protocol \\?"h2c\\?"/],
    ["HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", 503, /protocol/],
    ["garbage", 503, /error dialing backend: /],
    ["", 503, /error dialing backend: /],
  ];
  for (const [answer, code, text] of answers) {
    const received: string[] = [];
    extension.server.removeAllListeners("upgrade");
    extension.server.on("upgrade", (_request, socket: Socket, head: Buffer) => {
      received.push(head.toString());
      socket.on("data", (chunk: Buffer) => received.push(chunk.toString()));
      socket.on("error", () => undefined);
      if (answer === "") socket.destroy();
      else socket.write(answer);
    });
    const hidden = `GET ${base}/hidden HTTP/1.1\r\nHost: a\r\n\r\n`;
    const line = new Line(world, `${headOf("/things/a/exec")}${hidden}`);
    t.ok(await until(() => line.closed), `${answer.slice(0, 30)}: the client's connection is closed`);
    t.equal(line.code, code, answer.slice(0, 30));
    t.match(line.text, text);
    t.equal(line.text.split("HTTP/1.1").length, 2, "one answer");
    t.ok(await until(() => extension.open.size === 0), "the extension server's, too");
    t.equal(received.join(""), "", "nothing the client sent behind its request arrives");
  }
  t.equal(away.seen.length, 0, "a redirect is not followed");
  t.notOk(extension.seen.some(({ url }) => url.includes("hidden")));
});

onNode(
  "protocols in which requests can be sent are refused, as are requests that share their connection",
  async (t, world) => {
    const { extension } = world;
    echoes(extension);
    for (const protocol of ["h2c", "HTTP/2.0", "TLS/1.3", "websocket, h2c", "H2C", '"h2c"', "SPDY/3.1 h2c"]) {
      const line = new Line(world, headOf("/things/a/exec", protocol));
      t.ok(await until(() => line.closed));
      t.equal(line.code, 400, protocol);
      t.match(line.text, /is not passed on/);
    }
    const post = headOf("/things/a/exec", "SPDY/3.1", "Content-Length: 2\r\n").replace("GET", "POST");
    const body = new Line(world, `${post}hi`);
    t.ok(await until(() => body.closed));
    t.equal(body.code, 400);
    t.match(body.text, /without a body/);
    t.equal(extension.open.size, 0);
  },
);

onNode(
  "an extension server that does not answer is waited for until the deadline, or the client goes",
  async (t, world) => {
    const { extension } = world;
    extension.server.removeAllListeners("upgrade");
    extension.server.on("upgrade", (_request, socket: Socket) => socket.on("error", () => undefined));
    const line = new Line(world, headOf("/things/a/exec?timeout=200ms"));
    t.ok(await until(() => line.closed));
    t.equal(line.code, 504);
    const gone = new Line(world, headOf("/things/a/exec"));
    t.ok(await until(() => extension.open.size === 1));
    gone.socket.end();
    t.ok(await until(() => extension.open.size === 0), "its connection is closed");
  },
);

onNode("a side that does not read holds up the other", async (t, world) => {
  const { extension } = world;
  const chunk = Buffer.alloc(64 * 1024, "x");
  const flood = (socket: Socket): { sent: () => number } => {
    let sent = 0;
    const more = (): void => {
      while (socket.write(chunk)) sent += chunk.length;
      sent += chunk.length;
    };
    socket.on("drain", more);
    more();
    return { sent: () => sent };
  };
  const stops = async (sent: () => number): Promise<boolean> => {
    let last = -1;
    let still = 0;
    return until(async () => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      still = sent() === last ? still + 1 : 0;
      last = sent();
      return last > 0 && still > 20;
    }, 20_000);
  };
  const sockets: Socket[] = [];
  extension.server.removeAllListeners("upgrade");
  extension.server.on("upgrade", (_request, socket: Socket) => {
    socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n");
    socket.on("error", () => undefined);
    socket.pause();
    sockets.push(socket);
  });
  const up = new Line(world, headOf("/things/a/exec"));
  t.ok(await until(() => up.code === 101));
  const upward = flood(up.socket);
  t.ok(await stops(upward.sent));
  t.ok(upward.sent() < 40_000_000, `${upward.sent()} bytes from the client`);
  // A client whose bytes are not taken is not read, and its end not noticed: the extension server's counts.
  up.socket.destroy();
  sockets[0]?.destroy();
  const down = new Line(world, headOf("/things/a/exec"));
  t.ok(await until(() => sockets.length === 2 && down.code === 101));
  down.socket.pause();
  const downward = flood(sockets[1] as Socket);
  t.ok(await stops(downward.sent));
  t.ok(downward.sent() < 40_000_000, `${downward.sent()} bytes from the extension server`);
  down.socket.resume();
  const before = downward.sent();
  t.ok(await until(() => downward.sent() > before + 40 * chunk.length), "it goes on");
  down.socket.destroy();
  t.ok(await until(() => extension.open.size === 0));
});

onNode("connections are ended at shutdown", async (t, world) => {
  const { extension, server } = world;
  echoes(extension);
  const lines = [new Line(world, headOf("/things/a/exec")), new Line(world, headOf("/things/b/exec"))];
  t.ok(await until(() => lines.every(({ code }) => code === 101)));
  await server.server.extensions.backends.endLasting(1_000);
  t.ok(await until(() => lines.every(({ closed }) => closed) && extension.open.size === 0));
});

onNode(
  "other endpoints answer a request for another protocol as any other, and end its connection",
  async (t, world) => {
    const { server } = world;
    for (const target of ["/api/v1/namespaces/ns", "/version", "/api/v1/namespaces?watch=1&timeoutSeconds=1"]) {
      const head = `GET ${target} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`;
      const line = new Line(world, `${head}GET /api HTTP/1.1\r\nHost: a\r\n\r\n`);
      if (target.includes("watch")) {
        t.ok(await until(() => line.code === 200));
        await server.fanout.closeAll(1_000);
      }
      t.ok(await until(() => line.closed), target);
      t.equal(line.code, 200, target);
      t.equal(line.text.split("HTTP/1.1").length, 2, "one answer");
    }
  },
);
