// Calls of gRPC to servers of Node's own HTTP/2, and to servers that are slow, gone, hostile, or none of gRPC.
import "reflect-metadata";
import { once } from "node:events";
import { createSecureServer, createServer, type Http2Session, type ServerHttp2Stream } from "node:http2";
import { createServer as createPlain, type Socket } from "node:net";
import { createServer as createTls } from "node:tls";
import * as x509 from "@peculiar/x509";
import t from "tap";
import { EtcdClient } from "../../../../src/storage/etcd/client.ts";
import { GrpcError, grpcCodes } from "../../../../src/storage/etcd/grpc/answer.ts";
import type { Channel, StreamingCall } from "../../../../src/storage/etcd/grpc/channel.ts";
import { encodeFields } from "../../../../src/storage/etcd/grpc/fields.ts";
import { frame, frameTypes, settingIds, settingsFrame } from "../../../../src/storage/etcd/grpc/frames.ts";
import { WatchStream } from "../../../../src/storage/etcd/watchstream.ts";
import { authority, issue } from "../../../support/certificates.ts";
import {
  answerWith,
  bodyOf,
  channelTo,
  messageOf,
  portOf,
  type RawPeer,
  RawServer,
} from "../../../support/etcd/http2.ts";

const ok = { "grpc-status": "0" };
const long = 60_000;
const empty = Buffer.alloc(0);

type Handler = (stream: ServerHttp2Stream, body: Promise<Buffer>) => void;

/** A server whose answers tests choose by the call's path. */
class Calls {
  readonly server;
  readonly sessions: Http2Session[] = [];
  readonly handlers = new Map<string, Handler>();
  port = 0;

  constructor(settings: object = {}) {
    this.server = createServer({ settings });
    this.server.on("session", (session) => this.sessions.push(session));
    this.server.on("sessionError", () => undefined);
    this.server.on("stream", (stream, { ":path": path }) => {
      stream.on("error", () => undefined);
      const body = bodyOf(stream);
      body.catch(() => undefined);
      this.handlers.get(String(path))?.(stream, body);
    });
    this.handlers.set("/echo", (stream, body) => void body.then((bytes) => answerWith(stream, bytes, ok)));
  }

  static async open(settings?: object): Promise<Calls> {
    const made = new Calls(settings);
    made.port = await portOf(made.server);
    return made;
  }

  /** The next call of a path, which is not answered. */
  next(path: string): Promise<ServerHttp2Stream> {
    return new Promise((resolve) => this.handlers.set(path, resolve));
  }

  close(): void {
    for (const session of this.sessions) session.destroy();
    this.server.close();
  }
}

/** The fault of a call that fails. */
async function faultOf(call: Promise<unknown>): Promise<GrpcError> {
  const told = await call.catch((error: unknown) => error);
  if (!(told instanceof GrpcError)) throw new Error(`not a fault: ${String(told)}`);
  return told;
}

/** A call of many messages, and what it tells. */
class Watched {
  readonly messages: Buffer[] = [];
  end: { readonly error: GrpcError | undefined } | undefined;
  readonly call: StreamingCall;
  onMessage: () => void = () => undefined;
  #changed: () => void = () => undefined;
  constructor(channel: Channel, path: string) {
    this.call = channel.stream(path, {
      message: (bytes) => {
        if (this.end !== undefined) throw new Error("a message after the end");
        this.messages.push(bytes);
        this.onMessage();
        this.#changed();
      },
      ended: (error) => {
        if (this.end !== undefined) throw new Error("two ends");
        this.end = { error };
        this.#changed();
      },
    });
  }
  async until(is: () => boolean): Promise<void> {
    while (!is()) {
      await new Promise<void>((resolve) => {
        this.#changed = resolve;
      });
    }
  }
}

/** A server and a channel to it, until the test ends. */
async function openCalls(t: { teardown(end: () => void): void }): Promise<{ calls: Calls; channel: Channel }> {
  const calls = await Calls.open();
  const channel = channelTo(calls.port);
  t.teardown(() => {
    channel.close();
    calls.close();
  });
  return { calls, channel };
}

