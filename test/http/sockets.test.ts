// WebSockets on the uws front alone: they count as connections until they are gone, and as work under way until they ended.
import { connect, type Socket } from "node:net";
import t, { type Test } from "tap";
import { limits } from "../../src/config/limits.ts";
import { Openings } from "../../src/http/openings.ts";
import { type Closing, type Frame, opcodes } from "../../src/outbound/frames.ts";
import type { Exchange, MessageTunnel } from "../../src/request/exchange/transport.ts";
import { until } from "../support/inprocess.ts";
import { fronts, Stand } from "./fronts.ts";

t.setTimeout(120_000);

const head =
  "GET /a HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

/** What the handler has of one. */
interface Held {
  readonly exchange: Exchange;
  readonly accept: () => MessageTunnel;
  readonly frames: Frame[];
  readonly closed: Closing[];
  /** Times the exchange said that its client is gone. */
  gone: number;
}

interface Place {
  readonly stand: Stand;
  readonly openings: Openings;
  readonly held: Held[];
  readonly open: (bytes?: string) => Socket & { text: string; isClosed: boolean };
}

function onUws(name: string, run: (t: Test, place: Place) => Promise<void>): void {
  for (const front of fronts.filter(({ name: one, secure }) => one === "uws" && !secure)) {
    t.test(name, async (t) => {
      const openings = new Openings(100);
      const held: Held[] = [];
      const handle = (exchange: Exchange): void => {
        const frames: Frame[] = [];
        const closed: Closing[] = [];
        const one: Held = {
          exchange,
          frames,
          closed,
          gone: 0,
          accept: () => {
            const { upgrade } = exchange;
            if (upgrade?.kind !== "messages") throw new Error("no WebSocket");
            const tunnel = upgrade.accept([["X-Mine", "1"]], "");
            tunnel.read({
              frame: ({ opcode, fin, payload }) => frames.push({ opcode, fin, payload: Buffer.from(payload) }),
              closed: (closing) => closed.push(closing),
            });
            return tunnel;
          },
        };
        exchange.onAbort(() => {
          one.gone += 1;
        });
        held.push(one);
      };
      const stand = await Stand.open(front, limits.headMsMax, handle, limits.stallMsMax, openings);
      const sockets: Socket[] = [];
      const open = (bytes = head): Socket & { text: string; isClosed: boolean } => {
        const socket = connect(stand.listener.port, "127.0.0.1", () => socket.write(bytes, "latin1"));
        sockets.push(socket);
        const one = Object.assign(socket, { text: "", isClosed: false });
        socket.on("data", (chunk) => {
          one.text += chunk.toString("latin1");
        });
        socket.on("error", () => undefined);
        socket.on("close", () => {
          one.isClosed = true;
        });
        return one;
      };
      t.teardown(async () => {
        for (const socket of sockets) socket.destroy();
        await stand.close();
      });
      await run(t, { stand, openings, held, open });
    });
  }
}

onUws("a WebSocket counts as a connection and as work until it is gone", async (t, { stand, openings, held, open }) => {
  const client = open();
  t.ok(await until(() => held.length === 1));
  await new Promise((resolve) => setImmediate(resolve));
  held[0]?.accept();
  t.ok(await until(() => /^HTTP\/1.1 101 .*X-Mine: 1.*\r\n\r\n$/s.test(client.text)));
  t.same([openings.open, stand.listener.pending, stand.listener.streaming], [1, 1, 0]);
  client.write(Buffer.from([0x82, 0x81, 0, 0, 0, 0, 65]));
  t.ok(await until(() => held[0]?.frames.length === 1));
  t.same(held[0]?.frames[0], { opcode: opcodes.binary, fin: true, payload: Buffer.from("A") });
  client.destroy();
  t.ok(await until(() => held[0]?.closed.length === 1));
  t.equal(held[0]?.closed[0]?.code, 1006);
  t.equal(held[0]?.gone, 1);
  t.same([openings.open, stand.listener.pending], [0, 0]);
});

onUws(
  "one that was closed in order counts until the build lets go of it",
  async (t, { stand, openings, held, open }) => {
    const client = open();
    t.ok(await until(() => held.length === 1));
    const tunnel = held[0]?.accept();
    tunnel?.end({ code: 1000, reason: "" });
    t.ok(await until(() => held[0]?.closed.length === 1));
    t.equal(stand.listener.pending, 0);
    t.equal(openings.open, 1, "its client may keep the connection for a while");
    t.ok(await until(() => client.isClosed, limits.socketLingerMs), "not for longer than that");
    t.ok(await until(() => openings.open === 0, limits.socketLingerMs * 2));
  },
);

onUws("a client that is gone before the answer gets none", async (t, { openings, held, open }) => {
  const client = open();
  t.ok(await until(() => held.length === 1));
  const upgrade = held[0]?.exchange.upgrade;
  client.destroy();
  t.ok(await until(() => held[0]?.gone === 1));
  t.equal(upgrade?.kind, "messages");
  const tunnel = held[0]?.accept();
  t.same(held[0]?.closed, [{ code: 1006, reason: "" }]);
  t.equal(tunnel?.write({ opcode: opcodes.text, fin: true, payload: Buffer.from("x") }), true);
  tunnel?.end({ code: 1000, reason: "" });
  tunnel?.cut();
  t.equal(openings.open, 0);
});

onUws("nothing behind the request is run, and its client is closed", async (t, { held, open }) => {
  for (const behind of ["GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n", "\x82\x81\0\0\0\0A"]) {
    const client = open(`${head}${behind}`);
    t.ok(await until(() => client.isClosed));
    t.notMatch(client.text, / 101 /);
  }
  t.notOk(held.some(({ exchange }) => exchange.path === "/hidden"));
});

onUws("a listener that is closed ends them", async (t, { stand, openings, held, open }) => {
  const clients = [open(), open()];
  t.ok(await until(() => held.length === 2));
  for (const one of held) one.accept();
  t.ok(await until(() => clients.every(({ text }) => text.includes("\r\n\r\n"))));
  stand.listener.stopAccepting();
  t.equal(stand.listener.pending, 2);
  stand.listener.cut();
  t.ok(await until(() => clients.every(({ isClosed }) => isClosed)));
  t.same([stand.listener.pending, openings.open], [0, 0]);
  t.same(
    held.map(({ closed }) => closed.length),
    [1, 1],
  );
});

onUws("what waits for its client is sent before the end", async (t, { held, open }) => {
  const client = open();
  t.ok(await until(() => held.length === 1));
  const tunnel = held[0]?.accept();
  let received = 0;
  client.removeAllListeners("data");
  client.pause();
  let sent = 0;
  const payload = Buffer.alloc(64 * 1024, "x");
  while (tunnel?.write({ opcode: opcodes.binary, fin: true, payload }) === true) sent += payload.length;
  sent += payload.length;
  tunnel?.end({ code: 1001, reason: "bye" });
  t.equal(held[0]?.closed.length, 0);
  let tail = Buffer.alloc(0);
  client.on("data", (chunk) => {
    received += chunk.length;
    tail = Buffer.concat([tail, chunk]).subarray(-7);
  });
  client.resume();
  t.ok(await until(() => client.isClosed));
  t.ok(received > sent, `${received} bytes of ${sent}`);
  t.equal(tail.subarray(-3).toString(), "bye");
});
