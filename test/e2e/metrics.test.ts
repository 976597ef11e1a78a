// What /metrics says of a server that did a little of everything: upstream's names and labels where it has them
// (the ones dashboards and alerts read), ours per thread and log, and the values of what was done.
import { connect } from "node:net";
import t from "tap";
import { dashboardExpressions, ruleExpressions, type Used, usedIn } from "../observe/promql.ts";
import { eventually, startServer, type TestServer } from "../support/server.ts";
import { noSingleServer } from "../support/servers/storage.ts";

const target = ["group", "version", "resource", "subresource", "scope", "component"];

/** Families and the labels of their series; a histogram's bound is no label of its own. */
const families: readonly [name: string, type: string, labels: readonly string[]][] = [
  ["apiserver_request_total", "counter", ["verb", "dry_run", ...target, "code"]],
  ["apiserver_request_duration_seconds", "histogram", ["verb", "dry_run", ...target]],
  ["apiserver_request_slo_duration_seconds", "histogram", ["verb", ...target]],
  ["apiserver_current_inflight_requests", "gauge", ["request_kind"]],
  ["apiserver_longrunning_gauge", "gauge", ["verb", ...target]],
  ["apiserver_longrunning_requests", "gauge", ["verb", ...target]],
  ["apiserver_response_sizes", "histogram", ["verb", ...target]],
  ["apiserver_registered_watchers", "gauge", ["group", "version", "kind"]],
  ["apiserver_watch_events_total", "counter", ["group", "version", "kind"]],
  ["apiserver_watch_events_sizes", "histogram", ["group", "version", "kind"]],
  ["apiserver_init_events_total", "counter", ["resource"]],
  ["apiserver_terminated_watchers_total", "counter", ["resource"]],
  ["apiserver_request_aborts_total", "counter", []],
  ["apiserver_request_terminations_total", "counter", ["verb", ...target, "code"]],
  ["apiserver_dropped_requests_total", "counter", ["request_kind"]],
  ["apiserver_requested_deprecated_apis", "gauge", ["group", "removed_release", "resource", "subresource", "version"]],
  ["apiserver_storage_objects", "gauge", ["resource"]],
  ["kube_apiserver_clusterip_allocator_allocated_ips", "gauge", ["cidr"]],
  ["kube_apiserver_clusterip_allocator_available_ips", "gauge", ["cidr"]],
  ["kube_apiserver_clusterip_allocator_allocation_total", "counter", ["cidr"]],
  ["apiserver_cache_list_total", "counter", ["resource_prefix", "index"]],
  ["apiserver_cache_list_returned_objects_total", "counter", ["resource_prefix"]],
  ["apiserver_tls_handshake_errors_total", "counter", []],
  ["apiserver_storage_db_total_size_in_bytes", "gauge", ["endpoint"]],
  ["etcd_db_total_size_in_bytes", "gauge", ["endpoint"]],
  ["etcd_request_duration_seconds", "histogram", ["operation", "type"]],
  ["apiserver_admission_controller_admission_duration_seconds", "histogram", ["name", "operation", "rejected", "type"]],
  ["apiserver_admission_step_admission_duration_seconds", "histogram", ["operation", "rejected", "type"]],
  [
    "apiserver_admission_step_admission_duration_seconds_summary",
    "summary",
    ["operation", "rejected", "type", "quantile"],
  ],
  ["authentication_attempts", "counter", ["result"]],
  ["authentication_duration_seconds", "histogram", ["result"]],
  ["authenticated_user_requests", "counter", ["username"]],
  ["authentication_token_cache_request_total", "counter", ["status"]],
  ["authentication_token_cache_request_duration_seconds", "histogram", ["status"]],
  ["authentication_token_cache_fetch_total", "counter", ["status"]],
  ["authentication_token_cache_active_fetch_count", "gauge", ["status"]],
  ["apiserver_webhooks_x509_missing_san_total", "counter", []],
  ["serviceaccount_valid_tokens_total", "counter", []],
  ["serviceaccount_stale_tokens_total", "counter", []],
  ["serviceaccount_legacy_tokens_total", "counter", []],
  ["workqueue_depth", "gauge", ["name"]],
  ["workqueue_adds_total", "counter", ["name"]],
  ["workqueue_queue_duration_seconds", "histogram", ["name"]],
  ["workqueue_work_duration_seconds", "histogram", ["name"]],
  ["workqueue_retries_total", "counter", ["name"]],
  ["workqueue_unfinished_work_seconds", "gauge", ["name"]],
  ["workqueue_longest_running_processor_seconds", "gauge", ["name"]],
  ["process_cpu_seconds_total", "counter", []],
  ["process_resident_memory_bytes", "gauge", []],
  ["process_start_time_seconds", "gauge", []],
  ["process_open_fds", "gauge", []],
  ["process_max_fds", "gauge", []],
  ["process_virtual_memory_bytes", "gauge", []],
  [
    "kubernetes_build_info",
    "gauge",
    [
      ...["build_date", "compiler", "git_commit", "git_tree_state", "git_version", "go_version"],
      ...["major", "minor", "platform"],
    ],
  ],
  ["orch_thread_cpu_seconds_total", "counter", ["thread"]],
  ["orch_event_loop_lag_seconds", "histogram", ["thread"]],
  ["orch_event_loop_active_seconds_total", "counter", ["thread"]],
  ["orch_front_watchers", "gauge", ["thread"]],
  ["orch_front_watch_groups", "gauge", ["thread"]],
  ["orch_front_watch_bytes_total", "counter", ["thread"]],
  ["orch_front_queued_changes", "gauge", ["thread"]],
  ["orch_log_bytes", "gauge", ["resource"]],
  ["orch_log_live_bytes", "gauge", ["resource"]],
  ["orch_log_oldest_seconds", "gauge", ["resource"]],
  ["orch_log_segments", "gauge", ["resource"]],
  ["orch_log_releasing_segments", "gauge", ["resource"]],
  ["orch_log_pool_bytes", "gauge", ["use"]],
  ["watch_cache_capacity", "gauge", ["resource"]],
  ["watch_cache_capacity_increase_total", "counter", ["resource"]],
  ["watch_cache_capacity_decrease_total", "counter", ["resource"]],
  ["rest_client_requests_total", "counter", ["code", "host", "method"]],
  ["rest_client_request_duration_seconds", "histogram", ["url", "verb"]],
  ["aggregator_openapi_v2_regeneration_count", "counter", ["apiservice", "reason"]],
  ["aggregator_openapi_v2_regeneration_duration", "gauge", ["reason"]],
  ["endpoint_slice_controller_changes", "counter", ["operation"]],
  ["endpoint_slice_controller_syncs", "counter", ["result"]],
  ["endpoint_slice_controller_num_endpoint_slices", "gauge", []],
  ["orch_store_commit_seconds", "histogram", []],
  ["orch_store_batch_changes", "histogram", []],
  ["orch_store_changes_total", "counter", ["outcome"]],
  ["orch_store_queued_changes", "gauge", []],
  ["orch_store_revision", "gauge", []],
  ["orch_store_floor_revision", "gauge", []],
];

