// OpenAPI schemas of custom resources, from the schemas of their definitions, as upstream publishes them. Version 3 shows
// what the definition says; version 2 leaves out or loosens what its clients cannot read: an object that version 2
// refuses and the server takes would keep clients from sending it.
import type { Identity } from "../api/identity.ts";
import type { Resource } from "../api/scheme.ts";
import type { CustomSchema, SchemaJson } from "./openapidefined.ts";
import { definitionName } from "./openapinames.ts";
import { customTexts } from "./openapirecorded.ts";
import { type OpenApiVersion, reference, type Schema } from "./openapischema.ts";

/** What schemas are written for. */
export interface CustomContext {
  readonly identity: Identity;
  readonly version: OpenApiVersion;
}

/** A definition that is ready to be written. */
export interface Definition {
  readonly name: string;
  readonly schema: Schema;
  /** JSON.stringify() writes it as it is, and at once: it is small, and no number in it has too many digits. */
  readonly isPlain: boolean;
}

/**
 * The definitions of a custom resource: its kind and its list. Gives the caller a chance to let others work (yields)
 * after every few hundred schemas inside a large one.
 */
export function* customDefinitions(
  context: CustomContext,
  resource: Resource,
  of: CustomSchema = { schema: undefined, keepsUnknown: false, isExact: false },
): Generator<undefined, readonly Definition[]> {
  const { group, version, kind, listKind, resource: plural } = resource;
  const name = definitionName(context.identity, `${group}/${version}.${kind}`);
  const listName = definitionName(context.identity, `${group}/${version}.${listKind}`);
  const list: Schema = {
    description: `${listKind} is a list of ${kind}`,
    required: ["items"],
    properties: {
      apiVersion: typeMeta(context, "apiVersion"),
      items: {
        description: context.identity.spell(customTexts.items(plural)),
        type: "array",
        items: reference(context.version, name),
      },
      kind: typeMeta(context, "kind"),
      metadata: metadata(context, "ListMeta"),
    },
    "x-kubernetes-group-version-kind": [{ group, kind: listKind, version }],
  };
  const { schema, isPlain } = yield* kindSchema(context, of);
  schema["x-kubernetes-group-version-kind"] = [{ group, kind, version }];
  return [
    { name, schema, isPlain },
    { name: listName, schema: list, isPlain: true },
  ];
}

function* kindSchema(
  context: CustomContext,
  { schema, keepsUnknown, isExact }: CustomSchema,
): Generator<undefined, { readonly schema: Schema; readonly isPlain: boolean }> {
  // Clients of version 2 hold fields that are not named for unknown as soon as any is named.
  const isFree = keepsUnknown || schema?.["x-kubernetes-preserve-unknown-fields"] === true;
  if (schema === undefined || (context.version === 2 && isFree)) {
    return { schema: { type: "object" }, isPlain: true };
  }
  const publisher = new Publisher(context);
  const shown = yield* publisher.publish(schema);
  shown.properties = withProperties(shown.properties, {
    apiVersion: typeMeta(context, "apiVersion"),
    kind: typeMeta(context, "kind"),
    metadata: metadata(context, "ObjectMeta"),
  });
  return { schema: shown, isPlain: publisher.isPlain && !isExact };
}

function typeMeta({ identity }: CustomContext, name: "apiVersion" | "kind"): Schema {
  return { description: identity.spell(customTexts.own[name]), type: "string" };
}

function metadata({ identity, version }: CustomContext, type: "ObjectMeta" | "ListMeta"): Schema {
  const { $ref } = reference(version, definitionName(identity, `meta/v1.${type}`));
  return { description: identity.spell(customTexts.metadata[type]), $ref };
}

