// How far a long command is, on a terminal and in a file.
import t from "tap";
import { Progress } from "../../src/base/progress.ts";

t.test("tell() writes one line over on a terminal, and end() takes it away", (t) => {
  const written: string[] = [];
  let nowMs = 0;
  const progress = new Progress({ isTTY: true, write: (text) => written.push(text) }, () => nowMs);
  progress.tell("objects", 1, 10);
  t.same(written, [], "what is over at once is not told");
  nowMs = 100;
  progress.tell("objects", 5, 10);
  progress.tell("objects", 6, 10);
  t.same(written, [`\r\x1b[K[${"#".repeat(15)}${".".repeat(15)}] 5 of 10 objects`]);
  progress.end();
  progress.end();
  t.equal(written.at(-1), "\r\x1b[K");
  t.equal(written.length, 2);
  t.end();
});

t.test("tell() writes a line now and then elsewhere, and nothing when it ends", (t) => {
  const written: string[] = [];
  let nowMs = 0;
  const progress = new Progress({ write: (text) => written.push(text) }, () => nowMs);
  for (; nowMs <= 10_000; nowMs += 10) progress.tell("objects", nowMs);
  progress.end();
  t.same(written, ["5000 objects\n", "10000 objects\n"]);
  progress.tell("objects", 7, 0);
  t.equal(written.length, 2);
  t.end();
});