t.test("calls of one message", async (t) => {
  const { calls, channel } = await openCalls(t);

  await t.test("small, empty and large messages come back as they were", async (t) => {
    for (const size of [0, 1, 5000, 16_384, 65_536, 5_000_000]) {
      const message = Buffer.from(Array.from({ length: Math.min(size, 1000) }, (_, at) => at % 251));
      const whole = Buffer.alloc(size, message);
      t.ok((await channel.unary("/echo", whole, long)).equals(whole), `${size} bytes`);
    }
    const many = Array.from({ length: 100 }, (_, at) => Buffer.alloc(at * 700, at));
    const answers = await Promise.all(many.map((each) => channel.unary("/echo", each, long)));
    t.ok(answers.every((answer, at) => answer.equals(many[at] as Buffer)));
  });

  await t.test("settings that change the window in mid-flight", async (t) => {
    const whole = Buffer.alloc(3_000_000, "0123456789");
    const heard = calls.next("/windows");
    const call = channel.unary("/windows", whole, long);
    const stream = await heard;
    const parts: Buffer[] = [];
    let size = 0;
    stream.on("data", (part: Buffer) => {
      parts.push(part);
      size += part.length;
      const initialWindowSize = [100_000, 1, 2_000_000, 70_000][parts.length % 4] as number;
      if (parts.length % 10 === 0) stream.session?.settings({ initialWindowSize });
    });
    await once(stream, "end");
    t.equal(size, whole.length + 5);
    answerWith(stream, Buffer.concat(parts), ok);
    t.ok((await call).equals(whole));
  });

  await t.test("statuses, their messages, and answers that are none", async (t) => {
    const told = (code: number, message: string | RegExp) => ({ code, message, isUntouched: false });
    const answer =
      (body: Uint8Array, status: Record<string, string>): Handler =>
      (stream) =>
        answerWith(stream, body, status);
    const only = (head: Record<string, string>, body = ""): Handler => {
      return (stream) => {
        stream.respond(head, { endStream: body === "" });
        if (body !== "") stream.end(body);
      };
    };
    const page = "<html>".repeat(10_000);
    const one = messageOf(Buffer.from("one"));
    const wrong: [string, Handler, object][] = [
      ["no body", only({ ":status": "200", "grpc-status": "8", "grpc-message": "full" }), told(8, "full")],
      ["escapes", answer(empty, { "grpc-status": "3", "grpc-message": "a%20%E2%82%AC%2" }), told(3, "a €%2")],
      [
        "UTF-8",
        answer(empty, { "grpc-status": "3", "grpc-message": Buffer.from("über").toString("latin1") }),
        told(3, "über"),
      ],
      ["a status after a message", answer(one, { "grpc-status": "14" }), told(14, "")],
      ["no number", answer(one, { "grpc-status": "x" }), told(2, "")],
      ["a page of a proxy", only({ ":status": "503" }, page), told(14, /503/)],
      ["a page that was not found", only({ ":status": "404" }, page), told(12, /404/)],
      ["another code of HTTP", only({ ":status": "301" }), told(2, /301/)],
      ["no status", only({ ":status": "200" }), told(13, /without a status/)],
      ["a message without a status", only({ ":status": "200" }, one.toString("latin1")), told(13, /without a status/)],
      ["no message", answer(empty, ok), told(13, /without a whole message/)],
      ["a message that is cut", answer(one.subarray(0, 6), ok), told(13, /without a whole message/)],
      ["a head that is cut", answer(one.subarray(0, 4), ok), told(13, /without a whole message/)],
      ["two messages", answer(Buffer.concat([one, one]), ok), told(13, /more than a message/)],
      ["a compressed message", answer(messageOf(Buffer.from("one"), 1), ok), told(13, /compressed/)],
      ["a message of 4 GiB", answer(Buffer.from([0, 255, 255, 255, 255, 1]), ok), told(13, /4294967295 bytes/)],
    ];
    for (const [name, handler, fault] of wrong) {
      calls.handlers.set("/wrong", handler);
      t.match(await faultOf(channel.unary("/wrong", empty, long)), fault, name);
    }
    calls.handlers.set("/interim", (stream) => {
      stream.additionalHeaders({ ":status": 103 });
      answerWith(stream, one, ok);
    });
    t.equal(String(await channel.unary("/interim", empty, long)), "one");
    t.equal(calls.sessions.length, 1, "all on one connection");
  });

  await t.test("an answer that does not end is given up", async (t) => {
    const heard = calls.next("/endless");
    const fault = faultOf(channel.unary("/endless", empty, long));
    const stream = await heard;
    const closed = once(stream, "close");
    stream.respond({ ":status": 200 });
    stream.write(Buffer.concat([messageOf(Buffer.from("one")), Buffer.alloc(5)]));
    t.match(await fault, { code: 13, message: /more than/ });
    await closed;
    t.equal(stream.rstCode, 8);
  });

  await t.test("only a refused stream is untouched", async (t) => {
    for (const code of [7, 0, 2, 8, 11]) {
      calls.handlers.set("/reset", (stream) => stream.close(code));
      const fault = await faultOf(channel.unary("/reset", empty, long));
      t.match(fault, { code: grpcCodes.unavailable, isUntouched: code === 7 }, `code ${code}`);
    }
  });

  await t.test("a call that is late is given up, and the connection stays", async (t) => {
    const heard = calls.next("/late");
    const late = faultOf(channel.unary("/late", empty, 40));
    const stream = await heard;
    const closed = once(stream, "close");
    t.match(await late, { code: grpcCodes.deadlineExceeded, isUntouched: false });
    await closed;
    t.equal(stream.rstCode, 8);
    t.equal(String(await channel.unary("/echo", Buffer.from("on"), long)), "on");
    t.equal(calls.sessions.length, 1);
  });

  await t.test("a GOAWAY: calls under way are answered, and the next one gets a new connection", async (t) => {
    const heard = calls.next("/slow");
    const slow = channel.unary("/slow", empty, long);
    const stream = await heard;
    const watched = new Watched(channel, "/draining");
    const stays = await calls.next("/draining");
    stream.session?.goaway(0);
    const next = async (): Promise<unknown> => {
      // A call that the GOAWAY meets is untouched.
      const fault = await channel.unary("/echo", empty, long).catch((error: unknown) => error);
      if (!Buffer.isBuffer(fault)) t.match(fault, { isUntouched: true });
      return calls.sessions.length < 2 ? next() : undefined;
    };
    await next();
    answerWith(stream, messageOf(Buffer.from("slow")), ok);
    t.equal(String(await slow), "slow");
    answerWith(stays, messageOf(Buffer.from("last")), ok);
    await watched.until(() => watched.end !== undefined);
    t.strictSame([watched.messages.map(String), watched.end], [["last"], { error: undefined }]);
  });

  await t.test("a server that goes in mid-call, and comes back", async (t) => {
    const heard = calls.next("/lost");
    const lost = faultOf(channel.unary("/lost", empty, long));
    (await heard).session?.destroy();
    t.match(await lost, { code: grpcCodes.unavailable, isUntouched: false });
    calls.close();
    await new Promise((resolve) => calls.server.close(resolve));
    t.match(await faultOf(channel.unary("/echo", empty, long)), { code: grpcCodes.unavailable, isUntouched: true });
    await t.rejects(channel.ready(long), { code: grpcCodes.unavailable });
    const again = new Calls();
    await portOf(again.server, calls.port);
    t.teardown(() => again.close());
    t.equal(String(await channel.unary("/echo", Buffer.from("again"), long)), "again");
    const open = again.next("/open");
    const left = faultOf(channel.unary("/open", empty, long));
    const watched = new Watched(channel, "/open");
    await open;
    channel.close();
    t.match(await left, { code: grpcCodes.unavailable, message: /closed/, isUntouched: false });
    await watched.until(() => watched.end !== undefined);
    t.match(await faultOf(channel.unary("/echo", empty, long)), { message: /closed/, isUntouched: true });
  });
});

