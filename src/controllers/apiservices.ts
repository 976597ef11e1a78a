// Keeps the APIServices of what this server serves itself, as upstream's autoregister controller does: of built-in group
// versions (label "onstart": made and put right at the start, and then left alone), and of those that definitions define
// ("true": made, put back when they were changed or deleted, and deleted with the last definition). Without the label an
// APIService is left alone.
import type { APIService, APIServiceSpec } from "../api/gen/apiregistration/v1.ts";
import {
  builtInRegistrations,
  definedRegistration,
  isOrdered,
  type Registration,
  registrationName,
} from "../api/groups.ts";
import type { ApiObject } from "../api/object.ts";
import type { Registry } from "../api/registry.ts";
import type { Resource } from "../api/scheme.ts";
import { isStatus, type Status } from "../api/status.ts";
import type { Objects } from "../cache/view/objects.ts";
import type { LogView } from "../cache/view/view.ts";
import { toValue } from "../codec/engine/json.ts";
import { limits } from "../config/limits.ts";
import { apiServicesKind, managedLabel } from "../kinds/apiregistration/apiservice.ts";
import { definitionsKind, groupOfDefinition } from "../kinds/custom/prefix.ts";
import { equal } from "../kinds/validation/equal.ts";
import type { Server } from "../request/call/context.ts";
import type { Written } from "../request/commit/writerequest.ts";
import { Actor } from "./actor.ts";
import { Corrections } from "./corrections.ts";
import type { Changed, Controller, Follows, Queue, Result } from "./reconciler.ts";
import { storedKind } from "./storedkind.ts";

type Registered = ApiObject & APIService;

/** Values of the label: when an APIService is put right. */
type Managed = "onstart" | "true";

/** An APIService as it is to be. */
interface Wanted {
  readonly managed: Managed;
  readonly spec: APIServiceSpec;
}

/** Before a group, has what is defined in it looked at; no name has a slash. */
const definitionsMark = "definitions/";

/** Works on the names of APIServices. Follows their log, and that of definitions. */
export class RegistrationController implements Controller {
  readonly follows: Follows;
  readonly pace = { workers: limits.registrationsAtOnce };
  readonly #server: Pick<Server, "scheme" | "writers" | "clock">;
  readonly #scheme: Registry;
  readonly #objects: Objects;
  readonly #actor: Actor;
  readonly #resource: Resource;
  readonly #view: LogView;
  readonly #label: string;
  readonly #builtIn: ReadonlyMap<string, Registration>;
  readonly #corrections = new Corrections();
  /** Those that were there at the start. */
  #atStart: Set<string> | undefined;
  /** Those that were put right once: what is managed at the start only is done then. */
  readonly #settled = new Set<string>();
  /** By group: of the versions that definitions defined when they were looked at last. */
  readonly #defined = new Map<string, ReadonlySet<string>>();
  readonly #onListed: () => void;

  /** APIServices are served: see the caller. `onListed` is called when all of them are being looked at. */
  constructor(
    server: Pick<Server, "scheme" | "objects" | "writers" | "clock">,
    onListed: () => void = () => undefined,
  ) {
    const { scheme, objects } = server;
    const { resource, view } = storedKind(server.writers, ...apiServicesKind);
    this.#server = server;
    this.#onListed = onListed;
    this.#scheme = scheme;
    this.#objects = objects;
    this.#actor = new Actor(server.writers, "kube-apiserver");
    this.#resource = resource;
    this.#view = view;
    this.#label = scheme.identity.spell(managedLabel);
    this.#builtIn = new Map([...builtInRegistrations(scheme.builtIn)].filter(([, each]) => isOrdered(each)));
    const definitions = objects.view(...definitionsKind);
    this.follows = [[view, (queue, at) => queue.add(view.keyOf(at))]];
    if (definitions !== undefined) {
      const changed: Changed = (queue, at) => queue.add(definitionsMark + groupOfDefinition(definitions.keyOf(at)));
      this.follows = [...this.follows, [definitions, changed]];
    }
  }

