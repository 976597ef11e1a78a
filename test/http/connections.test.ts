// An end for connections on which nothing moves, and none for those that wait for us.
import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import t from "tap";
import { Connections } from "../../src/http/connections.ts";
import { until } from "../support/inprocess.ts";

/** As much of a socket as is looked at. */
class Moving extends EventEmitter {
  bytesRead = 0;
  bytesWritten = 0;
  writableLength = 0;
  destroyed = false;
  destroy(): void {
    this.destroyed = true;
    this.emit("close");
  }
}

const request = (sending: boolean) => {
  const one = { sending, ended: 0, closed: (): void => void (one.ended += 1) };
  return one;
};

t.test("Connections end those that are idle or stalled, and no others", async (t) => {
  const connections = new Connections(160, 80);
  t.teardown(() => connections.close());
  const open = (...under: ReturnType<typeof request>[]): Moving => {
    const socket = new Moving();
    for (const one of under) connections.under(socket as unknown as Socket).add(one);
    connections.under(socket as unknown as Socket);
    return socket;
  };
  const idle = open();
  const stalled = open(request(true), request(false));
  const waiting = open(request(false), request(true));
  const reading = open();
  const writing = open(request(true));
  const queued = open(request(true));
  const steps = setInterval(() => {
    reading.bytesRead += 1;
    writing.bytesWritten += 100;
    // More and more is written, and none of it leaves.
    queued.bytesWritten += 100;
    queued.writableLength += 100;
  }, 5);
  t.teardown(() => clearInterval(steps));
  const started = performance.now();
  t.ok(await until(() => stalled.destroyed && queued.destroyed), "a peer that takes nothing");
  t.ok(performance.now() - started >= 70, "not before its time");
  t.notOk(idle.destroyed, "which is shorter than that of idle ones");
  t.ok(await until(() => idle.destroyed), "an idle one");
  t.same(
    [waiting, reading, writing].map(({ destroyed }) => destroyed),
    [false, false, false],
  );
});

t.test("Connections tell requests of their end, once", (t) => {
  const connections = new Connections(1_000, 1_000);
  t.teardown(() => connections.close());
  const socket = new Moving();
  const [first, second] = [request(true), request(false)];
  const under = connections.under(socket as unknown as Socket);
  under.add(first).add(second);
  under.delete(first);
  t.equal(connections.under(socket as unknown as Socket), under);
  socket.destroy();
  t.same([first.ended, second.ended], [0, 1]);
  t.not(connections.under(socket as unknown as Socket), under, "and nothing is kept");
  t.end();
});
