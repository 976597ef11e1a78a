// OpenAPI version 2 in the protobuf form older clients ask for (the message types of gnostic's openapi.v2). A document
// is encoded piece by piece, one path and one definition at a time, so that no other request waits for all of it.

import { RawJson } from "../api/schema.ts";
import { copyOf } from "../base/copy.ts";
import { ProtoWriter } from "../codec/proto/protoencode.ts";
import { wireTypes } from "../codec/proto/wireplan.ts";
import { valueText } from "./openapijson.ts";
import type { Operation, Parameter, PathItem } from "./openapipaths.ts";
import type { Schema } from "./openapischema.ts";

const writer = new ProtoWriter();

/** A path of the document, to be put into encodeOpenApi(). */
export function encodePath(path: string, item: PathItem): Uint8Array<ArrayBuffer> {
  writer.reset();
  nested(2, () => {
    nested(2, () => pathItem(item));
    text(1, path);
  });
  return copyOf(writer.bytes());
}

/** A definition of the document, to be put into encodeOpenApi(). */
export function encodeDefinition(name: string, schema: Schema): Uint8Array<ArrayBuffer> {
  writer.reset();
  nested(1, () => namedSchema(name, schema));
  return copyOf(writer.bytes());
}

/**
 * The same for a definition of any size: its properties and theirs one by one, so that the caller can let others work
 * (yields) in between.
 */
export function* encodeDefinitionSlowly(name: string, of: Schema): Generator<undefined, Uint8Array<ArrayBuffer>> {
  const ready = new Map<Schema, Uint8Array>();
  for (const part of Object.values(of.properties ?? {})) {
    for (const property of Object.values(part.properties ?? {})) {
      writer.reset();
      schema(property);
      ready.set(property, copyOf(writer.bytes()));
      yield;
    }
  }
  encoded = ready;
  try {
    return encodeDefinition(name, of);
  } finally {
    encoded = undefined;
  }
}

/** Schemas that are encoded already. */
let encoded: ReadonlyMap<Schema, Uint8Array> | undefined;

/** What stands around the paths and definitions of a document, which have these lengths. */
export function encodeFrame(
  title: string,
  version: string,
  pathsBytes: number,
  definitionsBytes: number,
): { readonly head: Uint8Array<ArrayBuffer>; readonly between: Uint8Array<ArrayBuffer> } {
  writer.reset();
  writer.varint(definitionsBytes);
  writer.varint(keyOf(9, wireTypes.bytes));
  const between = copyOf(writer.bytes());
  writer.reset();
  writer.varint(pathsBytes);
  writer.varint(keyOf(8, wireTypes.bytes));
  nested(2, () => {
    text(2, version);
    text(1, title);
  });
  text(1, "2.0");
  return { head: copyOf(writer.bytes()), between };
}

function keyOf(field: number, wireType: number): number {
  return field * 8 + wireType;
}

// Everything below is written backwards, the field with the highest number first.

function nested(field: number, write: () => void): void {
  const before = writer.length;
  write();
  writer.varint(writer.length - before);
  writer.varint(keyOf(field, wireTypes.bytes));
}

/** A text; an empty one is not written (proto3). */
function text(field: number, value: string | undefined): void {
  if (value === undefined || value === "") return;
  writer.text(value);
  writer.varint(keyOf(field, wireTypes.bytes));
}

function texts(field: number, values: readonly string[] | undefined): void {
  for (const value of (values ?? []).toReversed()) {
    writer.text(value);
    writer.varint(keyOf(field, wireTypes.bytes));
  }
}

function flag(field: number, value: boolean | undefined): void {
  if (value !== true) return;
  writer.varint(1);
  writer.varint(keyOf(field, wireTypes.varint));
}

/** An int64; 0 is not written (proto3). Definitions have no negative ones that say anything. */
function count(field: number, value: number | RawJson | undefined): void {
  const number = value instanceof RawJson ? exactInteger(value) : (value ?? 0);
  if (number <= 0) return;
  writer.integer(number);
  writer.varint(keyOf(field, wireTypes.varint));
}

/** Zero where a text is no integer. */
function exactInteger({ text }: RawJson): number | bigint {
  return /^\d+$/.test(text) ? BigInt(text) : Math.trunc(Number(text));
}

function double(field: number, value: number | RawJson | undefined): void {
  const number = value instanceof RawJson ? Number(value.text) : (value ?? 0);
  if (number === 0) return;
  writer.float(number, false);
  writer.varint(keyOf(field, wireTypes.fixed64));
}

