// Flow control on a real server: one user's many slow requests, and what others see of them.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "node:tls";
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

  /** Milliseconds of the slowest but one in a hundred, of requests one after the other; each has to succeed. */
  const measure = async (): Promise<number> => {
    const times: number[] = [];
    for (let at = 0; at < round; at++) {
      const from = performance.now();
      const { code } = await server.call("GET", `${maps}/m${at % 40}`, undefined, as("light"));
      times.push(performance.now() - from);
      if (code !== 200) t.fail(`a request of another user is answered ${code}`);
    }
    return times.sort((a, b) => a - b)[Math.floor(round * 0.98)] ?? 0;
  };
  const beat = async (): Promise<number> => {
    const patch = JSON.stringify({ spec: { renewTime: new Date().toISOString().replace("Z", "000Z") } });
    const headers = { ...as("node"), "content-type": "application/merge-patch+json" };
    return (await server.call("PATCH", `${leases}/n`, patch, headers)).code;
  };
  const metric = async (name: string): Promise<number> => {
    const { text } = await server.call("GET", "/metrics");
    const of = '{flow_schema="global-default",priority_level="global-default"}';
    const line = text.split("\n").find((one) => one.startsWith(`apiserver_flowcontrol_${name}${of} `));
    return Number(line?.split(" ").at(-1) ?? 0);
  };

  await t.test("uploads that drip, many more than there are seats", async (t) => {
    const idleMs = await measure();
    const { hostname, port } = new URL(server.base);
    const head = `POST ${maps} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer heavy-token\r\n`;
    const begun = `${head}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"metadata":`;
    let [refused, open] = [0, 0];
    const sockets = Array.from({ length: uploads }, () => {
      const options = { host: hostname, port: Number(port), ca: server.ca, servername: "localhost" };
      const socket = connect(options, () => {
        open++;
        socket.write(begun);
      });
      socket.on("data", (chunk) => {
        if (chunk.toString().startsWith("HTTP/1.1 429")) refused++;
      });
      return socket.on("error", () => undefined);
    });
    t.teardown(() => {
      for (const socket of sockets) socket.destroy();
    });
    t.ok(await eventually(async () => (await metric("current_inqueue_requests")) > 20), "they wait in their queues");
    const held = await metric("request_concurrency_in_use");
    t.ok(held <= 49, `${held} seats are in use`);
    const dump = await server.call("GET", "/debug/api_priority_and_fairness/dump_requests?includeRequestDetails=1");
    t.match(dump.text, /^global-default, +global-default, +\d+, +\d+, +heavy, .*, +heavy, +create, /m);
    const beats: number[] = [];
    const beating = (async () => {
      for (let at = 0; at < 10; at++) beats.push(await beat());
    })();
    const busyMs = await measure();
    await beating;
    t.comment(`idle ${idleMs.toFixed(1)} ms, busy ${busyMs.toFixed(1)} ms, ${refused} of ${open} uploads refused`);
    // Twice as long, or less than what a machine with other work does to any request.
    t.ok(busyMs < Math.max(2 * idleMs, 250), `${busyMs} ms, ${idleMs} when idle`);
    t.same(beats, new Array(10).fill(200), "heartbeats of nodes go on");
    for (const socket of sockets) socket.destroy();
    t.ok(
      await eventually(async () => {
        const levels = await server.call("GET", "/debug/api_priority_and_fairness/dump_priority_levels");
        return /^global-default, +0, +true, +false, +0, +0$/m.test(levels.text);
      }),
      "nothing is left of them",
    );
    t.equal(await metric("current_executing_requests"), 0);
  });
});
