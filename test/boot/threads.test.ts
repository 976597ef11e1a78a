// Fronts that crash are started again; what they had open is closed, and others hear nothing of it.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { systemClock } from "../../src/base/clock.ts";
import { beatsMemory } from "../../src/boot/beats.ts";
import { startedMemory } from "../../src/boot/started.ts";
import { Fronts, type StoreThread } from "../../src/boot/threads.ts";
import { readConfig } from "../../src/config/config.ts";
import { parseFlags } from "../../src/config/flags.ts";
import { SeatBoard } from "../../src/flowcontrol/board.ts";
import { canReusePort } from "../../src/http/node.ts";
import { loadsUws } from "../../src/http/uwsbuild.ts";
import { createLog } from "../../src/observe/log.ts";
import { keepServing } from "../../src/pki/serving.ts";
import { codes, type Target, Wire } from "../http/toy.ts";

t.setTimeout(600_000);

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;

/** Of each front: what a front holds at its start, with the source maps of tests, is below half of it. */
const heapMiBMax = 400;

/** Never connected to: these fronts have no store behind them. */
const store = { connect: () => {} } as unknown as StoreThread;

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const { port } = probe.address() as { port: number };
      probe.close(() => resolve(port));
    });
  });
}

async function start(
  front: "uws" | "node",
  workers: number,
  directory: string,
  heapMiBMax?: number,
): Promise<{ fronts: Fronts; target: Target }> {
  const values = parseFlags(["--front", front, "--front-workers", String(workers)]);
  const config = "fault" in values ? undefined : readConfig(values);
  if (config === undefined || typeof config === "string") throw new Error("The flags of the test are wrong");
  const { caFile, ...tls } = await keepServing(directory, ["localhost", "127.0.0.1"], systemClock);
  const port = await freePort();
  const seats = new SeatBoard(workers);
  const data = {
    config,
    tls,
    authority: "",
    holder: "test",
    connectionsMax: 1_000,
    authn: noMaterial,
    authz: { policies: [], webhook: undefined },
    serverAddress: `127.0.0.1:${port}`,
    control: new SharedArrayBuffer(64),
    store: { isShared: false, hasPast: false, overlap: 1 },
    startedMs: 0,
    beats: beatsMemory(),
    started: startedMemory(),
    kms: undefined,
    seats: seats.memory,
  };
  const fronts = new Fronts({
    script: new URL("crashing.js", import.meta.url),
    config,
    store,
    log: createLog("fatal", "test"),
    failed: (message) => t.fail(message),
    data,
    listeners: [{ front, port, reusePort: workers > 1 }],
    seats,
    ...(heapMiBMax === undefined ? {} : { heapMiBMax }),
  });
  await fronts.start();
  return { fronts, target: { port, ca: readFileSync(caFile, "utf8") } };
}

const noMaterial = {
  tokens: [],
  accountKeys: "",
  signingKey: "",
  privateKey: "",
  oidcAuthorities: "",
  webhook: undefined,
};

/** Connects until a front takes it: a front that ends takes connections along that it has not accepted. */
async function opened(target: Target): Promise<Wire> {
  const end = performance.now() + 60_000;
  for (;;) {
    try {
      return await Wire.open(target);
    } catch (error) {
      if (performance.now() > end) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

/** Connects until a front answers: a front that starts again needs a moment. */
async function answered(target: Target, path: string): Promise<string> {
  const end = performance.now() + 60_000;
  while (performance.now() < end) {
    const wire = await Wire.open(target).catch(() => undefined);
    if (wire === undefined) continue;
    wire.send(get(path));
    await wire.until((w) => w.closed || w.received.includes("\r\n\r\n"), 10_000);
    wire.cut();
    if (codes(wire.received)[0] === 200) return wire.received;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return "";
}

/** Fronts of a kind that can share a port here. */
function several(front: "uws" | "node"): number {
  return front === "uws" || canReusePort() ? 2 : 1;
}

const cases = [
  ...(loadsUws()
    ? ([
        ["uws", 1],
        ["uws", 2],
      ] as const)
    : []),
  ["node", 1],
  ...(several("node") > 1 ? ([["node", 2]] as const) : []),
] as const;

for (const [front, workers] of cases) {
  t.test(`${workers} ${front} fronts are started again after a crash`, async (t) => {
    const directory = mkdtempSync(join(tmpdir(), "orch-boot-"));
    t.teardown(() => rmSync(directory, { recursive: true, force: true }));
    const { fronts, target } = await start(front, workers, directory);
    t.teardown(() => fronts.close());
    for (const path of ["/crash", "/crash-late"]) {
      const idle = await opened(target);
      idle.send(get("/idle"));
      t.ok(await idle.until((w) => w.received.endsWith("GET /idle")), "an idle connection is open");
      const stream = await opened(target);
      stream.send(get("/stream"));
      t.ok(await stream.until((w) => w.received.includes("\r\n\r\n")), "a stream is open");
      const crash = await opened(target);
      crash.send(get(path));
      await crash.until((w) => w.closed, 20_000);
      t.match(await answered(target, "/which"), /front-\d/, `${path}: served again`);
      if (workers === 1) t.ok(await stream.until((w) => w.closed), "the stream was cut");
      for (const wire of [idle, stream, crash]) wire.cut();
    }
    fronts.shutdown();
    await fronts.drain(1_000);
    await t.rejects(Wire.open(target), "and can be shut down");
  });
}

for (const front of ["uws", "node"] as const) {
  t.test(`${front} fronts that crash again and again are started after pauses, and the process goes on`, async (t) => {
    const directory = mkdtempSync(join(tmpdir(), "orch-boot-"));
    t.teardown(() => rmSync(directory, { recursive: true, force: true }));
    const { fronts, target } = await start(front, several(front), directory);
    t.teardown(() => fronts.close());
    // More than a minute took before, and more than each pause is short for.
    for (let crashes = 1; crashes <= 12; ) {
      const wire = await Wire.open(target).catch(() => undefined);
      wire?.send(get("/crash"));
      await wire?.until((w) => w.closed, 10_000);
      wire?.cut();
      const seen = performance.now() + 30_000;
      while (fronts.crashes < crashes && performance.now() < seen && wire !== undefined)
        await new Promise((resolve) => setTimeout(resolve, 10));
      if (fronts.crashes < crashes) continue;
      crashes = fronts.crashes + 1;
      t.match(await answered(target, "/which"), /front-\d/, `served after ${fronts.crashes} crashes`);
    }
    fronts.shutdown();
    await fronts.drain(1_000);
  });

  t.test(`a ${front} front whose heap fills up ends alone, and is started again`, async (t) => {
    const directory = mkdtempSync(join(tmpdir(), "orch-boot-"));
    t.teardown(() => rmSync(directory, { recursive: true, force: true }));
    const { fronts, target } = await start(front, several(front), directory, heapMiBMax);
    t.teardown(() => fronts.close());
    const wire = await Wire.open(target);
    wire.send(get("/grow"));
    const end = performance.now() + 60_000;
    while (fronts.crashes === 0 && performance.now() < end) await new Promise((resolve) => setTimeout(resolve, 20));
    t.equal(fronts.crashes, 1);
    t.match(fronts.lastCrash, /its heap is full/);
    wire.cut();
    t.match(await answered(target, "/which"), /front-\d/);
    fronts.shutdown();
    await fronts.drain(1_000);
  });
}
