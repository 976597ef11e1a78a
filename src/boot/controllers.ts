// What the server does on its own behalf, on its first front: the namespaces, classes, roles and bindings it starts
// with, and the controllers, one row each in the table.
import { isStatus } from "../api/status.ts";
import type { controllerNames } from "../config/config.ts";
import { AccountTokenController } from "../controllers/accounttokens.ts";
import { AddressRepair } from "../controllers/addresses.ts";
import { AggregationController } from "../controllers/aggregation.ts";
import { publishAuthentication } from "../controllers/authentication.ts";
import { bootstrapNamespaces, bootstrapPriorityClasses } from "../controllers/bootstrap.ts";
import { CompanionController, defaultAccount, rootCaConfigMap } from "../controllers/companions.ts";
import { EventExpirer } from "../controllers/events.ts";
import { NamespaceController } from "../controllers/namespace.ts";
import type { Report } from "../controllers/passes.ts";
import { QuotaController } from "../controllers/quota.ts";
import { bootstrapPolicy } from "../controllers/rbacpolicy.ts";
import { TokenCleaner } from "../controllers/tokencleaner.ts";
import type { Logger } from "../observe/log.ts";
import type { Server } from "../request/context.ts";
import type { Writers } from "../request/persist.ts";
import { writersOf } from "../request/writeresource.ts";

/** Pause before a start that was refused is tried again, in milliseconds. */
const retryMs = 1000;

/** What controllers are made of. */
interface Parts {
  readonly server: Server;
  readonly writers: Writers;
  readonly log: Logger;
  readonly report: Report;
  readonly eventTtlMs: number;
  /** PEM that pods verify this server by. */
  readonly authority: string;
}

/** Works between the two calls. */
interface Controller {
  start(): void;
  stop(): void;
}

interface Entry {
  /** What `--controllers` calls it; undefined: it runs in any case. */
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
  { name: "tokencleaner", make: ({ writers, report }) => new TokenCleaner(writers, report) },
];

/** The running controllers. */
export class Controllers {
  readonly #controllers: readonly Controller[];
  readonly #server: Server;
  readonly #log: Logger;
  #stopped = false;

  /**
   * `running` names those to run; what a server starts with is made in any case. `authority`: PEM that pods verify
   * this server by.
   */
  constructor(server: Server, log: Logger, running: readonly string[], eventTtlMs: number, authority: string) {
    this.#server = server;
    this.#log = log;
    const parts = { server, writers: writersOf(server), log, report: reportTo(log), eventTtlMs, authority };
    this.#controllers = table
      .filter(({ name }) => name === undefined || running.includes(name))
      .flatMap(({ make }) => make(parts) ?? []);
  }

  /** Resolves when the namespaces, roles and bindings of the start exist. */
  async start(): Promise<void> {
    for (const controller of this.#controllers) controller.start();
    const writers = writersOf(this.#server);
    while (!this.#stopped) {
      const refused =
        (await bootstrapPriorityClasses(writers)) ??
        (await bootstrapNamespaces(writers)) ??
        (await bootstrapPolicy(writers, this.#server.objects, () => this.#stopped)) ??
        (await publishAuthentication(writers, this.#server.authn.published()));
      if (refused === undefined) return;
      this.#log.warn({ status: refused.message }, "What a server starts with cannot be created");
      await new Promise((resolve) => setTimeout(resolve, retryMs));
    }
  }

  /** Tells other servers of authorities that changed. */
  async publish(): Promise<void> {
    const refused = await publishAuthentication(writersOf(this.#server), this.#server.authn.published());
    if (refused !== undefined) this.#log.warn({ status: refused.message }, "Authorities cannot be published");
  }

  stop(): void {
    this.#stopped = true;
    for (const controller of this.#controllers) controller.stop();
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
