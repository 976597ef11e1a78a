// What a front answers from: views of the logs, the store's client, the handler, and what it is counted and logged by.
import { closeAdmission } from "../admission/table.ts";
import { Extensions } from "../aggregation/extensions.ts";
import { identities } from "../api/identity.ts";
import { Registry as ResourceRegistry } from "../api/registry.ts";
import type { Resource } from "../api/scheme.ts";
import { Auditor, auditFamilies } from "../audit/auditor.ts";
import { droppedFamily } from "../audit/destination.ts";
import { Outlet, type Pressure } from "../audit/outlet.ts";
import { parsePolicy } from "../audit/policy.ts";
import { countAuthn } from "../authn/events.ts";
import { type Authentication, createAuthentication } from "../authn/table.ts";
import { createAuthorization } from "../authz/table.ts";
import { assert } from "../base/assert.ts";
import { systemClock } from "../base/clock.ts";
import { hostPort } from "../base/network.ts";
import { Fanout } from "../cache/fanout/fanout.ts";
import { Objects } from "../cache/view/objects.ts";
import { type OpenViews, openViews } from "../cache/view/views.ts";
import type { Config } from "../config/config.ts";
import { checkedBefore } from "../config/filecheck.ts";
import { limits } from "../config/limits.ts";
import type { Shedding } from "../flowcontrol/shedding.ts";
import { Openings } from "../http/openings.ts";
import { parseRanges, rangeText, type ServiceRanges } from "../kinds/ranges.ts";
import { admissionMeter } from "../observe/admission.ts";
import { type AllocationMeter, allocationMeter, showRanges } from "../observe/allocations.ts";
import { clientsShown, type FrontDetail, FrontNotes } from "../observe/console/detail.ts";
import type { Gathered, GatheredPage } from "../observe/gathered.ts";
import { answerHealth, type BootStep, type Check, createChecks } from "../observe/health.ts";
import { createLog, type Logger, levelOf } from "../observe/log.ts";
import { type Family, Registry } from "../observe/metrics.ts";
import { openApiMeter } from "../observe/openapi.ts";
import { createObserver, type Observer } from "../observe/requests.ts";
import type { Tracer } from "../observe/spans.ts";
import type { Pool } from "../pool/pool.ts";
import type { Page, Server, ServerParts } from "../request/call/context.ts";
import { createBounds, Inflight } from "../request/call/holdings.ts";
import { rangeFigures } from "../request/commit/serviceallocations.ts";
import type { Handler } from "../request/exchange/transport.ts";
import { createHandler } from "../request/handle.ts";
import { warmUp } from "../request/list/warmup.ts";
import { newestOf } from "../request/read/freshness.ts";
import type { ReadInput } from "../request/read/read.ts";
import { followApiServices } from "../request/route/apiservices.ts";
import { followDefinitions } from "../request/route/definitions.ts";
import { prefixLabels, registerWatchMetrics } from "../request/watch/watchmetrics.ts";
import { Merges } from "../request/write/offload.ts";
import { createWriteServices } from "../request/write/services.ts";
import type { StoreClient } from "../storage/client.ts";
import { KmsHealth } from "../storage/encryption/kmsprobe.ts";
import { PortClient } from "../storage/port.ts";
import { engineOf } from "../storage/table.ts";
import { advertisedAddress } from "./advertise.ts";
import { Beats } from "./beats.ts";
import { Controllers } from "./controllers.ts";
import { countConnections, countFront, countPool, forgetKinds } from "./count.ts";
import type { KmsChecks } from "./encryptionfile.ts";
import { type FlowMessage, type FrontFlow, openFlow } from "./flow/front.ts";
import { openRefusals, openShedding } from "./flow/shedding.ts";
import type { Collected, FromFront, FrontData } from "./messages.ts";
import { openPool } from "./pool.ts";
import { schemeOf } from "./scheme.ts";
import { openAuthorities } from "./signing.ts";
import { Started } from "./started.ts";
import { TimedStore } from "./timedstore.ts";
import { openTracer } from "./tracing/tracing.ts";
import { versionDocument } from "./version.ts";

