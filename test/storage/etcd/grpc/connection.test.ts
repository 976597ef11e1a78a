// A connection of HTTP/2 whose server breaks the rules, or uses all of them: it ends, and nothing else does.
import { once } from "node:events";
import { connect } from "node:net";
import { connect as connectSecure } from "node:tls";
import t from "tap";
import { Connection, type StreamEvents } from "../../../../src/storage/etcd/grpc/connection.ts";
import { encodeFields, type Field } from "../../../../src/storage/etcd/grpc/fields.ts";
import { frame, frameTypes, numberFrame, settingIds, settingsFrame } from "../../../../src/storage/etcd/grpc/frames.ts";
import { issue } from "../../../support/certificates.ts";
import { type RawPeer, RawServer } from "../../../support/etcd/http2.ts";
import { draws } from "../../../support/random.ts";

const block = encodeFields([[":method", "POST"]]);
const ok = encodeFields([[":status", "200"]]);

/** What a stream has told, in order. */
class Told implements StreamEvents {
  readonly texts: string[] = [];
  #changed: () => void = () => undefined;
  #add(text: string): void {
    this.texts.push(text);
    this.#changed();
  }
  fields(fields: readonly Field[]): void {
    this.#add(fields.map((field) => field.join("=")).join(" "));
  }
  data(bytes: Buffer): void {
    if (bytes.length > 0) this.#add(bytes.toString("latin1"));
  }
  ended(): void {
    this.#add("ended");
  }
  failed({ isUntouched }: { isUntouched: boolean }): void {
    this.#add(isUntouched ? "untouched" : "failed");
  }
  async until(text: string): Promise<void> {
    while (this.texts.at(-1) !== text) {
      await new Promise<void>((resolve) => {
        this.#changed = resolve;
      });
    }
  }
}

/** A connection, its server's end, and why it ended. */
interface Pair {
  readonly connection: Connection;
  readonly peer: RawPeer;
  readonly ended: Promise<string>;
}

async function pairOf(
  raw: RawServer,
  settings: readonly (readonly [number, number])[] = [],
  ca?: string,
): Promise<Pair> {
  const at = { port: raw.port, host: "127.0.0.1", noDelay: true };
  const socket = ca === undefined ? connect(at) : connectSecure({ ...at, ca, checkServerIdentity: () => undefined });
  await once(socket, ca === undefined ? "connect" : "secureConnect");
  const connection = new Connection(socket);
  const ended = new Promise<string>((resolve) => {
    connection.onEnd = resolve;
  });
  const ready = new Promise<void>((resolve) => {
    connection.onReady = resolve;
  });
  const peer = await raw.peer();
  peer.socket.write(settingsFrame(settings));
  await ready;
  return { connection, peer, ended };
}

