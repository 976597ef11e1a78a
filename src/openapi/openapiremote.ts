// OpenAPI version 2 of an extension server, read field by field: only paths of its group version and the definitions they
// need, in the shape our own have, so that they can be written in every form. Whatever else it says is left out: nothing
// it sends replaces a path, a definition or a kind of another group.
import type { Operation, Parameter, PathEntry, PathItem } from "./openapipaths.ts";
import type { KindReference, Schema } from "./openapischema.ts";

/** A definition of an extension server. */
export interface RemoteDefinition {
  readonly schema: Schema;
  /** What it says, as text: equal texts say the same. */
  readonly text: string;
  /** Names of the definitions it refers to. */
  readonly refs: ReadonlySet<string>;
}

/** What an extension server says of one group version. */
export interface RemoteOpenApi {
  readonly paths: readonly PathEntry[];
  readonly definitions: ReadonlyMap<string, RemoteDefinition>;
}

type JsonObject = Readonly<Record<string, unknown>>;

/** How deep schemas may be nested. */
const depthMax = 64;
/** The same for values of a document of version 3: a schema is two of them. */
const valueDepthMax = 2 * depthMax;
const prefix = "#/definitions/";

/** Reads a document; each step is short. Throws where it is none, or is nested too deep. */
export function* readRemoteOpenApi(
  text: string,
  group: string,
  root: string,
  expandedMax: number,
): Generator<undefined, RemoteOpenApi> {
  const document: unknown = JSON.parse(text);
  if (!isObject(document) || document["swagger"] !== "2.0") throw new Error("it is no OpenAPI document of version 2");
  yield;
  const reader = new Reader(group, membersOf(document["definitions"]), membersOf(document["parameters"]), expandedMax);
  const paths: PathEntry[] = [];
  for (const [path, item] of membersOf(document["paths"])) {
    if ((path !== root && !path.startsWith(`${root}/`)) || !isObject(item)) continue;
    paths.push([path, reader.pathItem(item)]);
    yield;
  }
  const definitions = new Map<string, RemoteDefinition>();
  // What is found on the way is read, too.
  for (const name of reader.refs) {
    const found = reader.definitions.get(name);
    const own = new Reader(group, reader.definitions, reader.parameters, 0);
    const schema = own.schema(found, 0);
    definitions.set(name, { schema, text: JSON.stringify(schema), refs: own.refs });
    for (const ref of own.refs) reader.refs.add(ref);
    yield;
  }
  return { paths, definitions };
}

/** What a definition of ours says, to be compared with one of an extension server. */
export function comparableText(schema: Schema): string {
  const plain: unknown = JSON.parse(JSON.stringify(schema));
  return JSON.stringify(new Reader(undefined, undefined, new Map(), 0).schema(plain, 0));
}

const textFields = ["description", "type", "format", "title", "pattern"] as const;
const numberFields = [
  "multipleOf",
  "maximum",
  "minimum",
  "maxLength",
  "minLength",
  "maxItems",
  "minItems",
  "maxProperties",
  "minProperties",
] as const;
const flagFields = [
  "exclusiveMaximum",
  "exclusiveMinimum",
  "uniqueItems",
  "x-kubernetes-preserve-unknown-fields",
  "x-kubernetes-embedded-resource",
  "x-kubernetes-int-or-string",
] as const;
const extensionTexts = [
  "x-kubernetes-list-type",
  "x-kubernetes-map-type",
  "x-kubernetes-patch-strategy",
  "x-kubernetes-patch-merge-key",
] as const;
const kindsField = "x-kubernetes-group-version-kind";
const methods = ["get", "put", "post", "delete", "patch"] as const;

class Reader {
  readonly refs = new Set<string>();
  readonly definitions: ReadonlyMap<string, unknown>;
  readonly parameters: ReadonlyMap<string, unknown>;
  readonly #group: string | undefined;
  readonly #isOpen: boolean;
  #expandedLeft: number;

  /** `group`: of the kinds it may tell of; undefined: all. `definitions` it may refer to; undefined: any. */
  constructor(
    group: string | undefined,
    definitions: ReadonlyMap<string, unknown> | undefined,
    parameters: ReadonlyMap<string, unknown>,
    expandedMax: number,
  ) {
    this.#group = group;
    this.#isOpen = definitions === undefined;
    this.definitions = definitions ?? new Map();
    this.parameters = parameters;
    this.#expandedLeft = expandedMax;
  }

