// Keeps the flow schemas and priority levels that a server starts with, by upstream's rules, and the condition Dangling of
// every flow schema. Built-in objects are looked at at the start and once a minute: a missing one is made; mandatory ones
// are put right whatever they say; others as their annotation asks. An object that has the annotation and is not built in
// is left over from another release, and goes.
import type { FlowSchema, FlowSchemaCondition, PriorityLevelConfiguration } from "../api/gen/flowcontrol/v1beta2.ts";
import type { ApiObject } from "../api/object.ts";
import type { Resource } from "../api/scheme.ts";
import { isStatus, type Status } from "../api/status.ts";
import type { ObjectTable } from "../cache/view/objects.ts";
import type { LogView } from "../cache/view/view.ts";
import { copyObject } from "../codec/engine/copy.ts";
import { toValue } from "../codec/engine/json.ts";
import { limits } from "../config/limits.ts";
import { autoupdateAnnotation, type BuiltIn, builtIns, flowGroup, servedVersion } from "../flowcontrol/objects.ts";
import { equal } from "../kinds/validation/equal.ts";
import type { Server } from "../request/call/context.ts";
import { timeText } from "../request/commit/objectstore.ts";
import type { Written } from "../request/commit/writerequest.ts";
import { Actor } from "./actor.ts";
import { Corrections } from "./corrections.ts";
import type { Controller, Follows, Pace, Queue, Result } from "./reconciler.ts";

/** A flow schema or a priority level. */
type FlowObject = ApiObject & (FlowSchema | PriorityLevelConfiguration);
type Spec = FlowObject["spec"];

/** One of the two kinds. */
interface Kind {
  readonly plural: "flowschemas" | "prioritylevelconfigurations";
  readonly resource: Resource;
  readonly view: LogView;
  readonly table: ObjectTable<FlowObject>;
  readonly builtIn: ReadonlyMap<string, BuiltIn<Spec>>;
  readonly specMessage: string;
}

/** Key of the conditions of all flow schemas; others are `kind/name` or `status/name`. */
const [allStatuses, statusMark] = ["statuses", "status/"];

/** Works on flow schemas and levels. Follows both logs, for conditions. */
export class FlowObjects implements Controller {
  readonly follows: Follows;
  readonly pace: Pace = { workers: limits.registrationsAtOnce, resyncMs: limits.flowObjectsMs };
  readonly #server: Pick<Server, "clock">;
  readonly #producer: Actor;
  readonly #consumer: Actor;
  readonly #annotation: string;
  readonly #schemas: Kind;
  readonly #levels: Kind;
  readonly #corrections = new Corrections();

  /** Undefined: the kinds are not served. */
  static open(server: Server): FlowObjects | undefined {
    const { schemas, levels } = builtIns(server.identity);
    const ofSchemas = openKind(server, "flowschemas", "FlowSchemaSpec", schemas);
    const ofLevels = openKind(server, "prioritylevelconfigurations", "PriorityLevelConfigurationSpec", levels);
    return ofSchemas && ofLevels && new FlowObjects(server, ofSchemas, ofLevels);
  }

  private constructor(server: Server, schemas: Kind, levels: Kind) {
    this.#server = server;
    this.#producer = new Actor(server.writers, "api-priority-and-fairness-config-producer-v1");
    this.#consumer = new Actor(server.writers, "api-priority-and-fairness-config-consumer-v1");
    this.#annotation = server.identity.spell(autoupdateAnnotation);
    this.#schemas = schemas;
    this.#levels = levels;
    this.follows = [
      [schemas.view, (queue, at) => queue.add(statusMark + schemas.view.keyOf(at))],
      [levels.view, (queue) => queue.add(allStatuses)],
    ];
  }

