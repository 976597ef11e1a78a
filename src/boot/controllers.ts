// What the server does on its own behalf, on a thread of its own: the namespaces, classes, roles and bindings it starts
// with, and the controllers, one row each in the table, while it holds their lease.
import { isStatus } from "../api/status.ts";
import { within } from "../base/within.ts";
import type { Config, controllerNames } from "../config/config.ts";
import { limits } from "../config/limits.ts";
import type { NodesConfig } from "../config/nodeflags.ts";
import { AccountTokenController } from "../controllers/accounttokens.ts";
import { AddressRepair } from "../controllers/addresses.ts";
import { AggregationController } from "../controllers/aggregation.ts";
import { RegistrationController } from "../controllers/apiservices.ts";
import { AvailabilityController } from "../controllers/availability.ts";
import { Bootstrap } from "../controllers/bootstrap.ts";
import { BootstrapSigner, clusterKubeconfig } from "../controllers/bootstrapsigner.ts";
import { RequestApprover } from "../controllers/certificates/csrapproving.ts";
import { RequestCleaner } from "../controllers/certificates/csrcleaner.ts";
import { RequestSigner, type Signing } from "../controllers/certificates/csrsigning.ts";
import { ClaimProtection } from "../controllers/claimprotection.ts";
import { DefinitionController } from "../controllers/definitions.ts";
import { EndpointController } from "../controllers/endpoints/endpoints.ts";
import { SliceMirroringController } from "../controllers/endpoints/mirroring.ts";
import { EndpointSliceController } from "../controllers/endpoints/slices.ts";
import { EventExpirer } from "../controllers/events.ts";
import { FinishedJobs } from "../controllers/finishedjobs.ts";
import { FlowObjects } from "../controllers/flowobjects.ts";
import { GarbageCollector } from "../controllers/garbage/collector.ts";
import { Lease, type LeaseTimes } from "../controllers/lease.ts";
import { NamespaceController } from "../controllers/namespace.ts";
import { CompanionController, defaultAccount, rootCaConfigMap } from "../controllers/namespacedefaults.ts";
import { NodeLifecycle } from "../controllers/nodes/lifecycle.ts";
import { type OwnAddress, OwnService } from "../controllers/ownservice.ts";
import { PodGarbage } from "../controllers/podgarbage.ts";
import { QuotaController } from "../controllers/quota.ts";
import {
  type Controller,
  controllersTurn,
  Reconciler,
  type ReconcilerParts,
  type Trouble,
} from "../controllers/reconciler.ts";
import { EventWriter, type Recorders } from "../controllers/recording/eventwriter.ts";
import { ServerLease } from "../controllers/serverleases.ts";
import { findStored } from "../controllers/storedkind.ts";
import { TokenCleaner } from "../controllers/tokencleaner.ts";
import { VolumeProtection } from "../controllers/volumeprotection.ts";
import { apiServicesKind } from "../kinds/apiregistration/apiservice.ts";
import { definitionsKind } from "../kinds/custom/prefix.ts";
import { availabilityMeter } from "../observe/apiservices.ts";
import { type SliceMeter, sliceMeter } from "../observe/endpointslices.ts";
import type { BootStep } from "../observe/health.ts";
import type { Logger } from "../observe/log.ts";
import type { Registry } from "../observe/metrics.ts";
import { type NodeMeter, nodeMeter } from "../observe/nodes.ts";
import { eventMeter } from "../observe/recordedevents.ts";
import { workqueueMeter } from "../observe/workqueues.ts";
import type { Server } from "../request/call/context.ts";
import type { WriteServices } from "../request/commit/writerequest.ts";

/** The lease all controllers run under. No controller manager of others has one of this name. */
export const leaseName = "apiserver-controllers";

/** What controllers are told. */
export interface ControllersOptions {
  /** Names of those to run; what a server starts with is made in any case. */
  readonly running: readonly string[];
  readonly eventTtlMs: number;
  readonly endpointsPerSliceMax: number;
  readonly nodes: NodesConfig;
  /** PEM that pods verify this server by. */
  readonly authority: string;
  /** Where the server is. */
  readonly address: OwnAddress;
  readonly endpointReconciler: Config["endpointReconciler"];
  /** `host:port` that nodes which join are told. */
  readonly clusterAddress: string;
  /** Names this process among all that ever served this store. */
  readonly holder: string;
  /** No other process writes to the store. Every engine there is makes sure of that. */
  readonly alone: boolean;
  readonly times?: LeaseTimes;
  /** What their queues are counted into; once per registry. */
  readonly registry: Registry;
  /** Left out: nothing is signed. */
  readonly signing?: Signing;
  /** Told of steps of the start that are done and leave nothing to look up. */
  readonly onStep?: (step: BootStep) => void;
}

