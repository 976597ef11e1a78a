// Lists of 10,000 objects end to end. CPU per list is the server's whole CPU; memory is sampled while lists run.
// Expected on two cores: 20 MB leave in 30-40 ms of CPU over TLS, memory does not grow with the list.
import { connect } from "node:tls";
import { assert } from "../../src/base/assert.ts";
import { startServer, type TestServer } from "../../test/support/server.ts";
import { podAccount, podBody } from "../corpus/pod.ts";
import { record, round, wait } from "../results.ts";
import { makeAccount } from "./account.ts";
import { cpuUs, residentBytes } from "./process.ts";
import { RestClient } from "./rest.ts";

const objects = 10_000;
const objectBytes = 2048;
const rounds = 10;
/** Lists before those that count: every front has compiled what it runs, and encoded once what it keeps. */
const warmRounds = 8;
const collection = "/api/v1/namespaces/default/configmaps";
const pods = "/api/v1/namespaces/default/pods";

function configMaps(): (n: number) => string {
  const pad = "p".repeat(objectBytes - 260);
  return (n) => JSON.stringify({ metadata: { name: `object-${String(n).padStart(6, "0")}` }, data: { pad } });
}

/** Creates the objects of a collection. */
async function seed(server: TestServer, collection: string, text: (n: number) => string): Promise<void> {
  const clients = Array.from({ length: 32 }, () => new RestClient(server));
  let next = 0;
  await Promise.all(
    clients.map(async (client) => {
      for (let n = next++; n < objects; n = next++) {
        const code = await client.send("POST", collection, text(n));
        assert(code === 201, `A create was answered ${code}`);
      }
      client.close();
    }),
  );
}

/** Reads one whole list and throws it away; resolves with its bytes. */
function readList(server: TestServer, path: string, accept: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(server.base);
    const socket = connect({ host: hostname, port: Number(port), ca: server.ca, servername: "localhost" });
    let bytes = 0;
    socket.on("data", (chunk) => {
      bytes += chunk.length;
    });
    socket.on("error", reject);
    socket.on("close", () => resolve(bytes));
    socket.write(
      `GET ${path} HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${server.token}\r\nAccept: ${accept}\r\nConnection: close\r\n\r\n`,
    );
  });
}

async function measure(server: TestServer, name: string, path: string, accept = "application/json"): Promise<void> {
  const pid = server.process.pid ?? 0;
  for (let n = 0; n < warmRounds; n++) await readList(server, path, accept);
  await wait(500);
  const before = residentBytes(pid);
  let peak = before;
  const sampler = setInterval(() => {
    peak = Math.max(peak, residentBytes(pid));
  }, 5);
  const cpu = cpuUs(pid);
  const start = performance.now();
  let bytes = 0;
  for (let n = 0; n < rounds; n++) bytes = await readList(server, path, accept);
  const took = performance.now() - start;
  const used = cpuUs(pid) - cpu;
  clearInterval(sampler);
  record(`list/${name}`, {
    bytes,
    cpuMsPerList: round(used / 1000 / rounds, 1),
    msPerList: round(took / rounds, 1),
    growthMib: round((peak - before) / 1024 / 1024, 1),
    residentMib: Math.round(peak / 1024 / 1024),
  });
}

/** `npm run perf -- list [objects] [pods]`. */
export async function list(only: readonly string[], args: readonly string[]): Promise<void> {
  const server = await startServer(["--identity=kubernetes", ...args]);
  try {
    if (only.length === 0 || only.includes("objects")) await listObjects(server);
    if (only.length === 0 || only.includes("pods")) await listPods(server);
  } finally {
    await server.stop();
  }
}

async function listObjects(server: TestServer): Promise<void> {
  await seed(server, collection, configMaps());
  await measure(server, `${objects} objects of 2 KiB`, collection);
  const none = `${collection}?labelSelector=none%3Dset`;
  await measure(server, `${objects} objects of 2 KiB, a selector that matches none`, none);
  await measure(server, `${objects} objects of 2 KiB, first page of 500`, `${collection}?limit=500`);
}

async function listPods(server: TestServer): Promise<void> {
  await makeAccount(server, podAccount);
  await seed(server, pods, (n) => podBody(n));
  await measure(server, `${objects} pods`, pods);
  await measure(server, `${objects} pods, protobuf`, pods, "application/vnd.kubernetes.protobuf");
  await measure(server, `${objects} pods, Table`, pods, "application/json;as=Table;v=v1;g=meta.k8s.io");
}
