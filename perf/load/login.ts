// What it costs to come in: on the node front a handshake with and without a client's certificate, each on a connection
// of its own with one GET, and a GET with a token and RBAC on either front. CPU is the server's whole CPU.
// Expected on two cores: 1.2 ms without a certificate, 1.5 ms with one, 40 us per GET on uws, 70 us on node.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect } from "node:tls";
import { assert } from "../../src/base/assert.ts";
import { authority, client, type Issued } from "../../test/support/certificates.ts";
import { startServer, type TestServer } from "../../test/support/server.ts";
import { makeFolder, removeFolder } from "../harness/programs.ts";
import { record, round } from "../results.ts";
import { cpuUs } from "./process.ts";
import { RestClient } from "./rest.ts";

const handshakes = 1000;
const warmUps = 200;
const atOnce = 4;
const gets = 100_000;
const clients = 16;
const user = "alice";

/** `npm run perf -- login`. */
export async function login(_only: readonly string[], args: readonly string[]): Promise<void> {
  const folder = makeFolder("orch-perf-");
  try {
    const users = await authority("users");
    const file = join(folder, "users.crt");
    writeFileSync(file, users.cert);
    const server = await startServer(["--identity=kubernetes", "--front=node", `--client-ca-file=${file}`, ...args]);
    try {
      await shake(server, "without a client certificate", undefined);
      await shake(server, "with a client certificate", await client(users, [{ CN: [user] }]));
    } finally {
      await server.stop();
    }
    for (const front of ["uws", "node"]) await get(front, args);
  } finally {
    removeFolder(folder);
  }
}

/** Connections one after the other on a few lines; whom the server takes the client for is looked at each time. */
async function shake(server: TestServer, name: string, certificate: Issued | undefined): Promise<void> {
  const lines = Array.from({ length: atOnce }, () => () => comeIn(server, certificate));
  await repeat(warmUps, lines);
  const before = cpuUs(server.process.pid ?? 0);
  await repeat(handshakes, lines);
  const cpuUsPerConnection = round((cpuUs(server.process.pid ?? 0) - before) / handshakes, 0);
  record(`login/a connection ${name} and one GET, node`, { cpuUsPerConnection });
}

function comeIn({ base, ca }: TestServer, certificate: Issued | undefined): Promise<void> {
  const { port } = new URL(base);
  const shown = certificate === undefined ? {} : { cert: certificate.cert, key: certificate.key };
  const wanted = certificate === undefined ? "system:anonymous" : user;
  return new Promise((resolve, reject) => {
    let text = "";
    const socket = connect({ host: "127.0.0.1", servername: "localhost", port: Number(port), ca, ...shown }, () => {
      socket.write("GET /api/v1/nodes HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    });
    socket.on("data", (chunk: Buffer) => {
      text += chunk.toString();
    });
    socket.on("error", reject);
    // None of them may list nodes: the refusal says whom the server knows.
    socket.on("close", () => {
      if (text.includes(`User \\"${wanted}\\" cannot list`)) resolve();
      else reject(new Error(`Authenticated as another user: ${text}`));
    });
  });
}

async function get(front: string, args: readonly string[]): Promise<void> {
  const server = await startServer(["--identity=kubernetes", `--front=${front}`, ...args]);
  try {
    const rest = Array.from({ length: clients }, () => new RestClient(server));
    const lines = rest.map((one) => async () => {
      assert((await one.send("GET", "/api/v1/namespaces/default")) === 200, "A GET failed");
    });
    await repeat(gets / 10, lines);
    const [before, start] = [cpuUs(server.process.pid ?? 0), performance.now()];
    await repeat(gets, lines);
    const cpuUsPerOperation = round((cpuUs(server.process.pid ?? 0) - before) / gets, 1);
    record(`login/get with a token, ${front}`, {
      cpuUsPerOperation,
      perSecond: Math.round((gets / (performance.now() - start)) * 1000),
    });
    for (const one of rest) one.close();
  } finally {
    await server.stop();
  }
}

/** Does something so many times in all, on each line one after the other. */
async function repeat(count: number, lines: readonly (() => Promise<void>)[]): Promise<void> {
  let left = count;
  const loop = async (once: () => Promise<void>): Promise<void> => {
    while (left-- > 0) await once();
  };
  await Promise.all(lines.map(loop));
}