/** Properties by name, some of them others than the definition has. */
function withProperties(of: Record<string, Schema> | undefined, own: Record<string, Schema>): Record<string, Schema> {
  return Object.fromEntries(Object.entries({ ...of, ...own }).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Schemas between two chances for others: some hundred microseconds of work. */
const pauseSchemas = 256;

/** What JSON.stringify() writes in a millisecond or two. */
const plainSchemas = 4096;

/** A schema that is to be written: what it is to say, and where. */
interface Task {
  readonly shown: Schema;
  readonly of: SchemaJson;
  /** It stands below allOf or its like, and says what holds of a value, not what the value is. */
  readonly isRule: boolean;
}

/** Writes the schemas of one definition, one after the other: they nest as deep as JSON may. */
class Publisher {
  readonly #context: CustomContext;
  readonly #tasks: Task[] = [];
  /** It is small: see Definition. */
  isPlain = true;

  constructor(context: CustomContext) {
    this.#context = context;
  }

  *publish(of: SchemaJson): Generator<undefined, Schema> {
    const root = this.#later(of, false);
    for (let count = 1; ; count += 1) {
      const task = this.#tasks.pop();
      if (task === undefined) return root;
      if (task.isRule) this.#rule(task);
      else this.#schema(task);
      if (count % pauseSchemas === 0) yield;
      if (count > plainSchemas) this.isPlain = false;
    }
  }

  #later(of: SchemaJson, isRule: boolean): Schema {
    const shown: Schema = {};
    this.#tasks.push({ shown, of, isRule });
    return shown;
  }

  #schema({ shown, of }: Task): void {
    const isOld = this.#context.version === 2;
    const isFree = of["x-kubernetes-preserve-unknown-fields"] === true;
    const isOpaque = isOld && (of.nullable === true || isFree);
    putText(shown, "description", of.description);
    if (!isOld || !isUntyped(of, isOpaque, isFree)) putText(shown, "type", of.type);
    putText(shown, "title", of.title);
    if (!isOld) {
      if (of.nullable === true) shown.nullable = true;
      if (of.default !== undefined && of.default !== null) shown.default = of.default;
    }
    this.#rules(shown, of);
    const required = isOld ? requiredOf(of, isOpaque) : of.required;
    if (required !== undefined && required.length > 0) shown.required = [...required];
    if (!isOpaque) this.#parts(shown, of, false);
    const { additionalProperties: more } = of;
    if (more !== undefined) {
      shown.additionalProperties = typeof more === "boolean" ? more : this.#later(more, false);
    }
    if (!isOld) this.#junctors(shown, of);
    putExtensions(shown, of);
    if (of["x-kubernetes-embedded-resource"] === true && !(isOld && isFree)) this.#embed(shown);
  }

  #rule({ shown, of }: Task): void {
    putText(shown, "type", of.type);
    this.#rules(shown, of);
    if (of.required !== undefined && of.required.length > 0) shown.required = [...of.required];
    this.#parts(shown, of, true);
    this.#junctors(shown, of);
  }

  /** What holds of a value, but for what holds of its parts. */
  #rules(shown: Schema, of: SchemaJson): void {
    putText(shown, "format", of.format);
    if (of.multipleOf !== undefined) shown.multipleOf = of.multipleOf;
    if (of.maximum !== undefined) shown.maximum = of.maximum;
    if (of.exclusiveMaximum === true) shown.exclusiveMaximum = true;
    if (of.minimum !== undefined) shown.minimum = of.minimum;
    if (of.exclusiveMinimum === true) shown.exclusiveMinimum = true;
    for (const key of ["maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties"] as const) {
      const count = of[key];
      if (count !== undefined) shown[key] = count;
    }
    putText(shown, "pattern", of.pattern);
    if (of.uniqueItems === true) shown.uniqueItems = true;
    if (of.enum !== undefined && of.enum.length > 0) shown.enum = of.enum;
  }

  #parts(shown: Schema, { items, properties }: SchemaJson, isRule: boolean): void {
    if (items !== undefined) shown.items = this.#later(items, isRule);
    if (properties === undefined || Object.keys(properties).length === 0) return;
    const found: Record<string, Schema> = {};
    for (const name of Object.keys(properties).sort()) {
      const property = this.#later(properties[name] as SchemaJson, isRule);
      if (name !== "__proto__") found[name] = property;
      else Object.defineProperty(found, name, { value: property, enumerable: true });
    }
    shown.properties = found;
  }

  #junctors(shown: Schema, of: SchemaJson): void {
    for (const key of ["allOf", "oneOf", "anyOf"] as const) {
      const schemas = of[key];
      if (schemas !== undefined && schemas.length > 0) shown[key] = schemas.map((one) => this.#later(one, true));
    }
    if (of.not !== undefined) shown.not = this.#later(of.not, true);
    if (of["x-kubernetes-int-or-string"] !== true || isIntOrStringIn(of)) return;
    // What the extension stands for is said in words that every client knows.
    const anyOf: Schema[] = [{ type: "integer" }, { type: "string" }];
    if (shown.anyOf === undefined) shown.anyOf = anyOf;
    else shown.allOf = [{ anyOf }, ...(shown.allOf ?? [])];
  }

  /** An object of its own inside the object. */
  #embed(shown: Schema): void {
    const { identity } = this.#context;
    const textOf = (name: "apiVersion" | "kind"): Schema => {
      return { description: identity.spell(customTexts.embedded[name]), type: "string" };
    };
    shown.properties = withProperties(shown.properties, {
      apiVersion: textOf("apiVersion"),
      kind: textOf("kind"),
      metadata: metadata(this.#context, "ObjectMeta"),
    });
    shown.required = [...new Set(shown.required).add("kind").add("apiVersion")];
  }
}

