// The informers of the common JavaScript client, as a controller would use them, against the server as its own process:
// in step through thousands of random changes, a restart, and a forced 410.
import { CoreV1Api, KubeConfig, makeInformer, type V1ConfigMap } from "@kubernetes/client-node";
import t from "tap";
import { eventually, startServer, type TestServer } from "../support/server.ts";

/** A small repeatable source of chance (mulberry32). */
function chance(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let x = Math.imul(state ^ (state >>> 15), 1 | state);
    x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x;
    return ((x ^ (x >>> 14)) >>> 0) / 4294967296;
  };
}

const path = "/api/v1/namespaces/default/configmaps";

function inform(server: TestServer, connects: { count: number; over: boolean }) {
  const config = new KubeConfig();
  config.loadFromFile(server.kubeconfig);
  const api = config.makeApiClient(CoreV1Api);
  const informer = makeInformer<V1ConfigMap>(config, path, () => api.listNamespacedConfigMap({ namespace: "default" }));
  informer.on("connect", () => {
    connects.count++;
  });
  informer.on("error", () => {
    // It reports its own end as an error, too.
    setTimeout(() => {
      if (!connects.over) void informer.start();
    }, 100);
  });
  return informer;
}

/** `name=resourceVersion` of every object, sorted: equal texts mean equal state. */
function summary(items: readonly V1ConfigMap[]): string {
  return items
    .map((i) => `${i.metadata?.name}=${i.metadata?.resourceVersion}`)
    .sort()
    .join(",");
}

/** Runs `count` random creates, updates, patches and deletes over 200 names, eight at a time. */
async function change(server: TestServer, random: () => number, count: number): Promise<number[]> {
  const codes: number[] = [];
  let left = count;
  const worker = async (): Promise<void> => {
    while (left-- > 0) {
      const name = `m${Math.floor(random() * 200)}`;
      const kind = random();
      const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { n: String(random()) } };
      const answer =
        kind < 0.4
          ? await server.call("POST", path, object)
          : kind < 0.6
            ? await server.call("PUT", `${path}/${name}`, object)
            : kind < 0.8
              ? await server.call(
                  "PATCH",
                  `${path}/${name}`,
                  { data: { p: String(random()) } },
                  { "content-type": "application/merge-patch+json" },
                )
              : await server.call("DELETE", `${path}/${name}`);
      codes.push(answer.code);
    }
  };
  await Promise.all(Array.from({ length: 8 }, worker));
  return codes;
}

t.test("informers stay in step through 5,000 random changes, a restart, and a forced 410", async (t) => {
  let server = await startServer(["--identity=kubernetes"]);
  t.teardown(() => server.stop("SIGKILL"));
  const connects = { count: 0, over: false };
  const informer = inform(server, connects);
  const agree = async (): Promise<boolean> => {
    const list = await server.call("GET", path);
    return summary(informer.list()) === summary(list.json.items);
  };
  /** What differs, for who looks for the cause. */
  const agrees = async (limitMs?: number): Promise<boolean> => {
    if (await eventually(agree, limitMs)) return true;
    const { items, metadata } = (await server.call("GET", path)).json;
    const [seen, stored] = [informer.list(), items as V1ConfigMap[]].map((some) => new Set(summary(some).split(",")));
    const only = (some?: Set<string>, other?: Set<string>): string[] =>
      [...(some ?? [])].filter((each) => !other?.has(each));
    t.comment(`the list is at ${metadata.resourceVersion}`);
    t.comment(`informer alone: ${only(seen, stored).join()}; list alone: ${only(stored, seen).join()}`);
    return false;
  };
  await informer.start();
  const random = chance(20261121);
  const codes = await change(server, random, 5000);
  t.same(
    [...new Set(codes)].filter((code) => ![200, 201, 404, 409].includes(code)),
    [],
    "every change ends in an expected code",
  );
  t.ok(await agrees(), "in step after 5,000 changes");

  const port = Number(new URL(server.base).port);
  const before = connects.count;
  await server.stop("SIGTERM", false);
  server = await startServer(["--identity=kubernetes"], server.dir, { port });
  await change(server, random, 300);
  t.ok(await agrees(30_000), "in step after a restart");
  t.ok(connects.count > before, "it reconnected");

  await informer.stop();
  const gone = await server.call("GET", `${path}?watch=1&resourceVersion=1`);
  t.match(gone.text, /"code":410|"code": 410/, "a version before the history is answered 410");
  await informer.start();
  await change(server, random, 100);
  t.ok(await agrees(), "in step after a fresh list");
  connects.over = true;
  await informer.stop();
});
