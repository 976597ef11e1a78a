import t from "tap";
import type { ConfigMap } from "../../src/api/gen/core/v1.ts";
import type { ApiObject } from "../../src/api/object.ts";
import { conflict, isStatus, type Status } from "../../src/api/status.ts";
import { Actor } from "../../src/controllers/actor.ts";
import { inPass } from "../../src/controllers/passes.ts";
import type { Written } from "../../src/request/commit/writerequest.ts";
import { openTracing } from "../observe/tracing.ts";
import { definition, definitions, goneFrom, openDefined } from "../support/definitions.ts";
import { type InProcess, openInProcess } from "../support/inprocess.ts";
import { value } from "../support/values.ts";

const path = "/api/v1/namespaces/default/configmaps";

async function scenario(identity: "kubernetes" | "orch" = "kubernetes") {
  const server = await openInProcess(identity);
  const resource = server.scheme.find("", "v1", "configmaps");
  if (resource === undefined) throw new Error("Config maps are served");
  const target = { resource, namespace: "default", name: "m" };
  const actor = new Actor(server.writers, "root-ca-publisher", "system:serviceaccount:kube-system:root-ca-publisher");
  return { server, actor, target };
}

function read(done: Written | Status): { code: number; reason?: string; message?: string } {
  return isStatus(done) ? { code: done.code, reason: done.reason, message: done.message } : { code: done.code };
}

async function stored(server: InProcess, name = "m") {
  return (await server.call("GET", `${path}/${name}`)).json;
}

t.test("Actor creates, updates, patches and deletes as a client would, under its own manager", async (t) => {
  const { server, actor, target } = await scenario();
  const content = value({ metadata: { name: "m", labels: { a: "b" } }, data: { k: "1" } });
  t.strictSame(read(await actor.create(target, content)), { code: 201 });
  t.equal(read(await actor.create(target, content)).reason, "AlreadyExists");
  const done = await actor.update<ApiObject & ConfigMap>(target, (map) => {
    map.data?.set("k", "2");
    return undefined;
  });
  t.strictSame(read(done), { code: 200 });
  t.strictSame(read(await actor.patch(target, value({ data: { more: "3" } }))), { code: 200 });
  const found = await stored(server);
  t.strictSame(found.data, { k: "2", more: "3" });
  t.strictSame(
    found.metadata.managedFields.map((entry: { manager: string }) => entry.manager),
    ["root-ca-publisher"],
  );
  t.strictSame(read(await actor.delete(target)), { code: 200, reason: "", message: "" });
  t.equal((await stored(server)).code, 404);
  server.close();
});

t.test("Actor spells its names in the identity", async (t) => {
  const { server, actor, target } = await scenario("orch");
  const request = actor.request({ ...target, subresource: "status" });
  t.equal(request.user.name, "system:serviceaccount:orch-system:root-ca-publisher");
  t.equal(request.subresource, "status");
  t.equal(new Actor(server.writers, "x").request(target).user.name, "system:apiserver");
  server.close();
});

t.test("Actor.update() asks again when another client was faster, and writes nothing that is no change", async (t) => {
  const { server, actor, target } = await scenario();
  await server.call("POST", path, { metadata: { name: "m" }, data: { k: "1" } });
  const { store } = server;
  let seen = "";
  store.before = (change) => {
    store.before = undefined;
    store.apply({ ...change, body: Buffer.from(Buffer.from(change.body).toString().replace('"mine"', '"theirs"')) });
    return undefined;
  };
  const done = await actor.update<ApiObject & ConfigMap>(target, (map) => {
    seen += `${map.data?.get("k")} `;
    map.data?.set("k", "mine");
    return undefined;
  });
  t.strictSame(read(done), { code: 200 });
  t.equal(seen, "1 theirs ");
  const { revision } = store;
  t.strictSame(read(await actor.update(target, () => undefined)), { code: 200 });
  t.equal(store.revision, revision);
  server.close();
});

t.test("Actor answers the Status a client would get", async (t) => {
  const { server, actor, target } = await scenario();
  const none = { ...target, name: "none" };
  const missing = { code: 404, reason: "NotFound", message: 'configmaps "none" not found' };
  t.strictSame(read(await actor.update(none, () => undefined)), missing);
  t.strictSame(read(await actor.patch(none, new Map())), missing);
  t.strictSame(read(await actor.delete(none)), missing);
  t.equal(read(await actor.create(target, value({ data: "text" }))).code, 400);
  t.equal(read(await actor.create(target, value({ metadata: { name: "A" } }))).code, 422);
  await actor.create(target, value({ metadata: { name: "m" } }));
  t.equal(read(await actor.update(target, () => conflict(target.resource, "m", "not now"))).code, 409);
  server.close();
});

t.test("what is written when its kind has gone is not found", async (t) => {
  const server = await openDefined(definition("widgets", "Widget"));
  const resource = server.scheme.find("example.com", "v1", "widgets");
  if (resource === undefined) throw new Error("Widgets are served");
  const actor = new Actor(server.writers, "test");
  const target = { resource, namespace: "default", name: "w" };
  const made = value({ apiVersion: "example.com/v1", kind: "Widget", metadata: { name: "w" } });
  t.notOk(isStatus(await actor.create(target, made)));
  await server.call("DELETE", `${definitions}/widgets.example.com`);
  t.ok(await goneFrom(server, "widgets.example.com"));
  for (const done of [
    await actor.create(target, made),
    await actor.update(target, () => undefined),
    await actor.patch(target, value({})),
    await actor.delete(target),
  ])
    t.match(done, { reason: "NotFound" });
  await server.stop();
});

t.test("Actor's calls in a sampled pass are spans of it, with their stages and the change within", async (t) => {
  const { server, actor, target } = await scenario();
  const { tracer, spans, flush } = openTracing();
  const trace = tracer.begin();
  const owns: unknown[] = [];
  server.store.before = (change) => void owns.push(change.spans?.own);
  await inPass(trace, async () => {
    await actor.create(target, value({ metadata: { name: "m" }, data: { k: "1" } }));
    await actor.patch({ ...target, name: "none" }, value({ data: {} }));
  });
  await inPass(undefined, () => actor.delete(target));
  trace?.end("reconcile c", 1, [], false);
  flush();
  const [root, ...inner] = spans;
  const calls = inner.filter(({ parentId }) => parentId === root?.spanId);
  t.same(
    calls.map(({ name, attributes }) => [name, Object.fromEntries(attributes)]),
    [
      ["create configmaps", { "k8s.namespace": "default", "http.status_code": 201 }],
      ["patch configmaps", { "k8s.namespace": "default", "k8s.name": "none", "http.status_code": 404 }],
    ],
  );
  const stages = inner.filter(({ parentId }) => parentId === calls[0]?.spanId).map(({ name }) => name);
  for (const stage of ["admit", "encode", "commit"]) t.ok(stages.includes(stage), stage);
  t.same(owns, [{ traceId: root?.traceId, spanId: calls[0]?.spanId }, undefined]);
  server.close();
});