/** A client of version 2 takes null for nothing that has a type, nor an array without items. */
function isUntyped({ type, nullable, items }: SchemaJson, isOpaque: boolean, isFree: boolean): boolean {
  if (nullable === true || (isFree && type === "object")) return true;
  return type === "array" && (isOpaque || items === undefined);
}

/** Whether a schema says itself what the extension for integers and strings stands for. */
function isIntOrStringIn(of: SchemaJson): boolean {
  return isIntOrString(of) || (of.allOf?.[0] !== undefined && isIntOrString(of.allOf[0]));
}

function isIntOrString({ anyOf }: SchemaJson): boolean {
  return anyOf?.length === 2 && anyOf[0]?.type === "integer" && anyOf[1]?.type === "string";
}

/** What version 2 requires: it knows no null, so nothing that may be null. */
function requiredOf(of: SchemaJson, isOpaque: boolean): readonly string[] | undefined {
  const { additionalProperties: more, properties } = of;
  if (typeof more === "object" && more.nullable === true) return undefined;
  if (isOpaque) return of.required;
  return of.required?.filter((name) => !isNullable(properties, name));
}

function isNullable(properties: SchemaJson["properties"], name: string): boolean {
  return properties !== undefined && Object.hasOwn(properties, name) && properties[name]?.nullable === true;
}

function putText<K extends "description" | "type" | "title" | "format" | "pattern">(
  shown: Schema,
  key: K,
  text: string | undefined,
): void {
  if (text !== undefined && text !== "") shown[key] = text;
}

function putExtensions(shown: Schema, of: SchemaJson): void {
  if (of["x-kubernetes-preserve-unknown-fields"] === true) shown["x-kubernetes-preserve-unknown-fields"] = true;
  if (of["x-kubernetes-embedded-resource"] === true) shown["x-kubernetes-embedded-resource"] = true;
  if (of["x-kubernetes-int-or-string"] === true) shown["x-kubernetes-int-or-string"] = true;
  const keys = of["x-kubernetes-list-map-keys"];
  if (keys !== undefined && keys.length > 0) shown["x-kubernetes-list-map-keys"] = keys;
  if (of["x-kubernetes-list-type"] !== undefined) shown["x-kubernetes-list-type"] = of["x-kubernetes-list-type"];
  if (of["x-kubernetes-map-type"] !== undefined) shown["x-kubernetes-map-type"] = of["x-kubernetes-map-type"];
  const rules = of["x-kubernetes-validations"];
  if (rules !== undefined && rules.length > 0) shown["x-kubernetes-validations"] = rules;
}
