// Shedding on a real server: a front that is late refuses the user who makes it late, and no other.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { get } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { eventually, startServer, type TestServer } from "../support/server.ts";

const maps = "/api/v1/namespaces/default/configmaps";
const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";

/** A server with users, and objects that are heavy to list as a Table. */
async function started(t: Test, ...flags: readonly string[]): Promise<TestServer> {
  const dir = mkdtempSync(join(tmpdir(), "orch-shed-"));
  const tokens = join(dir, "tokens.csv");
  const users = ["heavy", "light"].map((name) => `${name}-token,${name},${name},"system:authenticated"`);
  writeFileSync(tokens, `${users.join("\n")}\nnode-token,system:node:n,n,"system:nodes"\n`);
  const own = ["--identity=kubernetes", `--token-auth-file=${tokens}`, "--front-workers=1"];
  const server = await startServer([...own, ...flags]);
  t.teardown(async () => {
    await server.stop("SIGKILL");
    rmSync(dir, { recursive: true, force: true });
  });
  await server.call("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
    metadata: { name: "users" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
    subjects: ["heavy", "light"].map((name) => ({ kind: "User", apiGroup: "rbac.authorization.k8s.io", name })),
  });
  for (let at = 0; at < 60; at++)
    await server.call("POST", maps, { metadata: { name: `m${at}` }, data: { filler: "x".repeat(20_000) } });
  await server.call("POST", leases, { metadata: { name: "n" }, spec: { holderIdentity: "n" } });
  return server;
}

const as = (name: string): Record<string, string> => ({ authorization: `Bearer ${name}-token` });

/** Lists of the heavy user, many at a time, until it is told to stop; how many were refused. */
function abuse(
  server: TestServer,
  atOnce: number,
): { readonly refused: () => number; readonly stop: () => Promise<void> } {
  let [refused, isOver] = [0, false];
  const loop = async (): Promise<void> => {
    while (!isOver) {
      const { code, text } = await server.call("GET", maps, undefined, as("heavy"));
      // Those of flow control have the same answer: the metric tells them apart.
      if (code === 429 && text.startsWith("Too many requests")) refused++;
      else if (code !== 200) throw new Error(`A list is answered ${code}: ${text}`);
    }
  };
  const loops = Array.from({ length: atOnce }, loop);
  return {
    refused: () => refused,
    stop: async () => {
      isOver = true;
      await Promise.all(loops);
    },
  };
}

/** Requests that were shed, by level. */
async function shedOf(server: TestServer): Promise<Record<string, number>> {
  const lines = (await server.metrics()).matchAll(/^orch_requests_shed_total\{priority_level="([^"]*)"\} (\d+)$/gm);
  return Object.fromEntries([...lines].map(([, level, count]) => [level, Number(count)]));
}

t.test("the user who makes a front late is refused; others, heartbeats and open watches are not", async (t) => {
  // A lag that the lists make on any machine.
  const server = await started(t, "--shed-lag=1ms");
  let events = "";
  const path = `${server.base}${maps}?watch=1&resourceVersion=0`;
  const watch = get(path, { headers: as("heavy"), ca: server.ca }, (answer) => {
    answer.setEncoding("utf8").on("data", (chunk: string) => (events += chunk));
    answer.on("error", () => undefined);
  });
  t.teardown(() => watch.on("error", () => undefined).destroy());
  t.ok(await eventually(() => events.includes('"name":"m1"')));
  const { refused, stop } = abuse(server, 24);
  const codes: number[] = [];
  const patch = (): string => JSON.stringify({ spec: { renewTime: new Date().toISOString().replace("Z", "000Z") } });
  const headers = { ...as("node"), "content-type": "application/merge-patch+json" };
  const sheds = async (): Promise<boolean> => {
    codes.push((await server.call("GET", `${maps}/m1`, undefined, as("light"))).code);
    codes.push((await server.call("PATCH", `${leases}/n`, patch(), headers)).code);
    return ((await shedOf(server))["global-default"] ?? 0) > 50;
  };
  t.ok(await eventually(sheds, 120_000), "it is shed");
  t.ok(await eventually(() => refused() > 50, 120_000), "and its clients hear of it");
  const { slowRequests } = (await server.call("GET", "/debug/console/data")).json as {
    slowRequests: { code: number }[];
  };
  t.notOk(
    slowRequests.some(({ code }) => code === 429),
    "refusals that are held back are no slow requests",
  );
  await stop();
  t.same([...new Set(codes)], [200], `${codes.length} requests of others`);
  t.same(Object.keys(await shedOf(server)), ["global-default"]);
  await server.call("POST", maps, { metadata: { name: "last" } });
  t.ok(await eventually(() => events.includes('"name":"last"')), "the watch goes on");
});

t.test("nothing is shed without lag, nor with 0", async (t) => {
  for (const lag of ["0", "60s"]) {
    const server = await started(t, `--shed-lag=${lag}`);
    const { refused, stop } = abuse(server, 6);
    let asked = 0;
    const some = async (): Promise<boolean> => {
      t.equal((await server.call("GET", `${maps}/m1`, undefined, as("light"))).code, 200);
      return ++asked === 10;
    };
    t.ok(await eventually(some, 120_000));
    await stop();
    t.same(await shedOf(server), {}, `${lag}: ${refused()} were refused by flow control`);
  }
});