/** One front's server, as the thread that runs it sees it. */
export interface FrontServer {
  readonly handle: Handler;
  /** The connections of all its listeners. */
  readonly openings: Openings;
  /** All listeners are open: what is done while the thread rests may begin. */
  listening(): void;
  /** The server is going down: /readyz says so from now on. */
  shutdown(): void;
  /** Changes that wait for the store. */
  queued(): number;
  /** Logs and counts a fault outside of any request. */
  fault(error: unknown): void;
  /** What main tells of flow control. */
  flowTold(message: FlowMessage): void;
  /** Ends watches in the order they began, at most `perSecond`, each with a last bookmark. */
  endWatches(perSecond: number): Promise<void>;
  /** Metrics of this thread; `detailed`: and what it keeps for the console. */
  collect(detailed: boolean): Collected;
  /** Counts a handshake that failed. */
  handshakeFailed(): void;
  /** Logs at this level from now on. */
  logAt(level: string): void;
  /** Main took the spans that were sent. */
  spansTaken(): void;
  /** Looks at the files of certificates again, the listeners' (`faults` is what came of these) and its own. */
  reload(faults: readonly string[]): void;
  /** A page about all threads, which it asked main for. */
  gathered(id: number, answer: Gathered): void;
  close(): void;
}

/** Opens everything. `tell` is how it asks main for something. */
export async function openServer(data: FrontData, tell: (message: FromFront) => void): Promise<FrontServer> {
  // A controller's few milliseconds are a waking of its thread less for most commits of a busy server.
  const paceMs = data.controls ? limits.controllersPaceMs : 0;
  const views = await openViews({ control: data.control, port: data.logPort, paceMs });
  const server = new OpenServer(data, views, tell);
  // Usually done before a client can ask; a store that takes no writes still serves reads, and /readyz says no.
  await Promise.race([server.started, new Promise((resolve) => setTimeout(resolve, limits.bootstrapMsMax).unref())]);
  return server;
}

class OpenServer implements FrontServer {
  readonly handle: Handler;
  readonly openings: Openings;
  /** What the server starts with exists. */
  readonly started: Promise<void> = Promise.resolve();
  readonly #data: FrontData;
  readonly #server: Server;
  readonly #views: OpenViews;
  readonly #client: PortClient;
  readonly #fanout: Fanout;
  readonly #registry = new Registry();
  readonly #tell: (message: FromFront) => void;
  /** Scrapes that wait for the other threads, by number. */
  readonly #scrapes = new Map<number, (answer: Gathered) => void>();
  readonly #flow: FrontFlow | undefined;
  readonly #shedding: Shedding | undefined;
  readonly #log: Logger;
  readonly #observer: Observer;
  /** What the console shows of requests. */
  readonly #notes: FrontNotes;
  readonly #authn: Authentication;
  /** Undefined: nothing is traced. */
  readonly #tracer: Tracer | undefined;
  /** Undefined where no front can see them. */
  readonly #handshakes: Family | undefined;
  #controllers: Controllers | undefined;
  readonly #objects: Objects;
  readonly #pool: Pool;
  readonly #scheme: ResourceRegistry;
  readonly #outlet: Outlet | undefined;
  readonly #steps: Started;
  #stopWarmUp: () => void = () => undefined;
  #probing: Promise<string | undefined> | undefined;
  #scrape = 0;
  #shuttingDown = false;

