// A server that exports spans of its requests to a collector.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { openCollector } from "../../outbound/collector.ts";
import { eventually, startServer } from "../../support/server.ts";
import { noSingleServer } from "../../support/servers/storage.ts";

t.test("requests are exported as spans, the last of them when the server ends", { skip: noSingleServer }, async (t) => {
  const dir = mkdtempSync(join(tmpdir(), "orch-tracing-"));
  const collector = await openCollector();
  const file = join(dir, "tracing.yaml");
  const head = "apiVersion: apiserver.config.k8s.io/v1alpha1\nkind: TracingConfiguration\n";
  writeFileSync(file, `${head}endpoint: ${collector.endpoint}\nsamplingRatePerMillion: 1000000\n`);
  const gate = "--feature-gates=APIServerTracing=true";
  const flags = ["--identity=kubernetes", gate, `--tracing-config-file=${file}`, "--pool-workers=0"];
  const server = await startServer(flags);
  t.teardown(() => {
    collector.close();
    rmSync(dir, { recursive: true, force: true });
  });
  t.teardown(() => server.stop("SIGKILL"));
  const maps = "/api/v1/namespaces/default/configmaps";
  // Large: merged and printed by the front itself.
  const data = Object.fromEntries(Array.from({ length: 2_000 }, (_, at) => [`k${at}`, "v".repeat(200)]));
  t.equal((await server.call("POST", maps, { metadata: { name: "a" }, data })).code, 201);
  const large = await server.call("GET", `${maps}/a`, undefined, { accept: "application/yaml" });
  t.match(large.text, /^apiVersion: v1/);
  const isCreate = (attributes: ReadonlyMap<string, unknown>): boolean => attributes.get("k8s.verb") === "POST";
  t.ok(await eventually(() => collector.spans.some(({ attributes }) => isCreate(attributes))));
  const root = collector.spans.find(({ attributes }) => isCreate(attributes));
  t.match(root, { name: "KubernetesAPI", kind: 2, parentId: "" });
  t.equal(root?.attributes.get("http.target"), maps);
  t.equal(collector.resource.get("service.name"), "apiserver");
  const namesOf = (): string[] =>
    collector.spans.filter(({ parentId }) => parentId === root?.spanId).map(({ name }) => name);
  // The store thread sends its own.
  t.ok(await eventually(() => namesOf().includes("store commit")));
  const names = namesOf();
  for (const stage of ["authenticate", "authorize", "admit", "commit"]) t.ok(names.includes(stage), stage);
  t.ok(names.includes("store queue"), "from the store thread");
  // What a server starts with is made in passes of its controllers.
  const passes = (): string[] => {
    const own = collector.spans.filter(({ name, parentId }) => name.startsWith("reconcile ") && parentId === "");
    const writes = collector.spans.filter(({ name, parentId }) => {
      return name.startsWith("create ") && own.some(({ spanId }) => spanId === parentId);
    });
    const commits = collector.spans.filter(({ name }) => name === "store commit");
    return writes.flatMap(({ spanId, name }) => (commits.some(({ parentId }) => parentId === spanId) ? [name] : []));
  };
  t.ok(await eventually(() => passes().length > 0), "a change within a write within a pass");
  const { text } = await server.call("GET", "/metrics");
  for (const thread of ["controllers", "store"])
    t.match(text, new RegExp(`^orch_trace_spans_total\\{outcome="sent",thread="${thread}"\\} [1-9]`, "m"));
  t.match(text, /^orch_trace_spans_total\{outcome="sent",thread="front-\d"\} [1-9]/m);
  t.equal((await server.call("DELETE", `${maps}/a`)).code, 200);
  await server.stop("SIGTERM");
  t.ok(
    collector.spans.some(({ attributes }) => attributes.get("k8s.verb") === "DELETE"),
    "what was not exported yet",
  );
});
