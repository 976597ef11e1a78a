// What the server does on its own behalf, on a thread of its own: the namespaces, classes, roles and bindings it starts
// with, and the controllers, one row each in the table, while it holds their lease.
import { isStatus } from "../api/status.ts";
import type { controllerNames } from "../config/config.ts";
import { AccountTokenController } from "../controllers/accounttokens.ts";
import { AddressRepair } from "../controllers/addresses.ts";
import { AggregationController } from "../controllers/aggregation.ts";
import { publishAuthentication } from "../controllers/authentication.ts";
import { bootstrapNamespaces, bootstrapPriorityClasses } from "../controllers/bootstrap.ts";
import { EventExpirer } from "../controllers/events.ts";
import { Lease, type LeaseTimes } from "../controllers/lease.ts";
import { NamespaceController } from "../controllers/namespace.ts";
import { CompanionController, defaultAccount, rootCaConfigMap } from "../controllers/namespacedefaults.ts";
import { type OwnAddress, OwnService } from "../controllers/ownservice.ts";
import { QuotaController } from "../controllers/quota.ts";
import { bootstrapPolicy } from "../controllers/rbacpolicy.ts";
import type { Report } from "../controllers/reconciler.ts";
import { TokenCleaner } from "../controllers/tokencleaner.ts";
import type { Logger } from "../observe/log.ts";
import type { Server } from "../request/call/context.ts";
import type { WriteServices } from "../request/commit/writerequest.ts";

/** Pause before a start that was refused is tried again, in milliseconds. */
const retryMs = 1000;

/** The lease all controllers run under. No controller manager of others has one of this name. */
export const leaseName = "apiserver-controllers";

/** What controllers are told. */
export interface ControllersOptions {
  /** Names of those to run; what a server starts with is made in any case. */
  readonly running: readonly string[];
  readonly eventTtlMs: number;
  /** PEM that pods verify this server by. */
  readonly authority: string;
  /** Where the server is. */
  readonly address: OwnAddress;
  /** Names this process among all that ever served this store. */
  readonly holder: string;
  /** No other process writes to the store. Every engine there is makes sure of that. */
  readonly alone: boolean;
  readonly times?: LeaseTimes;
}

/** What controllers are made of. */
interface Parts extends Pick<ControllersOptions, "eventTtlMs" | "authority" | "address"> {
  readonly server: Server;
  readonly writers: WriteServices;
  readonly log: Logger;
  readonly report: Report;
}

/** Works between the two calls. */
interface Controller {
  start(): void;
  stop(): void;
}

interface Entry {
  /** What `--controllers` calls it; undefined: it runs in any case, on every server. */
  readonly name: (typeof controllerNames)[number] | undefined;
  /** Undefined: what it looks after is not served. */
  make(parts: Parts): Controller | undefined;
}

/** Every controller, in the order they start in. */
const table: readonly Entry[] = [
  { name: undefined, make: addressRepair },
  { name: "eventttl", make: ({ writers, eventTtlMs }) => new EventExpirer(writers, eventTtlMs) },
  { name: "namespace", make: ({ writers, report }) => new NamespaceController(writers, report) },
  { name: "resourcequota", make: ({ server, report }) => new QuotaController(server, report) },
  { name: "clusterrole-aggregation", make: ({ server, report }) => new AggregationController(server, report) },
  {
    name: "serviceaccount",
    make: ({ writers, report }) => new CompanionController(writers, defaultAccount(writers), report),
  },
  {
    name: "root-ca-cert-publisher",
    make: ({ writers, authority, report }) =>
      new CompanionController(writers, rootCaConfigMap(writers, authority), report),
  },
  {
    name: "serviceaccount-token",
    make: ({ server, authority, report }) => new AccountTokenController(server, authority, report),
  },
  { name: "own-service", make: ({ writers, address, report }) => new OwnService(writers, address, report) },
  { name: "tokencleaner", make: ({ writers, report }) => new TokenCleaner(writers, report) },
];

/** The running controllers. */
export class Controllers {
  /** Those that run in any case. */
  readonly #everywhere: readonly Controller[];
  /** While the lease is held. */
  #elected: readonly Controller[] = [];
  readonly #server: Server;
  readonly #log: Logger;
  readonly #options: ControllersOptions;
  readonly #lease: Lease;
  #stopped = false;

  constructor(server: Server, log: Logger, options: ControllersOptions) {
    this.#server = server;
    this.#log = log;
    this.#options = options;
    this.#everywhere = this.#make(({ name }) => name === undefined);
    this.#lease = new Lease(server.writers, {
      ...options,
      name: leaseName,
      report: reportTo(log),
      onHeld: () => this.#run(),
      onLost: () => this.#end(),
    });
  }

  /** Resolves when the namespaces, roles and bindings of the start exist. */
  async start(): Promise<void> {
    for (const controller of this.#everywhere) controller.start();
    const { writers } = this.#server;
    while (!this.#stopped) {
      const missing = (await bootstrapPriorityClasses(writers)) ?? (await bootstrapNamespaces(writers));
      // It needs a namespace to be in; where that cannot be made, it says so itself. Without controllers nothing is held.
      if (this.#options.running.length > 0) this.#lease.start();
      const refused =
        missing ??
        (await bootstrapPolicy(writers, this.#server.objects, () => this.#stopped)) ??
        (await publishAuthentication(writers, this.#server.authn.published()));
      if (refused === undefined) return;
      this.#log.warn({ status: refused.message }, "What a server starts with cannot be created");
      await new Promise((resolve) => setTimeout(resolve, retryMs));
    }
  }

  /** Tells other servers of authorities that changed. */
  async publish(): Promise<void> {
    const refused = await publishAuthentication(this.#server.writers, this.#server.authn.published());
    if (refused !== undefined) this.#log.warn({ status: refused.message }, "Authorities cannot be published");
  }

  /** Resolves when others may take over. */
  stop(): Promise<void> {
    this.#stopped = true;
    for (const controller of this.#everywhere) controller.stop();
    return this.#lease.stop();
  }

  #run(): void {
    const { running } = this.#options;
    this.#elected = this.#make(({ name }) => name !== undefined && running.includes(name));
    for (const controller of this.#elected) controller.start();
  }

  #end(): void {
    for (const controller of this.#elected) controller.stop();
    this.#elected = [];
  }

  #make(wanted: (entry: Entry) => boolean): Controller[] {
    const [server, log] = [this.#server, this.#log];
    const parts = { ...this.#options, server, writers: server.writers, log, report: reportTo(log) };
    return table.filter(wanted).flatMap(({ make }) => make(parts) ?? []);
  }
}

function addressRepair({ server, writers, log }: Parts): AddressRepair | undefined {
  const services = server.scheme.find("", "v1", "services");
  if (services === undefined) return undefined;
  return new AddressRepair(writers, services, (message, about) => log.warn(about, message));
}

function reportTo(log: Logger): Report {
  return (message, cause) => log.warn(isStatus(cause) ? { status: cause.message } : { err: cause }, message);
}