  constructor(data: FrontData, views: OpenViews, tell: (message: FromFront) => void) {
    this.#data = data;
    this.#views = views;
    this.#tell = tell;
    this.#log = createLog(data.config.logLevel, data.name, data.config.logFormat);
    this.#notes = new FrontNotes(data.name, () => systemClock.monotonic());
    this.#observer = noting(createObserver(this.#registry, this.#log, data.config.release), this.#notes);
    const failed = (error: unknown): void => this.#observer.fault("", error);
    this.#fanout = new Fanout({ lifeMsMin: data.config.minRequestTimeoutSeconds * 1000, failed });
    this.#fanout.start();
    const store = new PortClient(data.storePort, limits, data.store);
    this.#client = store;
    // What the controllers' thread does is no client's request.
    if (!data.controls) this.#shedding = openShedding(data.config.shedLagMs, this.#registry, this.#log);
    const looked = (lagMs: number): void => this.#shedding?.looked(lagMs);
    countFront(this.#registry, data.name, this.#fanout, () => store.queued, looked);
    this.openings = new Openings(data.connectionsMax);
    countConnections(this.#registry, data.name, this.openings);
    if (data.listeners.some(({ front }) => front === "node")) {
      const help = "Connections whose TLS handshake failed.";
      this.#handshakes = this.#registry.counter("apiserver_tls_handshake_errors_total", help);
    }
    const { runtimeConfig, gates, release } = data.config;
    this.#scheme = new ResourceRegistry(schemeOf(data.config));
    this.#objects = new Objects(this.#scheme, views);
    followDefinitions(this.#scheme, this.#objects);
    followApiServices(this.#scheme, this.#objects);
    this.#pool = openPool(
      { identity: data.config.identity, runtimeConfig, gates, release },
      { threadsMax: data.config.poolWorkers },
    );
    countPool(this.#registry, data.name, this.#pool);
    this.#outlet = openOutlet(data, this.#registry);
    this.#steps = new Started({
      memory: data.started,
      scheme: this.#scheme,
      views,
      objects: this.#objects,
      published: () => this.#authn.published(),
    });
    this.#flow = openFlow(data, this.#registry, this.#scheme, this.#objects, tell);
    this.#tracer = openTracer(data.config, data.name, this.#registry, tell);
    const server = this.#open(store);
    this.#server = server;
    this.#authn = server.authn;
    this.handle = createHandler(server);
    registerWatchMetrics(this.#registry, this.#fanout, server.scheme);
    forgetKinds(this.#registry, this.#scheme);
    if (data.controls) {
      const engine = engineOf(data.config.storageBackend);
      const eventTtlMs = engine.endsObjects === true ? 0 : data.config.eventTtlMs;
      const { controllers: running, endpointsPerSliceMax, nodes, signing } = data.config;
      const { authority, holder, config, serverAddress } = data;
      const address = { ip: advertisedAddress(config), port: portOf(serverAddress) };
      const clusterAddress = address.ip === undefined ? serverAddress : hostPort(address.ip, address.port);
      const { endpointReconciler } = config;
      const kept = { eventTtlMs, endpointsPerSliceMax, nodes, authority, address, endpointReconciler, clusterAddress };
      const common = { running, ...kept, holder, registry: this.#registry };
      const signs = { authorities: openAuthorities(config), lifeMsMax: signing.lifeMsMax, pool: this.#pool };
      const options = {
        ...common,
        alone: !engine.isShared,
        onStep: (step: BootStep) => this.#steps.mark(step),
        signing: signs,
      };
      this.#controllers = new Controllers(server, this.#log, options);
      this.started = this.#controllers.start();
    }
  }

  #open(client: StoreClient): Server {
    const { config, serverAddress, authn: material } = this.#data;
    const scheme = this.#scheme;
    const { identity } = scheme;
    const objects = this.#objects;
    const ranges = parseRanges(config.serviceAddressRanges, config.servicePortRange);
    assert(typeof ranges !== "string", "Main checked the ranges");
    const from = {
      config: config.authn,
      material,
      identity,
      objects,
      clock: systemClock,
      serverAddress,
      events: countAuthn(this.#registry, identity),
      newest: newestOf(client),
    };
    const parts: ServerParts = {
      identity,
      scheme,
      views: this.#views,
      fanout: this.#fanout,
      store: new TimedStore(client, systemClock, this.#registry, scheme),
      clock: systemClock,
      observer: this.#observer,
      tracer: this.#tracer,
      inflight: new Inflight(share(config.requestsInflightMax, config), share(config.mutatingInflightMax, config)),
      flow: this.#flow?.parts,
      shedding: this.#shedding,
      refusals: openRefusals(this.#registry),
      ends: config.goawayChance > 0 ? () => Math.random() < config.goawayChance : undefined,
      bounds: createBounds({ connections: this.#data.connectionsMax }),
      requestMsMax: config.requestTimeoutMs,
      authn: createAuthentication(from),
      ...createAuthorization({
        identity,
        objects,
        clock: systemClock,
        config: config.authorization,
        files: this.#data.authz,
      }),
      objects,
      extensions: new Extensions(
        {
          config: config.aggregation,
          users: config.authn.requestHeader,
          clock: systemClock,
          connections: this.#data.connectionsMax,
          lend: () => this.openings.lend(),
          refused: (about) => this.#log.warn(about, "A document of an extension server is not used"),
          meter: openApiMeter(this.#registry),
        },
        objects,
      ),
      admission: config.admission,
      meter: admissionMeter(this.#registry, systemClock),
      merges: new Merges(this.#pool, identity, systemClock),
      audit: this.#auditor(),
      ranges,
      allocations: this.#allocations(ranges),
      serverAddress,
      health: this.#health(),
      gathered: (page, gzip) => this.#gather(page, gzip),
      setVerbosity: (verbosity) => this.#tell({ kind: "level", level: levelOf(verbosity, config.quietLogLevel) }),
      version: versionDocument(),
    };
    return { ...parts, writers: createWriteServices(parts) };
  }

  listening(): void {
    if (this.#data.controls) return;
    const { resources, identity } = this.#scheme;
    const input = (resource: Resource): ReadInput | undefined => {
      const view = this.#views.find(resource.prefix ?? "");
      return view && { resource, identity, view, namespace: "", aborted: () => false };
    };
    const failed = (error: unknown): void => this.#log.warn({ err: error }, "What is stored could not be listed ahead");
    this.#stopWarmUp = warmUp({ resources, input }, failed);
  }

  /** Counts addresses of services; what ranges hold, the controllers' thread shows. */
  #allocations(ranges: ServiceRanges): AllocationMeter {
    if (this.#data.controls) showRanges(this.#registry, () => rangeFigures(this.#views, ranges));
    return allocationMeter(this.#registry, ranges.addresses.map(rangeText));
  }

  #auditor(): Auditor | undefined {
    const families = auditFamilies(this.#registry);
    const { audit, config } = this.#data;
    const outlet = this.#outlet;
    if (audit === undefined || outlet === undefined) return undefined;
    const identity = identities[config.identity];
    const policy = parsePolicy(audit.policy, checkedBefore);
    assert(typeof policy !== "string", "Main checked the audit policy");
    return new Auditor({ policy, outlet, identity, clock: systemClock, families });
  }

  #health(): Server["health"] {
    const { beats: memory, config, startedMs } = this.#data;
    const beats = new Beats(memory);
    const checks = createChecks({
      storage: () => this.#probe(),
      hung: () => beats.hung(),
      // Views were filled before this front listened.
      synced: () => true,
      done: (step) => this.#steps.has(step),
      unregistered: () => this.#steps.unregistered(),
      shuttingDown: () => this.#shuttingDown,
      kms: kmsChecks(this.#data.kms),
    });
    return (path, verbose, exclude): Promise<Page> | undefined => {
      const inGrace = systemClock.now() - startedMs < config.livezGraceMs;
      const answer = answerHealth(checks, path, { verbose, exclude, inGrace });
      return answer?.then((page) => ({ ...page, contentType: "text/plain; charset=utf-8" }));
    };
  }

  /**
   * A round trip to the store thread, one for all who ask at the same time: a disk that hangs holds it up. A store that
   * others share has to say what its newest revision is.
   */
  #probe(): Promise<string | undefined> {
    const { recent } = this.#client;
    const msMax = recent === undefined ? limits.storeProbeMsMax : this.#data.config.etcd.healthMs;
    this.#probing ??= new Promise<string | undefined>((resolve) => {
      const timer = setTimeout(resolve, msMax, `the store has not answered for ${msMax} ms`);
      const asked = recent === undefined ? this.#client.probe() : recent(msMax);
      asked.then(
        () => resolve(undefined),
        (error: Error) => resolve(error.message),
      );
      timer.unref();
    }).finally(() => {
      this.#probing = undefined;
    });
    return this.#probing;
  }

  #gather(page: GatheredPage, gzip: boolean): Promise<Gathered> {
    const id = ++this.#scrape;
    return new Promise((resolve) => {
      this.#scrapes.set(id, resolve);
      this.#tell({ kind: "gather", id, page, gzip });
    });
  }

  gathered(id: number, answer: Gathered): void {
    this.#scrapes.get(id)?.(answer);
    this.#scrapes.delete(id);
  }

  spansTaken(): void {
    this.#tracer?.taken();
  }

  handshakeFailed(): void {
    this.#handshakes?.add("");
  }

  reload(faults: readonly string[]): void {
    const own = [this.#server.extensions.credentials.reload(), ...(this.#controllers?.reload() ?? [])];
    for (const fault of [...faults, ...this.#authn.reload(), ...own.filter((text) => text !== undefined)])
      this.#log.warn({ fault }, "Certificates stay as they were");
    this.#controllers?.publish();
  }

  logAt(level: string): void {
    this.#log.level = level;
  }

  collect(detailed: boolean): Collected {
    const families = this.#registry.snapshot();
    return detailed && !this.#data.controls ? { families, detail: this.#detail() } : { families };
  }

  #detail(): FrontDetail {
    const names = prefixLabels(this.#scheme);
    const late = this.#fanout.late(limits.consoleWatchersMax);
    const thread = this.#data.name;
    const slow = late.map(({ prefix, ...rest }) => ({
      ...rest,
      thread,
      resource: names.get(prefix)?.resource ?? prefix,
    }));
    return this.#notes.detail(this.#server.bounds.watches.watches.top(clientsShown), slow);
  }

  shutdown(): void {
    this.#shuttingDown = true;
    this.#stopWarmUp();
  }

  queued(): number {
    return this.#client.queued;
  }

  fault(error: unknown): void {
    this.#observer.fault("", error);
  }

  flowTold(message: FlowMessage): void {
    this.#flow?.told(message);
  }

  async endWatches(perSecond: number): Promise<void> {
    const { backends } = this.#server.extensions;
    const watches = [this.#fanout.closeAll(perSecond), backends.endLasting(perSecond)];
    await Promise.all([this.#controllers?.stop(), ...watches]);
  }

  close(): void {
    this.#stopWarmUp();
    this.#flow?.close();
    void this.#controllers?.stop();
    this.#outlet?.close();
    this.#server.extensions.backends.close();
    this.#fanout.stop();
    this.#tracer?.close();
    void this.#pool.close();
    closeAdmission(this.#server.writers.admission);
    this.#views.close();
    this.#data.storePort.close();
  }
}

/** An observer that takes notes for the console as well. */
function noting(observer: Observer, notes: FrontNotes): Observer {
  return {
    ...observer,
    finished: (kind, record) => {
      observer.finished(kind, record);
      notes.finished(kind, record, systemClock.now());
    },
  };
}

/** Health checks of KMS plugins: what the store thread says of them. */
function kmsChecks(kms: KmsChecks | undefined): Check[] {
  if (kms === undefined) return [];
  const health = new KmsHealth(kms.memory);
  const failure = (check: number) => (): string | undefined =>
    health.passes(check) ? undefined : "a KMS plugin does not work; the log says why";
  return kms.names.map((name, check) => ({ name, failure: failure(check) }));
}

/** The port of `host:port`. */
function portOf(address: string): number {
  return Number(address.slice(address.lastIndexOf(":") + 1));
}

/** One front's share of a limit of the server; 0 stays no limit. */
function share(max: number, config: Config): number {
  return Math.ceil(max / config.frontWorkers);
}

/** The way of this front's audit events; undefined: nothing is audited. */
function openOutlet({ audit, config }: FrontData, registry: Registry): Outlet | undefined {
  if (audit === undefined) return undefined;
  const modes = [config.audit?.log?.mode, config.audit?.webhook?.mode];
  const strict = modes.includes("blocking-strict");
  const pressure: Pressure = strict ? "stores" : modes.includes("blocking") ? "waits" : "drops";
  const dropped = droppedFamily(registry);
  return new Outlet(audit.port, pressure, (events) => dropped.add("", events));
}
