// The text of `orch top`.
import t from "tap";
import { consoleData } from "../../../src/observe/console/data.ts";
import { FrontNotes } from "../../../src/observe/console/detail.ts";
import { topText } from "../../../src/observe/console/toptext.ts";
import { Registry } from "../../../src/observe/metrics.ts";

const about = {
  ...{ version: "0.1.0", release: "v1.23.17", identity: "orch", node: "v22", cores: 2 },
  ...{ frontWorkers: 1, storage: "lmdb" },
};

t.test("topText() says what is wrong first, in lines that fit, and prints no control characters", (t) => {
  const registry = new Registry();
  const cpu = registry.counter("orch_thread_cpu_seconds_total", "", "thread");
  cpu.add("store", 1);
  cpu.add("front-0", 1);
  const notes = new FrontNotes("front-0", () => 0);
  const watches = [{ user: "evil\x1b[2Jname", count: 3 }];
  const read = (at: number) =>
    consoleData(about, at, 60, { families: [registry.snapshot()], details: [notes.detail(watches, [])] });
  const before = read(0);
  cpu.add("front-0", 1.9);
  const text = topText(before, read(2000), 80);
  const lines = text.split("\n");
  t.match(lines[0], /^orch 0\.1\.0 \(v1\.23\.17\) {3}up 60 s/);
  t.equal(lines[2], "!! front-0 is at 95 % of a core");
  t.match(lines[3], /^ {3}add front workers/);
  t.match(text, /^THREAD +CPU +LAG MS +CONNECTIONS/m);
  t.match(text, /^front-0 +95 % +\[#{19}\.\]/m);
  t.match(text, /^evil\?\[2Jname +0 +0 B +3$/m);
  t.ok(lines.every((line) => line.length <= 80));
  t.end();
});
