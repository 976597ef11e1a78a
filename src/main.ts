// Boot, top to bottom: flags, files, port, store thread, credentials, fronts, ready; then signals. Whatever the
// operator has to mend ends with one line on standard error and exit code 1.
import { randomUUID } from "node:crypto";
import { request } from "node:https";
import { createServer } from "node:net";
import { hostname } from "node:os";
import { checkMissingSettings, checkPluginNames } from "./admission/table.ts";
import { identities } from "./api/identity.ts";
import { checkRuntimeConfig } from "./api/scheme.ts";
import { readAuthorizationFiles } from "./authz/files.ts";
import { systemClock } from "./base/clock.ts";
import { hostPort } from "./base/network.ts";
import { Progress } from "./base/progress.ts";
import { readAdmissionFile } from "./boot/admissionfile.ts";
import { allocatorAdvice } from "./boot/allocator.ts";
import { type AuditFiles, checkAuditFiles } from "./boot/auditfiles.ts";
import { beatsMemory } from "./boot/beats.ts";
import { gathering } from "./boot/console/gathering.ts";
import { countProcess } from "./boot/count.ts";
import { type Credentials, checkFiles, keepCredentials, keepRenewed, writeClientConfig } from "./boot/credentials.ts";
import { openDataDir } from "./boot/datadir.ts";
import { connectionsOf, descriptorsMax, openDescriptors } from "./boot/descriptors.ts";
import { EncryptionFile } from "./boot/encryptionfile.ts";
import { BootFault, die, exitNow, reasonOf } from "./boot/fault.ts";
import type { ListenerPlan } from "./boot/messages.ts";
import { schemeOf } from "./boot/scheme.ts";
import { trustingOwn } from "./boot/signing.ts";
import { startedMemory } from "./boot/started.ts";
import { AuditThread, Fronts, StoreThread } from "./boot/threads.ts";
import { openExporter } from "./boot/tracing/tracing.ts";
import { readTracingFile } from "./boot/tracing/tracingfile.ts";
import { keepCompiled } from "./boot/v8/compilecache.ts";
import { programVersion, versionDocument } from "./boot/version.ts";
import { formsOf } from "./cache/shared/selectionof.ts";
import { type Config, type FrontName, nodeFrontFlag, readConfig } from "./config/config.ts";
import type { Flag, FlagValues } from "./config/flag.ts";
import { flags, isFlagFault, parseFlags } from "./config/flags.ts";
import { helpText, helpTopics } from "./config/help.ts";
import { limits } from "./config/limits.ts";
import { printConfigCommand } from "./config/schemacommand.ts";
import { SeatBoard } from "./flowcontrol/board.ts";
import { canReusePort } from "./http/node.ts";
import { loadsUws, uwsVersion } from "./http/uwsbuild.ts";
import { parseRanges } from "./kinds/ranges.ts";
import { createLog, type Logger } from "./observe/log.ts";
import { Registry } from "./observe/metrics.ts";
import type { SpanExporter } from "./outbound/otlp.ts";
import { engineOf } from "./storage/table.ts";

const storeScript = new URL("../workers/store.js", import.meta.url);
const frontScript = new URL("../workers/front.js", import.meta.url);
const auditScript = new URL("../workers/audit.js", import.meta.url);

main().catch((error: unknown) => {
  if (error instanceof BootFault) die(error.message);
  die(error instanceof Error ? (error.stack ?? error.message) : String(error));
});

