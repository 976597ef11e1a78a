// What the server does on its own behalf, on its first front: the namespaces, classes, roles and bindings it starts
// with, the removal of namespaces that were deleted, and the end of events past their time to live.
import { isStatus } from "../api/status.ts";
import { AccountTokenController } from "../controllers/accounttokens.ts";
import { AddressRepair } from "../controllers/addresses.ts";
import { AggregationController } from "../controllers/aggregation.ts";
import { publishAuthentication } from "../controllers/authentication.ts";
import { bootstrapNamespaces, bootstrapPriorityClasses } from "../controllers/bootstrap.ts";
import { type Companion, CompanionController, defaultAccount, rootCaConfigMap } from "../controllers/companions.ts";
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

/** The running controllers. */
export class Controllers {
  /** Undefined: not to be run. */
  readonly #namespaces: NamespaceController | undefined;
  readonly #events: EventExpirer | undefined;
  readonly #quotas: QuotaController | undefined;
  readonly #aggregation: AggregationController | undefined;
  readonly #companions: readonly CompanionController[];
  readonly #tokens: AccountTokenController | undefined;
  readonly #cleaner: TokenCleaner | undefined;
  readonly #addresses: AddressRepair | undefined;
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
    const services = server.scheme.find("", "v1", "services");
    if (services !== undefined) {
      this.#addresses = new AddressRepair(writersOf(server), services, (message, about) => log.warn(about, message));
    }
    if (running.includes("resourcequota")) {
      this.#quotas = new QuotaController(server, reportTo(log));
    }
    if (running.includes("clusterrole-aggregation")) {
      this.#aggregation = new AggregationController(server, reportTo(log));
    }
    this.#companions = companionsOf(writersOf(server), running, authority).map(
      (companion) => new CompanionController(writersOf(server), companion, reportTo(log)),
    );
    if (running.includes("serviceaccount-token")) {
      this.#tokens = new AccountTokenController(server, authority, reportTo(log));
    }
    if (running.includes("tokencleaner")) this.#cleaner = new TokenCleaner(writersOf(server), reportTo(log));
    if (running.includes("eventttl")) this.#events = new EventExpirer(writersOf(server), eventTtlMs);
    if (!running.includes("namespace")) return;
    this.#namespaces = new NamespaceController(writersOf(server), reportTo(log));
  }

  /** Resolves when the namespaces, roles and bindings of the start exist. */
  async start(): Promise<void> {
    this.#addresses?.start();
    this.#events?.start();
    this.#namespaces?.start();
    this.#quotas?.start();
    this.#aggregation?.start();
    for (const companions of this.#companions) companions.start();
    this.#tokens?.start();
    this.#cleaner?.start();
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
    this.#addresses?.stop();
    this.#events?.stop();
    this.#namespaces?.stop();
    this.#quotas?.stop();
    this.#aggregation?.stop();
    for (const companions of this.#companions) companions.stop();
    this.#tokens?.stop();
    this.#cleaner?.stop();
  }
}

/** What every namespace gets, as far as the controllers of that are to run. */
function companionsOf(writers: Writers, running: readonly string[], authority: string): Companion[] {
  const found: Companion[] = [];
  if (running.includes("serviceaccount")) found.push(defaultAccount(writers));
  if (running.includes("root-ca-cert-publisher")) found.push(rootCaConfigMap(writers, authority));
  return found;
}

function reportTo(log: Logger): Report {
  return (message, cause) => log.warn(isStatus(cause) ? { status: cause.message } : { err: cause }, message);
}
