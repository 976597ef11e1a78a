import t from "tap";
import { readConfig } from "../../src/config/config.ts";
import type { FlagValues } from "../../src/config/flag.ts";
import { parseFlags } from "../../src/config/flags.ts";
import { defaultGates, forbidsPrivileged } from "../../src/config/gates.ts";
import { openInProcess, until } from "../support/inprocess.ts";

/** The gates of the release, changed. */
function gatesWith(changes: Record<string, boolean>): ReadonlySet<string> {
  const gates = new Set(defaultGates);
  for (const [name, on] of Object.entries(changes)) on ? gates.add(name) : gates.delete(name);
  return gates;
}

t.test("lists go by their gates", async (t) => {
  const configmaps = "/api/v1/namespaces/default/configmaps";
  const cases: readonly (readonly [changes: Record<string, boolean>, items: number, remaining: number | undefined])[] =
    [
      [{}, 2, 1],
      [{ RemainingItemCount: false }, 2, undefined],
      [{ APIListChunking: false }, 3, undefined],
    ];
  for (const [changes, items, remaining] of cases) {
    const server = await openInProcess("orch", { gates: gatesWith(changes) });
    t.teardown(() => server.close());
    for (const name of ["a", "b", "c"]) await server.call("POST", configmaps, { metadata: { name } });
    const { json } = await server.call("GET", `${configmaps}?limit=2`);
    t.equal(json.items.length, items, JSON.stringify(changes));
    t.equal(json.metadata.remainingItemCount, remaining);
  }
});

t.test("fields behind a gate are kept when it is on", async (t) => {
  const pods = "/api/v1/namespaces/default/pods";
  const pod = (name: string, os: object) => ({
    metadata: { name },
    spec: { os, containers: [{ name: "c", image: "i" }] },
  });
  const off = await openInProcess("orch");
  const on = await openInProcess("orch", { gates: gatesWith({ IdentifyPodOS: true }) });
  t.teardown(() => Promise.all([off.close(), on.close()]));
  t.equal((await off.call("POST", pods, pod("a", { name: "linux" }))).json.spec.os, undefined);
  t.strictSame((await on.call("POST", pods, pod("a", { name: "linux" }))).json.spec.os, { name: "linux" });
  t.match(
    (await on.call("POST", pods, pod("b", { name: "other" }))).json.message,
    'supported values: "linux", "windows"',
  );
});

t.test(
  "a version is deprecated as of the release that is emulated, in the warning and in the audit event",
  async (t) => {
    const path = "/apis/flowcontrol.apiserver.k8s.io/v1beta2/flowschemas";
    const server = await openInProcess("kubernetes", { release: 26 });
    t.teardown(() => server.close());
    const { headers } = await server.call("GET", path);
    t.match(JSON.stringify(headers), "v1beta2 FlowSchema is deprecated in v1.26+, unavailable in v1.29+");
    t.ok(await until(() => server.lastRecord?.resource === "flowschemas"));
    t.strictSame(Object.fromEntries(server.lastRecord?.annotations ?? []), {
      "k8s.io/deprecated": "true",
      "k8s.io/removed-release": "1.29",
    });
    const policies = "/apis/policy/v1beta1/podsecuritypolicies";
    t.equal((await server.call("GET", policies)).code, 404);
  },
);

t.test("privileged containers are refused, in templates too, unless --allow-privileged says otherwise", async (t) => {
  const container = { name: "c", image: "i", securityContext: { privileged: true } };
  const spec = { containers: [{ name: "p", image: "i" }], initContainers: [container] };
  const labels = { app: "a" };
  const template = { metadata: { labels }, spec: { containers: [container] } };
  const objects: [string, object, string][] = [
    ["/api/v1/namespaces/default/pods", { metadata: { name: "a" }, spec }, "spec.initContainers[0]"],
    [
      "/apis/apps/v1/namespaces/default/deployments",
      { metadata: { name: "a" }, spec: { selector: { matchLabels: labels }, template } },
      "spec.template.spec.containers[0]",
    ],
  ];
  const off = await openInProcess("kubernetes", { gates: gatesWith({ [forbidsPrivileged]: true }) });
  const on = await openInProcess("kubernetes");
  t.teardown(() => Promise.all([off.close(), on.close()]));
  for (const [path, object, at] of objects) {
    const refused = await off.call("POST", path, object);
    t.equal(refused.code, 422);
    t.match(refused.json.message, `${at}.securityContext.privileged: Forbidden: disallowed by cluster policy`);
    t.equal((await on.call("POST", path, object)).code, 201);
  }
  const read = (args: string[]): ReadonlySet<string> => {
    const config = readConfig(parseFlags(args) as FlagValues);
    return typeof config === "string" ? new Set() : config.gates;
  };
  t.ok(read([]).has(forbidsPrivileged), "refused by default");
  t.notOk(read(["--allow-privileged"]).has(forbidsPrivileged));
});