  schema(value: unknown, depth: number): Schema {
    if (depth > depthMax) throw new Error(`its schemas are nested more than ${depthMax} deep`);
    if (!isObject(value)) return {};
    const read: Record<string, unknown> = {};
    const ref = this.#reference(value["$ref"]);
    if (ref !== undefined) read["$ref"] = ref;
    for (const name of textFields) if (typeof value[name] === "string") read[name] = value[name];
    for (const name of numberFields) if (typeof value[name] === "number") read[name] = value[name];
    for (const name of flagFields) if (typeof value[name] === "boolean") read[name] = value[name];
    for (const name of extensionTexts) if (typeof value[name] === "string") read[name] = value[name];
    for (const name of ["required", "x-kubernetes-list-map-keys"] as const) {
      if (Array.isArray(value[name])) read[name] = textsOf(value[name]);
    }
    if (Array.isArray(value["enum"])) read["enum"] = value["enum"].filter((one) => typeof one !== "object");
    if (isObject(value["items"])) read["items"] = this.schema(value["items"], depth + 1);
    const others = value["additionalProperties"];
    if (typeof others === "boolean") read["additionalProperties"] = others;
    else if (isObject(others)) read["additionalProperties"] = this.schema(others, depth + 1);
    if (isObject(value["properties"])) {
      const properties = Object.entries(value["properties"]).sort(([a], [b]) => (a < b ? -1 : 1));
      // Defines members whatever their names are.
      read["properties"] = Object.fromEntries(properties.map(([name, one]) => [name, this.schema(one, depth + 1)]));
    }
    const kinds = this.#kinds(value[kindsField]);
    if (kinds.length > 0) read[kindsField] = kinds;
    return read;
  }

  pathItem(value: JsonObject): PathItem {
    const item: PathItem = {};
    const shared = this.#parameters(value["parameters"]);
    if (shared.length > 0) item.parameters = shared;
    for (const method of methods) {
      const operation = value[method];
      if (isObject(operation)) item[method] = this.#operation(operation);
    }
    return item;
  }

  #operation(value: JsonObject): Operation {
    const parameters = this.#parameters(value["parameters"]);
    const [kind] = this.#kinds([value[kindsField]]);
    const action = value["x-kubernetes-action"];
    return {
      description: textOf(value["description"]),
      operationId: textOf(value["operationId"]),
      consumes: textsOf(value["consumes"]),
      produces: textsOf(value["produces"]),
      schemes: ["https"],
      tags: textsOf(value["tags"]),
      ...(parameters.length === 0 ? {} : { parameters }),
      responses: Object.fromEntries(
        [...membersOf(value["responses"])].map(([code, one]) => [code, this.#response(one)]),
      ),
      ...(typeof action === "string" ? { "x-kubernetes-action": action } : {}),
      ...(kind === undefined ? {} : { [kindsField]: kind }),
    };
  }

  #response(value: unknown): object {
    if (!isObject(value)) return { description: "" };
    const schema = isObject(value["schema"]) ? { schema: this.schema(value["schema"], 0) } : {};
    return { description: textOf(value["description"]), ...schema };
  }

  #parameters(value: unknown): Parameter[] {
    return Array.isArray(value) ? value.flatMap((one: unknown) => this.#parameter(one) ?? []) : [];
  }

  #parameter(value: unknown): Parameter | undefined {
    const shared = isObject(value) ? textOf(value["$ref"]) : "";
    const of = shared === "" ? value : this.parameters.get(shared.slice("#/parameters/".length));
    if (!isObject(of)) return undefined;
    const place = textOf(of["in"]);
    if (place !== "body" && place !== "query" && place !== "path") return undefined;
    const parameter = {
      name: textOf(of["name"]),
      in: place,
      ...(typeof of["description"] === "string" ? { description: of["description"] } : {}),
      ...(of["required"] === true ? { required: true } : {}),
      ...(place === "body" ? { schema: this.schema(of["schema"], 0) } : { type: textOf(of["type"]) || "string" }),
      ...(of["uniqueItems"] === true ? { uniqueItems: true } : {}),
    };
    // A few bytes refer to many.
    if (shared !== "") this.#expandedLeft -= JSON.stringify(parameter).length;
    if (this.#expandedLeft < 0) throw new Error("its parameters are too large");
    return parameter;
  }

  #reference(value: unknown): string | undefined {
    if (typeof value !== "string" || !value.startsWith(prefix)) return undefined;
    const name = value.slice(prefix.length);
    if (!this.#isOpen && !this.definitions.has(name)) return undefined;
    this.refs.add(name);
    return value;
  }

  /** Of its own group: clients find schemas by their kinds. */
  #kinds(value: unknown): KindReference[] {
    if (!Array.isArray(value)) return [];
    return value.flatMap((one: unknown) => {
      if (!isObject(one)) return [];
      const { group, kind, version } = one;
      if (typeof group !== "string" || typeof kind !== "string" || typeof version !== "string") return [];
      return this.#group === undefined || group === this.#group ? [{ group, kind, version }] : [];
    });
  }
}

/** Paths and definitions of extension servers, beside ours. */
export interface MergedRemotes {
  readonly paths: PathEntry[];
  readonly definitions: (readonly [string, Schema])[];
}

