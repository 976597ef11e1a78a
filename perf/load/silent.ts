// Clients that connect and say nothing, or stop in the handshake (ATTACKS E16, H04): what they cost, how long others
// wait meanwhile, and whether everything is given back.
import { readdirSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { startServer, type TestServer } from "../../test/support/server.ts";
import { record, round } from "../results.ts";
import { residentBytes } from "./process.ts";
import { RestClient } from "./rest.ts";

const silentCount = 10_000;
/** The first bytes of a ClientHello that never goes on. */
const halfHello = Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00]);
const path = "/api/v1/namespaces/default";

/** Opens connections a batch at a time; every third one begins a handshake. */
async function openAll(port: number): Promise<Socket[]> {
  const sockets: Socket[] = [];
  while (sockets.length < silentCount) {
    const batch = Array.from(
      { length: 250 },
      (_, i) =>
        new Promise<Socket>((resolve, reject) => {
          const socket = connect({ host: "127.0.0.1", port }, () => {
            if (i % 3 === 0) socket.write(halfHello);
            resolve(socket);
          });
          socket.once("error", reject);
        }),
    );
    for (const socket of await Promise.all(batch)) {
      socket.on("error", () => {});
      sockets.push(socket);
    }
  }
  return sockets;
}

/** Connects anew and reads an object; milliseconds. */
async function freshRead(server: TestServer): Promise<number> {
  const start = performance.now();
  const client = new RestClient(server);
  const code = await client.send("GET", path);
  client.close();
  if (code !== 200) throw new Error(`A client was answered ${code}`);
  return performance.now() - start;
}

function openFiles(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

/** 10,000 silent connections beside a client that reads. */
export async function silent(_only: readonly string[], args: readonly string[]): Promise<void> {
  const server = await startServer(args);
  const pid = server.process.pid ?? 0;
  try {
    await freshRead(server);
    const before = { files: openFiles(pid), bytes: residentBytes(pid) };
    const sockets = await openAll(Number(new URL(server.base).port));
    const opened = performance.now();
    const during = { files: openFiles(pid), bytes: residentBytes(pid) };
    const waits: number[] = [];
    let closed = 0;
    for (const socket of sockets) {
      socket.once("close", () => {
        closed += 1;
      });
      socket.resume();
    }
    while (closed < sockets.length && performance.now() - opened < 60_000) waits.push(await freshRead(server));
    const goneMs = performance.now() - opened;
    const after = { files: openFiles(pid), bytes: residentBytes(pid) };
    for (const socket of sockets) socket.destroy();
    waits.sort((a, b) => a - b);
    const front = args.find((arg) => arg.startsWith("--front="))?.slice("--front=".length) ?? "auto";
    record(`silent/${silentCount} connections without a request`, {
      front,
      kibPerConnection: round((during.bytes - before.bytes) / 1024 / silentCount),
      closedAfterMs: round(goneMs),
      left: sockets.length - closed,
      freshReadP50Ms: round(waits[Math.floor(waits.length / 2)] ?? -1),
      freshReadMaxMs: round(waits.at(-1) ?? -1),
      filesDuring: during.files - before.files,
      filesAfter: after.files - before.files,
      residentAfterMib: round((after.bytes - before.bytes) / 1024 / 1024),
    });
  } finally {
    await server.stop("SIGTERM");
  }
}
