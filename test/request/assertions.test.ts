// What a client stores never makes an assertion fail, and one that fails all the same is one request's or the thread's.
import t, { type Test } from "tap";
import { AssertionFailure, SharedStateFailure } from "../../src/base/assert.ts";
import { limits } from "../../src/config/limits.ts";
import { createLog } from "../../src/observe/log.ts";
import { exposition, Registry } from "../../src/observe/metrics.ts";
import { createObserver } from "../../src/observe/requests.ts";
import { type InProcess, openInProcess, until } from "../support/inprocess.ts";

const roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles";
const revisions = "/apis/apps/v1/namespaces/default/controllerrevisions";
const maps = "/api/v1/namespaces/default/configmaps";

const table = "application/json;as=Table;v=v1;g=meta.k8s.io";
const protobuf = "application/vnd.kubernetes.protobuf";
const accepts = [
  "application/json",
  "application/yaml",
  protobuf,
  table,
  "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
  "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
  `${protobuf};as=PartialObjectMetadata;v=v1;g=meta.k8s.io`,
];

/** Reads an object and its collection in every form; fails for any fault. */
async function readAll(t: Test, server: InProcess, path: string, name: string, queries: string[]): Promise<void> {
  for (const accept of accepts) {
    for (const query of queries) {
      for (const target of [`${path}/${encodeURIComponent(name)}?${query}`, `${path}?${query}`]) {
        const { code } = await server.call("GET", target, undefined, { accept });
        if (code >= 500) t.fail(`${code} for ${target.slice(0, 80)} as ${accept}`);
      }
    }
    let code = 0;
    void server.call("GET", `${path}?watch=1&includeObject=Object`, undefined, { accept }).then((watch) => {
      code = watch.code;
    });
    await until(() => server.fanout.closeAll(1_000_000).then(() => code > 0));
    t.ok(code > 0 && code < 500, `a watch as ${accept}`);
  }
  t.same(server.faults, []);
}

// F03 is the second name: its continue token outgrew a list's scratch.
const names = ["a", `b${"\u0001".repeat(1200)}`, `c${"é".repeat(1000)}`, `d${"😀".repeat(900)}`, "\0", "e\0", "\ud800"];

t.test("lists of names of any character are answered page by page, in every form", async (t) => {
  const server = await openInProcess();
  t.teardown(() => server.close());
  for (const name of names) t.equal((await server.call("POST", roles, { metadata: { name }, rules: [] })).code, 201);
  for (const accept of accepts) {
    for (const query of ["limit=1", "limit=2", "limit=1&pretty=1"]) {
      let token = "";
      for (let page = 0; page < names.length; page += 1) {
        const answer = await server.call("GET", `${roles}?${query}${token}`, undefined, { accept });
        if (answer.code >= 500) t.fail(`${answer.code} for page ${page} as ${accept}`);
        const next = /"?continue"?: ?"?([A-Za-z0-9_-]{8,})/.exec(answer.text)?.[1];
        if (next === undefined) break;
        token = `&continue=${next}`;
      }
    }
  }
  // A lone surrogate is stored as U+FFFD.
  for (const name of names) await readAll(t, server, roles, name.replace("\ud800", "\ufffd"), [""]);
});

t.test("a document nested to the limit is answered in every form", async (t) => {
  const server = await openInProcess();
  t.teardown(() => server.close());
  // The object itself is one level.
  const depth = limits.depthMax - 1;
  const data = `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;
  const body = `{"metadata":{"name":"deep"},"revision":1,"data":${data}}`;
  t.equal((await server.call("POST", revisions, body)).code, 201);
  await readAll(t, server, revisions, "deep", ["pretty=1", "includeObject=Object&pretty=1"]);
  for (const type of ["merge-patch+json", "strategic-merge-patch+json", "apply-patch+yaml"]) {
    const patch = { apiVersion: "apps/v1", kind: "ControllerRevision", metadata: { labels: { by: "a" } }, revision: 1 };
    const sent = { "content-type": `application/${type}` };
    t.equal((await server.call("PATCH", `${revisions}/deep?fieldManager=m`, patch, sent)).code, 200, type);
  }
  t.same(server.faults, []);
});

/** What is thrown out of later turns of the loop while `work` runs: what would end a thread. */
async function thrownBy(work: () => Promise<void>): Promise<unknown[]> {
  const thrown: unknown[] = [];
  const { setImmediate: real } = globalThis;
  const watched = (callback: (...args: unknown[]) => void, ...args: unknown[]): NodeJS.Immediate =>
    real(() => {
      try {
        callback(...args);
      } catch (error) {
        thrown.push(error);
      }
    });
  globalThis.setImmediate = watched as typeof setImmediate;
  try {
    await work();
    await new Promise((resolve) => real(resolve));
  } finally {
    globalThis.setImmediate = real;
  }
  return thrown;
}

t.test("a failed assertion about a request's data is answered 500 and counted, and the thread goes on", async (t) => {
  const server = await openInProcess();
  t.teardown(() => server.close());
  const registry = new Registry();
  server.observer = createObserver(registry, createLog("fatal", "test"));
  const failing = (error: Error) => async (): Promise<void> => {
    server.store.before = () => {
      throw error;
    };
    t.equal((await server.call("POST", maps, { metadata: { name: "a" } })).code, 500);
    server.store.before = undefined;
  };
  t.same(await thrownBy(failing(new AssertionFailure("An object of one request"))), [], "the thread goes on");
  const shared = new SharedStateFailure("The log of all fronts");
  t.same(await thrownBy(failing(shared)), [shared], "shared state ends it");
  t.equal((await server.call("POST", maps, { metadata: { name: "a" } })).code, 201);
  t.match(exposition([registry.snapshot()]), 'orch_request_faults_total{kind="assertion"} 2\n');
});

t.test("a fault that cannot be reported in the client's form is answered in plain text", async (t) => {
  const server = await openInProcess();
  t.teardown(() => server.close());
  let faults = 0;
  server.observer = {
    started: () => undefined,
    finished: () => undefined,
    logs: () => false,
    listed: () => undefined,
    deprecated: () => undefined,
    fault: () => {
      faults += 1;
      if (faults === 1) throw new Error("A fault in reporting a fault");
    },
  };
  server.store.before = () => {
    throw new AssertionFailure("An object of one request");
  };
  let answer: { code: number; text: string } | undefined;
  const thrown = await thrownBy(async () => {
    answer = await server.call("POST", maps, { metadata: { name: "a" } });
  });
  t.match(answer, { code: 500, text: "Internal Server Error\n" });
  t.equal(faults, 2, "both are logged");
  t.same(thrown, []);
});