/** What controllers are made of. */
interface Parts
  extends Pick<
    ControllersOptions,
    | "eventTtlMs"
    | "endpointsPerSliceMax"
    | "nodes"
    | "authority"
    | "address"
    | "endpointReconciler"
    | "clusterAddress"
    | "registry"
    | "onStep"
    | "signing"
  > {
  readonly server: Server;
  readonly writers: WriteServices;
  readonly recorders: Recorders;
  readonly nodeMeter: NodeMeter;
  readonly sliceMeter: SliceMeter;
}

interface Entry {
  /** What `--controllers`, the log and the metrics call it. */
  readonly name:
    | (typeof controllerNames)[number]
    | "address-repair"
    | "customresourcedefinition"
    | "apiservice-registration"
    | "apiservice-availability"
    | "priority_and_fairness_config_queue";
  /** It runs in any case, on every server. */
  readonly everywhere?: true;
  /** Undefined: what it looks after is not served. What it follows and what it does about a key stands in its file. */
  make(parts: Parts): Controller | undefined;
}

/** Every controller, in the order they start in. */
const table: readonly Entry[] = [
  { name: "address-repair", everywhere: true, make: addressRepair },
  { name: "customresourcedefinition", everywhere: true, make: definitions },
  { name: "apiservice-registration", everywhere: true, make: registrations },
  { name: "apiservice-availability", everywhere: true, make: availability },
  // By the name upstream's metrics have for it.
  { name: "priority_and_fairness_config_queue", everywhere: true, make: ({ server }) => FlowObjects.open(server) },
  { name: "eventttl", make: ({ writers, eventTtlMs }) => new EventExpirer(writers, eventTtlMs) },
  { name: "namespace", make: ({ server }) => new NamespaceController(server) },
  { name: "resourcequota", make: ({ server }) => new QuotaController(server) },
  { name: "clusterrole-aggregation", make: ({ server }) => new AggregationController(server) },
  { name: "serviceaccount", make: ({ writers }) => new CompanionController(writers, defaultAccount(writers)) },
  {
    name: "root-ca-cert-publisher",
    make: ({ writers, authority }) => new CompanionController(writers, rootCaConfigMap(writers, authority)),
  },
  { name: "serviceaccount-token", make: ({ server, authority }) => new AccountTokenController(server, authority) },
  {
    name: "own-service",
    make: ({ writers, address, endpointReconciler }) => new OwnService(writers, address, endpointReconciler),
  },
  { name: "garbagecollector", make: ({ server, recorders }) => new GarbageCollector(server, recorders) },
  { name: "ttl-after-finished", make: finishedJobs },
  { name: "pvc-protection", make: ({ writers }) => new ClaimProtection(writers) },
  { name: "pv-protection", make: ({ writers }) => new VolumeProtection(writers) },
  { name: "podgc", make: ({ writers }) => new PodGarbage(writers) },
  { name: "endpoint", make: ({ writers, recorders }) => EndpointController.open(writers, recorders) },
  {
    name: "endpointslice",
    make: ({ writers, recorders, endpointsPerSliceMax, sliceMeter: slices }) =>
      EndpointSliceController.open(writers, recorders, endpointsPerSliceMax, slices),
  },
  { name: "endpointslicemirroring", make: ({ writers }) => SliceMirroringController.open(writers) },
  {
    name: "bootstrapsigner",
    make: ({ writers, clusterAddress, authority }) =>
      new BootstrapSigner(writers, clusterKubeconfig(clusterAddress, authority)),
  },
  { name: "tokencleaner", make: ({ writers }) => new TokenCleaner(writers) },
  { name: "csrapproving", make: ({ server }) => RequestApprover.of(server) },
  { name: "csrsigning", make: ({ server, signing }) => signing && RequestSigner.of(server, signing) },
  { name: "csrcleaner", make: ({ server }) => RequestCleaner.of(server) },
  { name: "nodelifecycle", make: nodeLifecycle },
];

/** The running controllers. */
export class Controllers {
  /** Those that run in any case. */
  readonly #everywhere: readonly Reconciler[];
  /** While the lease is held. */
  #elected: readonly Reconciler[] = [];
  readonly #server: Server;
  readonly #meters: Pick<Parts, "nodeMeter" | "sliceMeter">;
  readonly #options: ControllersOptions;
  readonly #reconcilers: ReconcilerParts;
  readonly #events: EventWriter;
  readonly #lease: Lease;
  /** That of this server; undefined: nothing asks for it. */
  readonly #own: ServerLease | undefined;
  readonly #bootstrap: Bootstrap;
  readonly #starting: Reconciler;
  #stopped: Promise<void> | undefined;

