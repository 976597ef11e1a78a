import t from "tap";
import type { Endpoints } from "../../../src/api/gen/core/v1.ts";
import { validateEndpoints, validateEndpointsUpdate } from "../../../src/kinds/core/endpoints.ts";
import { openInProcess } from "../../support/inprocess.ts";
import { context, type Json, lines, make, texts } from "../build.ts";
import { created, kind } from "../written.ts";

t.test("Endpoints keep the order in which they are sent", (t) => {
  const port = (name: string, number: number) => ({ name, port: number, protocol: "TCP" });
  const subsets = [
    { addresses: [{ ip: "10.0.0.10" }, { ip: "10.0.0.9" }], ports: [port("b", 2)] },
    { addresses: [{ ip: "10.0.0.9" }, { ip: "10.0.0.10" }], ports: [port("a", 1)] },
  ];
  t.strictSame(created(kind("", "v1", "endpoints"), { subsets })["subsets"], subsets);
  t.end();
});

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

t.test("the tracking annotation of jobs follows the gate, and no client's write", async (t) => {
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

t.test("validateEndpoints() checks addresses and ports", (t) => {
  const endpoints = (subset: Json): Endpoints => make("Endpoints", { metadata: { name: "e" }, subsets: [subset] });
  const addresses = [{ ip: "10.0.0.1" }];
  const rows: [why: string, subset: Json, expected: string[]][] = [
    ["a subset", { addresses, ports: [{ port: 1 }] }, []],
    ["nothing", {}, ["subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`"]],
    [
      "addresses",
      { addresses: [{ ip: "x", hostname: "A", nodeName: "B" }], notReadyAddresses: [{ ip: "::1" }] },
      [
        'subsets[0].addresses[0].ip: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
        `subsets[0].addresses[0].hostname: Invalid value: "A": ${texts.label}`,
        `subsets[0].addresses[0].nodeName: Invalid value: "B": ${texts.subdomain}`,
        'subsets[0].addresses[0].ip: Invalid value: "x": must be a valid IP address',
        'subsets[0].notReadyAddresses[0].ip: Invalid value: "::1": may not be in the loopback range (127.0.0.0/8, ::1/128)',
      ],
    ],
    [
      "ports",
      {
        addresses,
        ports: [
          { port: 0, protocol: "X" },
          { port: 1, name: "A", appProtocol: "a b" },
        ],
      },
      [
        "subsets[0].ports[0].name: Required value",
        `subsets[0].ports[0].port: Invalid value: 0: ${texts.port}`,
        'subsets[0].ports[0].protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP"',
        `subsets[0].ports[1].name: Invalid value: "A": ${texts.label}`,
        `subsets[0].ports[1].appProtocol: Invalid value: "a b": ${texts.name}`,
      ],
    ],
  ];
  for (const [why, subset, expected] of rows) {
    t.same(lines(validateEndpoints(endpoints(subset), context)), expected, why);
    t.same(lines(validateEndpointsUpdate(endpoints(subset), endpoints({}), context)), expected, `${why}, changed`);
  }
  t.end();
});
