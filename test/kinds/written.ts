// What the strategies of a kind make of what is written.
import { identities } from "../../src/api/identity.ts";
import type { ApiObject } from "../../src/api/object.ts";
import { createScheme, type Resource } from "../../src/api/scheme.ts";
import { assert } from "../../src/base/assert.ts";
import type { Strategy, StrategyContext } from "../../src/kinds/strategy.ts";
import { strategyOf } from "../../src/kinds/table.ts";
import { contextOf } from "../support/context.ts";
import { dump, load } from "./load.ts";

const identity = identities.kubernetes;
const scheme = createScheme({ identity });
/** The time of each request. */
export const now = "2026-01-01T00:00:00Z";

/** A kind at one version, and a request for it. */
export interface Kind {
  readonly resource: Resource;
  readonly strategy: Strategy<ApiObject>;
  readonly context: StrategyContext;
}

/** The kind of this name. */
export function kind(group: string, version: string, name: string): Kind {
  const resource = scheme.find(group, version, name);
  assert(resource !== undefined, `${name} is served`);
  const extra = new Map([["scope", ["a", "b"]]]);
  const user = { name: "mallory", uid: "7", groups: ["devs"], extra };
  return {
    resource,
    strategy: strategyOf(resource, identity),
    context: contextOf(resource, { now, user }),
  };
}

/** A document. */
export type Json = Record<string, unknown>;

/** What is stored when `json` is created. */
export function created({ resource, strategy, context }: Kind, json: object): Json {
  const object = load<ApiObject>(resource.message.name, json);
  strategy.canonicalize?.(object);
  strategy.truncate?.(object);
  strategy.prepareForCreate(context, object);
  return dump(object) as Json;
}

/** `json` written over `old` through `part` (status, approval, …; the whole object when left out). */
export function updated({ resource, strategy, context }: Kind, json: object, old: object, part?: string): Json {
  const object = load<ApiObject>(resource.message.name, json);
  const before = load<ApiObject>(resource.message.name, old);
  const rules =
    part === undefined ? strategy.update : part === "status" ? strategy.status : strategy.subresources?.get(part);
  assert(rules !== undefined, `${resource.kind} has ${part}`);
  strategy.canonicalize?.(object);
  strategy.truncate?.(object);
  rules.prepare(context, object, before);
  return dump(object) as Json;
}
