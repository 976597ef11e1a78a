// Conditions of APIServices: what leads to an extension server is looked at, and real servers that answer, hang, lie or
// are not there are asked.

import type { IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { createServer, type Socket } from "node:net";
import type { Test } from "tap";
import { limits } from "../../src/config/limits.ts";
import type { Reconciler } from "../../src/controllers/reconciler.ts";
import { exposition, Registry } from "../../src/observe/metrics.ts";
import {
  apiService,
  apiServices,
  becomes,
  conditionOf,
  outsideService,
  remoteApiService,
  runAvailability,
} from "../support/apiservices.ts";
import { type InProcess, until } from "../support/inprocess.ts";
import { type Answering, openPeer, type Peer, sayJson } from "../support/peer.ts";
import { scenario } from "../support/scenario.ts";

const merge = { "content-type": "application/merge-patch+json" };
/** Time goes on to the next look, once those under way are over. */
async function wait(server: InProcess, work: Reconciler, ms: number = limits.availabilityLookMs): Promise<void> {
  await work.idle();
  server.nowMs += ms;
  server.aheadMs += ms;
}

const services = "/api/v1/namespaces/default/services";
const endpoints = "/api/v1/namespaces/default/endpoints";
const document = { kind: "APIResourceList", apiVersion: "v1", groupVersion: "g.example.com/v1", resources: [] };

interface Running {
  readonly work: Reconciler;
  readonly metrics: Registry;
  /** A peer that is closed at the end. */
  peer(answer: Answering): Promise<Peer>;
}

function running(title: string, check: (t: Test, server: InProcess, running: Running) => Promise<void>): void {
  scenario(title, async (t, server) => {
    const reports: string[] = [];
    const metrics = new Registry();
    const work = runAvailability(server, reports, metrics);
    const peers: Peer[] = [];
    const peer = async (answer: Answering): Promise<Peer> => {
      const opened = await openPeer(answer);
      peers.push(opened);
      return opened;
    };
    try {
      await server.call("POST", services, outsideService("outside"));
      await check(t, server, { work, metrics, peer });
      t.same(reports, []);
    } finally {
      await work.stop();
      for (const each of peers) each.close();
    }
  });
}

/** How often an APIService was written. */
function writes(server: InProcess, name: string): number {
  return server.store.changes.filter(({ prefix, key }) => prefix.endsWith("/apiservices") && key.endsWith(`/${name}`))
    .length;
}

function patch(server: InProcess, path: string, change: object): Promise<unknown> {
  return server.call("PATCH", path, change, merge);
}

running("what leads to an extension server is looked at, and news of it count at once", async (t, server) => {
  const name = "v1.g.example.com";
  await server.call("POST", apiServices, remoteApiService("g.example.com", "s"));
  t.ok(await becomes(server, name, "ServiceNotFound"));
  const message = async (): Promise<string | undefined> => (await conditionOf(server, name))?.message;
  t.equal(await message(), 'service/s in "default" is not present');
  await server.call("POST", services, { metadata: { name: "s" }, spec: { ports: [{ name: "web", port: 80 }] } });
  t.ok(await becomes(server, name, "ServicePortError"));
  t.equal(await message(), 'service/s in "default" is not listening on port 443');
  await patch(server, `${services}/s`, { spec: { ports: [{ name: "https", port: 443 }] } });
  t.ok(await becomes(server, name, "EndpointsNotFound"));
  t.equal(await message(), 'cannot find endpoints for service/s in "default"');
  await server.call("POST", endpoints, { metadata: { name: "s" } });
  t.ok(await becomes(server, name, "MissingEndpoints"));
  t.equal(await message(), 'endpoints for service/s in "default" have no addresses with port name "https"');
  const subset = { addresses: [{ ip: "203.0.113.1" }], ports: [{ name: "other", port: 443 }] };
  await patch(server, `${endpoints}/s`, { subsets: [subset] });
  await patch(server, `${services}/s`, { spec: { ports: [{ name: "other", port: 443 }] } });
  await patch(server, `${services}/s`, {
    spec: { type: "ExternalName", externalName: "127.0.0.1", clusterIP: null, clusterIPs: null, ports: null },
  });
  await patch(server, `${apiServices}/${name}`, { spec: { service: { port: 1 } } });
  t.ok(await becomes(server, name, "FailedDiscoveryCheck"));
  const url = "https://127.0.0.1:1/apis/g.example.com/v1";
  t.equal(
    await message(),
    `failing or missing response from ${url}: Get "${url}": dial tcp 127.0.0.1:1: connect: connection refused`,
  );
  await server.call("DELETE", `${services}/s`);
  t.ok(await becomes(server, name, "ServiceNotFound"));
});

const hundredMib = 100 * 1024 * 1024;

/** What extension servers answer, and what their condition is then: undefined is available. */
const answers: readonly (readonly [title: string, answer: Answering, fault: RegExp | undefined])[] = [
  ["answers", (_body, response) => sayJson(response, document), undefined],
  ["answers nothing, well", (_body, response) => response.writeHead(204).end(), undefined],
  ["answers what is no document", (_body, response) => response.end("<html>"), undefined],
  ["answers an error", (_body, response) => sayJson(response, document, 500), /bad status from \S+: 500$/],
  ["knows no such group", (_body, response) => sayJson(response, {}, 404), /bad status from \S+: 404$/],
  [
    "redirects",
    (_body, response) => response.writeHead(302, { Location: "https://127.0.0.1:1/" }).end(),
    /bad status from \S+: 302$/,
  ],
  ["answers 100 MB", (_body, response) => response.end(Buffer.alloc(hundredMib)), undefined],
  ["hangs", () => undefined, /context deadline exceeded/],
  ["begins an answer and hangs", (_body, response) => void response.writeHead(200).write("{"), undefined],
  ["closes the connection", (_body, _response, { socket }) => void socket.destroy(), /: EOF$/],
];

for (const [title, answer, fault] of answers) {
  running(
    `an extension server that ${title} is ${fault === undefined ? "" : "not "}available`,
    async (t, server, { peer }) => {
      const { port } = await peer(answer);
      const name = "v1.g.example.com";
      await server.call("POST", apiServices, remoteApiService("g.example.com", "outside", port));
      t.ok(await becomes(server, name, fault === undefined ? "Passed" : "FailedDiscoveryCheck", 15_000));
      const condition = await conditionOf(server, name);
      if (fault === undefined) return void t.match(condition, { status: "True", message: "all checks passed" });
      t.equal(condition?.status, "False");
      t.match(condition?.message, fault);
      const url = `https://127.0.0.1:${port}/apis/g.example.com/v1`;
      t.ok(condition?.message?.startsWith(`failing or missing response from ${url}: `));
    },
  );
}

running(
  "an extension server that does not speak TLS is not available, and what it says is told nowhere",
  async (t, server) => {
    const sockets: Socket[] = [];
    const plain = createServer((socket) => {
      sockets.push(socket);
      socket.on("error", () => undefined);
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-Secret: ${"s3cr3t".repeat(50_000)}\r\n\r\n`);
    });
    await new Promise<void>((resolve) => plain.listen(0, "127.0.0.1", resolve));
    const { port } = plain.address() as AddressInfo;
    await server.call("POST", apiServices, remoteApiService("g.example.com", "outside", port));
    t.ok(await becomes(server, "v1.g.example.com", "FailedDiscoveryCheck", 15_000));
    const { message = "" } = (await conditionOf(server, "v1.g.example.com")) ?? {};
    t.notMatch(message, /s3cr3t/);
    t.ok(message.length <= limits.conditionMessageCharsMax);
    for (const socket of sockets) socket.destroy();
    plain.close();
  },
);

running("a name that is no host is not asked", async (t, server) => {
  await server.call("POST", services, outsideService("odd", "1.2.3.999"));
  await server.call("POST", apiServices, remoteApiService("g.example.com", "odd"));
  t.ok(await becomes(server, "v1.g.example.com", "FailedDiscoveryCheck"));
});

running(
  "an extension server is asked as upstream asks, and by more attempts when the first fails",
  async (t, server, { peer }) => {
    const asked: IncomingHttpHeaders[] = [];
    let faults = 3;
    const { port } = await peer((_body, response, request) => {
      asked.push({ ...request.headers, url: request.url });
      faults -= 1;
      sayJson(response, {}, faults < 0 ? 200 : 503);
    });
    await server.call("POST", apiServices, remoteApiService("g.example.com", "outside", port));
    t.ok(await becomes(server, "v1.g.example.com", "Passed"));
    t.match(asked[0], {
      url: "/apis/g.example.com/v1",
      "x-remote-user": "system:kube-aggregator",
      "x-remote-group": "system:masters",
      authorization: undefined,
      accept: undefined,
    });
    t.ok(asked.length > 3 && asked.length <= limits.discoveryAttempts);
  },
);

running("one attempt that hangs does not fail a check", async (t, server, { peer }) => {
  let isFirst = true;
  const { port } = await peer((_body, response) => {
    if (!isFirst) sayJson(response, document);
    isFirst = false;
  });
  await server.call("POST", apiServices, remoteApiService("g.example.com", "outside", port));
  t.ok(await becomes(server, "v1.g.example.com", "Passed", 4000));
});

running(
  "an extension server is asked again, and nothing is written while it says the same",
  async (t, server, { peer, work }) => {
    let [asked, code] = [0, 200];
    const { port } = await peer((_body, response) => {
      asked += 1;
      sayJson(response, document, code);
    });
    const name = "v1.g.example.com";
    await server.call("POST", apiServices, remoteApiService("g.example.com", "outside", port));
    t.ok(await becomes(server, name, "Passed"));
    const before = await conditionOf(server, name);
    const written = writes(server, name);
    for (let round = 0; round < 3; round += 1) {
      const sofar = asked;
      await wait(server, work);
      t.ok(await until(() => asked > sofar));
    }
    t.equal(writes(server, name), written);
    code = 500;
    await wait(server, work);
    t.ok(await becomes(server, name, "FailedDiscoveryCheck"));
    const failed = await conditionOf(server, name);
    t.not(failed?.lastTransitionTime, before?.lastTransitionTime);
    code = 503;
    await wait(server, work);
    t.ok(await until(async () => /503$/.test((await conditionOf(server, name))?.message ?? "")));
    t.equal((await conditionOf(server, name))?.lastTransitionTime, failed?.lastTransitionTime, "it was False before");
  },
);

running("an extension server that comes up is found soon", async (t, server, { peer, work }) => {
  let isUp = false;
  const { port } = await peer((_body, response) => sayJson(response, document, isUp ? 200 : 503));
  await server.call("POST", apiServices, remoteApiService("g.example.com", "outside", port));
  t.ok(await becomes(server, "v1.g.example.com", "FailedDiscoveryCheck"));
  isUp = true;
  await wait(server, work, limits.availabilityRetryMs);
  t.ok(await becomes(server, "v1.g.example.com", "Passed"));
});

running("those that hang delay no other", async (t, server, { peer }) => {
  const hanging = await peer(() => undefined);
  const well = await peer((_body, response) => sayJson(response, document));
  const count = limits.availabilityChecksMax - 2;
  for (let at = 0; at < count; at += 1) {
    await server.call("POST", apiServices, remoteApiService(`h${at}.example.com`, "outside", hanging.port));
  }
  t.ok(await until(() => hanging.connections > count));
  const begun = performance.now();
  await server.call("POST", apiServices, remoteApiService("well.example.com", "outside", well.port));
  t.ok(await becomes(server, "v1.well.example.com", "Passed"));
  t.ok(performance.now() - begun < 2000);
  // More than there is room for: what is known to take long leaves room for the others.
  for (let at = 0; at < count; at += 1)
    t.ok(await becomes(server, `v1.h${at}.example.com`, "FailedDiscoveryCheck", 15_000));
  server.aheadMs += limits.availabilityLookMs;
  const connections = hanging.connections;
  t.ok(await until(() => hanging.connections > connections));
  await server.call("POST", apiServices, remoteApiService("late.example.com", "outside", well.port));
  t.ok(await becomes(server, "v1.late.example.com", "Passed", 2000));
});

running("the end does not wait for those that hang", async (t, server, { peer, work }) => {
  const hanging = await peer(() => undefined);
  await server.call("POST", apiServices, remoteApiService("h.example.com", "outside", hanging.port));
  t.ok(await until(() => hanging.connections > 0));
  const begun = performance.now();
  await work.stop();
  t.ok(performance.now() - begun < 1000);
});

running("one that names no service is this server's own, and one that does is not", async (t, server, { peer }) => {
  const { port } = await peer((_body, response) => sayJson(response, document));
  const name = "v1.g.example.com";
  await server.call("POST", apiServices, apiService("g.example.com"));
  t.match(await conditionOf(server, name), { status: "True", reason: "Local" });
  await patch(server, `${apiServices}/${name}`, { spec: { service: { namespace: "default", name: "none" } } });
  t.ok(await becomes(server, name, "ServiceNotFound"));
  await patch(server, `${apiServices}/${name}`, { spec: { service: null } });
  t.ok(await becomes(server, name, "Local"));
  await patch(server, `${apiServices}/${name}`, { spec: { service: { namespace: "default", name: "outside", port } } });
  t.ok(await becomes(server, name, "Passed"));
});

running("conditions that are taken away are told again, and not without end", async (t, server) => {
  const name = "v1.g.example.com";
  await server.call("POST", apiServices, remoteApiService("g.example.com", "s"));
  for (let round = 0; round < limits.correctionsFree; round += 1) {
    t.ok(await becomes(server, name, "ServiceNotFound"));
    await patch(server, `${apiServices}/${name}/status`, { status: { conditions: null } });
  }
  const written = writes(server, name);
  for (let round = 0; round < 20; round += 1) {
    await patch(server, `${apiServices}/${name}/status`, {
      status: { conditions: [{ type: "Available", status: "Unknown", reason: `r${round}` }] },
    });
  }
  t.equal(writes(server, name) - written, 20);
  server.aheadMs += limits.correctionMsMin;
  t.ok(await becomes(server, name, "ServiceNotFound"));
});

running(
  "metrics tell which are unavailable, by upstream's names, as long as they exist",
  async (t, server, { metrics, peer, work }) => {
    let code = 200;
    const { port } = await peer((_body, response) => sayJson(response, document, code));
    const shown = (): string[] =>
      exposition([metrics.snapshot()])
        .split("\n")
        .filter((line) => line.startsWith("aggregator_"));
    await server.call("POST", apiServices, remoteApiService("g.example.com", "outside", port));
    await server.call("POST", apiServices, apiService("local.example.com"));
    t.ok(await becomes(server, "v1.g.example.com", "Passed"));
    t.ok(await until(() => shown().length === 2));
    t.same(shown().sort(), [
      'aggregator_unavailable_apiservice{name="v1.g.example.com"} 0',
      'aggregator_unavailable_apiservice{name="v1.local.example.com"} 0',
    ]);
    code = 500;
    await wait(server, work);
    t.ok(await becomes(server, "v1.g.example.com", "FailedDiscoveryCheck"));
    t.ok(await until(() => shown().length === 3));
    t.match(shown().join("\n"), /unavailable_apiservice\{name="v1\.g\.example\.com"\} 1\n/);
    t.match(shown().join("\n"), 'apiservice_total{name="v1.g.example.com",reason="FailedDiscoveryCheck"} 1');
    for (const name of ["v1.g.example.com", "v1.local.example.com"])
      await server.call("DELETE", `${apiServices}/${name}`);
    t.ok(await until(() => shown().length === 0));
  },
);

running("what is checked is forgotten with its APIService", async (t, server, { peer, work }) => {
  let asked = 0;
  const { port } = await peer((_body, response) => {
    asked += 1;
    sayJson(response, document);
  });
  await server.call("POST", apiServices, remoteApiService("g.example.com", "outside", port));
  t.ok(await becomes(server, "v1.g.example.com", "Passed"));
  await server.call("DELETE", `${apiServices}/v1.g.example.com`);
  await until(() => false, 20);
  const before = asked;
  server.aheadMs += 2 * limits.availabilityLookMs;
  await patch(server, `${services}/outside`, { metadata: { labels: { a: "b" } } });
  await until(() => false, 50);
  await work.idle();
  t.equal(asked, before);
});
