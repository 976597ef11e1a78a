// Objects that name an owner in another namespace: an event tells of them, however many of them there are.
import t from "tap";
import type { IdentityName } from "../../../src/api/identity.ts";
import { limits } from "../../../src/config/limits.ts";
import { EventWriter } from "../../../src/controllers/recording/eventwriter.ts";
import { Registry, seriesOf } from "../../../src/observe/metrics.ts";
import { eventMeter } from "../../../src/observe/recordedevents.ts";
import { reconcilerParts } from "../../support/controllers.ts";
import { openInProcess, until } from "../../support/inprocess.ts";
import { maps, Yard, yard } from "./fixture.ts";

const far = "/api/v1/namespaces/kube-public/configmaps";
const roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";

yard("an owner in another namespace is told of, with the object it is named by", async (t, yard) => {
  const owner = await yard.make(far, "owner");
  await yard.make("/api/v1/namespaces/kube-system/configmaps", "owner");
  const dependent = await yard.make(maps, "dependent", [owner, { ...owner, uid: "other" }]);
  t.ok(await yard.gone(`${maps}/dependent`));
  await yard.settled();
  const { kind, apiVersion, name, uid } = dependent;
  t.strictSame(yard.told.events, [
    {
      component: "garbage-collector-controller",
      about: { kind, apiVersion, namespace: "default", name, uid },
      type: "Warning",
      reason: "OwnerRefInvalidNamespace",
      message: `ownerRef [v1/ConfigMap, namespace: default, name: owner, uid: ${owner.uid}] does not exist in namespace "default"`,
    },
  ]);
});

yard(
  "an object in no namespace that names an owner in one is left alone, and told of each time it changes",
  async (t, yard) => {
    const owner = await yard.make(far, "owner");
    const { uid } = await yard.make(roles, "role", [owner]);
    await yard.settled();
    const event = {
      about: { kind: "ClusterRole", apiVersion: "rbac.authorization.k8s.io/v1", name: "role", uid },
      message: `ownerRef [v1/ConfigMap, namespace: , name: owner, uid: ${owner.uid}] does not exist in namespace ""`,
    };
    t.match(yard.told.events, [event]);
    t.equal(yard.told.events.length, 1);
    t.equal(yard.told.events[0]?.about.namespace, undefined);
    await yard.restart();
    await yard.settled();
    t.match(yard.told.events, [event, event], "and by a collector that starts");
    t.equal(yard.told.events.length, 2);
    t.ok(await yard.metadata(`${roles}/role`));
  },
);

yard("nothing is told of owners that were there, or are nowhere", async (t, yard) => {
  const owner = await yard.make(maps, "owner");
  await yard.make(far, "owner");
  await yard.make(maps, "dependent", [owner]);
  await yard.make(maps, "orphaned", [{ ...owner, name: "nowhere", uid: "none" }]);
  await yard.make(roles, "role", [{ ...owner, uid: "none" }]);
  await yard.make(maps, "node", [{ ...owner, kind: "Node", uid: "none" }]);
  await yard.remove(`${maps}/owner`);
  t.ok(await yard.gone(`${maps}/dependent`));
  t.ok(await yard.gone(`${maps}/orphaned`));
  await yard.settled();
  t.strictSame(yard.told.events, []);
});

for (const identity of ["kubernetes", "orch"] as IdentityName[]) {
  t.test(`a client that floods the collector with misplaced owners makes few events (${identity})`, async (t) => {
    const server = await openInProcess(identity);
    const reports: string[] = [];
    const parts = reconcilerParts(server.server.clock, ({ message }) => void reports.push(message));
    const registry = new Registry();
    const writer = new EventWriter(server.writers, parts, eventMeter(registry));
    const yard = new Yard(server, writer);
    try {
      const system = identity === "orch" ? "orch" : "kube";
      const owner = await yard.make(`/api/v1/namespaces/${system}-public/configmaps`, "owner");
      const count = 1_000;
      for (let index = 0; index < count; index++) await yard.make(maps, `d${index}`, [owner]);
      await yard.settled();
      t.same((await server.call("GET", maps)).json.items, []);
      const figures = (): Map<string, number> => {
        const family = registry.snapshot().find(({ name }) => name === "orch_recorded_events_total");
        return new Map((family && seriesOf(family))?.map(([key, [value = 0]]) => [key.split("\0")[1] ?? "", value]));
      };
      const events = async (): Promise<unknown[]> => (await server.call("GET", "/api/v1/events")).json.items;
      t.ok(await until(async () => (await events()).length === figures().get("written")), [...figures()].join(" "));
      const written = (await events()).length;
      t.ok(written >= limits.collectorSearchesMax, `${written} events`);
      t.ok(written <= limits.eventsPerNamespaceMax, `${written} events`);
      t.strictSame(reports, []);
      t.strictSame(server.faults, []);
    } finally {
      await yard.reconciler.stop();
      await writer.stop();
      server.close();
    }
  });
}