  all(queue: Queue): void {
    for (const kind of [this.#levels, this.#schemas]) {
      kind.table.refresh();
      const names = new Set(kind.builtIn.keys());
      // Suggested ones first, as upstream makes them.
      const suggested = [...kind.builtIn.values()].filter(({ mandatory }) => !mandatory).map(({ name }) => name);
      for (const { metadata } of kind.table.all()) names.add(metadata.name ?? "");
      for (const name of new Set([...suggested, ...names])) queue.add(`${kind.plural}/${name}`);
    }
    queue.add(allStatuses);
  }

  work(key: string, queue: Queue): Promise<Result> | Result {
    if (key === allStatuses) {
      for (const { metadata } of this.#schemas.table.list("")) queue.add(statusMark + (metadata.name ?? ""));
      return undefined;
    }
    const name = key.slice(key.indexOf("/") + 1);
    if (key.startsWith(statusMark)) return this.#tell(name);
    return this.#settle(key.startsWith(this.#levels.plural) ? this.#levels : this.#schemas, name);
  }

  /** Puts one object right. */
  async #settle(kind: Kind, name: string): Promise<Result> {
    const existing = kind.table.get("", name);
    const act = this.#actOn(kind, name, kind.builtIn.get(name), existing);
    const done = await act?.();
    if (done === undefined || !isStatus(done) || done.success) return undefined;
    if (["AlreadyExists", "NotFound", "Conflict"].includes(done.reason)) return undefined;
    return { cause: done, message: `${kind.resource.kind} ${JSON.stringify(name)} cannot be put right` };
  }

  /** What is to be done about an object; undefined: nothing. */
  #actOn(
    kind: Kind,
    name: string,
    builtIn: BuiltIn<Spec> | undefined,
    existing: FlowObject | undefined,
  ): (() => Promise<Written | Status>) | undefined {
    const { resource } = kind;
    if (builtIn === undefined) {
      if (existing === undefined || this.#keeps(existing) !== true) return undefined;
      const { uid, resourceVersion } = existing.metadata;
      return () => this.#producer.delete({ resource, name }, { preconditions: { uid, resourceVersion } });
    }
    if (existing === undefined) {
      const metadata = { name, annotations: new Map([[this.#annotation, "true"]]) };
      return () =>
        this.#producer.create({ resource }, toValue(resource.message, { metadata, spec: builtIn.spec } as ApiObject));
    }
    if (!this.#correct(kind, copyObject(resource.message, existing), builtIn)) return undefined;
    return () =>
      this.#producer.update<FlowObject>({ resource, name }, (object) => {
        this.#correct(kind, object, builtIn);
        return undefined;
      });
  }

  /** What the annotation says; undefined: nothing that is understood. */
  #keeps({ metadata }: FlowObject): boolean | undefined {
    const value = metadata.annotations?.get(this.#annotation);
    if (value === undefined) return undefined;
    if (trueTexts.has(value)) return true;
    return falseTexts.has(value) ? false : undefined;
  }

  /** Puts a built-in object right; false: there was nothing to do. */
  #correct({ specMessage }: Kind, object: FlowObject, { mandatory, spec }: BuiltIn<Spec>): boolean {
    const said = this.#keeps(object);
    // An object that no client has changed, or that none may change, is kept.
    const keeps = mandatory || (said ?? (object.metadata.generation ?? 1) === 1);
    const isMarked = said === keeps;
    const isRight = !keeps || equal(specMessage, object.spec, spec);
    if (isMarked && isRight) return false;
    const { annotations } = object.metadata;
    if (!isMarked) object.metadata.annotations = new Map([...(annotations ?? []), [this.#annotation, String(keeps)]]);
    if (!isRight) object.spec = structuredClone(spec);
    return true;
  }

  /** Writes the condition of a flow schema, where it says something else. */
  async #tell(name: string): Promise<Result> {
    const { resource, table } = this.#schemas;
    const existing = table.get("", name) as (ApiObject & FlowSchema) | undefined;
    if (existing === undefined || this.#says(existing)) return undefined;
    const { clock } = this.#server;
    const waitMs = this.#corrections.take(name, this.#verdict(existing).reason ?? "", clock.monotonic());
    if (waitMs > 0) return { againMs: waitMs };
    const target = { resource, name, subresource: "status" };
    const done = await this.#consumer.update<ApiObject & FlowSchema>(target, (schema) => {
      if (this.#says(schema)) return undefined;
      const lastTransitionTime = timeText(clock.now());
      const { type, status, reason, message } = this.#verdict(schema);
      schema.status.conditions = [{ type, status, lastTransitionTime, reason, message }];
      return undefined;
    });
    if (!isStatus(done) || done.success || done.reason === "NotFound" || done.reason === "Conflict") return undefined;
    return { cause: done, message: `The status of FlowSchema ${JSON.stringify(name)} cannot be written` };
  }

  #says(schema: FlowSchema): boolean {
    const [condition, ...others] = schema.status.conditions ?? [];
    const { type, status, reason, message } = this.#verdict(schema);
    if (condition === undefined || others.length > 0) return false;
    return (
      condition.type === type &&
      condition.status === status &&
      condition.reason === reason &&
      condition.message === message
    );
  }

  /** Upstream's words. */
  #verdict({ spec }: FlowSchema): Omit<FlowSchemaCondition, "lastTransitionTime"> {
    const level = spec.priorityLevelConfiguration.name;
    const refers = `This FlowSchema references the PriorityLevelConfiguration object named ${JSON.stringify(level)}`;
    if (this.#levels.table.get("", level) === undefined) {
      return { type: "Dangling", status: "True", reason: "NotFound", message: `${refers} but there is no such object` };
    }
    return { type: "Dangling", status: "False", reason: "Found", message: `${refers} and it exists` };
  }
}

/** As Go reads booleans. */
const trueTexts: ReadonlySet<string> = new Set(["1", "t", "T", "true", "TRUE", "True"]);
const falseTexts: ReadonlySet<string> = new Set(["0", "f", "F", "false", "FALSE", "False"]);

function openKind(
  { scheme, views, objects }: Server,
  plural: Kind["plural"],
  spec: string,
  list: readonly BuiltIn<Spec>[],
): Kind | undefined {
  const version = servedVersion(scheme, plural);
  const resource = version && scheme.find(scheme.identity.spell(flowGroup), version, plural);
  const prefix = resource ? resource.stored?.prefix : undefined;
  if (!resource || prefix === undefined) return undefined;
  return {
    plural,
    resource,
    view: views.log(prefix),
    table: objects.table(flowGroup, resource.version, plural),
    builtIn: new Map(list.map((one) => [one.name, one])),
    specMessage: `flowcontrol/${resource.version}.${spec}`,
  };
}
