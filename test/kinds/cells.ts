// The cells of an object in a Table.
import { isDeepStrictEqual } from "node:util";
import { identities } from "../../src/api/identity.ts";
import type { ApiObject } from "../../src/api/object.ts";
import { createScheme, type Resource } from "../../src/api/scheme.ts";
import { assert } from "../../src/base/assert.ts";
import { decode, encode, Fault, parseText } from "../../src/codec/engine/json.ts";
import { decodeLean } from "../../src/codec/engine/stored.ts";
import type { Cell } from "../../src/kinds/columns.ts";
import { columnsOf } from "../../src/kinds/table.ts";

/** What the Tables are spelled in. */
export const identity = identities.kubernetes;
/** Everything there is. */
export const scheme = createScheme({ identity, runtimeConfig: new Map([["api/all", true]]) });
/** The time Tables are written at. */
export const now = Date.parse("2024-01-02T00:00:00Z");
/** An hour before. */
export const created = "2024-01-01T23:00:00Z";

/** A resource at its stored version. */
export function resourceOf(group: string, name: string): Resource {
  const found = scheme.resources.find((r) => r.group === group && r.resource === name);
  assert(found !== undefined, `${name}.${group} is served`);
  return found.stored ?? found;
}

/** The cells of an object by column name. */
export function cellsOf(group: string, name: string, json: object): Record<string, Cell> {
  const resource = resourceOf(group, name);
  const value = parseText(JSON.stringify({ metadata: { name: "one", creationTimestamp: created }, ...json }));
  assert(!(value instanceof Fault), "The test's JSON parses");
  const object = decode<ApiObject>(resource.message, value);
  assert(!(object instanceof Fault), `The test's ${resource.kind} decodes`);
  const { columns, conditions, reads } = columnsOf(resource, identity);
  const partly = reads && decodeLean(resource, encode(resource.message, object), reads)?.object;
  assert((reads === undefined) === (partly === undefined), "What is read is read");
  for (const { name: column, cell } of partly === undefined ? [] : columns) {
    assert(
      cell(partly as ApiObject, () => now) === cell(object, () => now),
      `${column} shows what is not among what it reads`,
    );
  }
  if (partly !== undefined) {
    assert(isDeepStrictEqual(conditions?.(partly), conditions?.(object)), "Conditions tell of what they do not read");
  }
  return Object.fromEntries(columns.map(({ name: column, cell }) => [column, cell(object, () => now)]));
}
