// Deletes through the whole request path; answers are those of upstream's transcripts 040 to 044.
import { nextTurn } from "../../../src/base/turn.ts";
import { type Change, changeTypes } from "../../../src/storage/store.ts";
import type { Answer } from "../../support/inprocess.ts";
import { cpuMs } from "../../support/random.ts";
import { scenario } from "../../support/scenario.ts";

const maps = "/api/v1/namespaces/default/configmaps";
const pods = "/api/v1/namespaces/default/pods";
const merge = { "content-type": "application/merge-patch+json" };

/** `code Kind phase-of-deletion finalizers`, or `code message`. */
function brief({ code, json }: Answer): string {
  if (json?.kind === "Status") return `${code} ${json.status === "Success" ? "gone" : json.message}`;
  const { deletionTimestamp, deletionGracePeriodSeconds, finalizers } = json.metadata;
  const when = deletionTimestamp === undefined ? "live" : `deleted ${deletionGracePeriodSeconds}`;
  return `${code} ${when}${finalizers === undefined ? "" : ` ${finalizers.join(",")}`}`;
}

scenario("deleteObject() removes an object and says which", async (t, server) => {
  const { uid } = (await server.call("POST", maps, { metadata: { name: "a" } })).json.metadata;
  const answer = await server.call("DELETE", `${maps}/a`);
  t.strictSame(answer.json, {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Success",
    details: { name: "a", kind: "configmaps", uid },
  });
  t.equal(brief(await server.call("DELETE", `${maps}/a`)), '404 configmaps "a" not found');
  const last = server.store.changes.at(-1);
  t.equal(last?.type, changeTypes.delete);
  t.match(Buffer.from(last?.body ?? []).toString(), /"name":"a".*"resourceVersion":"",/);
});

scenario("deleteObject() holds to its preconditions", async (t, server) => {
  const { uid, resourceVersion } = (await server.call("POST", maps, { metadata: { name: "a" } })).json.metadata;
  const attempt = async (preconditions: object): Promise<string> =>
    brief(await server.call("DELETE", `${maps}/a`, { kind: "DeleteOptions", apiVersion: "v1", preconditions }));
  const conflict = '409 Operation cannot be fulfilled on ConfigMap "a": the';
  t.equal(
    await attempt({ uid: "other" }),
    `${conflict} UID in the precondition (other) does not match the UID in record (${uid}). The object might have been deleted and then recreated`,
  );
  t.equal(
    await attempt({ uid, resourceVersion: "1" }),
    `${conflict} ResourceVersion in the precondition (1) does not match the ResourceVersion in record (${resourceVersion}). The object might have been modified`,
  );
  t.equal(await attempt({ uid, resourceVersion }), "200 gone");
});

scenario("deleteObject() leaves an object to its finalizers, and the last update removes it", async (t, server) => {
  const finalizers = ["a.example/one", "b.example/two"];
  await server.call("POST", maps, { metadata: { name: "f", finalizers, generation: 3 } });
  const marked = await server.call("DELETE", `${maps}/f`);
  t.equal(brief(marked), "200 deleted 0 a.example/one,b.example/two");
  t.equal(marked.json.metadata.generation, 4);
  const revision = server.store.revision;
  t.equal(
    (await server.call("DELETE", `${maps}/f`)).text.trim(),
    marked.text.trim(),
    "a second delete changes nothing",
  );
  t.equal(server.store.revision, revision);
  const patch = async (metadata: object, query = ""): Promise<string> =>
    brief(await server.call("PATCH", `${maps}/f${query}`, { metadata }, merge));
  t.equal(
    await patch({ deletionTimestamp: null, deletionGracePeriodSeconds: null }),
    "200 deleted 0 a.example/one,b.example/two",
  );
  t.match(await patch({ finalizers: [...finalizers, "c.example/three"] }), /^422 .*no new finalizers can be added/);
  t.equal(await patch({ finalizers: ["b.example/two"] }), "200 deleted 0 b.example/two");
  t.equal(await patch({ finalizers: null }, "?dryRun=All"), "200 deleted 0");
  t.equal(brief(await server.call("GET", `${maps}/f`)), "200 deleted 0 b.example/two");
  t.equal(await patch({ finalizers: null }), "200 deleted 0");
  t.equal(brief(await server.call("GET", `${maps}/f`)), '404 configmaps "f" not found');
  t.match(
    Buffer.from(server.store.changes.at(-1)?.body ?? []).toString(),
    /b\.example\/two/,
    "the event shows what was stored",
  );
});

