// Objects for tests of validation, made as the server makes them: decoded and defaulted. A test says only what it is
// about; everything else is a small valid object.
import type { FieldError } from "../../src/api/fielderror.ts";
import { identities } from "../../src/api/identity.ts";
import type { ApiObject } from "../../src/api/object.ts";
import type { Resource } from "../../src/api/scheme.ts";
import { createScheme } from "../../src/api/scheme.ts";
import { assert } from "../../src/base/assert.ts";
import { decode, Fault, parseJson } from "../../src/codec/engine/json.ts";
import { applyDefaults } from "../../src/kinds/defaults.ts";
import {
  isConfigMapKey,
  isDns1123Label,
  isDns1123Subdomain,
  isLabelValue,
  isQualifiedName,
} from "../../src/kinds/formats.ts";
import type { StrategyContext } from "../../src/kinds/strategy.ts";
import { contextOf as contextOfResource } from "../support/context.ts";

/** JSON written as an object. */
export type Json = Record<string, unknown>;

const identity = identities.kubernetes;
const scheme = createScheme({ identity });

/** The context of a request in a group and version. */
export function contextOf(group = "", version = "v1"): StrategyContext {
  return contextOfResource({ group, version }, { now: "2026-01-02T03:04:05Z" });
}

/** The context of a request in core/v1. */
export const context = contextOf();

/** An object of a kind, decoded and defaulted. */
export function make<T extends ApiObject>(kind: string, json: Json, group = "", version = "v1"): T {
  const resource = scheme.findKind(group, version, kind) as Resource | undefined;
  assert(resource !== undefined, `${kind} is served`);
  const value = parseJson(Buffer.from(JSON.stringify(json)));
  assert(!(value instanceof Fault), "The JSON is well-formed");
  const object = decode<T>(resource.message, value);
  assert(!(object instanceof Fault), object instanceof Fault ? object.message : "");
  applyDefaults(resource, object, identity);
  return object;
}

/** A list of errors as lines: `field: text`, without what stands after a first line break. */
export function lines(errors: readonly FieldError[]): string[] {
  return errors.map(({ field, text }) => `${field}: ${text.split("\n")[0]}`);
}

/** A container with an image. */
export function container(more: Json = {}): Json {
  return { name: "c", image: "i", ...more };
}

/** The spec of a pod with one container. */
export function podSpec(more: Json = {}): Json {
  return { containers: [container()], ...more };
}

/** A template of pods that the selector of `workload` selects. */
export function template(spec: Json = {}, metadata: Json = { labels: { app: "web" } }): Json {
  return { metadata, spec: podSpec(spec) };
}

/** The spec of a workload of one template. */
export function workload(more: Json = {}): Json {
  return { selector: { matchLabels: { app: "web" } }, template: template(), ...more };
}

function only(messages: readonly string[]): string {
  assert(messages.length === 1 && messages[0] !== undefined, "One fault");
  return messages[0];
}

/** The texts of formats, by what they say of a value that breaks only the pattern. */
export const texts = {
  label: only(isDns1123Label("_")),
  subdomain: only(isDns1123Subdomain("_")),
  name: only(isQualifiedName("a b")),
  labelValue: only(isLabelValue("a b")),
  configKey: only(isConfigMapKey("a b")),
  nonNegative: "must be greater than or equal to 0",
  port: "must be between 1 and 65535, inclusive",
} as const;