async function main(): Promise<void> {
  const asked = await readCommandLine(process.argv.slice(2));
  const log = createLog(asked.logLevel, "main", asked.logFormat);
  const files = await checkFiles(asked);
  const authz = await readAuthorizationFiles(asked.authorization, identities[asked.identity]);
  if (typeof authz === "string") die(authz);
  const encryption = await EncryptionFile.open(asked, log);
  const auditFiles = await checkAuditFiles(asked, identities[asked.identity]);
  // Files of the server are its own: those of the store's library, which asks for no mode, too.
  process.umask(0o077);
  openDataDir(asked.dataDir, engineOf(asked.storageBackend).file);
  const front = chooseFront(asked, log);
  const config = trustingOwn({ ...asked, frontWorkers: frontWorkersOf(asked, front, log) });
  const port = await claimPort(config.bindAddress, config.securePort);
  if (config.fanoutPort !== 0) await claimPort(config.bindAddress, config.fanoutPort);
  const listeners = planListeners(config, front, port, log);
  process.stdout.write(runtimeLine(listeners));

  let fronts: Fronts | undefined;
  const fail = (message: string): void => void end(message, fronts);
  const holder = `${hostname()}_${randomUUID()}`;
  const spans = await openExporter(config, holder, log);
  const scheme = schemeOf(config);
  const forms = formsOf(scheme.resources, scheme.identity);
  const store = new StoreThread(storeScript, { config, encryption: encryption?.encryption, forms }, fail, spans);
  const opened = await store.opened();
  // The data directory is ours from here on.
  const credentials = await keepCredentials(config, identities[config.identity], files, systemClock);
  const serverAddress = addressOf(config.bindAddress, port);
  const url = `https://${serverAddress}`;
  const kubeconfig = writeClientConfig(config, url, credentials);

  const { tls, ca: authority, authn } = credentials;
  const startedMs = Date.now() - performance.now();
  const beats = beatsMemory();
  const audit = await startAudit(config, auditFiles, fail, spans);
  const connectionsMax = connectionsOf(config.frontWorkers, descriptorsMax(), openDescriptors());
  const kms = encryption?.encryption.health;
  const seats = new SeatBoard(config.frontWorkers);
  const shared = { startedMs, beats, started: startedMemory(), seats: seats.memory, kms, ...opened };
  const data = { config, tls, authority, holder, authn, authz, serverAddress, connectionsMax, ...shared };
  const from = { script: frontScript, config, store, audit, log, spans };
  const threads = new Fronts({ ...from, failed: fail, data, listeners, seats });
  fronts = threads;
  const registry = new Registry();
  countProcess(registry, () => threads.crashes);
  encryption?.follow((config) => store.encrypt(config), registry, holder, log);
  threads.gatherFrom(
    gathering(config, registry, {
      collect: (detailed) => {
        const others = audit === undefined ? [] : [audit.collect()];
        return Promise.all([store.collect(), ...others, ...threads.collect(detailed)]);
      },
      profile: (thread, seconds) => (thread === "store" ? store : threads.named(thread))?.profile(seconds),
    }),
  );
  process.on("uncaughtException", (error) => fail(`the main thread failed: ${error.stack ?? error.message}`));
  // Before the fronts: a signal during the start ends it in order.
  onSignals(threads, (signal) => shutDown(config, { threads, store, audit, spans }, log, signal));
  await threads.start();
  // A start that cannot be ends with one line, and this is not it.
  logStart(log, config);
  keepRenewed(config, identities[config.identity], systemClock, log);
  process.stdout.write(`kubeconfig: ${kubeconfig}\nconsole: ${url}/debug/console\n`);
  await untilReady(url, credentials);
  process.stdout.write(`ready: ${url}\n`);
  keepCompiled();
  const advice = allocatorAdvice(process.env);
  if (advice !== undefined) log.warn(advice);
}

/** The thread that writes audit events, when its backends are open; undefined: nothing is audited. */
async function startAudit(
  config: Config,
  files: AuditFiles | undefined,
  fail: (message: string) => void,
  spans: SpanExporter | undefined,
): Promise<AuditThread | undefined> {
  if (files === undefined) return undefined;
  const { policy, connection } = files;
  const thread = new AuditThread(auditScript, { config, connection }, policy, fail, spans);
  await thread.opened();
  return thread;
}

/** Parses the arguments. Prints and exits for --help, --version and the command `config`. */
async function readCommandLine(args: readonly string[]): Promise<Config> {
  if (args[0] === "config") await runConfigCommand(args.slice(1));
  if (args[0] === "top") await doTop(args.slice(1));
  if (args[0] === "snapshot" || args[0] === "storage") await doStoreCommand(args);
  const values = parseFlags(args);
  if (isFlagFault(values)) die(values.fault);
  const topic = values.get("help") ?? "";
  if (topic !== "") {
    const text = helpText(topic);
    if (text === undefined)
      die(`--help: there is no topic ${JSON.stringify(topic)}; there are: ${helpTopics().join(", ")}`);
    process.stdout.write(`${text}\n`);
    process.exit(0);
  }
  if (values.get("version") === "true") {
    process.stdout.write(`orch ${programVersion()}\n`);
    process.exit(0);
  }
  const config = readConfig(values);
  if (typeof config === "string") die(config);
  const plugins = checkPluginNames(config.admission.enabled, config.admission.disabled);
  if (plugins !== undefined) die(plugins);
  const wrong = checkRuntimeConfig({ identity: identities[config.identity], runtimeConfig: config.runtimeConfig });
  if (wrong !== undefined) die(`--runtime-config: ${wrong}`);
  const { note: engineNote } = engineOf(config.storageBackend);
  for (const note of [...config.notes, ...(engineNote === undefined ? [] : [engineNote])]) {
    process.stderr.write(`${note}\n`);
  }
  const settings = await readAdmissionFile(config.admission.file, identities[config.identity]);
  const ranges = parseRanges(config.serviceAddressRanges, config.servicePortRange);
  if (typeof ranges === "string") die(ranges);
  const admission = { ...config.admission, settings };
  const lacking = checkMissingSettings(admission);
  if (lacking !== undefined) die(lacking);
  const tracing = await readTracingFile(config.tracingFile, identities[config.identity], config.gates);
  return { ...config, admission, tracing };
}