t.test("a server that takes one call at once", async (t) => {
  const calls = await Calls.open({ maxConcurrentStreams: 1 });
  const channel = channelTo(calls.port);
  t.teardown(() => {
    channel.close();
    calls.close();
  });
  const answers = await Promise.all(Array.from({ length: 20 }, (_, at) => channel.unary("/echo", Buffer.of(at), long)));
  t.strictSame(
    answers.map((answer) => answer[0]),
    Array.from({ length: 20 }, (_, at) => at),
  );

  const heard = calls.next("/held");
  const held = channel.unary("/held", empty, long);
  const stream = await heard;
  const late = faultOf(channel.unary("/echo", empty, 30));
  // It waits behind the one that gives up.
  const waits = channel.unary("/echo", Buffer.from("waits"), long);
  t.match(await late, { code: grpcCodes.unavailable, isUntouched: true });
  const refused = new Watched(channel, "/held");
  await refused.until(() => refused.end !== undefined);
  t.match(refused.end?.error, { code: grpcCodes.unavailable, isUntouched: true });
  answerWith(stream, messageOf(empty), ok);
  await held;
  t.equal(String(await waits), "waits");

  const first = calls.next("/held");
  const watched = new Watched(channel, "/held");
  const open = await first;
  const behind = channel.unary("/echo", Buffer.from("behind"), long);
  watched.call.cancel();
  // Node's server may count the cancelled one a moment longer, and then refuses with ENHANCE_YOUR_CALM.
  const told = await behind.catch((error: unknown) => error);
  t.match(String(told), /^behind$|code 11 of HTTP/, "a cancelled stream makes room");
  if (!open.closed) await once(open, "close");
  t.equal(open.rstCode, 8);

  const second = calls.next("/held");
  const given = channel.unary("/held", empty, long);
  const last = await second;
  const both = [channel.unary("/echo", empty, long), channel.unary("/echo", empty, long)];
  last.session?.settings({ maxConcurrentStreams: 10 });
  await Promise.all(both);
  const waitsOn = faultOf(given);
  calls.sessions[0]?.destroy();
  await waitsOn;
  await channel.unary("/echo", empty, long);
  t.equal(calls.sessions.length, 2);
});

