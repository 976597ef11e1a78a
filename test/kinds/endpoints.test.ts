// Well-known annotations the server looks after: endpoints over capacity, and jobs that are tracked.
import t from "tap";
import { openInProcess } from "../support/inprocess.ts";

const endpoints = "/api/v1/namespaces/default/endpoints";
const jobs = "/apis/batch/v1/namespaces/default/jobs";
const merge = { "content-type": "application/merge-patch+json" };

function addresses(from: number, count: number): object[] {
  return Array.from({ length: count }, (_, i) => ({
    ip: `10.${(from + i) >> 16}.${((from + i) >> 8) & 255}.${(from + i) & 255}`,
  }));
}

t.test("endpoints are cut to 1,000 addresses, ready ones first, each subset keeping its share", async (t) => {
  const key = "endpoints.kubernetes.io/over-capacity";
  for (const [title, subsets, left] of [
    ["within", [{ addresses: addresses(1, 1000) }], [[1000, 0]]],
    ["ready", [{ addresses: addresses(1, 1500), notReadyAddresses: addresses(2001, 5) }], [[1000, 0]]],
    [
      "shares",
      [
        { addresses: addresses(1, 1500) },
        { addresses: addresses(2001, 500) },
        { notReadyAddresses: addresses(3001, 10) },
      ],
      [
        [750, 0],
        [250, 0],
      ],
    ],
    [
      "others",
      [{ addresses: addresses(1, 900) }, { notReadyAddresses: addresses(2001, 300) }],
      [
        [900, 0],
        [0, 100],
      ],
    ],
  ] as const) {
    const server = await openInProcess();
    const { code, json } = await server.call("POST", endpoints, { metadata: { name: "e" }, subsets });
    t.equal(code, 201, title);
    const found = json.subsets.map((subset: { [list: string]: unknown[] }) => [
      subset["addresses"]?.length ?? 0,
      subset["notReadyAddresses"]?.length ?? 0,
    ]);
    t.same(found, left, title);
    t.equal(json.metadata.annotations?.[key], title === "within" ? undefined : "truncated", title);
    const again = await server.call("PUT", `${endpoints}/e`, json);
    t.equal(again.json.metadata.annotations?.[key], json.metadata.annotations?.[key], `${title}: written again`);
    server.close();
  }
});

t.test("the tracking annotation of jobs follows the gate, and nobody's hand", async (t) => {
  const key = "batch.kubernetes.io/job-tracking";
  const spec = { template: { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "i" }] } } };
  const add = { metadata: { annotations: { [key]: "" } } };
  const remove = { metadata: { annotations: { [key]: null } } };
  const off = await openInProcess();
  const { json: plain } = await off.call("POST", jobs, { metadata: { name: "j", ...add.metadata }, spec });
  t.equal(plain.metadata.annotations, undefined);
  const patched = await off.call("PATCH", `${jobs}/j`, add, merge);
  t.equal(patched.code, 200);
  t.equal(patched.json.metadata.annotations, undefined);
  off.close();
  const on = await openInProcess("kubernetes", { gates: new Set(["JobTrackingWithFinalizers"]) });
  const { json: tracked } = await on.call("POST", jobs, { metadata: { name: "j" }, spec });
  t.same(tracked.metadata.annotations, { [key]: "" });
  const kept = await on.call("PATCH", `${jobs}/j`, remove, merge);
  t.same(kept.json.metadata.annotations, { [key]: "" });
  on.close();
});