/** The words of a command, and the values of the flags behind them, which are those of `table`. */
function readCommand(
  args: readonly string[],
  table: readonly Flag[],
): { words: readonly string[]; values: FlagValues } {
  const first = args.findIndex((arg) => arg.startsWith("-"));
  const words = first === -1 ? args : args.slice(0, first);
  const values = parseFlags(args.slice(words.length), table);
  if (isFlagFault(values)) die(values.fault);
  return { words, values };
}

/** Shows what a server does until it is interrupted. */
async function doTop(args: readonly string[]): Promise<never> {
  const { runTop, topFlags } = await import("./boot/console/top.ts");
  const { words, values } = readCommand(args, [...flags.filter(({ name }) => name === "data-dir"), ...topFlags]);
  if (words.length > 0)
    die(
      `top: what is ${JSON.stringify(words[0])}? It takes flags: ${topFlags.map(({ name }) => `--${name}`).join(", ")}`,
    );
  await runTop(values, process.stdout);
  process.exit(0);
}

/** Does what `snapshot` or `storage` is asked for, and exits. */
async function doStoreCommand(args: readonly string[]): Promise<never> {
  // A server needs nothing of it.
  const { runStoreCommand, storeCommandFlags, storeFlagNames } = await import("./boot/storecommand.ts");
  const own = [...flags.filter(({ name }) => storeFlagNames.includes(name)), ...storeCommandFlags];
  const { words, values } = readCommand(args, own);
  const defaults = parseFlags([]) as FlagValues;
  process.umask(0o077);
  const progress = new Progress(process.stderr, () => performance.now());
  process.stdout.write(`${await runStoreCommand(words, new Map([...defaults, ...values]), progress)}\n`);
  process.exit(0);
}

/** Prints what `config` is asked for, and exits. Its one flag is --identity, in whose spelling names are printed. */
async function runConfigCommand(args: readonly string[]): Promise<never> {
  const { words, values } = readCommand(
    args,
    flags.filter(({ name }) => name === "identity"),
  );
  const { spell } = identities[values.get("identity") as Config["identity"]];
  const printed = await printConfigCommand(words, spell);
  if (typeof printed !== "string") die(printed.fault);
  process.stdout.write(`${printed}\n`);
  process.exit(0);
}

/** Makes sure that no process has the port; the uWS build would share it silently. Returns it, chosen when it was 0. */
function claimPort(host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", (error) =>
      reject(new BootFault(`cannot listen on ${addressOf(host, port, false)}: ${reasonOf(error)}`)),
    );
    probe.listen({ host, port, exclusive: true }, () => {
      const { port: found } = probe.address() as { port: number };
      probe.close(() => resolve(found));
    });
  });
}

/** `host:port` for clients; one that listens on every interface is reached on the loopback. */
function addressOf(host: string, port: number, reachable = true): string {
  const name = reachable && host === "0.0.0.0" ? "127.0.0.1" : reachable && host === "::" ? "::1" : host;
  return hostPort(name, port);
}

function planListeners(config: Config, front: FrontName, port: number, log: Logger): ListenerPlan[] {
  const listeners: ListenerPlan[] = [{ front, port, reusePort: config.frontWorkers > 1 }];
  if (config.fanoutPort !== 0) {
    if (!loadsUws())
      throw new BootFault(`--fanout-port needs the uws front, which Node ${process.version} cannot load`);
    const { ciphers, minVersion, named } = config.tls;
    if (ciphers !== "" || minVersion !== "TLSv1.2" || named.length > 0) {
      log.warn({ port: config.fanoutPort }, "The fan-out port keeps the defaults of TLS, and has one certificate");
    }
    listeners.push({ front: "uws", port: config.fanoutPort, reusePort: true });
  }
  return listeners;
}

/** How many fronts serve: those on Node's own server are one where threads cannot open the same port. */
function frontWorkersOf({ frontWorkers }: Config, front: FrontName, log: Logger): number {
  if (front === "uws" || frontWorkers === 1 || canReusePort()) return frontWorkers;
  log.warn({ frontWorkers }, "One node front serves: several need Linux and Node 22.12 or later");
  return 1;
}