t.test("connections", async (t) => {
  const raw = await RawServer.open();
  t.teardown(() => raw.close());

  await t.test("what breaks the rules ends the connection, and its streams are not untouched", async (t) => {
    const { data, headers, reset, settings, pushPromise, ping, goAway, windowUpdate, continuation } = frameTypes;
    const part = frame(headers, 0, 1, ok);
    const setting = (id: number, value: number): Buffer => settingsFrame([[id, value]]);
    const broken: [string, Buffer, number][] = [
      ["a frame that is too long", frame(data, 0, 1, Buffer.alloc(16_385)), 6],
      ["an answer of HTTP/1", Buffer.from("HTTP/1.1 400 Bad Request\r\n\r\n"), 6],
      ["a block that goes on without a beginning", frame(continuation, 4, 1, ok), 1],
      ["a block that is interrupted", Buffer.concat([part, frame(ping, 0, 0, Buffer.alloc(8))]), 1],
      ["a block interrupted by an unknown frame", Buffer.concat([part, frame(99, 0, 0, Buffer.alloc(8))]), 1],
      ["a block that goes on in another stream", Buffer.concat([part, frame(continuation, 4, 3, ok)]), 1],
      [
        "a block that is too long",
        Buffer.concat([part, ...Array.from({ length: 5 }, () => frame(continuation, 0, 1, Buffer.alloc(16_000)))]),
        1,
      ],
      ["a block that is none", frame(headers, 4, 1, Buffer.of(0x80)), 9],
      ["padding longer than its frame", frame(data, 8, 1, Buffer.of(4, 1, 2, 3)), 1],
      ["padding without its length", frame(data, 8, 1, Buffer.alloc(0)), 1],
      ["padding longer than the block", frame(headers, 4 | 8, 1, Buffer.of(9, 0x88)), 1],
      ["a priority that is cut", frame(headers, 4 | 0x20, 1, Buffer.of(0, 0, 0)), 1],
      ["a window beyond its limit", numberFrame(windowUpdate, 0, 2 ** 31 - 1), 3],
      ["a stream's window beyond its limit", numberFrame(windowUpdate, 1, 2 ** 31 - 1), 3],
      ["a first window beyond its limit", setting(settingIds.initialWindow, 2 ** 31), 3],
      [
        "a first window that moves a stream's beyond its limit",
        Buffer.concat([numberFrame(windowUpdate, 1, 2 ** 30), setting(settingIds.initialWindow, 2 ** 31 - 1)]),
        3,
      ],
      ["a window that grows by nothing", numberFrame(windowUpdate, 0, 0), 1],
      ["a stream's window that grows by nothing", numberFrame(windowUpdate, 1, 0), 1],
      ["a change of a window that is cut", frame(windowUpdate, 0, 1, Buffer.alloc(3)), 6],
      ["a pushed stream", frame(pushPromise, 4, 1, Buffer.concat([Buffer.of(0, 0, 0, 2), ok])), 1],
      ["more than a stream may send", Buffer.concat(Array(66).fill(frame(data, 0, 3, Buffer.alloc(16_384)))), 3],
      ["data of a stream that was not opened", frame(data, 0, 5, Buffer.alloc(1)), 1],
      ["a head of a stream that was not opened", frame(headers, 5, 5, ok), 1],
      ["a head of a stream of the server", frame(headers, 5, 2, ok), 1],
      ["data of no stream", frame(data, 0, 0, Buffer.alloc(1)), 1],
      ["the end of a stream that was not opened", numberFrame(reset, 7, 0), 1],
      ["an end of another length", frame(reset, 0, 1, Buffer.alloc(5)), 6],
      ["settings of a wrong length", frame(settings, 0, 0, Buffer.alloc(5)), 6],
      ["settings of a stream", frame(settings, 0, 1, Buffer.alloc(0)), 1],
      ["frames that are too small", setting(settingIds.frameBytesMax, 16_383), 1],
      ["frames that are too large", setting(settingIds.frameBytesMax, 2 ** 24), 1],
      ["a ping of another length", frame(ping, 0, 0, Buffer.alloc(7)), 6],
      ["a ping of a stream", frame(ping, 0, 1, Buffer.alloc(8)), 1],
      ["a GOAWAY that is cut", frame(goAway, 0, 0, Buffer.alloc(7)), 6],
    ];
    for (const [name, bytes, code] of broken) {
      const { connection, peer, ended } = await pairOf(raw);
      const told = new Told();
      connection.open(block, told);
      connection.open(block, new Told()).pause();
      peer.socket.write(bytes);
      t.match(await ended, /^the server breaks the protocol: /, name);
      t.equal(told.texts.at(-1), "failed", name);
      t.notOk(connection.isOpen);
      const goodbye = await peer.seen(({ type }) => type === goAway);
      t.equal(goodbye.payload.readUInt32BE(4), code, `${name}: the code that is told`);
    }
  });

  await t.test("frames in any cut, padded, with parts of blocks and unknown ones between", async (t) => {
    const frames = Buffer.concat([
      frame(99, 0xff, 12, Buffer.from("unknown")),
      frame(2, 0, 1, Buffer.alloc(5)),
      settingsFrame([[0x99, 7]]),
      frame(
        frameTypes.headers,
        8 | 0x20,
        1,
        Buffer.concat([Buffer.of(3, 0, 0, 0, 0, 16), ok.subarray(0, 1), Buffer.alloc(3)]),
      ),
      frame(frameTypes.continuation, 0, 1, Buffer.alloc(0)),
      frame(frameTypes.continuation, 4, 1, ok.subarray(1)),
      frame(frameTypes.data, 8, 1, Buffer.from("\x02one..")),
      frame(frameTypes.data, 0, 1, Buffer.alloc(0)),
      frame(frameTypes.data, 8, 1, Buffer.of(0)),
      frame(frameTypes.data, 0, 1, Buffer.from("two")),
      frame(frameTypes.headers, 5, 1, encodeFields([["grpc-status", "0"]])),
      // Of a stream that has ended: left alone.
      frame(frameTypes.data, 1, 1, Buffer.from("late")),
      numberFrame(frameTypes.reset, 1, 0),
      numberFrame(frameTypes.windowUpdate, 1, 5),
    ]);
    const { next } = draws(3);
    for (const cut of [() => 1, () => frames.length, () => 1 + next(20), () => 1 + next(60)]) {
      const { connection, peer, ended } = await pairOf(raw);
      const told = new Told();
      connection.open(block, told, []);
      let at = 0;
      while (at < frames.length) {
        const end = at + cut();
        await new Promise((resolve) => peer.socket.write(frames.subarray(at, end), resolve));
        at = end;
      }
      await told.until("ended");
      // A ping comes back when everything before it was taken.
      peer.socket.write(frame(frameTypes.ping, 0, 0, Buffer.from("12345678")));
      const pong = await peer.seen(({ type, flags }) => type === frameTypes.ping && flags === 1);
      t.equal(pong.payload.toString(), "12345678");
      t.equal(told.texts.join(" "), ":status=200 one two grpc-status=0 ended");
      t.ok(connection.isOpen);
      connection.destroy("done");
      await ended;
    }
  });

  await t.test("only what the server has not begun is untouched", async (t) => {
    const resetWith = (id: number, code: number): Buffer => numberFrame(frameTypes.reset, id, code);
    const { connection, peer } = await pairOf(raw);
    const told = Array.from({ length: 5 }, () => new Told());
    for (const events of told) connection.open(block, events, []);
    peer.socket.write(
      Buffer.concat([
        resetWith(1, 7),
        resetWith(3, 8),
        resetWith(5, 0),
        // A server that answers and then says that it did nothing is not believed.
        frame(frameTypes.headers, 4, 7, ok),
        resetWith(7, 7),
        frame(frameTypes.headers, 4, 9, ok),
        frame(frameTypes.goAway, 0, 0, Buffer.alloc(8)),
      ]),
    );
    await told[4]?.until("failed");
    t.strictSame(
      told.map(({ texts }) => texts.at(-1)),
      ["untouched", "failed", "failed", "failed", "failed"],
    );
    await peer.closed;
  });

  await t.test(
    "a GOAWAY: streams above are untouched, those below go on, and the last one ends the connection",
    async (t) => {
      const { connection, peer, ended } = await pairOf(raw);
      const told = [new Told(), new Told(), new Told()];
      for (const events of told) connection.open(block, events, []);
      const goAway = Buffer.alloc(12);
      goAway.writeUInt32BE(3);
      peer.socket.write(frame(frameTypes.goAway, 0, 0, goAway));
      await told[2]?.until("untouched");
      t.notOk(connection.isOpen, "no further stream is opened");
      peer.socket.write(frame(frameTypes.headers, 5, 1, ok));
      await told[0]?.until("ended");
      // A connection that ends with its last stream is watched, as later calls go elsewhere.
      connection.check(20);
      const pings = (): number => peer.frames.filter(({ type }) => type === frameTypes.ping).length;
      for (let answered = 1; answered < 3; answered++) {
        await peer.seen(() => pings() === answered);
        peer.socket.write(frame(frameTypes.ping, 1, 0, Buffer.alloc(8)));
      }
      t.equal(await ended, "the server does not answer", "to the third ping");
      t.strictSame(told[1]?.texts, ["failed"]);
    },
  );

  await t.test("windows that change while bytes wait", async (t) => {
    const { connection, peer } = await pairOf(raw, [[settingIds.initialWindow, 10]]);
    const body = Buffer.from(Array.from({ length: 100_000 }, (_, at) => at % 251));
    const told = new Told();
    connection.open(block, told, [body]);
    const sent = (): Buffer =>
      Buffer.concat(peer.frames.filter(({ type }) => type === 0).map(({ payload }) => payload));
    await peer.seen(() => sent().length === 10);
    // Below what was sent: the window is negative.
    peer.socket.write(settingsFrame([[settingIds.initialWindow, 0]]));
    peer.socket.write(numberFrame(frameTypes.windowUpdate, 1, 10));
    peer.socket.write(numberFrame(frameTypes.windowUpdate, 1, 1));
    await peer.seen(() => sent().length === 11);
    peer.socket.write(
      settingsFrame([
        [settingIds.initialWindow, 1_000_000],
        [settingIds.frameBytesMax, 30_000],
      ]),
    );
    await peer.seen(() => sent().length === 65_535);
    peer.socket.write(numberFrame(frameTypes.windowUpdate, 0, 1));
    await peer.seen(() => sent().length === 65_536);
    peer.socket.write(numberFrame(frameTypes.windowUpdate, 0, 100_000));
    await peer.seen(({ type, flags }) => type === 0 && flags === 1);
    t.ok(sent().equals(body));
    // An answer before everything was sent: the rest is given up.
    const early = new Told();
    connection.open(block, early, [Buffer.alloc(200_000)]);
    peer.socket.write(frame(frameTypes.headers, 5, 3, ok));
    await early.until("ended");
    await peer.seen(({ type, id }) => type === frameTypes.reset && id === 3);
    connection.destroy("done");
  });

  await t.test("a server that asks on and on and reads no answer loses the connection", async (t) => {
    const { ended, peer } = await pairOf(raw);
    peer.socket.pause();
    const pings = Buffer.concat(Array(1000).fill(frame(frameTypes.ping, 0, 0, Buffer.alloc(8))));
    let isEnded = false;
    void ended.then(() => {
      isEnded = true;
    });
    while (!isEnded) await new Promise((resolve) => peer.socket.write(pings, resolve));
    t.match(await ended, /asks more than it reads/);
  });

  await t.test("what is no fault of the server is thrown", async (t) => {
    const { connection, peer } = await pairOf(raw);
    const told = new Told();
    told.fields = () => {
      throw new TypeError("a bug");
    };
    connection.open(block, told, []);
    const thrown = new Promise((resolve) => {
      const others = process.listeners("uncaughtException");
      process.removeAllListeners("uncaughtException");
      process.once("uncaughtException", (error) => {
        for (const other of others) process.on("uncaughtException", other);
        resolve(error);
      });
    });
    peer.socket.write(frame(frameTypes.headers, 4, 1, ok));
    t.match(await thrown, { message: "a bug" });
    connection.destroy("done");
  });

  await t.test("a smaller table of the server is answered with an empty one of ours", async (t) => {
    const { connection, peer } = await pairOf(raw, [[settingIds.headerTableSize, 100]]);
    connection.open(block, new Told());
    connection.open(block, new Told());
    const first = await peer.seen(({ type, id }) => type === frameTypes.headers && id === 1);
    const second = await peer.seen(({ type, id }) => type === frameTypes.headers && id === 3);
    t.strictSame(first.payload, Buffer.concat([Buffer.of(0x20), block]));
    t.strictSame(second.payload, block);
    connection.destroy("done");
  });
});

