// kubectl of this machine with an extension server of the test's own, which serves metrics: `kubectl top`, and what is left
// of kubectl when the extension server is down. Where there is no kubectl, a comment says so.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { openExtension, say } from "../support/extension.ts";
import { Kubectl } from "../support/programs/kubectl.ts";
import { eventually, startServer, type TestServer } from "../support/server.ts";

t.setTimeout(240_000);

const folder = mkdtempSync(join(tmpdir(), "orch-kubectl-"));
t.teardown(() => rmSync(folder, { recursive: true, force: true }));
const isThere = spawnSync("kubectl", ["version", "--client"], { stdio: "ignore" }).status === 0;
if (!isThere) t.comment("not run: there is no kubectl on the path");

const group = "metrics.k8s.io";
const groupVersion = `${group}/v1beta1`;
const root = `/apis/${groupVersion}`;
const taken = { timestamp: "2026-01-02T03:04:05Z", window: "30s" };

/** What a server of metrics answers, by path. */
const answers = new Map<string, unknown>([
  [
    root,
    {
      kind: "APIResourceList",
      apiVersion: "v1",
      groupVersion,
      resources: [
        { name: "nodes", singularName: "", namespaced: false, kind: "NodeMetrics", verbs: ["get", "list"] },
        { name: "pods", singularName: "", namespaced: true, kind: "PodMetrics", verbs: ["get", "list"] },
      ],
    },
  ],
  [
    `${root}/nodes`,
    {
      kind: "NodeMetricsList",
      apiVersion: groupVersion,
      metadata: {},
      items: [{ metadata: { name: "n1" }, ...taken, usage: { cpu: "250m", memory: "1Gi" } }],
    },
  ],
  [
    `${root}/pods`,
    {
      kind: "PodMetricsList",
      apiVersion: groupVersion,
      metadata: {},
      items: [
        {
          metadata: { name: "p1", namespace: "default" },
          ...taken,
          containers: [
            { name: "a", usage: { cpu: "7m", memory: "20Mi" } },
            { name: "b", usage: { cpu: "5m", memory: "12Mi" } },
          ],
        },
      ],
    },
  ],
]);

function answer(response: ServerResponse, url: string): void {
  const path = (url.split("?")[0] ?? "").replace("/namespaces/default/", "/");
  const found = answers.get(path);
  if (found === undefined) say(response, { kind: "Status", code: 404 }, 404);
  else say(response, found);
}

/** A node to compare with, and the API service. */
async function prepare(server: TestServer, port: number, authority: string): Promise<void> {
  const amounts = { cpu: "1", memory: "4Gi" };
  const steps: readonly [path: string, object][] = [
    ["/api/v1/nodes", { metadata: { name: "n1" }, status: { capacity: amounts, allocatable: amounts } }],
    [
      "/api/v1/namespaces/default/services",
      { metadata: { name: "metrics" }, spec: { type: "ExternalName", externalName: "127.0.0.1" } },
    ],
    [
      "/apis/apiregistration.k8s.io/v1/apiservices",
      {
        metadata: { name: `v1beta1.${group}` },
        spec: {
          group,
          version: "v1beta1",
          groupPriorityMinimum: 100,
          versionPriority: 100,
          service: { namespace: "default", name: "metrics", port },
          caBundle: Buffer.from(authority).toString("base64"),
        },
      },
    ],
  ];
  for (const [path, object] of steps) {
    const made = await server.call("POST", path, object);
    if (made.code !== 201) throw new Error(made.text);
  }
}

if (isThere) {
  t.test(
    "kubectl top prints what an extension server says; without it, kubectl works for everything else",
    async (t) => {
      const extension = await openExtension(
        (_request, response, { url }) => answer(response, url),
        ["metrics.default.svc"],
      );
      const server = await startServer(["--identity=kubernetes", "--front-workers=2"]);
      t.teardown(async () => {
        await server.stop();
        extension.close();
      });
      await prepare(server, extension.port, extension.authority);
      let runs = 0;
      // What kubectl keeps of discovery is no matter of this test.
      const run = (words: string) => new Kubectl("kubectl", server, folder, String(++runs)).run(words);
      const prints = async (words: string, wanted: RegExp): Promise<void> => {
        let last = { code: 0, out: "", errors: "" };
        const isRight = async (): Promise<boolean> => {
          last = await run(words);
          return last.code === 0 && wanted.test(last.out);
        };
        const fits = await eventually(isRight, 30_000);
        t.ok(
          fits,
          fits ? words : `${words}: exit ${last.code}\n${last.out.slice(0, 800)}\n${last.errors.slice(0, 800)}`,
        );
      };
      await prints(`wait --for=condition=Available apiservice/v1beta1.${group} --timeout=20s`, /condition met/);
      await prints("top nodes", /^NAME .*\nn1 +250m +25% +1024Mi +25% *$/m);
      await prints("top pods -A", /^NAMESPACE .*\ndefault +p1 +12m +32Mi *$/m);
      await prints("top pods -n default --containers", /^p1 +a +7m +20Mi *\np1 +b +5m +12Mi *$/m);
      await prints(`get --raw ${root}/nodes`, /"kind":"NodeMetricsList"/);
      await prints(`api-resources --api-group=${group}`, /^nodes +metrics\.k8s\.io\/v1beta1 +false +NodeMetrics *$/m);
      await prints("api-versions", /^metrics\.k8s\.io\/v1beta1$/m);
      t.equal(extension.seen.find(({ url }) => url === root)?.headers["x-remote-user"]?.[0], "system:kube-aggregator");
      extension.close();
      const isMissed = async (): Promise<boolean> => (await run("top nodes")).code !== 0;
      t.ok(await eventually(isMissed, 60_000), "there is nothing to be told");
      await prints("get nodes", /^n1 /m);
      await prints("create configmap a --from-literal=b=c", /created/);
      await prints("get configmap a -o jsonpath={.data.b}", /^c$/);
      await prints("delete configmap a", /deleted/);
      await prints("get namespaces -o name", /^namespace\/default$/m);
      // The version is stale then, and kubectl leaves it out.
      const isLeftOut = async (): Promise<boolean> => {
        const { code, out } = await run("api-resources");
        return code === 0 && !out.includes(group) && /^configmaps /m.test(out);
      };
      t.ok(await eventually(isLeftOut, 90_000), "what is there is listed");
    },
  );
}
