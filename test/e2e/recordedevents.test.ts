// Events of the server's controllers, as a client of a running server sees them, in both identities.
import t from "tap";
import { eventually, startServer, type TestServer } from "../support/server.ts";
import { takeoverMsMax } from "../support/servers/storage.ts";

t.setTimeout(240_000);

// biome-ignore lint/suspicious/noExplicitAny: tests look into any answer
type Json = any;

async function eventsOf(server: TestServer, namespace: string, reason: string): Promise<Json[]> {
  const path = `/api/v1/namespaces/${namespace}/events?fieldSelector=reason=${reason}`;
  return (await server.call("GET", path)).json.items ?? [];
}

const identities = [
  { identity: "orch", system: "orch-system", domain: "orch.io", coordination: "coordination.orch.io" },
  { identity: "kubernetes", system: "kube-system", domain: "k8s.io", coordination: "coordination.k8s.io" },
];

for (const { identity, system, domain, coordination } of identities) {
  t.test(`controllers tell in events what they did and could not do (${identity})`, async (t) => {
    const args = [`--identity=${identity}`];
    const first = await startServer(args);
    t.teardown(() => first.stop("SIGKILL"));
    const maps = (namespace: string): string => `/api/v1/namespaces/${namespace}/configmaps`;
    const { json: owner } = await first.call("POST", maps(system), { metadata: { name: "owner" } });
    const { metadata } = owner;
    const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "owner", uid: metadata.uid }];
    const made = await first.call("POST", maps("default"), { metadata: { name: "stray", ownerReferences } });
    t.equal(made.code, 201, made.text);
    const reason = "OwnerRefInvalidNamespace";
    t.ok(await eventually(async () => (await eventsOf(first, "default", reason)).length === 1));
    const identityOf = `[v1/ConfigMap, namespace: default, name: owner, uid: ${metadata.uid}]`;
    const [event] = await eventsOf(first, "default", reason);
    const { uid } = made.json.metadata;
    t.match(event, {
      involvedObject: { kind: "ConfigMap", apiVersion: "v1", namespace: "default", name: "stray", uid },
      message: `ownerRef ${identityOf} does not exist in namespace "default"`,
      source: { component: "garbage-collector-controller" },
      count: 1,
      type: "Warning",
    });
    t.match(event.metadata.name, /^stray\.[0-9a-f]{16}$/);
    const own = `/apis/events.${domain}/v1/namespaces/default/events/${event.metadata.name}`;
    t.match((await first.call("GET", own)).json, {
      apiVersion: `events.${domain}/v1`,
      note: event.message,
      regarding: event.involvedObject,
      deprecatedSource: event.source,
    });
    const rbac = identity === "orch" ? "rbac.authorization.orch.io" : "rbac.authorization.k8s.io";
    const role = await first.call("POST", `/apis/${rbac}/v1/clusterroles`, {
      metadata: { name: "stray", ownerReferences },
    });
    t.equal(role.code, 201, role.text);
    t.ok(await eventually(async () => (await eventsOf(first, "default", reason)).length === 2));
    const about = (await eventsOf(first, "default", reason)).map(({ involvedObject }) => involvedObject.apiVersion);
    t.same(about.sort(), [`${rbac}/v1`, "v1"]);
    const elections = async (server: TestServer): Promise<string[]> =>
      (await eventsOf(server, system, "LeaderElection"))
        .filter(({ involvedObject: { kind, apiVersion } }) => kind === "Lease" && apiVersion === `${coordination}/v1`)
        .map(({ message }) => message.split(" ").slice(1).join(" "));
    t.ok(await eventually(async () => (await elections(first)).join() === "became leader"));
    const series = 'orch_recorded_events_total{outcome="written",source="garbage-collector-controller"}';
    t.ok(await eventually(async () => (await first.metrics()).includes(`${series} 2\n`)));
    await first.stop("SIGTERM", false);
    const second = await startServer(args, first.dir);
    t.teardown(() => second.stop("SIGKILL"));
    // Of several servers another one may lead while the first one ends.
    const turns = (stops: number): string[] => [
      ...Array.from({ length: stops + 1 }, () => "became leader"),
      ...Array.from({ length: stops }, () => "stopped leading"),
    ];
    const expected = first.parts.map((_, index) => turns(index + 1).join());
    const told = async (): Promise<string> => (await elections(second)).sort().join();
    const limitMs = Math.max(10_000, takeoverMsMax);
    t.ok(await eventually(async () => expected.includes(await told()), limitMs), await told());
  });
}