for (const isSecure of [false, true]) {
  const name = `what is written while the server does not read arrives as it was${isSecure ? ", by TLS" : ""}`;
  t.test(name, async (t) => {
    const tls = isSecure ? await issue({}) : undefined;
    const raw = await RawServer.open(tls);
    t.teardown(() => raw.close());
    const { connection, peer } = await pairOf(raw, [[settingIds.initialWindow, 2 ** 31 - 1]], tls?.cert);
    peer.socket.write(numberFrame(frameTypes.windowUpdate, 0, 2 ** 31 - 1 - 65_535));
    await peer.seen(({ type, flags }) => type === frameTypes.settings && flags === 1);
    peer.socket.pause();
    const { next } = draws(11);
    const bodies: Buffer[] = [];
    for (let made = 0; made < 400; made++) {
      const body = Buffer.alloc(made % 50 === 0 ? 400_000 : next(60_000), made);
      body.writeUInt32BE(made, 0);
      bodies.push(body);
      connection.open(block, new Told(), [body]);
      if (next(3) === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    peer.socket.resume();
    const last = 2 * bodies.length - 1;
    await peer.seen(({ type, id, flags }) => type === 0 && id === last && flags === 1);
    const parts = new Map<number, Buffer[]>();
    for (const { type, id, payload } of peer.frames) {
      if (type === 0) parts.set(id, [...(parts.get(id) ?? []), payload]);
    }
    t.ok(bodies.every((body, index) => body.equals(Buffer.concat(parts.get(2 * index + 1) ?? []))));
    connection.destroy("done");
  });
}
