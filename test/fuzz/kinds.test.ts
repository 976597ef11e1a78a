// Wild objects of every kind, drawn from the schemas: whatever decodes goes through defaults, preparation, validation,
// conversion and back without a throw. `ORCH_FUZZ_SEED` and `ORCH_FUZZ_ROUNDS` repeat and lengthen a run.
import t from "tap";
import { identities } from "../../src/api/identity.ts";
import type { ApiObject } from "../../src/api/object.ts";
import { createScheme, type Resource } from "../../src/api/scheme.ts";
import { decode, encode, isFault, parseJson } from "../../src/codec/engine/json.ts";
import { convert } from "../../src/kinds/convert.ts";
import { applyDefaults } from "../../src/kinds/defaults.ts";
import { validateMeta, validateMetaUpdate } from "../../src/kinds/meta.ts";
import { strategyOf } from "../../src/kinds/table.ts";
import { contextOf } from "../support/context.ts";
import { draws, fuzzRun } from "../support/random.ts";
import { wildMaker } from "../support/wild.ts";

const identity = identities.kubernetes;
const scheme = createScheme({ identity, runtimeConfig: new Map([["api/all", true]]) });
/** Pairs of objects per kind. */
const { seed, rounds } = fuzzRun(15);
const wild = wildMaker(draws(seed));

function read(resource: Resource): ApiObject | undefined {
  const parsed = parseJson(Buffer.from(JSON.stringify(wild(resource.message))));
  if (isFault(parsed)) return undefined;
  const object = decode<ApiObject>(resource.message, parsed);
  return isFault(object) ? undefined : object;
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
    validateMetaUpdate(copy.metadata, old.metadata, resource.namespaced, strategy.nameFormat, identity, [2, 1]);
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
    // Some kinds have so many fields that few objects decode: there has to be one.
    for (let round = 0; round < rounds || (lived === 0 && round < 100 * rounds); round++) {
      try {
        if (live(resource)) lived++;
      } catch (cause) {
        t.fail(`${resource.apiVersion} ${resource.kind} with ORCH_FUZZ_SEED=${seed}, round ${round}`, {
          cause: String((cause as Error).stack),
        });
        break;
      }
    }
    t.ok(lived > 0, `${resource.apiVersion} ${resource.kind}: some decoded`);
  }
  t.end();
});
