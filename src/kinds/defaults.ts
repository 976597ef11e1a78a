// Defaults: one function per message type that has any, applied by walking the schema, outer types first.
// The walk is compiled once per type and identity into a plan that skips everything without a default below it.
import { type Identity, perIdentity } from "../api/identity.ts";
import { messages } from "../api/messages.ts";
import type { ApiObject } from "../api/object.ts";
import { roundUpToMilli } from "../api/quantity.ts";
import type { Field, Message } from "../api/schema.ts";
import type { Resource } from "../api/scheme.ts";
import { assert } from "../base/assert.ts";
import type { Settled } from "./behaviour.ts";
import { autoscalingDefaults } from "./defaults/autoscaling.ts";
import { coreDefaults } from "./defaults/core.ts";
import { otherDefaults } from "./defaults/others.ts";
import { podDefaults, volumeDefaults } from "./defaults/pods.ts";
import type { DefaultRule } from "./defaults/rule.ts";
import { workloadDefaults } from "./defaults/workloads.ts";
import { behaviourOf } from "./table.ts";

/** What to do to a struct of one type. Properties are the JSON names of the schema, never a client's key. */
interface Plan {
  /** The type's own rule, then those of the types inlined in it. */
  readonly rules: readonly ((struct: never) => void)[];
  /** Defaults written at the field itself, for when it is empty. */
  readonly values: readonly (readonly [json: string, pointer: boolean, value: unknown])[];
  /** Lists of resources, whose quantities are rounded up to thousandths. */
  readonly quantities: readonly string[];
  /** Fields with something to do below them. */
  readonly below: Below[];
}

interface Below {
  readonly json: string;
  readonly cardinality: Field["cardinality"];
  readonly plan: Plan;
}

type Struct = Record<string, unknown>;

/** Types whose quantities stay as written: their group has no defaults of its own in upstream. */
const unrounded: ReadonlySet<string> = new Set(["node/v1.Overhead", "node/v1beta1.Overhead", "node/v1alpha1.Overhead"]);

/** Fills in the defaults of an object in place; one of a custom resource is brought into shape. Idempotent. */
export function applyDefaults(resource: Resource, object: ApiObject, identity: Identity): Settled | undefined {
  if (resource.message.open === true) return behaviourOf(resource, identity).settle?.(object, false);
  applyMessageDefaults(resource.message, object, identity);
  return undefined;
}

/** Fills in the defaults of a struct of any message type in place (bodies of subresources, templates). */
export function applyMessageDefaults(message: Message, struct: object, identity: Identity): void {
  const plan = plansOf(identity).get(message);
  if (plan !== undefined) apply(plan, struct as Struct);
}

/** Where defaults apply below `message`, as `path: what` lines; for tests against the facts. */
export function defaultedPaths(message: Message, identity: Identity): string[] {
  const plan = plansOf(identity).get(message);
  const lines: string[] = [];
  const visit = (at: Plan, path: string, above: readonly Plan[]) => {
    if (above.includes(at)) return;
    if (at.rules.length > 0) lines.push(`${path}: rule`);
    for (const [json] of at.values) lines.push(`${path}.${json}: value`);
    for (const json of at.quantities) lines.push(`${path}.${json}: rule`);
    for (const field of at.below) {
      visit(field.plan, `${path}.${field.json}${field.cardinality === "list" ? "[*]" : ""}`, [...above, at]);
    }
  };
  if (plan !== undefined) visit(plan, "", []);
  return lines.map((line) => line.replace(/^\./, ""));
}

function apply(plan: Plan, struct: Struct): void {
  for (const rule of plan.rules) rule(struct as never);
  for (const [json, pointer, value] of plan.values) {
    if (struct[json] === undefined || (!pointer && (struct[json] === "" || struct[json] === 0))) struct[json] = value;
  }
  for (const json of plan.quantities) {
    const list = struct[json] as Map<string, string> | undefined;
    for (const [name, quantity] of list ?? []) {
      const rounded = roundUpToMilli(quantity);
      if (rounded !== quantity) list?.set(name, rounded);
    }
  }
  for (const field of plan.below) {
    const value = struct[field.json];
    if (value === undefined) continue;
    if (field.cardinality === "one") apply(field.plan, value as Struct);
    else if (field.cardinality === "list") for (const item of value as Struct[]) apply(field.plan, item);
    else for (const item of (value as Map<string, Struct>).values()) apply(field.plan, item);
  }
}

const plansOf = perIdentity((identity) =>
  compile([
    ...coreDefaults(identity),
    ...podDefaults,
    ...volumeDefaults,
    ...workloadDefaults,
    ...autoscalingDefaults,
    ...otherDefaults(identity),
  ]),
);

/** Plans of every type that has a default in it or below it. */
function compile(rules: readonly DefaultRule[]): ReadonlyMap<Message, Plan> {
  const byName = new Map(rules);
  assert(byName.size === rules.length, "Each type has one function for its defaults");
  for (const name of byName.keys()) assert(messages.has(name), `Defaults are for a type that is not there: ${name}`);
  const drafts = new Map<Message, Plan>();
  const concerned = concernedTypes(byName);
  for (const message of concerned) {
    const fields = flatFields(message);
    drafts.set(message, {
      rules: inlined(message).flatMap((type) => byName.get(type.name) ?? []),
      values: fields
        .filter((field) => field.default !== undefined)
        .map((field) => [field.json, field.pointer, JSON.parse(field.default ?? "null") as unknown]),
      quantities: unrounded.has(message.name) ? [] : fields.filter(isResourceList).map((field) => field.json),
      below: [],
    });
  }
  for (const [message, plan] of drafts) {
    for (const { json, cardinality, message: inner } of flatFields(message)) {
      const below = inner && drafts.get(inner);
      if (below !== undefined) plan.below.push({ json, cardinality, plan: below });
    }
  }
  return drafts;
}

/** Types with a default in them or below them, recursive types included: grows until nothing is added. */
function concernedTypes(byName: ReadonlyMap<string, unknown>): ReadonlySet<Message> {
  const concerned = new Set<Message>();
  for (const message of messages.values()) {
    const own = flatFields(message).some(
      (f) => f.default !== undefined || (isResourceList(f) && !unrounded.has(message.name)),
    );
    if (own || inlined(message).some((type) => byName.has(type.name))) concerned.add(message);
  }
  for (let before = -1; before !== concerned.size; ) {
    before = concerned.size;
    for (const message of messages.values()) {
      if (flatFields(message).some((field) => field.message && concerned.has(field.message))) concerned.add(message);
    }
  }
  return concerned;
}

function isResourceList(field: Field): boolean {
  return field.cardinality === "map" && field.type === "Quantity";
}

/** A type and the types inlined in it. */
function inlined(message: Message): readonly Message[] {
  return [message, ...message.fields.flatMap((field) => (field.inline && field.message ? inlined(field.message) : []))];
}

/** Fields as they stand in memory: those of inlined messages belong to their parent. */
function flatFields(message: Message): readonly Field[] {
  return message.fields.flatMap((field) => (field.inline && field.message ? flatFields(field.message) : [field]));
}
