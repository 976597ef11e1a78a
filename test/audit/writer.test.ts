// What fronts are told of the messages they sent.
import { MessageChannel } from "node:worker_threads";
import t from "tap";
import type { Delivery } from "../../src/audit/destination.ts";
import type { FromWriter, ToWriter } from "../../src/audit/messages.ts";
import { EventWriter } from "../../src/audit/writer.ts";
import { until } from "../support/inprocess.ts";

t.test("a front hears of each message, in order, whether every backend stored it", async (t) => {
  const outcomes: (boolean | Promise<boolean>)[][] = [
    [true, true],
    [false, true],
    [true, Promise.resolve(true)],
    [true, new Promise((resolve) => setImmediate(resolve, false))],
    [false, new Promise((resolve) => setImmediate(resolve, true))],
  ];
  const taken: string[] = [];
  const backend = (index: number): Delivery => {
    let next = 0;
    return {
      take: (lines) => {
        taken.push(`${index}${lines}`);
        return outcomes[next++]?.[index] ?? true;
      },
      finish: () => Promise.resolve(),
    };
  };
  const writer = new EventWriter([backend(0), backend(1)]);
  const { port1, port2 } = new MessageChannel();
  t.teardown(() => port1.close());
  writer.connect(port2);
  const told: boolean[] = [];
  port1.on("message", ({ stored }: FromWriter) => void told.push(stored));
  for (const index of outcomes.keys()) port1.postMessage({ lines: `${index}\n`, owners: [] } satisfies ToWriter);
  t.ok(await until(() => told.length === outcomes.length));
  t.same(told, [true, false, true, false, false]);
  t.same(taken.slice(0, 4), ["00\n", "10\n", "01\n", "11\n"], "every backend gets everything");
  await writer.finish();
});
