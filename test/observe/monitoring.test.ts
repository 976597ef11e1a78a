// The dashboard and the rules of scripts/monitoring: valid, and about metrics and labels that a server has. A metric that
// is renamed fails here; that a running server shows them says test/e2e/metrics.test.ts.
import t from "tap";
import { parseAllDocuments, parse as parseYaml } from "yaml";
import { identities } from "../../src/api/identity.ts";
import { createScheme } from "../../src/api/scheme.ts";
import { auditFamilies } from "../../src/audit/auditor.ts";
import { createLosses, droppedFamily } from "../../src/audit/destination.ts";
import { countAuthn } from "../../src/authn/events.ts";
import { systemClock } from "../../src/base/clock.ts";
import { countConnections, countFront, countPool, countProcess, countStore } from "../../src/boot/count.ts";
import { TimedStore } from "../../src/boot/timedstore.ts";
import type { Fanout } from "../../src/cache/fanout/fanout.ts";
import type { LogWriter } from "../../src/cache/writer/writer.ts";
import { Openings } from "../../src/http/openings.ts";
import { admissionMeter } from "../../src/observe/admission.ts";
import { availabilityMeter } from "../../src/observe/apiservices.ts";
import { sliceMeter } from "../../src/observe/endpointslices.ts";
import { flowMeter } from "../../src/observe/flowcontrol.ts";
import type { Logger } from "../../src/observe/log.ts";
import { type FamilySnapshot, Registry } from "../../src/observe/metrics.ts";
import { nodeMeter } from "../../src/observe/nodes.ts";
import { openApiMeter } from "../../src/observe/openapi.ts";
import { eventMeter } from "../../src/observe/recordedevents.ts";
import { createObserver } from "../../src/observe/requests.ts";
import { workqueueMeter } from "../../src/observe/workqueues.ts";
import type { Pool } from "../../src/pool/pool.ts";
import { registerWatchMetrics } from "../../src/request/watch/watchmetrics.ts";
import type { StoreClient } from "../../src/storage/client.ts";
import type { Store } from "../../src/storage/store.ts";
import { dashboardExpressions, monitoringFile, ruleExpressions, rules, usedIn } from "./promql.ts";

/** What all threads of a server count into, each in a registry of its own. */
function families(): FamilySnapshot[] {
  const scheme = createScheme({ identity: identities.kubernetes });
  const fanout = { counts: () => new Map() } as unknown as Fanout;
  const registries = [new Registry(), new Registry(), new Registry(), new Registry(), new Registry()] as const;
  const [front, controllers, store, audit, main] = registries;
  createObserver(front, {} as Logger);
  admissionMeter(front, systemClock);
  openApiMeter(front);
  flowMeter(
    front,
    () => [],
    () => [],
  );
  countAuthn(front, identities.kubernetes);
  auditFamilies(front);
  droppedFamily(front);
  countFront(front, "front-0", fanout, () => 0);
  countPool(front, "front-0", { waiting: { used: 0 }, running: 0, refused: 0 } as unknown as Pool);
  countConnections(front, "front-0", new Openings(10));
  registerWatchMetrics(front, fanout, scheme);
  new TimedStore({} as StoreClient, systemClock, front, scheme);
  for (const meter of [availabilityMeter, sliceMeter, nodeMeter, eventMeter, workqueueMeter]) meter(controllers);
  const writer = { stats: () => ({ logs: [], usedBytes: 0, freeBytes: 0 }) } as unknown as LogWriter;
  countStore(store, { store: {} as Store, writer, queued: () => 0, scheme });
  createLosses(audit, () => undefined);
  countProcess(main, () => 0);
  return registries.flatMap((registry) => registry.snapshot());
}

/** What Prometheus adds to every series, or makes itself. */
const targetLabels = ["instance", "job"];

/** Labels by the name an expression uses. */
function exposed(): Map<string, ReadonlySet<string>> {
  const found = new Map<string, ReadonlySet<string>>([["up", new Set(targetLabels)]]);
  for (const { name, type, labels } of families()) {
    const own = [...labels, ...targetLabels];
    if (type !== "histogram") found.set(name, new Set(own));
    else {
      for (const suffix of ["_sum", "_count"]) found.set(`${name}${suffix}`, new Set(own));
      found.set(`${name}_bucket`, new Set([...own, "le"]));
    }
  }
  return found;
}

