import t from "tap";
import { identities } from "../../../src/api/identity.ts";
import { createScheme } from "../../../src/api/scheme.ts";
import { exposition, Registry } from "../../../src/observe/metrics.ts";
import { registerWatchMetrics } from "../../../src/request/watch/watchmetrics.ts";
import { FakeFront } from "../../support/fakefront.ts";
import { FakeLog } from "../../support/fakelog.ts";

t.test("registerWatchMetrics() shows watchers, events and their sizes by kind", (t) => {
  const log = new FakeLog("/registry/pods");
  const front = new FakeFront(log);
  const registry = new Registry();
  registerWatchMetrics(registry, front.fanout, createScheme({ identity: identities.orch }));
  front.watch();
  front.watch({ namespace: "n1" });
  const behind = front.watch({ accepts: 1 });
  log.put({ namespace: "n1", name: "a" });
  log.put({ namespace: "n1", name: "b", padding: 3000 });
  log.news();
  front.run();
  const text = exposition([registry.snapshot()]);
  const kind = 'group="",kind="Pod"';
  const lines = [
    `apiserver_registered_watchers{${kind},version="v1"} 3`,
    `apiserver_watch_events_total{${kind},version="v1"} 6`,
    `apiserver_watch_events_sizes_bucket{${kind},version="v1",le="1024"} 3`,
    `apiserver_watch_events_sizes_bucket{${kind},version="v1",le="2048"} 3`,
    `apiserver_watch_events_sizes_bucket{${kind},version="v1",le="4096"} 6`,
    `apiserver_watch_events_sizes_bucket{${kind},version="v1",le="+Inf"} 6`,
    `apiserver_watch_events_sizes_count{${kind},version="v1"} 6`,
    'orch_watch_groups{resource="pods"} 2',
    'orch_watch_behind{resource="pods"} 1',
    'apiserver_terminated_watchers_total{resource="pods"} 0',
  ];
  for (const line of lines) t.ok(text.includes(`${line}\n`), line);
  behind.gone();
  t.ok(exposition([registry.snapshot()]).includes('orch_watch_behind{resource="pods"} 0\n'));
  t.end();
});