scenario("deleteObject() follows the policy asked for", async (t, server) => {
  const table: [options: object, expected: string][] = [
    [{ propagationPolicy: "Foreground" }, "200 deleted 0 foregroundDeletion"],
    [{}, "200 deleted 0 foregroundDeletion"],
    [{ propagationPolicy: "Orphan" }, "200 deleted 0 orphan"],
    [{ orphanDependents: true }, "200 deleted 0 orphan"],
    [{ propagationPolicy: "Background", dryRun: ["All"] }, "200 gone"],
    [{ propagationPolicy: "Background" }, "200 gone"],
    [{}, '404 configmaps "c" not found'],
  ];
  await server.call("POST", maps, { metadata: { name: "c" } });
  for (const [options, expected] of table) {
    t.equal(brief(await server.call("DELETE", `${maps}/c`, options)), expected, JSON.stringify(options));
  }
  await server.call("POST", maps, { metadata: { name: "d", finalizers: ["x.example/y"] } });
  const answer = await server.call("DELETE", `${maps}/d`, { orphanDependents: false });
  t.equal(brief(answer), "202 deleted 0 x.example/y", "not gone at once, and that was asked for");
  const jobs = "/apis/batch/v1/namespaces/default/jobs";
  const template = { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "i" }] } };
  await server.call("POST", jobs, { metadata: { name: "j" }, spec: { template } });
  t.equal(brief(await server.call("DELETE", `${jobs}/j`)), "200 deleted 0 orphan", "the kind's default");
});

scenario("deleteObject() gives pods their grace", async (t, server) => {
  const containers = [{ name: "c", image: "i" }];
  const create = (name: string, spec: object, metadata: object = {}): Promise<Answer> =>
    server.call("POST", pods, { metadata: { name, ...metadata }, spec: { containers, ...spec } });
  const remove = async (name: string, query = "", body?: object): Promise<string> =>
    brief(await server.call("DELETE", `${pods}/${name}${query}`, body));
  await create("unscheduled", {});
  t.equal(await remove("unscheduled"), "200 deleted 0");
  t.equal((await server.call("GET", `${pods}/unscheduled`)).code, 404);
  const types = server.store.changes.slice(-2).map(({ type }) => type);
  t.strictSame(types, [changeTypes.update, changeTypes.delete], "watchers see the mark, then the end");

  await create("bound", { nodeName: "n" });
  t.equal(await remove("bound", "?dryRun=All"), "200 deleted 30");
  t.equal(brief(await server.call("GET", `${pods}/bound`)), "200 live");
  t.equal(await remove("bound"), "200 deleted 30");
  const { deletionTimestamp } = (await server.call("GET", `${pods}/bound`)).json.metadata;
  t.equal(deletionTimestamp, "2026-01-02T03:04:35Z", "when it will be over");
  t.equal(await remove("bound", "", { gracePeriodSeconds: 60 }), "200 deleted 30", "longer is not taken");
  t.equal(await remove("bound", "", { gracePeriodSeconds: 5 }), "200 deleted 5", "shorter is");
  const shortened = (await server.call("GET", `${pods}/bound`)).json.metadata;
  t.equal(shortened.deletionTimestamp, "2026-01-02T03:04:10Z");
  t.equal(await remove("bound", "", { gracePeriodSeconds: 0 }), "200 deleted 0");
  t.equal((await server.call("GET", `${pods}/bound`)).code, 404);

  await create("negative", { nodeName: "n" });
  t.equal(await remove("negative", "?gracePeriodSeconds=-5"), "200 deleted 1");
  const held = { finalizers: ["x.example/hold"] };
  await create("held", { nodeName: "n" }, held);
  const { resourceVersion } = (await server.call("GET", `${pods}/held`)).json.metadata;
  const forced = { gracePeriodSeconds: 0, preconditions: { resourceVersion } };
  t.equal(await remove("held", "", forced), "200 deleted 0 x.example/hold");
  await create("conditional", { nodeName: "n" });
  const version = (await server.call("GET", `${pods}/conditional`)).json.metadata.resourceVersion;
  const both = { gracePeriodSeconds: 0, preconditions: { resourceVersion: version } };
  t.equal(await remove("conditional", "", both), "200 deleted 0", "its own mark does not break its precondition");
  t.equal((await server.call("GET", `${pods}/conditional`)).code, 404);
});

