// The messages of KMS plugins in protobuf: what is written comes back, and no bytes are a fault of ours.
import t from "tap";
import { ReadMessage, writeMessage } from "../../../src/storage/encryption/kmscodec.ts";
import { random } from "../../support/random.ts";

t.test("writeMessage() writes what protobuf says, and leaves out what is empty", (t) => {
  const map = new Map([
    ["a", Buffer.of(1)],
    ["b", Buffer.of()],
  ]);
  const bytes = writeMessage([
    [1, "text"],
    [2, Buffer.of(0xff)],
    [3, ""],
    [4, map],
    [5, 300],
    [6, 0],
  ]);
  t.equal(bytes.toString("hex"), "0a0474657874" + "1201ff" + "22060a0161120101" + "22030a0162" + "28ac02");
  const read = new ReadMessage(bytes);
  t.same(
    [read.text(1), read.bytes(2), read.text(3), read.number(5), read.number(6)],
    ["text", Buffer.of(0xff), "", 300, 0],
  );
  t.same([...read.map(4)], [...map]);
  t.equal(writeMessage([]).length, 0);
  t.end();
});

t.test("new ReadMessage() takes any bytes as a message, or throws that they are none", (t) => {
  const seed = Number(process.env["ORCH_SEED"] ?? Date.now() % 1_000_000);
  const pick = random(seed);
  let messages = 0;
  for (let i = 0; i < 20_000; i++) {
    const bytes = Buffer.from(Array.from({ length: pick(24) }, () => (pick(3) === 0 ? pick(8) * 8 + 2 : pick(256))));
    try {
      const message = new ReadMessage(bytes);
      for (let field = 1; field < 8; field++) {
        message.number(field);
        message.text(field);
        try {
          message.map(field);
        } catch (error) {
          if (!/it is no message/.test((error as Error).message)) throw error;
        }
      }
      messages += 1;
    } catch (error) {
      if (!/it is no message/.test((error as Error).message))
        t.fail(`ORCH_SEED=${seed}: ${bytes.toString("hex")}: ${error}`);
    }
  }
  t.ok(messages > 100, `${messages} messages`);
  t.end();
});