t.test("waiting calls go to the next connection when theirs ends", async (t) => {
  const calls = await Calls.open({ maxConcurrentStreams: 1 });
  const channel = channelTo(calls.port);
  t.teardown(() => {
    channel.close();
    calls.close();
  });
  for (const end of ["goaway", "destroy"] as const) {
    const heard = calls.next("/held");
    const held = channel.unary("/held", empty, long).catch(() => undefined);
    const stream = await heard;
    const waiting = Array.from({ length: 5 }, () => channel.unary("/echo", empty, long));
    if (end === "goaway") stream.session?.goaway(0);
    else stream.session?.destroy();
    await Promise.all(waiting);
    stream.close();
    await held;
  }
  t.ok(calls.sessions.length >= 3);
});

t.test("calls of many messages", async (t) => {
  const { calls, channel } = await openCalls(t);
  const opened = async (path: string): Promise<[Watched, ServerHttp2Stream]> => {
    const heard = calls.next(path);
    const watched = new Watched(channel, path);
    const stream = await heard;
    stream.respond({ ":status": 200 }, { waitForTrailers: true });
    return [watched, stream];
  };

  await t.test("what is sent before there is a connection arrives, and messages come back in order", async (t) => {
    const watched = new Watched(channel, "/pipe");
    calls.handlers.set("/pipe", (stream) => {
      stream.respond({ ":status": 200 }, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "5", "grpc-message": "over" }));
      stream.pipe(stream);
    });
    const sent = [0, 1, 100_000, 3, 2_500_000, 0, 0].map((size, at) => Buffer.alloc(size, at));
    for (const each of sent) watched.call.send(each);
    await watched.until(() => watched.messages.length === sent.length);
    t.ok(watched.messages.every((each, at) => each.equals(sent[at] as Buffer)));
    watched.call.cancel();
    watched.call.send(empty);
    t.equal(watched.end, undefined);
  });

  await t.test("messages in any cut, many in one frame, and the status", async (t) => {
    const sent = Array.from({ length: 40 }, (_, at) => Buffer.alloc(at % 7, at));
    const bytes = Buffer.concat(sent.map((each) => messageOf(each)));
    for (const cut of [1, 3, bytes.length]) {
      const [watched, stream] = await opened("/cut");
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "5", "grpc-message": "over" }));
      for (let at = 0; at < bytes.length; at += cut) stream.write(bytes.subarray(at, at + cut));
      stream.end();
      await watched.until(() => watched.end !== undefined);
      t.strictSame(watched.messages, sent, `in parts of ${cut}`);
      t.match(watched.end?.error, { code: 5, message: "over" });
      watched.call.send(empty);
      watched.call.resume();
    }
  });

  await t.test("a pause holds messages and the server, and the end comes after them", async (t) => {
    const [watched, stream] = await opened("/pause");
    watched.onMessage = () => watched.call.pause();
    stream.on("wantTrailers", () => stream.sendTrailers(ok));
    const size = 1000;
    const count = 3000;
    for (let at = 0; at < count; at++) stream.write(messageOf(Buffer.alloc(size, at)));
    stream.end();
    await watched.until(() => watched.messages.length === 1);
    // Goes through after what the window lets through.
    await channel.unary("/echo", empty, long);
    t.equal(watched.messages.length, 1);
    t.notOk(stream.writableFinished, "the window holds the server");
    while (watched.messages.length < count) {
      const { length } = watched.messages;
      watched.call.resume();
      await watched.until(() => watched.messages.length === length + 1);
    }
    t.equal(watched.end, undefined, "while it is paused");
    watched.call.resume();
    await watched.until(() => watched.end !== undefined);
    t.ok(watched.messages.every((each, at) => each.equals(Buffer.alloc(size, at))));
  });

  await t.test("nothing is told after cancel(), and faults come after the messages before them", async (t) => {
    const [cancelled, first] = await opened("/cancel");
    cancelled.onMessage = () => cancelled.call.cancel();
    first.write(Buffer.concat([messageOf(empty), messageOf(empty)]));
    await once(first, "close");
    t.strictSame([cancelled.messages.length, cancelled.end], [1, undefined]);
    new Watched(channel, "/cancel").call.cancel();

    for (const [bytes, message] of [
      [messageOf(empty, 1), /compressed/],
      [Buffer.of(0, 0xff, 0xff, 0xff, 0xff), /bytes/],
    ] as const) {
      const [watched, stream] = await opened("/fault");
      stream.write(Buffer.concat([messageOf(empty), bytes]));
      await watched.until(() => watched.end !== undefined);
      t.match([watched.messages.length, watched.end?.error], [1, { code: 13, message }]);
      if (!stream.closed) await once(stream, "close");
    }
    const [cut, last] = await opened("/cut");
    last.on("wantTrailers", () => last.sendTrailers(ok));
    last.end(messageOf(Buffer.alloc(9)).subarray(0, 10));
    await cut.until(() => cut.end !== undefined);
    t.match(cut.end?.error, { code: 13, message: /within a message/ });
  });
});

