// Wild objects of every kind, drawn from the schemas: whatever decodes goes through defaults, preparation, validation,
// conversion and back without a throw. `ORCH_FUZZ_SEED` and `ORCH_FUZZ_ROUNDS` repeat and lengthen a run.
import t from "tap";
import { identities } from "../../src/api/identity.ts";
import type { ApiObject } from "../../src/api/object.ts";
import type { Field, Message } from "../../src/api/schema.ts";
import { createScheme, type Resource } from "../../src/api/scheme.ts";
import { decode, encode, isFault, parseJson } from "../../src/codec/json.ts";
import { defaultGates } from "../../src/config/gates.ts";
import { convert } from "../../src/kinds/convert.ts";
import { applyDefaults } from "../../src/kinds/defaults.ts";
import { validateMeta, validateMetaUpdate } from "../../src/kinds/meta.ts";
import type { StrategyContext } from "../../src/kinds/strategy.ts";
import { strategyOf } from "../../src/kinds/table.ts";
import { draws, fuzzRun } from "../support/random.ts";

const identity = identities.kubernetes;
const scheme = createScheme({ identity, runtimeConfig: new Map([["api/all", true]]) });
/** Pairs of objects per kind. */
const { seed, rounds } = fuzzRun(15);
const depthMax = 12;

const { next, chance, pick } = draws(seed);

const texts = [
  "",
  "a",
  "A",
  "web",
  "a/b",
  "a/b/c",
  "..",
  "%",
  "é",
  "\u0000",
  "__proto__",
  "10.0.0.1",
  "::1",
  "10.0.0.0/8",
  "1/2/3",
  "http",
  "None",
  "Always",
  "RollingUpdate",
  "Recreate",
  "Service",
  "ClusterIP",
  "LoadBalancer",
  "ExternalName",
  "Localhost",
  "TCP",
  "In",
  "Exists",
  "x".repeat(300),
  "* * * * *",
  "-----BEGIN CERTIFICATE-----",
];
const numbers = [0, 1, -1, 2, 80, 443, 65536, 2147483647, -2147483648];
const quantities = ["0", "1", "-1", "100m", "1Gi", "1e3", "1u", "0.5", "9223372036854775807", "1E"];
const times = ["2020-01-01T00:00:00Z", null];

function scalar(field: Field): unknown {
  switch (field.type) {
    case "bool":
      return chance(50);
    case "bytes":
      return Buffer.from(pick(texts)).toString("base64");
    case "Time":
    case "MicroTime":
      return pick(times);
    case "Quantity":
      return pick(quantities);
    case "IntOrString":
      return chance(50) ? pick(numbers) : pick(["", "50%", "101%", "http", "80"]);
    case "Duration":
      return "5s";
    case "raw":
      return pick([{}, { a: [1, "x"] }, "text", 5, null]);
    case "string":
      return field.enum.length > 0 && chance(70) ? pick(field.enum) : pick(texts);
    default:
      return pick(numbers);
  }
}

function value(field: Field, depth: number): unknown {
  if (chance(3)) return null;
  const one = () => (field.message ? wild(field.message, depth + 1) : scalar(field));
  if (field.cardinality === "list") return Array.from({ length: next(3) }, one);
  if (field.cardinality === "map") {
    return Object.fromEntries(Array.from({ length: next(3) }, () => [pick(texts), one()]));
  }
  return one();
}

/** JSON of a message with about half of its fields, fewer the deeper. */
function wild(message: Message, depth: number): unknown {
  if (message.special !== undefined) return pick([true, false, {}]);
  const json: Record<string, unknown> = {};
  if (depth > depthMax) return json;
  for (const field of message.byJson.values()) {
    if (chance(75 / (1 + depth / 4))) {
      Object.defineProperty(json, field.json, { value: value(field, depth), enumerable: true, configurable: true });
    }
  }
  return json;
}

function read(resource: Resource): ApiObject | undefined {
  const parsed = parseJson(Buffer.from(JSON.stringify(wild(resource.message, 0))));
  if (isFault(parsed)) return undefined;
  const object = decode<ApiObject>(resource.message, parsed);
  return isFault(object) ? undefined : object;
}

function contextOf({ group, version }: Resource): StrategyContext {
  const user = { name: "u", uid: "", groups: [], extra: new Map<string, readonly string[]>() };
  return { identity, group, version, now: "2026-01-01T00:00:00Z", user, dryRun: false, gates: defaultGates };
}

/** Create, then a change by another wild object through every part of the kind. */
function live(resource: Resource): boolean {
  const [object, change] = [read(resource), read(resource)];
  if (object === undefined || change === undefined) return false;
  const strategy = strategyOf(resource, identity);
  const context = contextOf(resource);
  for (const each of [object, change]) {
    each.metadata.uid = "u";
    each.metadata.name ??= "a";
    applyDefaults(resource, each, identity);
  }
  strategy.prepareForCreate(context, object);
  validateMeta(object.metadata, resource.namespaced, strategy.nameFormat, identity);
  strategy.validate(context, object);
  strategy.warnings?.(context, object, undefined);
  strategy.gracePeriod?.(object, undefined);
  const bytes = encode(resource.message, object);
  const stored = resource.stored ?? resource;
  const there = convert(object, resource, stored, identity);
  strategyOf(stored, identity).selectableFields?.(there);
  const old = convert(there, stored, resource, identity);
  encode(resource.message, old);
  for (const part of [strategy.update, strategy.status, ...(strategy.subresources?.values() ?? [])]) {
    if (part === undefined) continue;
    const parsed = parseJson(Buffer.from(encode(resource.message, change)));
    const copy = isFault(parsed) ? parsed : decode<ApiObject>(resource.message, parsed);
    if (isFault(copy)) continue;
    part.prepare(context, copy, old);
    validateMetaUpdate(copy.metadata, old.metadata, resource.namespaced, identity);
    part.validate(context, copy, old);
    strategy.warnings?.(context, copy, old);
    encode(resource.message, copy);
  }
  return bytes.length > 0;
}

t.test("No object that decodes makes a kind throw", (t) => {
  for (const resource of scheme.resources) {
    if (resource.virtual || resource.computed) continue;
    let lived = 0;
    for (let round = 0; round < rounds; round++) {
      try {
        if (live(resource)) lived++;
      } catch (cause) {
        t.fail(`${resource.apiVersion} ${resource.kind} with ORCH_FUZZ_SEED=${seed}, round ${round}`, {
          cause: String((cause as Error).stack),
        });
        break;
      }
    }
    t.ok(lived > 0, `${resource.apiVersion} ${resource.kind}: ${lived} of ${rounds} decoded`);
  }
  t.end();
});