scenario("deleteObject() copes with others between its mark and the end of a pod", async (t, server) => {
  const { store } = server;
  const spec = { nodeName: "n", containers: [{ name: "c", image: "i" }] };
  /** Deletes a pod at once; `meanwhile` happens just before it is removed. */
  const race = async (name: string, conditional: boolean, meanwhile: (removal: Change) => unknown): Promise<string> => {
    const { metadata } = (await server.call("POST", pods, { metadata: { name }, spec })).json;
    const preconditions = conditional ? { resourceVersion: metadata.resourceVersion } : {};
    store.before = (change) => {
      if (change.type !== changeTypes.delete) return undefined;
      store.before = undefined;
      meanwhile(change);
      return undefined;
    };
    return brief(await server.call("DELETE", `${pods}/${name}`, { gracePeriodSeconds: 0, preconditions }));
  };
  const write = (removal: Change): unknown => store.apply({ ...removal, type: changeTypes.update });
  const remove = (removal: Change): unknown => store.apply(removal);
  const isGone = async (name: string): Promise<boolean> => (await server.call("GET", `${pods}/${name}`)).code === 404;

  t.equal(await race("written", false, write), "200 deleted 0", "it starts over");
  t.ok(await isGone("written"));
  t.equal(await race("removed", false, remove), "200 deleted 0", "gone, as was asked");
  t.equal(await race("removed", true, remove), "200 deleted 0", "gone in the state it was asked for");
  t.match(
    await race("conditional", true, write),
    /^409 .* pods "conditional": StorageError: .* ResourceVersion in precondition: \d+, ResourceVersion in object meta: \d+$/,
    "not the state it was asked for",
  );
  t.equal(brief(await server.call("GET", `${pods}/conditional`)), "200 deleted 0", "the mark stays");
  const recreate = (removal: Change): unknown => {
    store.apply(removal);
    const body = Buffer.from(removal.body)
      .toString()
      .replace(/"uid":"[^"]{8}/, '"uid":"00000000');
    return store.apply({ ...removal, type: changeTypes.create, expected: 0, body: Buffer.from(body) });
  };
  t.equal(await race("recreated", false, recreate), "200 deleted 0", "a name is asked for");
  t.ok(await isGone("recreated"));
});

scenario("deleteItems() deletes what is selected and answers the list", async (t, server) => {
  for (const name of ["a", "b", "c", "d"]) {
    await server.call("POST", maps, { metadata: { name, labels: { odd: String(name === "a" || name === "c") } } });
  }
  const names = ({ json }: Answer): string[] =>
    json.items.map((item: { metadata: { name: string } }) => item.metadata.name);
  const odd = `${maps}?labelSelector=odd%3Dtrue`;
  t.strictSame(names(await server.call("DELETE", `${odd}&dryRun=All`)), ["a", "c"]);
  const deleted = await server.call("DELETE", odd);
  t.equal(deleted.json.kind, "ConfigMapList");
  t.strictSame(names(deleted), ["a", "c"]);
  t.strictSame(names(await server.call("GET", maps)), ["b", "d"]);
  const refused = await server.call("DELETE", maps, { preconditions: { resourceVersion: "1" } });
  t.match(brief(refused), /^409 Operation cannot be fulfilled on ConfigMap "b": the ResourceVersion/);
  t.strictSame(names(await server.call("DELETE", maps)), ["b", "d"]);
  t.strictSame(names(await server.call("GET", maps)), []);
  t.strictSame(names(await server.call("DELETE", maps)), []);
  t.match(brief(await server.call("DELETE", `${maps}?labelSelector=!!`)), /^400 unable to parse requirement/);
  t.equal((await server.call("DELETE", "/api/v1/configmaps")).code, 405);
});

