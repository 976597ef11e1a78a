import t from "tap";
import { noTrace, StageTrace, serverTiming } from "../../src/observe/trace.ts";

t.test("StageTrace gives each stage the time since the one before", (t) => {
  let now = 100;
  const trace = new StageTrace(() => now, 90);
  trace.done("resolve");
  now = 103.5;
  trace.done("decode");
  now = 104;
  trace.done("commit");
  now = 106;
  trace.done("decode");
  now = 107;
  t.strictSame(trace.timing, { resolve: 10, decode: 5.5, commit: 0.5, total: 17 });
  t.equal(serverTiming(trace.timing ?? {}), "resolve;dur=10.000, decode;dur=5.500, commit;dur=0.500, total;dur=17.000");
  t.end();
});

t.test("StageTrace adds up the stages of tries, however many there are", (t) => {
  let now = 0;
  const trace = new StageTrace(() => now++, 0);
  for (let i = 0; i < 1000; i++) {
    trace.done("current");
    trace.done("commit");
  }
  t.strictSame(trace.timing, { current: 999, commit: 1000, total: 2000 });
  t.end();
});

t.test("noTrace keeps nothing", (t) => {
  noTrace.done("decode");
  t.equal(noTrace.timing, undefined);
  t.end();
});
