// The life of definitions of custom resources: accepts their names, registers the log of their objects and says that they
// are established; empties the kind of one that is deleted, gives up its log, and lets it go. Runs on every server,
// whichever controllers are switched on, as upstream's do: logs are this server's own.
//
//   created ─► names accepted ─► log registered ─► Established
//   deleted ─► objects deleted ─► log given up ─► finalizer removed ─► gone ─► names free for others of the group
//
// A log is there before its definition can be read as established, and is gone before its definition is: in between
// requests are refused as for a resource that is not served.
import type { CustomResourceDefinition, CustomResourceDefinitionStatus } from "../api/gen/apiextensions/v1.ts";
import type { ApiObject } from "../api/object.ts";
import type { Resource } from "../api/scheme.ts";
import { isStatus, type Status } from "../api/status.ts";
import type { Location } from "../cache/shared/record.ts";
import type { Objects, ObjectTable } from "../cache/view/objects.ts";
import type { LogView } from "../cache/view/view.ts";
import { decodeStored } from "../codec/engine/stored.ts";
import { limits } from "../config/limits.ts";
import { isCondition, isEmptied, storedResourceOf } from "../kinds/custom/definition.ts";
import { readHeader } from "../kinds/custom/header.ts";
import {
  approvalCondition,
  cleanupFinalizer,
  type DefinitionCondition,
  decideNames,
  established,
  notAccepted,
  sameNames,
  says,
  tooManyKinds,
  type UsedNames,
  usedNames,
  withCondition,
} from "../kinds/custom/names.ts";
import { definitionsKind, groupOfDefinition, prefixOfDefinition } from "../kinds/custom/prefix.ts";
import { timeText } from "../request/commit/objectstore.ts";
import type { WriteServices, Written } from "../request/commit/writerequest.ts";
import { Actor } from "./actor.ts";
import type { Controller, Follows, Queue, Result } from "./reconciler.ts";
import { storedKind } from "./storedkind.ts";

type Definition = ApiObject & CustomResourceDefinition;

/** Works on the names of definitions. Follows their log, and those of kinds that are being emptied. */
export class DefinitionController implements Controller {
  readonly follows: Follows;
  readonly pace = { workers: limits.definitionsAtOnce };
  readonly #writers: WriteServices;
  readonly #actor: Actor;
  readonly #resource: Resource;
  /** Without schemas. */
  readonly #definitions: ObjectTable<Definition>;
  readonly #finalizer: string;
  /** Prefixes that are not custom resources', whatever a definition is called. */
  readonly #builtIn: ReadonlySet<string>;
  /** Names of definitions, by group. */
  readonly #groups = new Map<string, Set<string>>();
  /** Definitions whose log this server has. */
  readonly #registered = new Set<string>();
  /** What is decided about a group's names is decided one after the other. */
  readonly #turns = new Map<string, Promise<unknown>>();
  /** Kinds that are being emptied: since when, and how to stop following their logs. */
  readonly #emptying = new Map<string, { readonly sinceMs: number; readonly stop: () => void }>();

  /** Definitions are served: see the caller. */
  constructor(writers: WriteServices, objects: Objects) {
    const { scheme } = writers;
    const { spell } = scheme.identity;
    this.#writers = writers;
    this.#actor = new Actor(writers, "kube-apiserver");
    const { resource, view } = storedKind(writers, ...definitionsKind);
    this.#resource = resource;
    this.#definitions = objects.partialTable(readHeader, ...definitionsKind);
    this.#definitions.onChange((_namespace, name) => this.#note(name));
    this.#finalizer = spell(cleanupFinalizer);
    const builtIn = scheme.resources.filter(({ provided }) => provided !== true);
    this.#builtIn = new Set(builtIn.flatMap(({ prefix }) => prefix ?? []));
    this.follows = [[view, (queue, at) => queue.add(view.keyOf(at))]];
  }