/**
 * Puts documents beside ours, in their order. A definition that has a name of another one and says something else is
 * renamed (`_v2` and so on), with all that refer to it. `ours`: what our definition says; null: there is one, and what
 * it says is not known.
 */
export function* mergeRemotes(
  documents: readonly RemoteOpenApi[],
  ours: (name: string) => string | null | undefined,
): Generator<undefined, MergedRemotes> {
  const merged: MergedRemotes = { paths: [], definitions: [] };
  /** What was added says; null: it refers to what was renamed. */
  const added = new Map<string, string | null>();
  const known = (name: string): string | null | undefined => added.get(name) ?? (added.has(name) ? null : ours(name));
  for (const { paths, definitions } of documents) {
    const names = new Map<string, string>();
    for (const name of differing(definitions, known)) {
      let version = 2;
      while (known(`${name}_v${version}`) !== undefined || definitions.has(`${name}_v${version}`)) version += 1;
      names.set(name, `${name}_v${version}`);
    }
    yield;
    for (const [path, item] of paths) {
      merged.paths.push([path, withNames(item, names)]);
      yield;
    }
    for (const [name, { schema, text, refs }] of definitions) {
      const own = names.get(name) ?? name;
      if (own === name && known(name) !== undefined) continue;
      const isRenamed = [...refs].some((ref) => names.has(ref));
      added.set(own, isRenamed || own !== name ? null : text);
      merged.definitions.push([own, withNames(schema, names)]);
      yield;
    }
  }
  return merged;
}

/** Names that are taken by something else, and taken ones of what refers to those. */
function differing(
  definitions: ReadonlyMap<string, RemoteDefinition>,
  known: (name: string) => string | null | undefined,
): Set<string> {
  const found = new Set<string>();
  const users = new Map<string, string[]>();
  for (const [name, { text, refs }] of definitions) {
    const other = known(name);
    if (other === undefined) continue;
    if (other !== text) found.add(name);
    for (const ref of refs) {
      const of = users.get(ref);
      if (of === undefined) users.set(ref, [name]);
      else of.push(name);
    }
  }
  for (const name of found) for (const user of users.get(name) ?? []) found.add(user);
  return found;
}

/** A copy that refers to definitions by their new names. */
function withNames<T>(value: T, names: ReadonlyMap<string, string>): T {
  if (names.size === 0 || typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((one: unknown) => withNames(one, names)) as T;
  const members = Object.entries(value).map(([key, one]: [string, unknown]) => {
    const name = key === "$ref" && typeof one === "string" ? names.get(one.slice(prefix.length)) : undefined;
    return [key, name === undefined ? withNames(one, names) : prefix + name];
  });
  return Object.fromEntries(members) as T;
}

/**
 * Version 3 of an extension server, whose documents are of one group version each: its paths, and everything they refer
 * to. Each step is short. Throws where it is none.
 */
export function* readRemoteOpenApiV3(text: string, root: string): Generator<undefined, Uint8Array> {
  const document: unknown = JSON.parse(text);
  if (!isObject(document) || !/^3\./.test(textOf(document["openapi"]))) {
    throw new Error("it is no OpenAPI document of version 3");
  }
  yield;
  checkDepth(document, 0);
  yield;
  const { openapi, info = {} } = document;
  const paths = [...membersOf(document["paths"])].filter(([path]) => path === root || path.startsWith(`${root}/`));
  const pathsText = yield* writeMembers(paths);
  const head = `${JSON.stringify({ openapi, info }).slice(0, -1)},"paths":${pathsText}`;
  const components: string[] = [];
  for (const [kind, parts] of membersOf(document["components"])) {
    components.push(`${JSON.stringify(kind)}:${yield* writeMembers(membersOf(parts))}`);
  }
  return Buffer.from(components.length === 0 ? `${head}}` : `${head},"components":{${components.join()}}}`);
}

/** An object as text, one member a step. */
function* writeMembers(members: Iterable<readonly [name: string, value: unknown]>): Generator<undefined, string> {
  const texts: string[] = [];
  for (const [name, value] of members) {
    texts.push(`${JSON.stringify(name)}:${JSON.stringify(value)}`);
    yield;
  }
  return `{${texts.join()}}`;
}

/** Throws where values are nested deeper than readers can take. */
function checkDepth(value: unknown, depth: number): void {
  if (typeof value !== "object" || value === null) return;
  if (depth > valueDepthMax) throw new Error(`it is nested more than ${valueDepthMax} deep`);
  for (const one of Object.values(value)) checkDepth(one, depth + 1);
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Members by name: what others send indexes no object. */
function membersOf(value: unknown): ReadonlyMap<string, unknown> {
  return new Map(isObject(value) ? Object.entries(value) : []);
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one): one is string => typeof one === "string") : [];
}