function chooseFront(config: Config, log: Logger): FrontName {
  const { front: asked } = config;
  if (asked === "node") return "node";
  const flag = nodeFrontFlag(config);
  if (flag !== undefined) {
    if (asked === "uws") throw new BootFault(`${flag} needs --front=node`);
    log.info({ front: "node", because: flag }, "The node front serves, which is slower than uws");
    return "node";
  }
  if (loadsUws()) return "uws";
  if (asked === "uws")
    throw new BootFault(`--front=uws: Node ${process.version} has no build that loads here; Node 22 has`);
  return "node";
}

/** What an operator asks first of a log: what runs, where, and with how many threads. */
function logStart(log: Logger, config: Config): void {
  const { gitVersion } = JSON.parse(versionDocument()) as { readonly gitVersion: string };
  const { identity, frontWorkers, poolWorkers, dataDir, storageBackend, etcd } = config;
  const data = etcd.servers.length === 0 ? dataDir : etcd.servers.join(",");
  const version = programVersion();
  const about = { version, release: gitVersion, identity, frontWorkers, poolWorkers, storage: storageBackend, data };
  log.info({ ...about, node: process.version, pid: process.pid }, "The server has started");
  if (poolWorkers === 0) log.warn({}, "Large writes and answers hold up the front that serves them: --pool-workers=0");
}

/** One line: the runtime, and what serves. */
function runtimeLine(listeners: readonly ListenerPlan[]): string {
  const serves = listeners.some(({ front }) => front === "uws") ? `, uWebSockets.js ${uwsVersion()}` : "";
  return `runtime: Node ${process.version}, ${listeners.map(({ front }) => `${front} front`).join(" and ")}${serves}\n`;
}

/** Asks /readyz as a client does, until it says 200. */
async function untilReady(url: string, { ca, adminToken }: Credentials): Promise<void> {
  const headers = { authorization: `Bearer ${adminToken}` };
  // The certificate of the operator may name other hosts than the loopback this asks on.
  const options = { ca, headers, agent: false, checkServerIdentity: () => undefined };
  for (;;) {
    const code = await new Promise<number>((resolve) => {
      const asked = request(`${url}/readyz`, { ...options, rejectUnauthorized: false }, (answer) => {
        answer.resume();
        resolve(answer.statusCode ?? 0);
      });
      asked.on("error", () => resolve(0));
      asked.end();
    });
    if (code === 200) return;
    await new Promise((resolve) => setTimeout(resolve, limits.readyLookMs));
  }
}

/**
 * Calls `down` at the first SIGTERM, SIGINT or SIGHUP; a later one ends the process at once. What comes soon after the
 * first is the same one: a terminal, or a service manager, sends it to all processes of a command, and `npm` and
 * scripts/start.mjs pass theirs on.
 */
function onSignals(fronts: Fronts, down: (signal: string) => Promise<void>): void {
  let firstMs: number | undefined;
  const take = (signal: string): void => {
    const nowMs = performance.now();
    if (firstMs === undefined) {
      firstMs = nowMs;
      down(signal).catch((error: unknown) => end(`shutdown failed: ${String(error)}`, fronts));
    } else if (nowMs - firstMs > limits.signalRepeatMs) void fronts.close().then(() => exitNow(1));
  };
  process.on("SIGTERM", take);
  process.on("SIGINT", take);
  process.on("SIGHUP", take);
}

/** Ends a server that cannot go on: what the store thread held of the log, or the fronts, are gone. */
async function end(message: string, fronts: Fronts | undefined): Promise<never> {
  await fronts?.close();
  die(message, 2);
}

/** What ends with the server. */
interface Running {
  readonly threads: Fronts;
  readonly store: StoreThread;
  readonly audit: AuditThread | undefined;
  readonly spans: SpanExporter | undefined;
}

/** Not ready, delay, no more connections, drain, store; then exit 0. */
async function shutDown(
  config: Config,
  { threads: fronts, store, audit, spans }: Running,
  log: Logger,
  signal: string,
): Promise<void> {
  log.info({ signal, delayMs: config.shutdownDelayMs }, "The server shuts down");
  fronts.shutdown();
  await new Promise((resolve) => setTimeout(resolve, config.shutdownDelayMs));
  await fronts.drain(limits.drainMsMax);
  const ended = await audit?.close();
  await store.close();
  // The store thread's last spans are among them.
  await spans?.close();
  log.info({ uptimeSeconds: Math.round(process.uptime()) }, "The server has ended");
  // An orderly exit would wait for the thread that hangs.
  if (ended === false) process.kill(process.pid, "SIGKILL");
  exitNow(0);
}