  async all(queue: Queue): Promise<void> {
    this.#view.drain();
    const names = new Set<string>();
    await queue.scan(this.#view, (_at, name) => void names.add(name));
    if (queue.signal.aborted) return;
    this.#atStart ??= names;
    for (const name of new Set([...names, ...this.#builtIn.keys()])) queue.add(name);
    const defined = this.#scheme.current().resources.filter(({ provided }) => provided === true);
    const groups = new Set([...defined.map(({ group }) => group), ...this.#defined.keys()]);
    for (const group of groups) queue.add(definitionsMark + group);
    this.#onListed();
  }

  /** Puts one APIService right. */
  work(name: string, queue: Queue): Promise<Result> | Result {
    if (!name.startsWith(definitionsMark)) return this.#settle(name);
    return this.#compare(name.slice(definitionsMark.length), queue);
  }

  /** Has those looked at whose version of a group came or went with a definition. */
  #compare(group: string, queue: Queue): undefined {
    const before = this.#defined.get(group) ?? new Set();
    const defined = new Set(this.#scheme.providedIn(group).map(registrationName));
    for (const name of defined) if (!before.has(name)) queue.add(name);
    for (const name of before) if (!defined.has(name)) queue.add(name);
    if (defined.size > 0) this.#defined.set(group, defined);
    else this.#defined.delete(group);
    return undefined;
  }

  async #settle(name: string): Promise<Result> {
    const wanted = this.#wanted(name);
    const existing = this.#objects.read<Registered>(...apiServicesKind, "", name);
    const act = this.#actOn(name, wanted, existing);
    if (act !== undefined) {
      const waitMs = this.#corrections.take(name, wanted === undefined ? "" : "wanted", this.#server.clock.monotonic());
      if (waitMs > 0) return { againMs: waitMs };
      const done = await act();
      // Created, deleted or changed meanwhile: that change has it looked at again.
      const isRaced = isStatus(done) && ["AlreadyExists", "NotFound", "Conflict"].includes(done.reason);
      if (isStatus(done) && !done.success && !isRaced) {
        return { cause: done, message: `APIService ${JSON.stringify(name)} cannot be put right` };
      }
    }
    this.#settled.add(name);
    if (existing === undefined && wanted === undefined) {
      this.#settled.delete(name);
      this.#atStart?.delete(name);
    }
    return undefined;
  }

  /** The APIService of a name as it is to be; undefined: nothing is served here that needs one. */
  #wanted(name: string): Wanted | undefined {
    const builtIn = this.#builtIn.get(name);
    if (builtIn !== undefined) return { managed: "onstart", spec: specOf(builtIn) };
    const dot = name.indexOf(".");
    const [version, group] = [name.slice(0, Math.max(0, dot)), name.slice(dot + 1)];
    const isDefined = this.#scheme.groupVersion(group, version)?.[0]?.provided === true;
    return isDefined ? { managed: "true", spec: specOf(definedRegistration(group, version)) } : undefined;
  }

  /** What is to be done about an APIService; undefined: nothing. */
  #actOn(
    name: string,
    wanted: Wanted | undefined,
    existing: Registered | undefined,
  ): (() => Promise<Written | Status>) | undefined {
    const isSettled = this.#settled.has(name);
    if (wanted?.managed === "onstart" && isSettled) return undefined;
    if (existing === undefined) return wanted && (() => this.#create(name, wanted));
    if (!this.#isOurs(name, existing)) return undefined;
    if (wanted === undefined) return () => this.#delete(name, existing);
    if (equal(specMessage, existing.spec, wanted.spec)) return undefined;
    return () => this.#change(name, wanted);
  }

  /** Whether one that exists is to be put right: what is managed at the start, and came later, is another server's. */
  #isOurs(name: string, { metadata }: Registered): boolean {
    const managed = metadata.labels?.get(this.#label);
    if (managed === "onstart") return !this.#settled.has(name) && this.#atStart?.has(name) === true;
    return managed === "true";
  }

  #create(name: string, { managed, spec }: Wanted): Promise<Written | Status> {
    const object = { metadata: { name, labels: new Map([[this.#label, managed]]) }, spec };
    return this.#actor.create({ resource: this.#resource }, toValue(this.#resource.message, object));
  }

  #change(name: string, wanted: Wanted): Promise<Written | Status> {
    return this.#actor.update<Registered>({ resource: this.#resource, name }, (object) => {
      // Its label may have been taken away meanwhile.
      if (this.#isOurs(name, object)) object.spec = { ...wanted.spec };
      return undefined;
    });
  }

  #delete(name: string, { metadata: { uid, resourceVersion } }: Registered): Promise<Written | Status> {
    return this.#actor.delete({ resource: this.#resource, name }, { preconditions: { uid, resourceVersion } });
  }
}

const specMessage = "apiregistration/v1.APIServiceSpec";

function specOf({ group, version, groupPriority, versionPriority }: Registration): APIServiceSpec {
  return { ...(group === "" ? {} : { group }), version, groupPriorityMinimum: groupPriority, versionPriority };
}
