// Says in a condition of each APIService whether its group version can be reached, as upstream's availability controller
// does: one that names no service is this server's own; of the others the service, its endpoints and then the extension
// server itself are looked at. That is asked again every 30 s, and when the APIService, its service or the endpoints
// change; a condition is written when it says something else.
import { checkDiscovery } from "../aggregation/discoverycheck.ts";
import type { Extensions } from "../aggregation/extensions.ts";
import { placeOf, type RemoteVersion, remoteVersionOf } from "../aggregation/target.ts";
import type { APIService, APIServiceCondition } from "../api/gen/apiregistration/v1.ts";
import type { Endpoints, Service } from "../api/gen/core/v1.ts";
import { quote } from "../api/gotext.ts";
import type { ApiObject } from "../api/object.ts";
import type { Resource } from "../api/scheme.ts";
import { isStatus } from "../api/status.ts";
import type { Objects } from "../cache/view/objects.ts";
import type { LogView } from "../cache/view/view.ts";
import { limits } from "../config/limits.ts";
import { apiServicesKind, available, conditionOf, localCondition } from "../kinds/apiregistration/apiservice.ts";
import type { AvailabilityMeter } from "../observe/apiservices.ts";
import type { Server } from "../request/call/context.ts";
import { timeText } from "../request/commit/objectstore.ts";
import { Actor } from "./actor.ts";
import { Corrections } from "./corrections.ts";
import type { Controller, Follows, Queue, Result } from "./reconciler.ts";
import { storedKind } from "./storedkind.ts";

type Registered = ApiObject & APIService;

/** A condition without its time. */
type Verdict = Omit<APIServiceCondition, "lastTransitionTime">;

/** What is known of an extension server. */
interface Check {
  /** Where it is, by its APIService. */
  readonly asked: string;
  /** Key of its service. */
  readonly service: string;
  /** Undefined: it was not looked at yet. */
  verdict: Verdict | undefined;
  /** When it was looked at last, and when it is to be looked at again. */
  atMs: number;
  dueMs: number;
  /** Checks in a row that failed. */
  failures: number;
  /** The last one took long. */
  isSlow: boolean;
}

/** What the controller reports to. */
export interface AvailabilityOptions {
  readonly meter: AvailabilityMeter;
  /** Called when all APIServices are being looked at. */
  readonly onListed?: () => void;
}

/** Works on the names of APIServices. Follows their log, and those of services and endpoints. */
export class AvailabilityController implements Controller {
  readonly follows: Follows;
  readonly pace = { workers: limits.availabilityChecksMax };
  readonly #server: Pick<Server, "clock">;
  readonly #objects: Objects;
  readonly #extensions: Extensions;
  readonly #meter: AvailabilityMeter;
  readonly #onListed: () => void;
  readonly #actor: Actor;
  readonly #resource: Resource;
  readonly #view: LogView;
  readonly #corrections = new Corrections();
  readonly #checks = new Map<string, Check>();
  /** Names of APIServices by the key of their service. */
  readonly #byService = new Map<string, Set<string>>();
  /** Checks under way that are expected to take long. */
  #slow = 0;

