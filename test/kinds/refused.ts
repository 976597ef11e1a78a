// What a kind refuses on create and on update, as a table of objects and of the faults they have.
import t from "tap";
import { identities } from "../../src/api/identity.ts";
import type { ApiObject } from "../../src/api/object.ts";
import { createScheme } from "../../src/api/scheme.ts";
import { assert } from "../../src/base/assert.ts";
import { applyDefaults } from "../../src/kinds/defaults.ts";
import { strategyOf } from "../../src/kinds/table.ts";
import { contextOf } from "../support/context.ts";
import { load } from "./load.ts";

const identity = identities.kubernetes;
const scheme = createScheme({ identity });

type Fault = string;
/** What is sent and the faults it has, as `Reason path`. */
type Case = readonly [why: string, json: object, faults: readonly Fault[]];
/** A change: what is sent, over what. */
type Change = readonly [why: string, json: object, old: object, faults: readonly Fault[]];

/** Tests what a kind says of new objects, and of changes. */
export function tested(
  group: string,
  version: string,
  name: string,
  creates: readonly Case[],
  changes: readonly Change[] = [],
): void {
  const resource = scheme.find(group, version, name);
  assert(resource !== undefined, `${name} is served`);
  const strategy = strategyOf(resource, identity);
  const context = contextOf(resource);
  const read = (json: object): ApiObject => {
    const object = load<ApiObject>(resource.message.name, { metadata: { name: "a" }, ...json });
    applyDefaults(resource, object, identity);
    return object;
  };
  t.test(`${resource.kind}: what is refused on create and on update`, (t) => {
    for (const [why, json, faults] of creates) {
      const object = read(json);
      strategy.prepareForCreate(context, object);
      t.strictSame(
        strategy.validate(context, object).map((e) => `${e.reason} ${e.field}`),
        faults,
        why,
      );
    }
    for (const [why, json, old, faults] of changes) {
      const [object, before] = [read(json), read(old)];
      strategy.update.prepare(context, object, before);
      t.strictSame(
        strategy.update.validate(context, object, before).map((e) => `${e.reason} ${e.field}`),
        faults,
        why,
      );
    }
    t.end();
  });
}
