// Lists of 10,000 objects end to end. CPU per list is the server's whole CPU; memory is sampled while lists run.
// Expected on two cores: 20 MB leave in 30-40 ms of CPU over TLS, memory does not grow with the list.
import { connect } from "node:tls";
import { assert } from "../../src/base/assert.ts";
import { startServer, type TestServer } from "../../test/support/server.ts";
import { record, round, wait } from "../results.ts";
import { cpuUs, residentBytes } from "./process.ts";
import { RestClient } from "./rest.ts";

const objects = 10_000;
const objectBytes = 2048;
const rounds = 10;
const collection = "/api/v1/namespaces/default/configmaps";

async function seed(server: TestServer): Promise<void> {
  const pad = "p".repeat(objectBytes - 260);
  const clients = Array.from({ length: 32 }, () => new RestClient(server));
  let next = 0;
  await Promise.all(
    clients.map(async (client) => {
      for (let n = next++; n < objects; n = next++) {
        const name = `object-${String(n).padStart(6, "0")}`;
        const code = await client.send("POST", collection, JSON.stringify({ metadata: { name }, data: { pad } }));
        assert(code === 201, `A create was answered ${code}`);
      }
      client.close();
    }),
  );
}

/** Reads one whole list and throws it away; resolves with its bytes. */
function readList(server: TestServer, query: string): Promise<number> {
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
      `GET ${collection}${query} HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${server.token}\r\nConnection: close\r\n\r\n`,
    );
  });
}

async function measure(server: TestServer, name: string, query: string): Promise<void> {
  const pid = server.process.pid ?? 0;
  await readList(server, query);
  await wait(500);
  const before = residentBytes(pid);
  let peak = before;
  const sampler = setInterval(() => {
    peak = Math.max(peak, residentBytes(pid));
  }, 5);
  const cpu = cpuUs(pid);
  const start = performance.now();
  let bytes = 0;
  for (let n = 0; n < rounds; n++) bytes = await readList(server, query);
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

/** `npm run perf -- list`. */
export async function list(_only: readonly string[], args: readonly string[]): Promise<void> {
  const server = await startServer(["--identity=kubernetes", ...args]);
  try {
    await seed(server);
    await measure(server, `${objects} objects of 2 KiB`, "");
    await measure(server, `${objects} objects of 2 KiB, a selector that matches none`, "?labelSelector=none%3Dset");
    await measure(server, `${objects} objects of 2 KiB, first page of 500`, "?limit=500");
  } finally {
    await server.stop();
  }
}