/** Counted where there is an audit policy. */
const onlyAudited: ReadonlySet<string> = new Set(["apiserver_audit_error_total", "apiserver_audit_dropped_total"]);

/** Of one family in an exposition: its type, and the labels its series have; undefined when there is none. */
function read(
  text: string,
  name: string,
): { readonly type: string; readonly labels: readonly (readonly string[])[] } | undefined {
  const type = new RegExp(`^# TYPE ${name} (\\w+)$`, "m").exec(text)?.[1];
  if (type === undefined) return undefined;
  const lines = text.match(new RegExp(`^${name}(?:_bucket)?(?:\\{[^}]*\\})? `, "gm")) ?? [];
  const labels = lines.map((line) =>
    [...line.matchAll(/\b(\w+)="/g)].map(([, label]) => label ?? "").filter((l) => l !== "le"),
  );
  return { type, labels };
}

async function value(server: TestServer, series: string): Promise<number> {
  const { text } = await server.call("GET", "/metrics");
  const line = text.split("\n").find((l) => l.startsWith(`${series} `));
  return Number(line?.slice(series.length) ?? Number.NaN);
}

t.test("/metrics has upstream's names and labels, and counts what was done", { skip: noSingleServer }, async (t) => {
  // No config map but those of the test.
  const controllers = "--controllers=*,-root-ca-cert-publisher,-csrsigning";
  const flags = ["--identity=kubernetes", "--front=node", "--front-workers=2", "--max-mutating-requests-inflight=2"];
  const server = await startServer([...flags, controllers]);
  t.teardown(() => server.stop("SIGKILL"));
  const maps = "/api/v1/namespaces/default/configmaps";
  for (let i = 0; i < 3; i++) await server.call("POST", maps, { metadata: { name: `m${i}` }, data: { a: "1" } });
  await server.call("PUT", `${maps}/m0`, { metadata: { name: "m0" }, data: { a: "2" } });
  await server.call("DELETE", `${maps}/m1`);
  await server.call("GET", maps);
  for (let i = 0; i < 8; i++)
    await server.call("GET", "/apis/policy/v1beta1/podsecuritypolicies", undefined, { connection: "keep-alive" });
  const seen: string[] = [];
  const close = server.watch(`${maps}?watch=1`, (event) => seen.push(event.type));
  t.ok(await eventually(() => seen.length === 2));
  await server.call("DELETE", `${maps}/m2`);
  t.ok(await eventually(() => seen.length === 3));
  const { hostname, port } = new URL(server.base);
  const plain = connect({ host: hostname, port: Number(port) });
  plain.on("error", () => undefined);
  plain.end("This is no ClientHello.\r\n\r\n");

  t.ok(
    await eventually(async () => (await value(server, "apiserver_tls_handshake_errors_total")) === 1),
    "a handshake",
  );
  const { text } = await server.call("GET", "/metrics");
  for (const [name, type, labels] of families) {
    const found = read(text, name);
    t.equal(found?.type, type, name);
    for (const series of found?.labels ?? [])
      if (series.toSorted().join() !== labels.toSorted().join()) t.strictSame(series, labels, name);
  }
  const recorded = new Set(ruleExpressions().map(({ record }) => record));
  for (const { where, text: expression } of [...ruleExpressions(), ...dashboardExpressions()]) {
    for (const { name } of usedIn(expression) as readonly Used[]) {
      if (recorded.has(name) || name === "up" || onlyAudited.has(name)) continue;
      const isThere = new RegExp(`^# TYPE (?:${name}|${name.replace(/_(?:bucket|sum|count)$/, "")}) `, "m").test(text);
      if (!isThere) t.fail(`${where}: ${name} is not among the metrics of a server`);
    }
  }
  const kind = 'group="",kind="ConfigMap",version="v1"';
  const where = 'group="",resource="configmaps",scope="namespace",subresource=""';
  const wanted: readonly [string, number][] = [
    [`apiserver_registered_watchers{${kind}}`, 1],
    [`apiserver_watch_events_total{${kind}}`, 1],
    [`apiserver_watch_events_sizes_count{${kind}}`, 1],
    ['apiserver_init_events_total{resource="configmaps"}', 2],
    ['apiserver_storage_objects{resource="configmaps"}', 1],
    ['apiserver_storage_objects{resource="deployments.apps"}', 0],
    [`apiserver_request_total{code="201",component="apiserver",dry_run="",${where},verb="POST",version="v1"}`, 3],
    [`apiserver_longrunning_gauge{component="apiserver",${where},verb="WATCH",version="v1"}`, 1],
    ['apiserver_cache_list_total{index="",resource_prefix="/registry/configmaps"}', 1],
    ['apiserver_cache_list_returned_objects_total{resource_prefix="/registry/configmaps"}', 2],
    ['etcd_request_duration_seconds_count{operation="create",type="*core.ConfigMap"}', 3],
    ['etcd_request_duration_seconds_count{operation="delete",type="*core.ConfigMap"}', 2],
    [
      'apiserver_requested_deprecated_apis{group="policy",removed_release="1.25",resource="podsecuritypolicies",subresource="",version="v1beta1"}',
      1,
    ],
  ];
  for (const [series, count] of wanted) t.equal(await value(server, series), count, series);
  for (const name of ["namespace", "resourcequota", "serviceaccount", "serviceaccount-token", "own-service", "lease"]) {
    t.ok((await value(server, `workqueue_adds_total{name="${name}"}`)) > 0, name);
    t.ok((await value(server, `workqueue_work_duration_seconds_count{name="${name}"}`)) > 0, name);
    t.equal(await value(server, `workqueue_depth{name="${name}"}`), 0, name);
  }
  const accounts = 'workqueue_work_duration_seconds_count{name="serviceaccount"}';
  const before = await value(server, accounts);
  await server.call("POST", "/api/v1/namespaces", { metadata: { name: "n" } });
  t.ok(await eventually(async () => (await value(server, accounts)) > before));
  close();
  t.ok(
    await eventually(
      async () =>
        (await value(
          server,
          `apiserver_longrunning_gauge{component="apiserver",${where},verb="WATCH",version="v1"}`,
        )) === 0,
    ),
  );
});
