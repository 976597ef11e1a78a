// Frames of WebSocket against another implementation (`ws`), in both directions, cut anywhere; and what no server may send.
import t from "tap";
import { limits } from "../../src/config/limits.ts";
import {
  acceptOf,
  closingOf,
  type Frame,
  FrameReader,
  FrameSender,
  type FrameSink,
  type Opcode,
  opcodes,
} from "../../src/outbound/frames.ts";
import { until } from "../support/inprocess.ts";
import { type Draws, draws as drawn, fuzzRun } from "../support/random.ts";
import { ws } from "./websocket.ts";

/** Frames a server may send, and their bytes. */
function frames(draws: Draws): { readonly frames: Frame[]; readonly bytes: Buffer } {
  const made: Frame[] = [];
  let isOpen = false;
  for (let count = 1 + draws.next(12); count > 0; count--) {
    const isControl = draws.next(4) === 0;
    const sizes = isControl ? [0, 1, 125] : [0, 1, 125, 126, 127, 65_535, 65_536, 70_000];
    const payload = Buffer.alloc(draws.pick(sizes), String(draws.next(10)));
    if (isControl) made.push({ opcode: draws.pick([opcodes.ping, opcodes.pong]), fin: true, payload });
    else {
      const fin = draws.next(2) === 0;
      made.push({ opcode: isOpen ? opcodes.continuation : draws.pick([opcodes.text, opcodes.binary]), fin, payload });
      isOpen = !fin;
    }
  }
  const bytes = made.flatMap(({ opcode, fin, payload }) =>
    ws.Sender.frame(Buffer.from(payload), { fin, opcode, mask: false, rsv1: false, readOnly: true }),
  );
  return { frames: made, bytes: Buffer.concat(bytes) };
}

/** Pieces of a frame as one again. */
function joined(pieces: readonly Frame[]): Frame[] {
  const whole: { opcode: Opcode; fin: boolean; payload: Buffer }[] = [];
  let open: (typeof whole)[number] | undefined;
  for (const { opcode, fin, payload } of pieces) {
    if (opcode >= opcodes.close) whole.push({ opcode, fin, payload: Buffer.from(payload) });
    else if (opcode !== opcodes.continuation || open === undefined) {
      open = { opcode, fin, payload: Buffer.from(payload) };
      whole.push(open);
    } else {
      open.payload = Buffer.concat([open.payload, payload]);
      open.fin = fin;
    }
    if (fin && opcode < opcodes.close) open = undefined;
  }
  return whole;
}

t.test("FrameReader reads what another implementation writes, cut anywhere", (t) => {
  const { seed, rounds } = fuzzRun(300);
  const draws = drawn(seed);
  for (let round = 0; round < rounds; round++) {
    const { frames: made, bytes } = frames(draws);
    const reader = new FrameReader();
    const read: Frame[] = [];
    const small = draws.next(2) === 0;
    for (let at = 0; at < bytes.length; ) {
      const size = 1 + draws.next(small ? 4_000 : 100_000);
      reader.push(bytes.subarray(at, at + size));
      at += size;
      for (let frame = reader.next(); frame !== undefined; frame = reader.next()) {
        if (typeof frame === "string") throw new Error(`${frame} (seed ${seed}, round ${round})`);
        read.push(frame);
      }
    }
    t.same(joined(read), joined(made), `seed ${seed}, round ${round}`);
  }
  t.end();
});

t.test("FrameReader says what a server does wrong", (t) => {
  const cases: readonly [string, number[], RegExp][] = [
    ["a compressed message", [0xc1, 0x00], /reserved bit/],
    ["a mask", [0x81, 0x80, 1, 2, 3, 4], /masked/],
    ["an opcode between", [0x83, 0x00], /opcode 3/],
    ["an opcode beyond", [0x8b, 0x00], /opcode 11/],
    ["a continuation of nothing", [0x80, 0x00], /no message/],
    ["a message within one", [0x01, 0x00, 0x81, 0x00], /within another/],
    ["a ping in pieces", [0x09, 0x00], /control frame/],
    ["a long ping", [0x89, 0x7e, 0x00, 0x7e], /control frame/],
    ["a length of 2^63", [0x82, 0x7f, 0x80, 0, 0, 0, 0, 0, 0, 0], /too long/],
  ];
  for (const [name, bytes, message] of cases) {
    const reader = new FrameReader();
    reader.push(Uint8Array.from(bytes));
    let last = reader.next();
    while (typeof last === "object") last = reader.next();
    t.match(last, message, name);
  }
  t.end();
});

