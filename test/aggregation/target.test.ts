// Where extension servers are, by API services, services and endpoints.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { ProxyCredentials } from "../../src/aggregation/credentials.ts";
import { discoveryFault } from "../../src/aggregation/extensions.ts";
import { isNoTarget, type RemoteVersion, remoteVersionOf, targetOf } from "../../src/aggregation/target.ts";
import type { APIService } from "../../src/api/gen/apiregistration/v1.ts";
import type { Endpoints, Service } from "../../src/api/gen/core/v1.ts";
import { readAggregation } from "../../src/config/aggregationflags.ts";
import { CallFailure } from "../../src/outbound/client.ts";
import { authority, client } from "../support/certificates.ts";

const named = { metadata: { name: "v1.g" }, status: {} };

function serviceWith(spec: object): Service {
  return { metadata: { name: "s" }, spec, status: {} } as Service;
}

const clustered = serviceWith({ type: "ClusterIP", clusterIP: "10.0.0.7", ports: [{ name: "https", port: 443 }] });
const named2 = serviceWith({
  clusterIP: "fd00::7",
  ports: [
    { name: "a", port: 80 },
    { name: "b", port: 443 },
  ],
});
const headless = serviceWith({ clusterIP: "None", ports: [{ port: 443 }] });
const outside = serviceWith({ type: "ExternalName", externalName: "ext.example.com" });

const ready = [
  { addresses: [{ ip: "10.1.0.1" }, { ip: "10.1.0.2" }], ports: [{ name: "https", port: 6443 }] },
  { addresses: [{ ip: "10.1.0.9" }], ports: [{ name: "other", port: 1 }] },
  { notReadyAddresses: [{ ip: "10.1.0.8" }], ports: [{ name: "https", port: 6443 }] },
  { addresses: [{ ip: "fd00::3" }], ports: [{ name: "https", port: 7443 }] },
];

t.test("remoteVersionOf() tells what an API service says, with upstream's defaults", (t) => {
  const spec = { group: "g", version: "v1", groupPriorityMinimum: 1, versionPriority: 1 };
  t.equal(remoteVersionOf({ ...named, spec } as APIService), undefined, "no service: this server answers");
  const caBundle = Buffer.from("PEM").toString("base64");
  const conditions = [{ type: "Available", status: "True" }];
  const full = {
    ...named,
    status: { conditions },
    spec: { ...spec, caBundle, service: { namespace: "n", name: "s" } },
  };
  t.same(remoteVersionOf(full as APIService), {
    name: "v1.g",
    group: "g",
    version: "v1",
    namespace: "n",
    service: "s",
    port: 443,
    authorities: "PEM",
    insecure: false,
    available: true,
  });
  const unsure = { ...full, status: { conditions: [{ type: "Available", status: "Unknown" }] } };
  t.equal(remoteVersionOf(unsure as APIService)?.available, false);
  t.end();
});

t.test("targetOf() finds an address by routing and kind of service, or says why there is none", (t) => {
  const remote: RemoteVersion = {
    name: "v1.g",
    group: "g",
    version: "v1",
    namespace: "n",
    service: "s",
    port: 443,
    authorities: "PEM",
    insecure: false,
    available: true,
  };
  const rows: [string, Service | undefined, Endpoints["subsets"] | "none", "service" | "endpoints", string][] = [
    ["cluster address", clustered, "none", "service", "https://10.0.0.7:443"],
    ["of the other family", named2, "none", "service", "https://[fd00::7]:443"],
    ["no service", undefined, "none", "service", "no-service"],
    ["not that port", serviceWith({ clusterIP: "10.0.0.7", ports: [{ port: 80 }] }), "none", "service", "no-port"],
    ["headless", headless, "none", "service", "no-address"],
    ["external name", outside, "none", "service", "https://ext.example.com:443"],
    ["external name, by endpoints", outside, ready, "endpoints", "no-address"],
    ["no endpoints object", clustered, "none", "endpoints", "no-endpoints"],
    ["no subsets", clustered, [], "endpoints", "no-endpoints"],
    ["not ready", clustered, ready.slice(2, 3), "endpoints", "no-endpoints"],
    ["another port's name", clustered, ready.slice(1, 2), "endpoints", "no-endpoints"],
    [
      "headless, by endpoints",
      headless,
      [{ addresses: [{ ip: "10.1.0.5" }], ports: [{ port: 1 }] }],
      "endpoints",
      "https://10.1.0.5:1",
    ],
  ];
  for (const [name, service, subsets, routing, expected] of rows) {
    const endpoints = subsets === "none" ? undefined : ({ metadata: {}, subsets } as Endpoints);
    const target = targetOf(remote, { service: () => service, endpoints: () => endpoints }, routing, () => 0);
    t.equal(isNoTarget(target) ? target.reason : target.url, expected, name);
    if (isNoTarget(target)) continue;
    t.equal(target.serverName, "s.n.svc", `${name}: verified by the name of the service`);
    t.equal(target.authorities, "PEM");
  }
  const lookups = { service: () => clustered, endpoints: () => ({ metadata: {}, subsets: ready }) };
  const all = [0, 1, 2].map((at) => {
    const target = targetOf(remote, lookups, "endpoints", (count) => (count === 3 ? at : -1));
    return isNoTarget(target) ? target.reason : target.url;
  });
  t.same(all, ["https://10.1.0.1:6443", "https://10.1.0.2:6443", "https://[fd00::3]:7443"], "each ready address");
  t.end();
});

