// Steps of a start, as fronts see them: done once is done for all fronts of the process.
import { Started, startedMemory } from "../../src/boot/started.ts";
import { bootSteps } from "../../src/observe/health.ts";
import { apiServices, runRegistration } from "../support/apiservices.ts";
import type { InProcess } from "../support/inprocess.ts";
import { scenario } from "../support/scenario.ts";

function startedOf({ scheme, views, objects }: InProcess, memory = startedMemory()): Started {
  return new Started({ memory, scheme, views, objects, published: () => new Map() });
}

scenario("Started.unregistered() names what was not seen available, until all were once", async (t, server) => {
  const memory = startedMemory();
  const started = startedOf(server, memory);
  t.match(started.unregistered(), /^missing APIService: \[(v1\S* )+/);
  const work = runRegistration(server, []);
  await work.idle();
  await work.stop();
  const path = `${apiServices}/v1.apps`;
  const { json: apps } = await server.call("GET", path);
  const unavailable = { ...apps, status: { conditions: [{ type: "Available", status: "False" }] } };
  t.equal((await server.call("PUT", `${path}/status`, unavailable)).code, 200);
  t.equal(started.unregistered(), "missing APIService: [v1.apps]");
  const { json: now } = await server.call("GET", path);
  t.equal((await server.call("PUT", `${path}/status`, { ...now, status: apps.status })).code, 200);
  t.equal(started.unregistered(), undefined);
  await server.call("DELETE", path);
  t.equal(started.unregistered(), undefined, "a client deleted it");
  t.equal(startedOf(server, memory).unregistered(), undefined, "to a front that is started again, too");
  t.match(startedOf(server).unregistered(), "[v1.apps]", "to a process that is started again it is missing");
});

scenario("Started.has() is what was looked up once, or marked", async (t, server) => {
  const memory = startedMemory();
  const started = startedOf(server, memory);
  t.ok(started.has("bootstrap-controller"));
  t.notOk(started.has("scheduling/bootstrap-system-priority-classes"));
  t.notOk(started.has("kube-apiserver-autoregistration"));
  started.mark("kube-apiserver-autoregistration");
  await server.call("DELETE", "/api/v1/namespaces/kube-node-lease");
  await server.call("PUT", "/api/v1/namespaces/kube-node-lease/finalize", {
    metadata: { name: "kube-node-lease" },
    spec: {},
  });
  const other = startedOf(server, memory);
  t.ok(other.has("bootstrap-controller"));
  t.ok(other.has("kube-apiserver-autoregistration"));
  t.same(
    bootSteps.filter((step) => !startedOf(server).has(step)),
    [
      "bootstrap-controller",
      "rbac/bootstrap-roles",
      "scheduling/bootstrap-system-priority-classes",
      "priority-and-fairness-config-producer",
      "apiservice-status-available-controller",
      "kube-apiserver-autoregistration",
    ],
  );
});