  /** APIServices are served: see the caller. */
  constructor(
    server: Pick<Server, "scheme" | "objects" | "writers" | "clock" | "extensions">,
    { meter, onListed = () => undefined }: AvailabilityOptions,
  ) {
    const { objects } = server;
    const { resource, view } = storedKind(server.writers, ...apiServicesKind);
    this.#server = server;
    this.#objects = objects;
    this.#extensions = server.extensions;
    this.#meter = meter;
    this.#onListed = onListed;
    this.#actor = new Actor(server.writers, "kube-apiserver");
    this.#resource = resource;
    this.#view = view;
    const backing = ["services", "endpoints"].flatMap((plural) => objects.view("", "v1", plural) ?? []);
    this.follows = [
      [view, (queue, at) => queue.add(view.keyOf(at))],
      ...backing.map((of) => [of, (queue: Queue, at: number) => this.#moved(of.keyOf(at), queue)] as const),
    ];
  }

  async all(queue: Queue): Promise<void> {
    this.#view.drain();
    for (const name of this.#meter.names()) queue.add(name);
    // Changes of services may have been missed, too.
    for (const check of this.#checks.values()) check.dueMs = 0;
    await queue.scan(this.#view, (_at, name) => queue.add(name));
    if (!queue.signal.aborted) this.#onListed();
  }

  /** Brings the condition of one APIService up to date. */
  async work(name: string, { signal }: Queue): Promise<Result> {
    const registered = this.#objects.read<Registered>(...apiServicesKind, "", name);
    const remote = registered && remoteVersionOf(registered);
    if (remote === undefined) this.#drop(name);
    if (registered === undefined) {
      this.#meter.gone(name);
      return undefined;
    }
    if (remote === undefined) return this.#tell(registered, undefined, localVerdict);
    const check = this.#checkOf(remote);
    const nowMs = this.#server.clock.monotonic();
    if (nowMs >= check.dueMs) {
      const waitMs = check.atMs + limits.availabilityGapMs - nowMs;
      if (check.verdict !== undefined && waitMs > 0) return { againMs: waitMs };
      if (check.isSlow && this.#slow >= limits.availabilitySlowMax) return { againMs: limits.availabilitySlowMs };
      await this.#look(check, remote, signal);
      if (signal.aborted) return undefined;
    }
    const result = await this.#tell(registered, check, check.verdict as Verdict);
    const leftMs = check.dueMs - this.#server.clock.monotonic();
    return result ?? (Number.isFinite(leftMs) ? { againMs: Math.max(1, leftMs) } : undefined);
  }

  /** A service or its endpoints changed. */
  #moved(key: string, queue: Queue): void {
    for (const name of this.#byService.get(key) ?? []) {
      const check = this.#checks.get(name);
      if (check !== undefined) check.dueMs = 0;
      queue.add(name);
    }
  }

  #checkOf(remote: RemoteVersion): Check {
    const { name, namespace, service } = remote;
    const asked = placeOf(remote);
    const known = this.#checks.get(name);
    if (known?.asked === asked) return known;
    this.#drop(name);
    const key = `${namespace}/${service}`;
    const check = { asked, service: key, verdict: undefined, atMs: 0, dueMs: 0, failures: 0, isSlow: false };
    this.#checks.set(name, check);
    const names = this.#byService.get(key);
    if (names === undefined) this.#byService.set(key, new Set([name]));
    else names.add(name);
    return check;
  }

  /** Nothing needs to be known of it any more. */
  #drop(name: string): void {
    const check = this.#checks.get(name);
    if (check === undefined) return;
    this.#checks.delete(name);
    const names = this.#byService.get(check.service);
    if (names?.delete(name) === true && names.size === 0) this.#byService.delete(check.service);
  }

  async #look(check: Check, remote: RemoteVersion, signal: AbortSignal): Promise<void> {
    const { clock } = this.#server;
    const begunMs = clock.monotonic();
    const wasSlow = check.isSlow;
    if (wasSlow) this.#slow += 1;
    // What changes from now on has it looked at again.
    check.dueMs = Number.POSITIVE_INFINITY;
    const missing = this.#missing(remote);
    let fault: string | undefined;
    try {
      if (missing === undefined) fault = await checkDiscovery(this.#extensions, remote, signal);
    } finally {
      if (wasSlow) this.#slow -= 1;
    }
    const nowMs = clock.monotonic();
    check.isSlow = nowMs - begunMs > limits.availabilitySlowMs;
    check.atMs = nowMs;
    check.verdict = missing ?? (fault === undefined ? passed : unavailable("FailedDiscoveryCheck", fault));
    check.failures = fault === undefined ? 0 : check.failures + 1;
    const pauseMs = fault === undefined ? limits.availabilityLookMs : retryMs(check.failures);
    // News of the service tell of the end of what is missing.
    if (missing === undefined) check.dueMs = Math.min(check.dueMs, nowMs + pauseMs);
  }

  /** What an extension server lacks in the objects that lead to it; undefined: nothing, as far as they say. */
  #missing({ namespace, service: name, port }: RemoteVersion): Verdict | undefined {
    const service = this.#objects.read<ApiObject & Service>("", "v1", "services", namespace, name);
    const shown = `service/${name} in ${quote(namespace)}`;
    if (service === undefined) return unavailable("ServiceNotFound", `${shown} is not present`);
    if ((service.spec.type ?? "ClusterIP") !== "ClusterIP") return undefined;
    const found = service.spec.ports?.find((each) => each.port === port);
    if (found === undefined) return unavailable("ServicePortError", `${shown} is not listening on port ${port}`);
    const endpoints = this.#objects.read<ApiObject & Endpoints>("", "v1", "endpoints", namespace, name);
    if (endpoints === undefined) return unavailable("EndpointsNotFound", `cannot find endpoints for ${shown}`);
    const portName = found.name ?? "";
    const isReady = endpoints.subsets?.some(
      ({ addresses = [], ports = [] }) => addresses.length > 0 && ports.some((each) => (each.name ?? "") === portName),
    );
    if (isReady === true) return undefined;
    const message = `endpoints for ${shown} have no addresses with port name ${quote(portName)}`;
    return unavailable("MissingEndpoints", message);
  }

  /** Writes a condition where it says something else; `check`: what led to it, for one that names a service. */
  async #tell({ metadata, status }: Registered, check: Check | undefined, verdict: Verdict): Promise<Result> {
    const name = metadata.name ?? "";
    const before = conditionOf(status);
    const isAvailable = verdict.status === "True";
    this.#meter.found(name, isAvailable);
    if (says(before, verdict)) return undefined;
    const { clock } = this.#server;
    const waitMs = this.#corrections.take(name, JSON.stringify(verdict), clock.monotonic());
    if (waitMs > 0) return { againMs: waitMs };
    const target = { resource: this.#resource, name, subresource: "status" };
    const done = await this.#actor.update<Registered>(target, (object) => {
      const remote = remoteVersionOf(object);
      const isMeant = check?.asked === (remote && placeOf(remote));
      // It names another service meanwhile, or none: that change has it looked at again.
      if (!isMeant || says(conditionOf(object.status), verdict)) return undefined;
      object.status.conditions = withVerdict(object.status, verdict, timeText(clock.now()));
      return undefined;
    });
    if (isStatus(done) && !done.success && done.reason !== "NotFound") {
      return { cause: done, message: `The status of APIService ${JSON.stringify(name)} cannot be written` };
    }
    if (!isAvailable && before?.status === "True") this.#meter.lost(name, verdict.reason ?? "");
    return undefined;
  }
}

const passed: Verdict = { type: available, status: "True", reason: "Passed", message: "all checks passed" };
const localVerdict: Verdict = localCondition;

function unavailable(reason: string, message: string): Verdict {
  return { type: available, status: "False", reason, message: message.slice(0, limits.conditionMessageCharsMax) };
}

/** Grows with each failure in a row. */
function retryMs(failures: number): number {
  return Math.min(limits.availabilityLookMs, limits.availabilityRetryMs * 2 ** (failures - 1));
}

function says(condition: APIServiceCondition | undefined, { status, reason, message }: Verdict): boolean {
  return condition?.status === status && condition.reason === reason && condition.message === message;
}

/** The conditions with one that says this. Its time is when its status changed. */
function withVerdict({ conditions = [] }: APIService["status"], verdict: Verdict, now: string): APIServiceCondition[] {
  const old = conditionOf({ conditions });
  const lastTransitionTime = old?.status === verdict.status ? (old.lastTransitionTime ?? now) : now;
  const { type, status, reason, message } = verdict;
  const next = { type, status, lastTransitionTime, reason, message };
  return old === undefined ? [...conditions, next] : conditions.map((each) => (each === old ? next : each));
}