t.test("ProxyCredentials.reload() takes a pair when both files fit, and keeps the former one until then", async (t) => {
  const dir = mkdtempSync(join(tmpdir(), "orch-proxy-"));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  const [certFile, keyFile] = [join(dir, "c.pem"), join(dir, "k.pem")];
  const ca = await authority("proxies");
  const [one, two] = [await client(ca, [{ CN: ["one"] }]), await client(ca, [{ CN: ["two"] }])];
  t.throws(() => new ProxyCredentials(certFile, keyFile), /--proxy-client-cert-file .*ENOENT/);
  writeFileSync(certFile, one.cert);
  writeFileSync(keyFile, two.key);
  t.throws(() => new ProxyCredentials(certFile, keyFile), /mismatch/);
  writeFileSync(keyFile, one.key);
  const credentials = new ProxyCredentials(certFile, keyFile);
  const { login } = credentials;
  t.equal(login?.certificate, one.cert);
  t.equal(credentials.reload(), undefined);
  t.equal(credentials.login, login, "unchanged files are the same login");
  writeFileSync(certFile, two.cert);
  t.match(credentials.reload(), /mismatch/);
  t.equal(credentials.login, login, "half of an exchange changes nothing");
  writeFileSync(keyFile, two.key);
  t.equal(credentials.reload(), undefined);
  t.equal(credentials.login?.certificate, two.cert);
  t.equal(new ProxyCredentials("", "").login, undefined);
});

t.test("readAggregation() refuses a certificate without its key", (t) => {
  const message = "--proxy-client-cert-file and --proxy-client-key-file belong together";
  t.equal(readAggregation(new Map([["proxy-client-cert-file", "c"]])), message);
  t.equal(readAggregation(new Map([["proxy-client-key-file", "k"]])), message);
  t.same(readAggregation(new Map([["enable-aggregator-routing", "true"]])), {
    certFile: "",
    keyFile: "",
    routing: "endpoints",
  });
  t.end();
});

t.test("discoveryFault() says why an extension server does not count as available", (t) => {
  const remote = { group: "g", version: "v1" } as RemoteVersion;
  const connection = { url: "https://[::1]:1", address: { host: "::1", port: 1 } };
  const answer = (code: number) => ({ code, contentType: "", cacheControl: "", body: Buffer.alloc(0) });
  t.equal(discoveryFault(remote, connection, answer(204)), undefined);
  const url = "https://[::1]:1/apis/g/v1";
  const fault = `failing or missing response from ${url}:`;
  t.equal(discoveryFault(remote, connection, answer(302)), `${fault} bad status from ${url}: 302`);
  t.equal(
    discoveryFault(remote, connection, new CallFailure("timeout", "")),
    `${fault} Get "${url}": context deadline exceeded (Client.Timeout exceeded while awaiting headers)`,
  );
  const core = { group: "", version: "v1" } as RemoteVersion;
  t.match(discoveryFault(core, connection, answer(500)), /bad status from https:\/\/\[::1\]:1\/api\/v1: 500$/);
  const refused = Object.assign(new Error("no"), { code: "ECONNREFUSED" });
  t.equal(
    discoveryFault(remote, connection, new CallFailure("unreachable", "no", refused)),
    `${fault} Get "${url}": dial tcp [::1]:1: connect: connection refused`,
  );
  t.end();
});
