// Flow control on a real server: one user's many slow requests, and what others see of them.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, type TLSSocket } from "node:tls";
import t from "tap";
import { eventually, startServer } from "../support/server.ts";

const maps = "/api/v1/namespaces/default/configmaps";
const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
const round = 100;
const uploads = 300;

t.test("slow requests of one user leave those of others as fast as they were", async (t) => {
  const dir = mkdtempSync(join(tmpdir(), "orch-flow-"));
  const tokens = join(dir, "tokens.csv");
  const users = ["heavy", "light"].map((name) => `${name}-token,${name},${name},"system:authenticated"`);
  writeFileSync(tokens, `${users.join("\n")}\nnode-token,system:node:n,n,"system:nodes"\n`);
  const server = await startServer(["--identity=kubernetes", `--token-auth-file=${tokens}`, "--front-workers=2"]);
  t.teardown(async () => {
    await server.stop("SIGKILL");
    rmSync(dir, { recursive: true, force: true });
  });
  const as = (name: string) => ({ authorization: `Bearer ${name}-token` });
  await server.call("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
    metadata: { name: "users" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
    subjects: ["heavy", "light"].map((name) => ({ kind: "User", apiGroup: "rbac.authorization.k8s.io", name })),
  });
  for (let at = 0; at < 40; at++) {
    await server.call("POST", maps, { metadata: { name: `m${at}` }, data: { filler: "x".repeat(200_000) } });
  }
  await server.call("POST", leases, { metadata: { name: "n" }, spec: { holderIdentity: "n" } });
  t.equal((await server.call("GET", `${maps}/m0`, undefined, as("light"))).code, 200);

  /**
   * Milliseconds of the slowest but one in a hundred of a user's requests, and of an administrator's in between, which wait
   * for no seat: what the machine does to both. Each has to succeed.
   */
  const measure = async (): Promise<{ readonly user: number; readonly exempt: number }> => {
    const timed = async (headers: Record<string, string>, at: number): Promise<number> => {
      const from = performance.now();
      const { code } = await server.call("GET", `${maps}/m${at % 40}`, undefined, headers);
      if (code !== 200) t.fail(`a request is answered ${code}`);
      return performance.now() - from;
    };
    const [user, exempt]: [number[], number[]] = [[], []];
    for (let at = 0; at < round; at++) {
      user.push(await timed(as("light"), at));
      exempt.push(await timed({}, at));
    }
    const slowest = (times: number[]): number => times.sort((a, b) => a - b)[Math.floor(round * 0.98)] ?? 0;
    return { user: slowest(user), exempt: slowest(exempt) };
  };
  const beat = async (): Promise<number> => {
    const patch = JSON.stringify({ spec: { renewTime: new Date().toISOString().replace("Z", "000Z") } });
    const headers = { ...as("node"), "content-type": "application/merge-patch+json" };
    return (await server.call("PATCH", `${leases}/n`, patch, headers)).code;
  };
  /** A figure of each process: seats and queues are a server's own. */
  const metric = async (name: string): Promise<number[]> => {
    const of = '{flow_schema="global-default",priority_level="global-default"}';
    return (await server.each("/metrics")).map(({ text }) => {
      const line = text.split("\n").find((one) => one.startsWith(`apiserver_flowcontrol_${name}${of} `));
      return Number(line?.split(" ").at(-1) ?? 0);
    });
  };

  await t.test("uploads that drip, many more than there are seats", async (t) => {
    const idle = await measure();
    const { hostname, port } = new URL(server.base);
    const head = `POST ${maps} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer heavy-token\r\n`;
    const begun = `${head}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"metadata":`;
    let [refused, open, isHeavy] = [0, 0, true];
    const sockets = new Set<TLSSocket>();
    // Uploads are cut off when they drip for too long: another one takes the place of each, however long this test takes.
    const upload = (): void => {
      const options = { host: hostname, port: Number(port), ca: server.ca, servername: "localhost" };
      const socket = connect(options, () => {
        open++;
        socket.write(begun);
      });
      sockets.add(socket);
      socket.on("data", (chunk) => {
        if (chunk.toString().startsWith("HTTP/1.1 429")) refused++;
        socket.end();
      });
      socket.on("error", () => undefined);
      socket.on("close", () => {
        sockets.delete(socket);
        if (isHeavy) upload();
      });
    };
    const end = (): void => {
      isHeavy = false;
      for (const socket of sockets) socket.destroy();
    };
    t.teardown(end);
    for (let at = 0; at < uploads; at++) upload();
    const wait = async (): Promise<boolean> => (await metric("current_inqueue_requests")).every((count) => count > 20);
    t.ok(await eventually(wait), "they wait in their queues");
    t.ok(await eventually(() => open >= uploads), "all were there");
    const held = await metric("request_concurrency_in_use");
    t.ok(
      held.every((seats) => seats <= 49),
      `${held.join()} seats are in use`,
    );
    const dump = await server.call("GET", "/debug/api_priority_and_fairness/dump_requests?includeRequestDetails=1");
    t.match(dump.text, /^global-default, +global-default, +\d+, +\d+, +heavy, .*, +heavy, +create, /m);
    const beats: number[] = [];
    const beating = (async () => {
      for (let at = 0; at < 10; at++) beats.push(await beat());
    })();
    const busy = await measure();
    await beating;
    const told = `idle ${idle.user.toFixed()} ms, busy ${busy.user.toFixed()} ms (exempt ${busy.exempt.toFixed()} ms)`;
    t.comment(`${told}, ${refused} of ${open} uploads refused`);
    // A request that waited for a seat would have waited for uploads, which hold theirs for two seconds.
    t.ok(busy.user < Math.max(2 * idle.user, 2 * busy.exempt, 250), told);
    t.same(beats, new Array(10).fill(200), "heartbeats of nodes go on");
    const hasQueued = async (): Promise<boolean> => {
      type Slow = { slowRequests: { stages: [stage: string, ms: number][] }[] };
      const { slowRequests } = (await server.call("GET", "/debug/console/data")).json as Slow;
      return slowRequests.some(({ stages }) => stages.some(([stage]) => stage === "queue"));
    };
    t.ok(await eventually(hasQueued), "the console tells the wait for a seat from other stages");
    end();
    t.ok(
      await eventually(async () => {
        const levels = await server.each("/debug/api_priority_and_fairness/dump_priority_levels");
        return levels.every(({ text }) => /^global-default, +0, +true, +false, +0, +0$/m.test(text));
      }),
      "nothing is left of them",
    );
    const executing = await metric("current_executing_requests");
    t.ok(
      executing.every((count) => count === 0),
      `${executing.join()} are executed`,
    );
  });
});