  all(queue: Queue): void {
    for (const { metadata } of this.#definitions.list("")) queue.add(metadata.name ?? "");
  }

  /** Brings one definition a step further. */
  work(name: string, queue: Queue): Promise<Result> {
    const definition = this.#definitions.get("", name);
    if (definition === undefined) return this.#forget(name, queue);
    if (definition.metadata.deletionTimestamp !== undefined) return this.#end(name, definition, queue);
    return this.#inTurn(groupOfDefinition(name), () => this.#accept(name, queue));
  }

  /** Runs work on a group after all that was begun before. */
  async #inTurn<T>(of: string, work: () => Promise<T>): Promise<T> {
    const done = (this.#turns.get(of) ?? Promise.resolve()).then(work);
    const settled = done.catch(() => undefined);
    this.#turns.set(of, settled);
    try {
      return await done;
    } finally {
      if (this.#turns.get(of) === settled) this.#turns.delete(of);
    }
  }

  /** Accepts its names and establishes it. */
  async #accept(name: string, queue: Queue): Promise<Result> {
    const definition = this.#definitions.get("", name);
    if (definition === undefined || definition.metadata.deletionTimestamp !== undefined) return undefined;
    const { scheme, clock } = this.#writers;
    const log = await this.#openLog(name, definition);
    if (statusOf(definition, this.#namesBeside(definition), log, scheme.identity, "") !== undefined) {
      const target = { resource: this.#resource, name, subresource: "status" };
      const done = await this.#actor.update<Definition>(target, (each) => {
        if (each.metadata.deletionTimestamp !== undefined) return undefined;
        const used = this.#namesBeside(each);
        each.status = statusOf(each, used, log, scheme.identity, timeText(clock.now())) ?? each.status;
        return undefined;
      });
      const cause = refusalOf(done);
      if (cause !== undefined) return { cause, message: `The status of definition ${name} cannot be written` };
      // A name may be free now.
      this.#lookAtOthers(name, queue);
    }
    if (log !== "none") return undefined;
    // At a start with more kinds than before; else the condition says it.
    if (isCondition(definition, "Established")) queue.report(name, `There is no log for definition ${name}`, noLog);
    return { againMs: limits.definitionRetryMs };
  }

  /** Registers the log of a definition that is or can be established. */
  async #openLog(name: string, definition: Definition): Promise<LogState> {
    if (this.#registered.has(name)) return "open";
    if (this.#builtIn.has(prefixOfDefinition(name))) return "built-in";
    const isWanted =
      isCondition(definition, "Established") ||
      decideNames(definition, this.#namesBeside(definition)).condition.status === "True";
    if (!isWanted) return "unwanted";
    if (!(await this.#writers.views.register(prefixOfDefinition(name)))) return "none";
    this.#registered.add(name);
    return "open";
  }

  /** The names a definition's wishes may conflict with; one that has what it asks for conflicts with none. */
  #namesBeside({ spec, status }: Definition): UsedNames {
    return usedNames(sameNames(spec.names, status.acceptedNames) ? [] : this.#inGroup(spec.group));
  }

  /** A definition came, or changed, or went: which of them is seen when its group is looked at. */
  #note(name: string): void {
    const group = groupOfDefinition(name);
    const names = this.#groups.get(group);
    if (names === undefined) this.#groups.set(group, new Set([name]));
    else names.add(name);
  }

  #inGroup(group: string): Definition[] {
    this.#definitions.refresh();
    const names = this.#groups.get(group) ?? new Set();
    const found: Definition[] = [];
    for (const name of names) {
      const definition = this.#definitions.get("", name);
      if (definition !== undefined) found.push(definition);
      else names.delete(name);
    }
    if (names.size === 0) this.#groups.delete(group);
    return found;
  }

  /** Looks again at those of the group that did not get what they asked for. */
  #lookAtOthers(name: string, queue: Queue): void {
    for (const { metadata, spec, status } of this.#inGroup(groupOfDefinition(name))) {
      const other = metadata.name ?? "";
      if (other !== name && !sameNames(spec.names, status.acceptedNames)) queue.add(other);
    }
  }

  /** A definition is gone: so is its log, unless its objects were kept back by force. */
  async #forget(name: string, queue: Queue): Promise<Result> {
    await this.#closeLog(name);
    this.#lookAtOthers(name, queue);
    return undefined;
  }

  /** Gives up the log of a definition; false: it holds objects, or a change of it is under way. */
  async #closeLog(name: string): Promise<boolean> {
    const prefix = prefixOfDefinition(name);
    if (!this.#builtIn.has(prefix) && !(await this.#writers.views.giveUp(prefix))) return false;
    this.#emptying.get(name)?.stop();
    this.#emptying.delete(name);
    this.#registered.delete(name);
    return true;
  }

  /** Empties the kind of a definition that is deleted, and then lets the definition go. */
  async #end(name: string, definition: Definition, queue: Queue): Promise<Result> {
    const prefix = prefixOfDefinition(name);
    const { identity } = this.#writers.scheme;
    const whole = (): Definition | undefined => this.#definitions.peek("", name, decodeStored);
    const resource = storedResourceOf(definition, identity, { whole });
    if (isEmptied(definition, identity)) return this.#forget(name, queue);
    if (this.#builtIn.has(prefix)) return this.#finish(name, overlapping);
    if (resource === undefined) {
      // Objects of an earlier life stay: they were never this definition's.
      await this.#closeLog(name);
      return this.#finish(name, neverEstablished);
    }
    const view = this.#writers.views.find(prefix);
    const refused = view && (await this.#empty(name, resource, view, queue));
    if (queue.signal.aborted) return undefined;
    if (refused !== undefined) {
      const untold = await this.#tell(name, deletionFailed(refused));
      return { cause: untold ?? refused, message: `The objects of definition ${name} cannot be deleted` };
    }
    view?.drain();
    if (view === undefined || view.count === 0) {
      if (!(await this.#closeLog(name))) return { againMs: limits.definitionLogMs };
      return this.#finish(name, deletionCompleted);
    }
    const waitedMs = this.#writers.clock.monotonic() - (this.#emptying.get(name)?.sinceMs ?? 0);
    const isLate = waitedMs >= limits.definitionEmptyMsMax;
    const cause = await this.#tell(name, isLate ? deletionUnconfirmed : deletionInProgress);
    return cause ? { cause } : { againMs: limits.definitionPassMs };
  }

  /** Deletes every object there is, in pages; what has finalizers stays until they are gone. */
  async #empty(name: string, resource: Resource, view: LogView, queue: Queue): Promise<Status | undefined> {
    if (!this.#emptying.has(name)) {
      const stop = queue.follow(view, () => {
        if (view.count === 0) queue.add(name);
      });
      this.#emptying.set(name, { sinceMs: this.#writers.clock.monotonic(), stop });
      // What came of it before stays until there is something else to tell: each write has the definition looked at.
      const begun = await this.#tell(name, deletionInProgress);
      if (begun !== undefined) return begun;
    }
    let refused: Status | undefined;
    for (let after: string | undefined = ""; after !== undefined && !queue.signal.aborted; ) {
      const items: Location[] = [];
      let last: string | undefined;
      view.drain();
      view.scan("", after, 0, (at, key) => {
        items.push(at);
        if (items.length === limits.definitionPageMax) last = key;
        return last === undefined;
      });
      refused = (await this.#actor.deleteItems({ resource, namespace: "" }, view, items)) ?? refused;
      after = last;
      await queue.giveWay();
    }
    return refused;
  }

  /** Puts a condition in; the refusal when that failed. */
  async #tell(name: string, condition: DefinitionCondition): Promise<Status | undefined> {
    const now = timeText(this.#writers.clock.now());
    const target = { resource: this.#resource, name, subresource: "status" };
    const done = await this.#actor.update<Definition>(target, ({ status }) => {
      if (!says(status.conditions, condition))
        status.conditions = withCondition(status.conditions ?? [], condition, now);
      return undefined;
    });
    return refusalOf(done);
  }

  /** Lets a definition go, in one write with the last it says. */
  async #finish(name: string, condition: DefinitionCondition): Promise<Result> {
    const now = timeText(this.#writers.clock.now());
    const target = { resource: this.#resource, name, subresource: "status" };
    const done = await this.#actor.update<Definition>(target, ({ metadata, status }) => {
      status.conditions = withCondition(status.conditions ?? [], condition, now);
      metadata.finalizers = (metadata.finalizers ?? []).filter((finalizer) => finalizer !== this.#finalizer);
      return undefined;
    });
    const cause = refusalOf(done);
    return cause && { cause, message: `Letting definition ${name} go failed` };
  }
}

/** What there is of a definition's log: "none": no slot is free; "unwanted": the definition is not to be established. */
type LogState = "open" | "none" | "unwanted" | "built-in";

/** The refusal of a write, unless it is that there is nothing to write to. */
function refusalOf(done: Written | Status): Status | undefined {
  return isStatus(done) && !done.success && done.reason !== "NotFound" ? done : undefined;
}

/** The status a definition is to have; undefined: it has it. */
function statusOf(
  definition: CustomResourceDefinition,
  used: UsedNames,
  log: LogState,
  identity: Parameters<typeof approvalCondition>[1],
  now: string,
): CustomResourceDefinitionStatus | undefined {
  const { status } = definition;
  const { accepted, condition } = decideNames(definition, used);
  const approval = approvalCondition(definition, identity);
  const wanted = [...(approval === undefined ? [] : [approval]), condition];
  const isEstablished = isCondition(definition, "Established");
  if (!isEstablished && condition.status === "True" && log !== "unwanted") wanted.push(establishing(log));
  // What was told before stays.
  else if (!status.conditions?.some(({ type }) => type === "Established")) wanted.push(notAccepted);
  const missing = wanted.filter((each) => !says(status.conditions, each));
  if (missing.length === 0 && sameNames(accepted, status.acceptedNames)) return undefined;
  const conditions = missing.reduce((all, each) => withCondition(all, each, now), status.conditions ?? []);
  return { ...status, acceptedNames: accepted, conditions };
}

function establishing(log: Exclude<LogState, "unwanted">): DefinitionCondition {
  switch (log) {
    case "open":
      return established;
    case "none":
      return tooManyKinds(limits.logCountMax);
    case "built-in":
      return { ...overlapping, type: "Established" };
  }
}

const noLog = new Error(`all ${limits.logCountMax} logs are in use`);

const deletionInProgress = terminating("InstanceDeletionInProgress", "CustomResource deletion is in progress");
const deletionUnconfirmed = terminating(
  "InstanceDeletionCheck",
  "could not confirm zero CustomResources remaining: timed out waiting for the condition",
);
const deletionCompleted = ended("InstanceDeletionCompleted", "removed all instances");
const neverEstablished = ended("NeverEstablished", "resource was never established");
const overlapping = ended("OverlappingBuiltInResource", "instances overlap with built-in resources in storage");

function deletionFailed({ message }: Status): DefinitionCondition {
  return terminating("InstanceDeletionFailed", `could not issue all deletes: ${message}`);
}

function terminating(reason: string, message: string): DefinitionCondition {
  return { type: "Terminating", status: "True", reason, message };
}

function ended(reason: string, message: string): DefinitionCondition {
  return { type: "Terminating", status: "False", reason, message };
}
