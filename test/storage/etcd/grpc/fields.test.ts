// Header fields of HTTP/2, against the encoder and decoder of Node's own, and blocks that break the rules.
import { once } from "node:events";
import { connect as connectHttp2, createServer } from "node:http2";
import { connect } from "node:net";
import t from "tap";
import { encodeFields, type Field, FieldDecoder, FieldsError } from "../../../../src/storage/etcd/grpc/fields.ts";
import { frame, frameTypes, preface, settingsFrame } from "../../../../src/storage/etcd/grpc/frames.ts";
import { huffmanText } from "../../../../src/storage/etcd/grpc/huffman.ts";
import { portOf, RawServer } from "../../../support/etcd/http2.ts";
import { draws } from "../../../support/random.ts";

const { next, chance, pick } = draws(7);
/** What a value may have: Latin-1 but for control characters, which Node refuses to send. */
const valueBytes = Array.from({ length: 256 }, (_, byte) => byte).filter(
  (byte) => byte === 9 || (byte >= 32 && byte !== 127),
);

function randomText(length: number): string {
  const text = Array.from({ length }, () => String.fromCharCode(pick(valueBytes)));
  return text.join("").trim();
}

/** Names are few, so that values of them are indexed and pushed out again. */
function randomFields(known: Field[]): Field[] {
  const fields = new Map<string, string>();
  const count = 1 + next(12);
  for (let made = 0; made < count; made++) {
    const name = chance(30)
      ? pick(["server", "date", "etag", "location", "vary"])
      : `x-${"n".repeat(next(150))}${next(20)}`;
    const length = pick([0, 1, 5, 40, 126, 127, 128, 300, 1000, 5000]);
    fields.set(name, chance(50) && known.length > 0 ? pick(known)[1] : randomText(length));
  }
  known.push(...[...fields].filter(([, value]) => value.length < 400));
  return [...fields];
}

t.test("what Node's encoder sends, with its table and Huffman's code, is decoded", async (t) => {
  const raw = await RawServer.open();
  const client = connectHttp2(`http://127.0.0.1:${raw.port}`);
  const peer = await raw.peer();
  peer.socket.write(settingsFrame([]));
  t.teardown(() => {
    client.destroy();
    raw.close();
  });
  await once(client, "remoteSettings");
  const decoder = new FieldDecoder();
  const known: Field[] = [];
  for (let round = 0; round < 150; round++) {
    const fields = randomFields(known);
    const id = 2 * round + 1;
    const request = client.request({ ":path": `/${round}`, ...Object.fromEntries(fields) }, { endStream: true });
    request.on("error", () => undefined);
    await peer.seen((seen) => seen.id === id && (seen.flags & 4) !== 0);
    const block = peer.frames.filter((seen) => seen.id === id && (seen.type === 1 || seen.type === 9));
    const bytes = block.map(({ type, flags, payload }) => payload.subarray(type === 1 && (flags & 0x20) !== 0 ? 5 : 0));
    const told = decoder.decode(Buffer.concat(bytes)).filter(([name]) => !name.startsWith(":"));
    t.strictSame(told, fields, `block ${round}`);
    peer.frames.length = 0;
  }
});

t.test("what is encoded is what Node's decoder tells", async (t) => {
  const server = createServer();
  server.on("session", (session) => session.on("error", () => undefined));
  const port = await portOf(server);
  const socket = connect(port, "127.0.0.1");
  t.teardown(() => {
    socket.destroy();
    server.close();
  });
  socket.write(Buffer.concat([preface, settingsFrame([])]));
  for (let round = 0; round < 60; round++) {
    const fields = randomFields([]).filter(([, value]) => value.length < 2000);
    const head: Field[] = [
      [":method", "POST"],
      [":scheme", "http"],
      [":path", `/${round}`],
      [":authority", "a"],
    ];
    const heard = once(server, "stream");
    socket.write(frame(frameTypes.headers, 0x05, 2 * round + 1, encodeFields([...head, ...fields])));
    const [stream, told] = (await heard) as [import("node:http2").ServerHttp2Stream, Record<string, string>];
    stream.close();
    t.equal(told[":path"], `/${round}`);
    for (const [name, value] of fields) t.equal(told[name], value, name);
  }
});

t.test("blocks that break the rules are refused", async (t) => {
  const string = (bytes: number[], huffman = false): number[] => [(huffman ? 0x80 : 0) | bytes.length, ...bytes];
  const broken: [string, number[]][] = [
    ["index 0", [0x80]],
    ["an index beyond both tables", [0xff, 0x00]],
    ["an index far beyond them", [0xff, 0xff, 0xff, 0xff, 0x7f]],
    ["a name beyond both tables", [0x0f, 0x70, ...string([0x61])]],
    ["an integer that is cut", [0xff]],
    ["an integer that is too long", [0xff, 0x80, 0x80, 0x80, 0x80, 0x00]],
    ["an integer beyond 32 bits", [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f]],
    ["a field that ends after its name", [0x00, ...string([0x61])]],
    ["a field without a name", [0x00]],
    ["a string that is cut", [0x00, 0x05, 0x61]],
    ["the end of a string in Huffman's code", [0x00, ...string([0xff, 0xff, 0xff, 0xff], true), 0x00]],
    ["a byte of padding", [0x00, ...string([0x1f, 0xff], true), 0x00]],
    ["padding with zeros", [0x00, ...string([0x18], true), 0x00]],
    ["a table larger than allowed", [0x3f, 0xe2, 0x1f]],
  ];
  for (const [name, bytes] of broken) t.throws(() => new FieldDecoder().decode(Buffer.from(bytes)), FieldsError, name);
  t.strictSame(
    new FieldDecoder().decode(Buffer.from([0x3f, 0xe1, 0x1f, 0x82])),
    [[":method", "GET"]],
    "a table as large as allowed",
  );

  const decoder = new FieldDecoder();
  const indexed = Buffer.from([0x40, ...string([0x61]), ...string([0x62])]);
  t.strictSame(decoder.decode(indexed), [["a", "b"]]);
  t.strictSame(decoder.decode(Buffer.of(0xbe)), [["a", "b"]]);
  t.throws(() => decoder.decode(Buffer.of(0x20, 0xbe)), FieldsError, "a table without room keeps nothing");

  const large = new FieldDecoder();
  large.decode(Buffer.concat([Buffer.of(0x40, 0x01, 0x61, 0x7f, 0xa1, 0x1e), Buffer.alloc(4000, "v")]));
  t.equal(large.decode(Buffer.of(0xbe))[0]?.[1].length, 4000);
  t.throws(() => large.decode(Buffer.alloc(60_000, 0xbe)), FieldsError, "a small block of many large fields");
});

t.test("random bytes are decoded or refused, and nothing else", async (t) => {
  let refused = 0;
  for (let round = 0; round < 3000; round++) {
    const bytes = Buffer.from(Array.from({ length: next(40) }, () => next(256)));
    huffmanText(bytes);
    try {
      new FieldDecoder().decode(bytes);
    } catch (error) {
      if (!(error instanceof FieldsError)) throw error;
      refused += 1;
    }
  }
  t.ok(refused > 0);
});
