import t from "tap";
import { tested } from "../refused.ts";
import { kind, updated } from "../written.ts";

t.test("Endpoint slices lose the old topology but not the nodes it named", (t) => {
  const slices = kind("discovery.k8s.io", "v1", "endpointslices");
  const topology = { "kubernetes.io/hostname": "n1", rack: "r" };
  const old = { addressType: "IPv4", endpoints: [{ addresses: ["10.0.0.1"], deprecatedTopology: topology }] };
  const same = updated(slices, old, old);
  t.hasStrict(same, { endpoints: [{ deprecatedTopology: topology }] }, "untouched endpoints keep it");
  const more = { ...old, endpoints: [...old.endpoints, { addresses: ["10.0.0.2"], hints: {} }] };
  t.strictSame(updated(slices, more, old)["endpoints"], [
    { addresses: ["10.0.0.1"], nodeName: "n1", conditions: {} },
    { addresses: ["10.0.0.2"], conditions: {} },
  ]);
  t.end();
});

const endpoint = (of: object) => ({ addressType: "IPv4", endpoints: [{ addresses: ["10.0.0.1"], ...of }] });
tested("discovery.k8s.io", "v1", "endpointslices", [
  ["no addresses", endpoint({ addresses: [] }), ["Required endpoints[0].addresses"]],
  ["a loopback address", endpoint({ addresses: ["127.0.0.1"] }), ["Invalid endpoints[0].addresses[0]"]],
  [
    "many addresses",
    endpoint({ addresses: Array.from({ length: 101 }, () => "10.0.0.1") }),
    ["TooMany endpoints[0].addresses"],
  ],
  [
    "names",
    { ...endpoint({ hostname: "A", nodeName: "B" }), ports: [{ name: "C" }, {}, {}] },
    [
      "Invalid endpoints[0].nodeName",
      "Invalid endpoints[0].hostname",
      "Invalid ports[0].name",
      "Duplicate ports[2].name",
    ],
  ],
  ["a domain", { addressType: "FQDN", endpoints: [{ addresses: ["example.com"] }] }, []],
]);
