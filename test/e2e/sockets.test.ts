// Connections that say nothing, stop in the handshake, stop in a head or drip one (ATTACKS E16, H04): closed in time by
// the real server, while others connect and are answered at once; descriptors and memory come back. The benchmark
// `silent` does the same with 10,000.
import { readdirSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { type TLSSocket, connect as tlsConnect } from "node:tls";
import t from "tap";
import { eventually } from "../support/server.ts";
import { noSingleServer } from "../support/servers/storage.ts";
import { openTarget, type Target } from "../support/target.ts";

t.jobs = 2;

const connections = 500;
/** The first bytes of a ClientHello that never goes on. */
const halfHello = Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00]);
const halfHead = "GET /api/v1/namespaces HTTP/1.1\r\nHost: localhost\r\nX-Slow: ";
/** 15 s for a handshake and for a head, and the fronts' timers tick in steps of seconds. */
const closedMsMax = 40_000;

/** Opens one connection of a kind; it is counted until it is closed. */
function open(target: Target, kind: number): Promise<Socket | TLSSocket> {
  const { hostname, port } = new URL(target.server.base);
  const where = { host: hostname, port: Number(port) };
  return new Promise((resolve, reject) => {
    const opened = (): void => {
      if (kind === 1) socket.write(halfHello);
      if (kind >= 2) socket.write(halfHead);
      resolve(socket);
    };
    const socket =
      kind < 2
        ? connect(where, opened)
        : tlsConnect({ ...where, ca: target.server.ca, servername: "localhost" }, opened);
    socket.once("error", reject);
    socket.on("error", () => undefined);
    socket.resume();
  });
}

function descriptors(target: Target): number {
  return readdirSync(`/proc/${target.server.process.pid}/fd`).length;
}

for (const front of ["uws", "node"]) {
  t.test(
    `E16: ${connections} idle and slow connections cost no other client anything on ${front}`,
    { skip: noSingleServer },
    async (t) => {
      const target = await openTarget(["--identity=kubernetes", `--front=${front}`]);
      t.teardown(() => target.stop());
      const before = await target.warmMib();
      const files = descriptors(target);
      const sockets: Socket[] = [];
      for (let i = 0; i < connections; i += 50) {
        const batch = Array.from({ length: 50 }, (_, at) => open(target, at % 4));
        sockets.push(...(await Promise.all(batch)));
      }
      const dripping = setInterval(() => {
        for (const [at, socket] of sockets.entries()) if (at % 4 === 3 && socket.writable) socket.write("x");
      }, 1_000);
      t.teardown(() => clearInterval(dripping));
      t.ok(descriptors(target) >= files + connections / 2, `${descriptors(target) - files} connections are open`);
      const fresh = await target.raw("GET", "/api/v1/namespaces/default", undefined, { connection: "close" });
      t.ok(
        fresh.code === 200 && fresh.tookMs < 1_000,
        `others are served: ${fresh.code} in ${Math.round(fresh.tookMs)} ms`,
      );
      const left = (): number =>
        sockets.filter((socket, at) => !socket.closed && (front === "node" || at % 4 !== 3)).length;
      t.ok(await eventually(() => left() === 0, closedMsMax), `${left()} are left`);
      clearInterval(dripping);
      for (const socket of sockets) socket.destroy();
      t.ok(await eventually(() => descriptors(target) <= files + 10), "descriptors came back");
      t.ok(
        await target.cameBackTo(before),
        `memory came back: ${Math.round(before)}, ${Math.round(target.residentMib)} MiB`,
      );
      t.strictSame(await target.verdict(), []);
    },
  );
}