  constructor(server: Server, log: Logger, options: ControllersOptions) {
    this.#server = server;
    this.#meters = { nodeMeter: nodeMeter(options.registry), sliceMeter: sliceMeter(options.registry) };
    this.#options = options;
    const parts: ReconcilerParts = {
      clock: server.clock,
      random: Math.random,
      meter: workqueueMeter(options.registry),
      report: (trouble) => tell(log, trouble),
      turn: controllersTurn(),
      tracer: server.tracer,
    };
    this.#reconcilers = parts;
    this.#events = new EventWriter(server.writers, parts, eventMeter(options.registry));
    this.#everywhere = this.#make(({ everywhere }) => everywhere === true);
    if (isKnown(server, options)) {
      const { holder, address } = options;
      const own = { holder, address: address.ip === undefined ? undefined : { ip: address.ip, port: address.port } };
      this.#own = ServerLease.open(server.writers, own, parts);
    }
    const lease = {
      ...options,
      name: leaseName,
      onHeld: () => this.#run(),
      onLost: () => this.#end(),
      record: this.#events.recorder("kube-apiserver"),
    };
    const writers = server.writers;
    this.#lease = new Lease(writers, lease, parts);
    this.#bootstrap = new Bootstrap(writers, {
      objects: server.objects,
      published: () => server.authn.published(),
      // The lease needs a namespace to be in; where that cannot be made, it says so itself. Without controllers nothing is held.
      onNamespaces: () => (options.running.length > 0 ? this.#lease.start() : undefined),
    });
    this.#starting = new Reconciler("bootstrap", this.#bootstrap, parts);
  }

  /** Resolves when the namespaces, roles and bindings of the start exist. */
  start(): Promise<void> {
    for (const reconciler of [...this.#everywhere, this.#starting]) reconciler.start();
    this.#own?.start();
    return this.#bootstrap.done;
  }

  /** Tells other servers of authorities that changed. */
  publish(): void {
    this.#bootstrap.publish(this.#starting);
  }

  /** Reads the files of authorities that sign again; returns an error message for each that stays as it was. */
  reload(): string[] {
    const bundles = new Set(this.#options.signing?.authorities.values());
    return [...bundles].flatMap((bundle) => bundle.reload() ?? []);
  }

  /** Nothing is begun after this. Resolves when others may take over. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    await Promise.all([stopAll([...this.#everywhere, this.#starting]), this.#own?.stop(), this.#lease.stop()]);
    await this.#events.stop();
  }

  #run(): void {
    const { running } = this.#options;
    this.#elected = this.#make(({ name, everywhere }) => everywhere !== true && running.includes(name));
    for (const reconciler of this.#elected) reconciler.start();
  }

  #end(): Promise<void> {
    const elected = this.#elected;
    this.#elected = [];
    this.#events.forget();
    return stopAll(elected);
  }

  #make(wanted: (entry: Entry) => boolean): Reconciler[] {
    const { writers } = this.#server;
    const own = { server: this.#server, writers, recorders: this.#events, ...this.#meters };
    const parts = { ...this.#options, ...own };
    return table.filter(wanted).flatMap(({ name, make }) => {
      const controller = make(parts);
      return controller === undefined ? [] : new Reconciler(name, controller, this.#reconcilers);
    });
  }
}

/** Ends them. Resolves when nothing of theirs is under way, or takes too long. */
async function stopAll(reconcilers: readonly Reconciler[]): Promise<void> {
  await within(Promise.all(reconcilers.map((reconciler) => reconciler.stop())), limits.reconcileEndMs);
}

/** Whether other servers are to know of this one: endpoints list it, or a gate asks for its lease. */
function isKnown({ scheme }: Server, { running, address, endpointReconciler }: ControllersOptions): boolean {
  const isEndpoint = running.includes("own-service") && endpointReconciler === "lease" && address.ip !== undefined;
  return isEndpoint || scheme.gates.has("APIServerIdentity");
}

function addressRepair({ server, writers, recorders }: Parts): AddressRepair | undefined {
  const services = findStored(server, "", "v1", "services");
  return services && new AddressRepair(writers, services, recorders);
}

function definitions({ server, writers }: Parts): DefinitionController | undefined {
  const view = server.objects.view(...definitionsKind);
  return view && new DefinitionController(writers, server.objects);
}

function registrations({ server, onStep }: Parts): RegistrationController | undefined {
  const onListed = (): void => onStep?.("kube-apiserver-autoregistration");
  return server.objects.view(...apiServicesKind) && new RegistrationController(server, onListed);
}

function availability({ server, registry, onStep }: Parts): AvailabilityController | undefined {
  if (server.objects.view(...apiServicesKind) === undefined) return undefined;
  const onListed = (): void => onStep?.("apiservice-status-available-controller");
  return new AvailabilityController(server, { meter: availabilityMeter(registry), onListed });
}

function finishedJobs({ server, writers }: Parts): FinishedJobs | undefined {
  const jobs = findStored(server, "batch", "v1", "jobs");
  return jobs && new FinishedJobs(writers, jobs);
}

function nodeLifecycle({ writers, recorders, nodes, nodeMeter: meter }: Parts): NodeLifecycle {
  return new NodeLifecycle(writers, { config: nodes, meter, recorders });
}

/** The one line of a failure. */
function tell(log: Logger, { message, cause, ...about }: Trouble): void {
  log.warn({ ...about, ...(isStatus(cause) ? { status: cause.message } : { err: cause }) }, message);
}
