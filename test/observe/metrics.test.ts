import t from "tap";
import { exposition, Registry, seriesOf } from "../../src/observe/metrics.ts";

t.test("exposition() adds up the threads and escapes label values", (t) => {
  const threads = [1, 2].map((n) => {
    const registry = new Registry();
    registry.counter("requests_total", "Requests.", "verb", "path").add('GET\0a"b\\c\nd', n);
    registry.histogram("seconds", "Seconds.", [0.1, 1], "verb").observe("GET", n === 1 ? 0.1 : 5);
    registry.gauge("up", "Up.").set("", 1);
    return registry.snapshot();
  });
  t.equal(
    exposition(threads),
    [
      "# HELP requests_total Requests.",
      "# TYPE requests_total counter",
      'requests_total{path="a\\"b\\\\c\\nd",verb="GET"} 3',
      "# HELP seconds Seconds.",
      "# TYPE seconds histogram",
      'seconds_bucket{verb="GET",le="0.1"} 1',
      'seconds_bucket{verb="GET",le="1"} 1',
      'seconds_bucket{verb="GET",le="+Inf"} 2',
      'seconds_sum{verb="GET"} 5.1',
      'seconds_count{verb="GET"} 2',
      "# HELP up Up.",
      "# TYPE up gauge",
      "up 2",
      "",
    ].join("\n"),
  );
  t.end();
});

t.test("exposition() tells quantiles of summaries, in order", (t) => {
  const registry = new Registry();
  const family = registry.summary("took_seconds", "Seconds.", "verb");
  for (let i = 1; i <= 1000; i++) family.summarize("GET", i / 1000);
  const lines = exposition([registry.snapshot()]).split("\n");
  const values = [0.5, 0.9, 0.99].map((quantile, at) => {
    const start = `took_seconds{verb="GET",quantile="${quantile}"} `;
    t.ok(lines[2 + at]?.startsWith(start));
    return Number(lines[2 + at]?.slice(start.length)) / quantile;
  });
  t.ok(
    values.every((ratio) => ratio > 0.9 && ratio < 1.11),
    values.join(),
  );
  t.equal(lines[6], 'took_seconds_count{verb="GET"} 1000');
  t.end();
});

t.test("Family.add() counts under other once a family has too many series", (t) => {
  const registry = new Registry();
  const family = registry.counter("agents_total", "Agents.", "agent");
  for (let i = 0; i < 10_500; i++) family.add(`agent-${i}`);
  const [snapshot] = registry.snapshot();
  t.equal(snapshot?.keys.length, 10_001);
  t.same(
    (snapshot && seriesOf(snapshot))?.find(([key]) => key === "other"),
    ["other", [500]],
  );
  t.end();
});

t.test("exposition() hides a deprecated family three releases later, and drops it after one more", (t) => {
  const registry = new Registry();
  registry.gauge("old", "Old.").deprecatedIn = 23;
  const heads = (release: number, hiddenFor?: number) =>
    exposition([registry.snapshot()], { release, hiddenFor }).split("\n")[0];
  const shown = "# HELP old (Deprecated since 1.23.0) Old.";
  for (const release of [23, 24, 25]) t.equal(heads(release), shown);
  t.equal(heads(26), "");
  t.equal(heads(26, 25), shown);
  t.equal(heads(27, 26), "");
  t.end();
});

t.test("snapshots of thousands of series are few values to copy", (t) => {
  const registry = new Registry();
  const family = registry.histogram("seconds", "Seconds.", [0.1, 1], "resource");
  for (let i = 0; i < 5000; i++) family.observe(`r${i}`, 0.5);
  const [snapshot] = registry.snapshot();
  t.equal(snapshot?.values.length, 5000 * 4);
  t.same(snapshot && seriesOf(snapshot)[1], ["r1", [0, 1, 1, 0.5]]);
  // Adding up threads leaves what they sent as it was.
  const twice = [snapshot ? [snapshot] : [], registry.snapshot()];
  t.match(exposition(twice), 'seconds_count{resource="r1"} 2\n');
  t.same(snapshot && seriesOf(snapshot)[1], ["r1", [0, 1, 1, 0.5]]);
  t.end();
});