t.test("servers that do not answer", async (t) => {
  const raw = await RawServer.open();
  t.teardown(() => raw.close());

  await t.test("one that is silent after its settings loses the connection, with all calls", async (t) => {
    const channel = channelTo(raw.port);
    t.teardown(() => channel.close());
    const watched = new Watched(channel, "/watch");
    const late = faultOf(channel.unary("/late", empty, 30));
    const other = faultOf(channel.unary("/other", empty, long));
    const peer = await raw.peer();
    peer.socket.write(settingsFrame([]));
    t.match(await late, { isUntouched: false });
    t.match(await other, { code: grpcCodes.unavailable, message: /does not answer/, isUntouched: false });
    await watched.until(() => watched.end !== undefined);
    await peer.closed;
  });

  await t.test("one that is silent from the start costs a call no more than its time", async (t) => {
    const channel = channelTo(raw.port);
    t.teardown(() => channel.close());
    const beginMs = performance.now();
    t.match(await faultOf(channel.unary("/late", empty, 30)), { code: grpcCodes.unavailable, isUntouched: true });
    await t.rejects(channel.ready(30), GrpcError);
    t.ok(performance.now() - beginMs < 4000, "not the time a connection may take");
    (await raw.peer()).socket.destroy();
  });

  await t.test("one that ends each connection after its settings costs a call no more than its time", async (t) => {
    const channel = channelTo(raw.port);
    t.teardown(() => channel.close());
    let isOver = false;
    const ending = (async () => {
      while (!isOver) {
        const peer = await raw.peer();
        peer.socket.write(Buffer.concat([settingsFrame([]), frame(frameTypes.goAway, 0, 0, Buffer.alloc(8))]));
      }
    })();
    for (let tried = 0; tried < 3; tried++) {
      t.match(await faultOf(channel.unary("/late", empty, 200)), { code: grpcCodes.unavailable, isUntouched: true });
    }
    isOver = true;
    await channel.ready(300).catch(() => undefined);
    await ending;
  });

  await t.test("a stream of an earlier connection ends when its server is gone", async (t) => {
    const channel = channelTo(raw.port);
    t.teardown(() => channel.close());
    const watched = new Watched(channel, "/watch");
    const earlier = await raw.peer();
    earlier.socket.write(settingsFrame([]));
    await earlier.seen(({ type, id }) => type === frameTypes.headers && id === 1);
    const goAway = Buffer.alloc(8);
    goAway.writeUInt32BE(1);
    earlier.socket.write(frame(frameTypes.goAway, 0, 0, goAway));
    let next: RawPeer | undefined;
    void raw.peer().then((peer) => {
      next = peer;
    });
    while (next === undefined) {
      void channel.ready(long).catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    next.socket.write(settingsFrame([]));
    await channel.ready(long);
    await watched.until(() => watched.end !== undefined);
    t.match(watched.end?.error, { message: /does not answer/, isUntouched: false });
    await earlier.closed;
  });

  await t.test("an answer that is no message of etcd is a fault of the call, and no bug", async (t) => {
    const client = new EtcdClient({ urls: [`http://127.0.0.1:${raw.port}`] });
    t.teardown(() => client.close());
    const read = (): never => {
      throw new RangeError("index out of range");
    };
    const call = client.call({ path: "/garbage", request: empty, read, isRead: false, timeoutMs: long });
    const peer = await raw.peer();
    peer.socket.write(settingsFrame([[settingIds.streamsMax, 5]]));
    await peer.seen(({ type, id }) => type === frameTypes.headers && id === 1);
    peer.socket.write(frame(frameTypes.headers, 4, 1, encodeFields([[":status", "200"]])));
    peer.socket.write(frame(frameTypes.data, 0, 1, messageOf(Buffer.of(255))));
    peer.socket.write(frame(frameTypes.headers, 5, 1, encodeFields([["grpc-status", "0"]])));
    await t.rejects(call, { fault: "in-doubt", message: /cannot be read/ });

    // A watch that gets one is opened again.
    const untold = (): never => {
      throw new Error("nothing was told");
    };
    const told = { events: untold, progress: untold, header: untold, failed: untold };
    const watch = new WatchStream(client, { key: Buffer.of(1), end: Buffer.of(2) }, 0, told);
    await peer.seen(({ type, id }) => type === frameTypes.headers && id === 3);
    peer.socket.write(frame(frameTypes.headers, 4, 3, encodeFields([[":status", "200"]])));
    peer.socket.write(frame(frameTypes.data, 0, 3, messageOf(Buffer.of(255))));
    await peer.seen(({ type, id }) => type === frameTypes.reset && id === 3);
    await peer.seen(({ type, id }) => type === frameTypes.headers && id === 5);
    watch.close();
  });
});

t.test("TLS", async (t) => {
  const ca = await authority("etcd");
  const extensions = [new x509.SubjectAlternativeNameExtension([{ type: "ip", value: "127.0.0.1" }])];
  const { cert, key } = await issue({ issuer: ca, subject: [{ CN: ["member"] }], extensions });
  const secureTo = (port: number, authorityPem = ca.cert): Channel => {
    const channel = channelTo(port, {
      url: new URL(`https://127.0.0.1:${port}`),
      authority: Buffer.from(authorityPem),
    });
    t.teardown(() => channel.close());
    return channel;
  };
  const server = createSecureServer({ cert, key });
  server.on("stream", (stream) => void bodyOf(stream).then((bytes) => answerWith(stream, bytes, ok)));
  const port = await portOf(server);
  const sockets: Socket[] = [];
  const old = createTls({ cert, key }, (socket) => sockets.push(socket));
  const oldPort = await portOf(old);
  const plain = createPlain((socket) => {
    sockets.push(socket);
    socket.on("error", () => undefined);
    socket.end("HTTP/1.1 400 Bad Request\r\n\r\n");
  });
  const plainPort = await portOf(plain);
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    for (const each of [server, old, plain]) each.close();
  });
  const channel = secureTo(port);
  const whole = Buffer.alloc(3_000_000, "0123456789");
  t.ok((await channel.unary("/echo", whole, long)).equals(whole));
  const untouched = { code: grpcCodes.unavailable, isUntouched: true };
  const call = (to: Channel): Promise<GrpcError> => faultOf(to.unary("/echo", empty, long));
  t.match(await call(secureTo(oldPort)), { ...untouched, message: /does not speak HTTP\/2/ });
  t.match(await call(secureTo(plainPort)), untouched, "no TLS at all");
  t.match(await call(channelTo(plainPort)), untouched, "HTTP/1");
  t.match(await call(secureTo(port, (await authority("other")).cert)), untouched, "another authority");
  t.match(await call(secureTo(port, "no certificate")), untouched, "an authority that is none");
});
