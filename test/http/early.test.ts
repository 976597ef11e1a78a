// Bodies that are not asked for yet: until a request's user is known, and charged, they stay with their senders.
import t from "tap";
import { until } from "../support/inprocess.ts";
import { fronts, Stand } from "./fronts.ts";
import { codes } from "./toy.ts";

t.setTimeout(300_000);

const bytes = 3 * 1024 * 1024;
const body = Buffer.alloc(bytes, "x");

function post(path: string): string {
  return `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${bytes}\r\n\r\n`;
}

const get = "GET /after HTTP/1.1\r\nHost: localhost\r\n\r\n";

for (const front of fronts) {
  const name = `${front.name}${front.secure ? " TLS" : ""}`;

  t.test(`bodies that are not asked for are not kept (${name})`, async (t) => {
    const stand = await Stand.open(front);
    t.teardown(() => stand.close());
    const count = 30;
    const wires = await Promise.all(Array.from({ length: count }, () => stand.wire()));
    const before = process.memoryUsage().arrayBuffers;
    for (const wire of wires) {
      wire.send(post("/later"));
      // Of TLS, what the client has not sent yet is memory of this process, too.
      if (!front.secure) wire.send(body);
    }
    t.ok(await until(() => stand.toy.seen.length === count, 20_000));
    const probe = await stand.wire();
    let most = 0;
    // What arrives is read in these turns.
    for (let round = 1; round <= 100; round += 1) {
      probe.send(get);
      t.ok(await probe.until((w) => codes(w.received).length === round));
      most = Math.max(most, process.memoryUsage().arrayBuffers - before);
    }
    if (!front.secure) t.ok(most < (count * bytes) / 2, `${most} bytes are kept of ${count * bytes}`);
    if (front.secure) for (const wire of wires) wire.send(body);
    stand.toy.release();
    const whole = wires.map((wire) => wire.until((w) => w.received.endsWith(String(bytes)), 60_000));
    t.ok((await Promise.all(whole)).every(Boolean), "all of them arrive when they are asked for");
  });

  t.test(`a request that is answered without its body leaves its connection in order (${name})`, async (t) => {
    const answers: (() => void)[] = [];
    const stand = await Stand.open(front, undefined, (exchange) => {
      const { method } = exchange;
      if (method === "GET") exchange.send(200, [], "after");
      else answers.push(() => exchange.send(401, [], "no"));
    });
    t.teardown(() => stand.close());
    const wire = await stand.wire();
    for (let round = 1; round <= 3; round += 1) {
      wire.send(post("/never-read"));
      wire.send(body.subarray(0, bytes / 2));
      t.ok(await until(() => answers.length === round, 20_000));
      answers.at(-1)?.();
      wire.send(body.subarray(bytes / 2));
      wire.send(get);
      const isAnswered = await wire.until((w) => w.closed || codes(w.received).length === 2 * round, 30_000);
      t.ok(isAnswered && !wire.closed);
    }
    t.same(codes(wire.received), [401, 200, 401, 200, 401, 200]);
  });
}