t.test("closingOf() reads codes that may be sent", (t) => {
  const payload = (code: number, reason = ""): Uint8Array =>
    Uint8Array.from([code >> 8, code & 255, ...Buffer.from(reason)]);
  t.same(closingOf(new Uint8Array(0)), { code: 1005, reason: "" });
  for (const code of [1000, 1003, 1007, 1014, 3000, 4999]) t.same(closingOf(payload(code, "é")), { code, reason: "é" });
  for (const code of [0, 999, 1004, 1005, 1006, 1015, 2999, 5000]) t.equal(closingOf(payload(code)), undefined);
  t.equal(closingOf(Uint8Array.of(3)), undefined);
  t.equal(closingOf(Uint8Array.of(3, 232, 0xff)), undefined, "no UTF-8");
  t.end();
});

t.test("acceptOf() is that of the document's example", (t) => {
  t.equal(acceptOf("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
  t.end();
});

/** Takes bytes until it is told not to. */
class Sink implements FrameSink {
  readonly chunks: Buffer[] = [];
  writableLength = 0;
  isFull = false;
  isEnded = false;
  write(bytes: Uint8Array): boolean {
    this.chunks.push(Buffer.from(bytes));
    if (this.isFull) this.writableLength += bytes.length;
    return !this.isFull;
  }
  destroySoon(): void {
    this.isEnded = true;
  }
}

t.test("FrameSender sends what another implementation reads", async (t) => {
  const sink = new Sink();
  const sender = new FrameSender(sink);
  const messages: (string | Buffer)[] = [];
  const receiver = new ws.Receiver({ isServer: true });
  receiver.on("message", (data: Buffer, isBinary: boolean) => messages.push(isBinary ? data : data.toString()));
  receiver.on("ping", (data: Buffer) => messages.push(`ping ${data.toString()}`));
  receiver.on("conclude", (code: number, reason: Buffer) => messages.push(`close ${code} ${reason.toString()}`));
  const sent: (string | Buffer)[] = [];
  for (const size of [0, 1, 3, 125, 126, 65_535, 65_536, 1 << 20]) {
    const bytes = Buffer.from(Array.from({ length: size }, (_, at) => at & 255));
    sender.send(opcodes.binary, bytes);
    sent.push(bytes);
    sender.send(opcodes.text, Buffer.from("é".repeat(size & 1023)));
    sent.push("é".repeat(size & 1023));
  }
  sender.send(opcodes.ping, Buffer.from("p"));
  t.equal(sink.chunks.length, 0, "nothing leaves before the turn is over");
  t.ok(await until(() => sender.waitingBytes === 0));
  t.ok(sink.chunks.length < 12, `${sink.chunks.length} writes`);
  sender.close({ code: 4000, reason: "x".repeat(200) });
  for (const chunk of sink.chunks) receiver.write(chunk);
  t.ok(await until(() => messages.length === sent.length + 2));
  t.same(messages, [...sent, "ping p", `close 4000 ${"x".repeat(123)}`]);
  t.notSame(sink.chunks[0]?.subarray(2, 6), sink.chunks.at(-1)?.subarray(2, 6), "masks differ");
});

t.test("FrameSender keeps what its peer does not take side by side, and ends behind it", async (t) => {
  const sink = new Sink();
  const sender = new FrameSender(sink);
  sink.isFull = true;
  sender.send(opcodes.binary, Buffer.alloc(10));
  t.ok(await until(() => sink.chunks.length === 1));
  for (let count = 0; count < 100_000; count++) {
    sender.send(opcodes.binary, Buffer.alloc(1));
    if (count % 10_000 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  t.equal(sink.chunks.length, 1, "nothing is written to a peer that is behind");
  t.equal(sender.waitingBytes, 16 + 100_000 * 7);
  t.ok(sender.waitingBytes < limits.socketWaitingBytesMax);
  sender.end();
  t.notOk(sink.isEnded);
  sink.isFull = false;
  sink.writableLength = 0;
  sender.drained();
  t.equal(sender.waitingBytes, 0);
  t.ok(sink.chunks.length < 20, "in large pieces");
  t.ok(sink.isEnded);
  t.end();
});
