// Lists that are asked for and never read: what they hold is bounded, the user that holds it is refused
// more, others are served meanwhile, and within a minute of their end the process is as big as it was.
import { type TLSSocket, connect as tlsConnect } from "node:tls";
import t from "tap";
import { openTarget, type Target } from "../support/target.ts";

const lists = 405;
const path = "/api/v1/namespaces/default/configmaps";

/** Asks for the list as a user, on a connection of its own, and reads nothing but the head; resolves with its code. */
function ask(target: Target, user: string, sockets: TLSSocket[]): Promise<number> {
  const { hostname, port } = new URL(target.server.base);
  return new Promise((resolve) => {
    const socket = tlsConnect({ host: hostname, port: Number(port), ca: target.server.ca, servername: "localhost" });
    sockets.push(socket);
    socket.on("error", () => resolve(0));
    socket.once("data", (chunk: Buffer) => {
      socket.pause();
      resolve(Number(chunk.toString("latin1", 9, 12)));
    });
    socket.write(
      `GET ${path} HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${target.server.token}\r\n` +
        `Impersonate-User: ${user}\r\nImpersonate-Group: system:masters\r\nAccept: application/json\r\n\r\n`,
    );
  });
}

for (const front of ["uws", "node"]) {
  t.test(`memory comes back within a minute of ${lists} unread lists of 5 MB, on ${front}`, async (t) => {
    const target = await openTarget(["--identity=kubernetes", `--front=${front}`]);
    t.teardown(() => target.stop());
    for (let n = 0; n < 10; n++) {
      const body = JSON.stringify({ metadata: { name: `big-${n}` }, data: { a: "x".repeat(500_000) } });
      t.equal((await target.raw("POST", path, body)).code, 201);
    }
    for (let n = 0; n < 8; n++) await target.raw("GET", path, undefined, { connection: "close" });
    const before = await target.warmMib();
    const sockets: TLSSocket[] = [];
    const codes: number[] = [];
    for (let n = 0; n < lists; n += 45)
      codes.push(...(await Promise.all(Array.from({ length: 45 }, () => ask(target, "hog", sockets)))));
    const during = target.residentMib;
    // A chunk each, and on the node front the same again, encrypted.
    t.ok(during - before < lists * 2.5, `held: ${Math.round(during - before)} MiB`);
    t.ok(codes.includes(200), "some lists were begun");
    t.ok(
      codes.every((code) => code === 200 || code === 429),
      [...new Set(codes)].join(),
    );
    t.equal(await ask(target, "other", sockets), 200, "another user gets the list");
    for (const socket of sockets) socket.destroy();
    const came = await target.cameBackTo(before, 60_000);
    t.ok(came, `memory came back: ${[before, during, target.residentMib].map(Math.round).join(", ")} MiB`);
    t.strictSame(await target.verdict(), []);
  });
}