scenario("deleteItems() takes many at once and counts what is gone as deleted", async (t, server) => {
  for (let i = 0; i < 200; i++) await server.call("POST", maps, { metadata: { name: `m${i}` } });
  const [one, two] = await Promise.all([server.call("DELETE", maps), server.call("DELETE", maps)]);
  t.equal(one.code, 200);
  t.equal(two.code, 200);
  t.strictSame((await server.call("GET", maps)).json.items, []);
});

scenario("deleteObject() marks a namespace and leaves it to its finalizers", async (t, server) => {
  await server.call("POST", "/api/v1/namespaces", { metadata: { name: "n" } });
  const path = "/api/v1/namespaces/n";
  const dry = await server.call("DELETE", `${path}?dryRun=All`);
  t.equal(dry.json.status.phase, "Terminating");
  t.equal((await server.call("GET", path)).json.status.phase, "Active");
  const conflict = await server.call("DELETE", path, { preconditions: { uid: "other" } });
  t.match(
    brief(conflict),
    /^409 Operation cannot be fulfilled on namespaces "n": Precondition failed: UID in precondition: other, UID in object meta: /,
  );
  const marked = await server.call("DELETE", path);
  t.equal(marked.code, 200);
  t.equal(marked.json.status.phase, "Terminating");
  t.equal(marked.json.metadata.deletionTimestamp, "2026-01-02T03:04:05Z");
  t.equal(marked.json.metadata.deletionGracePeriodSeconds, undefined);
  t.equal((await server.call("DELETE", path)).text.trim(), marked.text.trim(), "a second delete changes nothing");
  const refused = await server.call("POST", `${path}/configmaps`, { metadata: { name: "late" } });
  t.equal(
    brief(refused),
    '403 configmaps "late" is forbidden: unable to create new content in namespace n because it is being terminated',
  );
  t.strictSame(refused.json.details.causes, [
    { reason: "NamespaceTerminating", message: "namespace n is being terminated", field: "metadata.namespace" },
  ]);
  const finalized = await server.call("PUT", `${path}/finalize`, { ...marked.json, spec: {} });
  t.equal(finalized.code, 200);
  t.equal((await server.call("GET", path)).code, 404);
  for (const name of ["default", "kube-system", "kube-public"]) {
    const kept = await server.call("DELETE", `/api/v1/namespaces/${name}`);
    t.equal(brief(kept), `403 namespaces "${name}" is forbidden: this namespace may not be deleted`);
  }
});

scenario("deleteItems() stops at the deadline", async (t, server) => {
  for (let i = 0; i < 100; i++) await server.call("POST", maps, { metadata: { name: `m${i}` } });
  server.store.before = () => {
    // Time passes while the store works.
    server.aheadMs += 1000;
    return undefined;
  };
  const answer = await server.call("DELETE", `${maps}?timeout=10s`);
  t.equal(answer.code, 504);
  server.store.before = undefined;
  const left = (await server.call("GET", maps)).json.items.length;
  t.ok(left > 0 && left < 100, `${left} are left`);
});

scenario("deleteItems() gives way to others where no commit is waited for", async (t, server) => {
  const count = 1_000;
  for (let i = 0; i < count; i++) await server.call("POST", maps, { metadata: { name: `m${i}` } });
  let isOver = false;
  const dry = server.call("DELETE", `${maps}?dryRun=All`).finally(() => {
    isOver = true;
  });
  const start = cpuMs();
  let turns = 0;
  for (; !isOver; turns++) await nextTurn();
  const passedMs = cpuMs() - start;
  t.equal((await dry).json.items.length, count);
  t.ok(turns > passedMs / 20, `${turns} turns in ${passedMs} ms`);
});