t.test("usedIn() finds metrics, their labels and what is no PromQL", async (t) => {
  t.same(usedIn('sum by (verb) (rate(a{b="c"}[5m])) / on (x) d:e'), [
    { name: "a", labels: new Set(["b", "verb", "x"]) },
    { name: "d:e", labels: new Set(["x"]) },
  ]);
  t.match(usedIn("sum by (verb) (rate(a[5m])"), /here$/);
});

t.test("each metric and label of the dashboard and of the rules is one of a server", async (t) => {
  const known = exposed();
  const expressions = [...ruleExpressions(), ...dashboardExpressions()];
  t.ok(expressions.length > 100);
  for (const { where, text, shown, record } of expressions) {
    const used = usedIn(text);
    if (typeof used === "string") {
      t.fail(`${where}: ${used}`);
      continue;
    }
    const all = new Set<string>();
    for (const { name, labels } of used) {
      const own = known.get(name);
      if (own === undefined) t.fail(`${where}: no server has ${name}`);
      for (const label of labels) if (own?.has(label) === false) t.fail(`${where}: ${name} has no label ${label}`);
      for (const label of own ?? []) all.add(label);
    }
    for (const label of shown) if (!all.has(label)) t.fail(`${where} shows the label ${label}, which nothing has`);
    // What is recorded has the labels it is grouped by.
    if (record !== undefined) known.set(record, new Set(used.flatMap(({ labels }) => [...labels])));
  }
  t.ok(known.size > expressions.length / 2);
});

t.test("alerts say how grave they are and what to do, and bounds in expressions are buckets", async (t) => {
  const buckets = new Map(families().map(({ name, buckets }) => [`${name}_bucket`, new Set(buckets.map(String))]));
  for (const { text, where } of [...ruleExpressions(), ...dashboardExpressions()]) {
    for (const [, name = "", matchers = ""] of text.matchAll(/(?<!\w)(\w+)\{([^{}]*)\}/g)) {
      const bound = /le="([^"]+)"/.exec(matchers)?.[1];
      if (bound !== undefined && buckets.get(name)?.has(bound) !== true) t.fail(`${where}: no bucket ${bound}`);
    }
  }
  const names = new Set<string>();
  for (const { record, alert = "", labels, annotations, ...rest } of rules()) {
    if (record !== undefined) continue;
    t.notOk(names.has(alert), alert);
    names.add(alert);
    t.match(rest.for, /^\d+m$/, alert);
    t.match(labels?.severity, /^(?:warning|critical)$/, alert);
    t.ok(annotations?.["summary"] !== undefined && annotations["description"] !== undefined, alert);
  }
});

t.test("the dashboard asks the data source that is chosen, and panels do not lie upon each other", async (t) => {
  const { panels, templating } = JSON.parse(monitoringFile("dashboard.json"));
  t.match(templating.list[0], { name: "datasource", type: "datasource", query: "prometheus" });
  const places = new Set<string>();
  const ids = new Set<number>();
  for (const { id, type, title, datasource, targets = [], gridPos } of panels) {
    t.notOk(ids.has(id), title);
    ids.add(id);
    const { x, y, w, h } = gridPos;
    t.ok(x + w <= 24, title);
    for (let at = x; at < x + w; at++)
      for (let line = y; line < y + h; line++) {
        if (places.has(`${at} ${line}`)) t.fail(`${title} lies upon another panel`);
        places.add(`${at} ${line}`);
      }
    if (type === "row") continue;
    for (const { datasource: one } of [{ datasource }, ...targets]) t.equal(one.uid, "${datasource}", title);
  }
});

t.test("the scrape configuration and the account for it are YAML of what they should be", async (t) => {
  const { scrape_configs: jobs } = parseYaml(monitoringFile("scrape.yaml"));
  t.match(jobs, [{ job_name: "apiserver", scheme: "https", metrics_path: "/metrics" }]);
  t.same(
    parseAllDocuments(monitoringFile("access.yaml")).map((document) => document.toJS().kind),
    ["ServiceAccount", "Secret", "ClusterRole", "ClusterRoleBinding"],
  );
});