/** Extensions are YAML texts; JSON is YAML. */
function extensions(field: number, of: object): void {
  for (const [name, value] of Object.entries(of).toReversed()) {
    if (!name.startsWith("x-") || value === undefined) continue;
    nested(field, () => {
      nested(2, () => text(2, JSON.stringify(value)));
      text(1, name);
    });
  }
}

function namedSchema(name: string, of: Schema): void {
  nested(2, () => schema(of));
  text(1, name);
}

function schema(of: Schema): void {
  const known = encoded?.get(of);
  if (known !== undefined) return writer.raw(known);
  extensions(31, of);
  const { properties, items, additionalProperties } = of;
  if (properties !== undefined) {
    nested(25, () => {
      for (const [name, property] of Object.entries(properties).toReversed())
        nested(1, () => namedSchema(name, property));
    });
  }
  if (items !== undefined) nested(23, () => nested(1, () => schema(items)));
  if (of.type !== undefined) nested(22, () => text(1, of.type));
  if (additionalProperties !== undefined) {
    nested(21, () => {
      if (typeof additionalProperties !== "boolean") return nested(1, () => schema(additionalProperties));
      // One of two: which one it is is told by false, too.
      writer.varint(additionalProperties ? 1 : 0);
      writer.varint(keyOf(2, wireTypes.varint));
    });
  }
  for (const value of (of.enum ?? []).toReversed()) nested(20, () => text(2, valueText(value)));
  texts(19, of.required);
  count(18, of.minProperties);
  count(17, of.maxProperties);
  flag(16, of.uniqueItems);
  count(15, of.minItems);
  count(14, of.maxItems);
  text(13, of.pattern);
  count(12, of.minLength);
  count(11, of.maxLength);
  flag(10, of.exclusiveMinimum);
  double(9, of.minimum);
  flag(8, of.exclusiveMaximum);
  double(7, of.maximum);
  double(6, of.multipleOf);
  text(4, of.description);
  text(3, of.title);
  text(2, of.format);
  text(1, of.$ref);
}

/** Fields of a path item, by method. */
const methodFields = [
  ["patch", 8],
  ["delete", 5],
  ["post", 4],
  ["put", 3],
  ["get", 2],
] as const;

function pathItem(item: PathItem): void {
  parameters(9, item.parameters);
  for (const [method, field] of methodFields) {
    const of = item[method];
    if (of !== undefined && !Array.isArray(of)) nested(field, () => operation(of));
  }
}

function operation(of: Operation): void {
  extensions(13, of);
  texts(10, of["schemes"] as string[] | undefined);
  nested(9, () => responses(of["responses"] as Readonly<Record<string, Response>>));
  parameters(8, of["parameters"] as Parameter[] | undefined);
  texts(7, of["consumes"] as string[] | undefined);
  texts(6, of["produces"] as string[] | undefined);
  text(5, of.operationId);
  text(3, of.description);
  texts(1, of["tags"] as string[] | undefined);
}

interface Response {
  readonly description: string;
  readonly schema?: Schema;
}

function responses(all: Readonly<Record<string, Response>>): void {
  for (const [code, response] of Object.entries(all).toReversed()) {
    nested(1, () => {
      nested(2, () =>
        nested(1, () => {
          const { schema: of } = response;
          if (of !== undefined) nested(2, () => nested(1, () => schema(of)));
          text(1, response.description);
        }),
      );
      text(1, code);
    });
  }
}

function parameters(field: number, all: readonly Parameter[] | undefined): void {
  for (const of of (all ?? []).toReversed()) nested(field, () => nested(1, () => parameter(of)));
}

/** A body parameter, or (not a body) one of the query or the path. */
function parameter(of: Parameter): void {
  if (of.in === "body") return nested(1, () => bodyParameter(of));
  const query = of.in === "query";
  // The two differ in one field that stands before the type.
  const typeField = query ? 6 : 5;
  nested(2, () =>
    nested(query ? 3 : 4, () => {
      flag(query ? 20 : 19, of.uniqueItems);
      text(typeField, of.type);
      text(4, of.name);
      text(3, of.description);
      text(2, of.in);
      flag(1, of.required);
    }),
  );
}

function bodyParameter(of: Parameter): void {
  nested(5, () => schema(of.schema as Schema));
  flag(4, of.required);
  text(3, of.in);
  text(2, of.name);
  text(1, of.description);
}
