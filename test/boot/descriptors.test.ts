// Clients that open as many connections as they can leave the server the descriptors it needs, and its time.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { connectionsOf, descriptorsMax } from "../../src/boot/descriptors.ts";
import { limits } from "../../src/config/limits.ts";
import { loadsUws } from "../../src/http/uwsbuild.ts";
import { eventually, startServer } from "../support/server.ts";
import { noSingleServer } from "../support/servers/storage.ts";

t.setTimeout(300_000);

t.test("connectionsOf() divides what the process may open, and keeps what it needs", async (t) => {
  const own = 30 + 3 * limits.frontDescriptors;
  t.equal(connectionsOf(2, own + 400, 30), 100, "half is kept");
  t.equal(connectionsOf(2, own + limits.reservedDescriptorsMax + 20_000, 30), 10_000);
  t.equal(connectionsOf(2, 10_000_000, 30), limits.connectionsMax);
  t.equal(connectionsOf(1, undefined, 0), limits.connectionsMax, "where the system does not tell");
  const least = own + 4 * limits.connectionsMin;
  t.equal(connectionsOf(2, least, 30), limits.connectionsMin);
  const fault = { message: `the process may open ${least - 2} files, and needs ${least} at least (ulimit -n)` };
  t.throws(() => connectionsOf(2, least - 2, 30), fault);
  const directory = mkdtempSync(join(tmpdir(), "orch-descriptors-"));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  const file = join(directory, "limits");
  writeFileSync(file, "Limit                     Soft Limit           Hard Limit           Units\n");
  t.equal(descriptorsMax(file), undefined);
  writeFileSync(file, "Max open files            20000                40000                files\n");
  t.equal(descriptorsMax(file), 20_000);
  t.equal(descriptorsMax(join(directory, "none")), undefined);
});

/** Descriptors: few, and enough for what the tests preload. */
const filesMax = 80;

/** Processor seconds a process has used. */
function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

for (const front of loadsUws() ? ["uws", "node"] : ["node"]) {
  const title = `clients that take every connection leave a ${front} server running (ulimit -n ${filesMax})`;
  t.test(title, { skip: noSingleServer }, async (t) => {
    const server = await startServer([`--front=${front}`, "--front-workers=1"], undefined, { filesMax });
    t.teardown(() => server.stop("SIGKILL"));
    const pid = server.process.pid as number;
    const seen: unknown[] = [];
    const path = "/api/v1/namespaces/default/configmaps";
    t.teardown(server.watch(`${path}?watch=1`, (event) => seen.push(event)));
    const port = Number(new URL(server.base).port);
    const open = new Set<Socket>();
    let opened = 0;
    let pressing = true;
    const press = (localAddress: string): void => {
      if (!pressing) return;
      const socket = connect({ host: "127.0.0.1", port, localAddress });
      opened += 1;
      open.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        open.delete(socket);
        setTimeout(press, 100, localAddress);
      });
    };
    for (let client = 0; client < 60; client += 1) press(`127.0.0.${2 + (client % 6)}`);
    t.teardown(() => {
      pressing = false;
      for (const socket of open) socket.destroy();
    });
    t.ok(await eventually(() => opened > 300, 60_000), "connections are closed, and come again");
    const before = { cpu: cpuSeconds(pid), ms: performance.now() };
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    const cores = (cpuSeconds(pid) - before.cpu) / ((performance.now() - before.ms) / 1_000);
    t.ok(cores < 0.5, `it does not turn for nothing: ${cores.toFixed(2)} cores`);
    t.ok(readdirSync(`/proc/${pid}/fd`).length < filesMax - 4, "descriptors are left");
    pressing = false;
    for (const socket of open) socket.destroy();
    const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } };
    const made = async (): Promise<boolean> => {
      const answer = await server.call("POST", path, body).catch(() => undefined);
      return answer?.code === 201;
    };
    t.ok(await eventually(made, 60_000), "connections are taken again");
    const told = (): boolean => seen.some((event) => JSON.stringify(event).includes('"name":"a"'));
    t.ok(await eventually(told, 60_000), "a watch that was open goes on");
    t.equal(server.process.exitCode, null);
  });
}
