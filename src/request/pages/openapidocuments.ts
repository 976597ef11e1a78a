// OpenAPI documents of a snapshot, put together from parts: those of the built-in kinds are made once, those of a custom
// resource once per change of its definition, when a document is asked for first. Version 3 has one document per group
// version.

import { messageOf } from "../../api/messages.ts";
import type { Registry } from "../../api/registry.ts";
import type { Message } from "../../api/schema.ts";
import type { Resource, Scheme } from "../../api/scheme.ts";
import { customDefinitions } from "../../openapi/openapicustom.ts";
import { customPaths, customPathsJson } from "../../openapi/openapicustompaths.ts";
import type { CustomSchema } from "../../openapi/openapidefined.ts";
import { definitionJson } from "../../openapi/openapijson.ts";
import {
  documentNames,
  groupVersionDocument,
  groupVersionPaths,
  kindTable,
  type PathEntry,
  rootMessages,
  rootPaths,
} from "../../openapi/openapipaths.ts";
import { encodeDefinition, encodeDefinitionSlowly, encodeFrame, encodePath } from "../../openapi/openapiproto.ts";
import {
  addScalar,
  commonMessages,
  definitionsOf,
  type OpenApiVersion,
  type Schema,
  type SchemaContext,
} from "../../openapi/openapischema.ts";
import {
  type Document,
  documentOf,
  makePart,
  type Part,
  type Pieces,
  plainPart,
  Room,
  slices,
} from "./openapiparts.ts";

/** What a document is written in. */
type Form = "v2" | "v2 protobuf" | "v3";

/** Parts of one source of paths and definitions. */
interface Parts {
  readonly paths: Part;
  readonly definitions: Part;
}

const versions: Readonly<Record<Form, OpenApiVersion>> = { v2: 2, "v2 protobuf": 2, v3: 3 };

/** Promises by name, each made once; one that failed is made again. */
class Once<T> {
  readonly #promises = new Map<string, Promise<T>>();

  get(name: string, make: () => Promise<T>): Promise<T> {
    let promise = this.#promises.get(name);
    if (promise === undefined) {
      promise = make();
      this.#promises.set(name, promise);
      promise.catch(() => this.#promises.delete(name));
    }
    return promise;
  }
}

/** What the built-in kinds have, for as long as the front lives. */
class BuiltIn {
  readonly scheme: Scheme;
  readonly #kindsOf: SchemaContext["kindsOf"];
  readonly #parts = new Once<Parts>();
  readonly #documents = new Once<Document>();
  readonly #common = new Once<Part>();

  constructor(scheme: Scheme) {
    this.scheme = scheme;
    this.#kindsOf = kindTable(scheme);
  }

  context(version: OpenApiVersion): SchemaContext {
    return { identity: this.scheme.identity, version, kindsOf: this.#kindsOf };
  }

  /** Of all kinds, for version 2. */
  parts(form: "v2" | "v2 protobuf"): Promise<Parts> {
    return this.#parts.get(form, async () => {
      made.builtIn += 1;
      const context = this.context(2);
      const roots = new Set<Message>();
      for (const { group, version } of documentNames(this.scheme).values()) {
        for (const message of rootMessages(this.scheme, group, version)) roots.add(message);
      }
      const definitions = definitionsOf(context, roots);
      addScalar(context, definitions, "Patch");
      if (form === "v2 protobuf") {
        return {
          paths: await makePart(() => protobufPaths(allPaths(context, this.scheme)), true),
          definitions: await makePart(() => protobufDefinitions(schemas(definitions)), true),
        };
      }
      return {
        paths: await makePart(() => jsonMembers(allPaths(context, this.scheme)), true),
        definitions: await makePart(() => jsonMembers(schemas(definitions)), true),
      };
    });
  }

  /** The version 3 document of a group version. */
  document(name: string, group: string, version: string, info: string): Promise<Document> {
    return this.#documents.get(name, async () => {
      made.builtIn += 1;
      const context = this.context(3);
      const definitions = definitionsOf(context, rootMessages(this.scheme, group, version));
      addScalar(context, definitions, "Patch");
      const parts = {
        paths: await makePart(() => jsonMembers(groupVersionPaths(context, this.scheme, group, version)), true),
        definitions: await makePart(() => jsonMembers(schemas(definitions)), true),
      };
      return documentOf(framedV3(info, [parts]));
    });
  }

  /** Version 3 definitions the documents of custom resources refer to. */
  common(): Promise<Part> {
    return this.#common.get("", () => {
      const context = this.context(3);
      const roots = ["meta/v1.ObjectMeta", "meta/v1.ListMeta", "autoscaling/v1.Scale"].map(messageOf);
      const definitions = definitionsOf(context, [...Object.values(commonMessages), ...roots]);
      addScalar(context, definitions, "Patch");
      return makePart(() => jsonMembers(schemas(definitions)), true);
    });
  }
}

/** What the definition of a custom resource says of it now; undefined: nothing, or it is gone. */
export type DefinedSchema = (resource: Resource) => CustomSchema | undefined;

/** Parts of custom resources; they go with their resource. */
const customParts = new WeakMap<Resource, Once<Parts>>();
/** Version 3 documents of custom resources by the first of their group version; good as long as that has the same. */
const customDocuments = new WeakMap<
  Resource,
  { readonly resources: readonly Resource[]; readonly documents: Once<Document> }
>();
const builtIns = new WeakMap<Scheme, BuiltIn>();
const snapshots = new WeakMap<Scheme, Documents>();

/** How often parts were made on this thread, for tests: what did not change is not made again. */
export const made = { builtIn: 0, custom: 0 };

/** The documents of one snapshot. */
export class Documents {
  readonly #scheme: Scheme;
  readonly #defined: DefinedSchema;
  readonly #builtIn: BuiltIn;
  /** Title and version, as JSON. */
  readonly #title: string;
  readonly #release: string;
  readonly #documents = new Once<Document>();
  /** Names of version 3 documents. */
  readonly #names: ReadonlyMap<string, { readonly group: string; readonly version: string }>;
  readonly #room = new Room();
  #custom: readonly Resource[] | undefined;
  #versions: Map<string, Resource[]> | undefined;

  constructor(scheme: Scheme, builtIn: BuiltIn, release: string, defined: DefinedSchema) {
    this.#defined = defined;
    this.#scheme = scheme;
    this.#builtIn = builtIn;
    this.#title = scheme.identity.identity === "kubernetes" ? "Kubernetes" : "Orch";
    this.#release = release;
    this.#names = documentNames(scheme);
  }

  /**
   * Whether a version 3 document is for those who know its hash: upstream answers 404 for custom resources without its
   * gate, and newer clients, which come by the index, need them.
   */
  isUnlisted(name: string): boolean {
    const { group = "", version = "" } = this.#names.get(name) ?? {};
    return !this.#scheme.gates.has("OpenAPIV3") && this.#builtIn.scheme.groupVersion(group, version) === undefined;
  }

  /** Version 2. */
  v2(form: "v2" | "v2 protobuf"): Promise<Document> {
    return this.#documents.get(form, async () => {
      const builtIn = await this.#builtIn.parts(form);
      const all = [builtIn, ...(await partsOf(this.#scheme, form, this.#resources(), this.#defined))];
      const paths = all.map((parts) => parts.paths);
      const definitions = all.map((parts) => parts.definitions);
      this.#room.keep([...paths, ...definitions]);
      if (form === "v2") {
        return documentOf(framed(`{"swagger":"2.0",${this.#info}`, paths, '},"definitions":{', definitions, "}}"));
      }
      const { head, between } = encodeFrame(this.#title, this.#release, bytesOf(paths), bytesOf(definitions));
      return documentOf(framed(head, paths, between, definitions, ""));
    });
  }

  /** The index of version 3. */
  index(): Promise<Document> {
    return this.#documents.get("v3", async () => {
      const paths: Record<string, { serverRelativeURL: string }> = {};
      for (const name of [...this.#names.keys()].sort()) {
        const document = await this.v3(name);
        if (document === undefined) continue;
        paths[name] = { serverRelativeURL: `/openapi/v3/${name}?hash=${document.etag.slice(1, -1)}` };
      }
      return documentOf([await makePart(() => [`${JSON.stringify({ paths })}\n`])]);
    });
  }

  /** The version 3 document of a group version; undefined: there is none. */
  async v3(name: string): Promise<Document | undefined> {
    const found = this.#names.get(name);
    if (found === undefined) return undefined;
    const { group, version } = found;
    const info = `{"openapi":"3.0.0",${this.#info}`;
    const builtIn = this.#builtIn.scheme.groupVersion(group, version);
    if (builtIn !== undefined) return this.#builtIn.document(name, group, version, info);
    return this.#documents.get(`v3/${name}`, async () => {
      const resources = this.#byVersion().get(`${group}/${version}`) ?? [];
      const document = await this.#customV3(resources, group, version, info);
      this.#room.keep(document.parts);
      return document;
    });
  }

  /** That of a snapshot before, where the group version has the same resources. */
  #customV3(resources: readonly Resource[], group: string, version: string, info: string): Promise<Document> {
    const make = async (): Promise<Document> => {
      const parts = await partsOf(this.#scheme, "v3", resources, this.#defined);
      const own = jsonMembers([groupVersionDocument(this.#builtIn.context(3), group, version)]);
      const common = { paths: plainPart([...own].join("")), definitions: await this.#builtIn.common() };
      return documentOf(framedV3(info, [common, ...parts]));
    };
    const [first] = resources;
    if (first === undefined) return make();
    let known = customDocuments.get(first);
    if (known === undefined || !isSame(known.resources, resources)) {
      known = { resources, documents: new Once() };
      customDocuments.set(first, known);
    }
    return known.documents.get("", make);
  }

  get #info(): string {
    return `"info":${JSON.stringify({ title: this.#title, version: this.#release })},"paths":{`;
  }

  /** Custom resources, in an order that all fronts agree on. */
  #resources(): readonly Resource[] {
    this.#custom ??= this.#scheme.resources
      .filter((resource) => resource.provided === true)
      .map((resource) => ({ resource, key: `${resource.apiVersion}/${resource.resource}` }))
      .sort((a, b) => (a.key < b.key ? -1 : 1))
      .map(({ resource }) => resource);
    return this.#custom;
  }

  /** The same by group version. */
  #byVersion(): ReadonlyMap<string, readonly Resource[]> {
    if (this.#versions !== undefined) return this.#versions;
    this.#versions = new Map();
    for (const resource of this.#resources()) {
      const of = this.#versions.get(resource.apiVersion);
      if (of === undefined) this.#versions.set(resource.apiVersion, [resource]);
      else of.push(resource);
    }
    return this.#versions;
  }
}

function isSame<T>(a: readonly T[], b: readonly T[]): boolean {
  return a.length === b.length && a.every((one, at) => one === b[at]);
}

/** The documents of what is served now. */
export function documentsOf(registry: Registry, release: string, defined: DefinedSchema): Documents {
  const scheme = registry.current();
  let documents = snapshots.get(scheme);
  if (documents === undefined) {
    let builtIn = builtIns.get(registry.builtIn);
    if (builtIn === undefined) {
      builtIn = new BuiltIn(registry.builtIn);
      builtIns.set(registry.builtIn, builtIn);
    }
    documents = new Documents(scheme, builtIn, release, defined);
    snapshots.set(scheme, documents);
  }
  return documents;
}

/** The parts of custom resources, made where they are not there. */
async function partsOf(
  scheme: Scheme,
  form: Form,
  resources: readonly Resource[],
  defined: DefinedSchema,
): Promise<Parts[]> {
  const found: Parts[] = [];
  for (const resource of resources) {
    let known = customParts.get(resource);
    if (known === undefined) {
      known = new Once();
      customParts.set(resource, known);
    }
    found.push(await known.get(form, () => makeCustom(scheme, form, resource, defined)));
    await slices.next();
  }
  return found;
}

async function makeCustom(
  { identity }: Scheme,
  form: Form,
  resource: Resource,
  defined: DefinedSchema,
): Promise<Parts> {
  made.custom += 1;
  const context = { identity, version: versions[form] };
  // Read each time: a definition is many times as large as the part that is made of it.
  const definitions = () => customDefinitions(context, resource, defined(resource));
  if (form === "v2 protobuf") {
    return {
      paths: await makePart(() => protobufPaths(customPaths(context, resource))),
      definitions: await makePart(function* () {
        for (const { name, schema } of yield* definitions()) yield yield* encodeDefinitionSlowly(name, schema);
      }),
    };
  }
  return {
    paths: await makePart(() => [`,${customPathsJson(context, resource)}`]),
    definitions: await makePart(function* () {
      for (const definition of yield* definitions()) {
        yield ",";
        yield* definitionJson(definition);
      }
    }),
  };
}

/** Head, paths, what is between, definitions, foot. */
function framed(
  head: string | Uint8Array,
  paths: readonly Part[],
  between: string | Uint8Array,
  definitions: readonly Part[],
  foot: string,
): Part[] {
  return [plainPart(head), ...paths, plainPart(between), ...definitions, plainPart(foot)];
}

function framedV3(head: string, parts: readonly Parts[]): Part[] {
  const paths = parts.map((one) => one.paths);
  const definitions = parts.map((one) => one.definitions);
  return framed(head, paths, '},"components":{"schemas":{', definitions, "}}}");
}

function bytesOf(parts: readonly Part[]): number {
  return parts.reduce((sum, { bytes }) => sum + bytes, 0);
}

function* allPaths(context: SchemaContext, scheme: Scheme): Generator<PathEntry> {
  yield* rootPaths(context, scheme);
  for (const { group, version } of documentNames(scheme).values()) {
    yield* groupVersionPaths(context, scheme, group, version);
  }
}

function* schemas(definitions: ReadonlyMap<string, () => Schema>): Generator<readonly [string, Schema]> {
  for (const [name, schema] of definitions) yield [name, schema()];
}

/** The members of a JSON object, without its braces. */
function* jsonMembers(entries: Iterable<readonly [string, object]>): Generator<string> {
  let before = "";
  for (const [name, value] of entries) {
    yield `${before}${JSON.stringify(name)}:${JSON.stringify(value)}`;
    before = ",";
  }
}

function* protobufPaths(entries: Iterable<PathEntry>): Pieces {
  for (const [path, item] of entries) yield encodePath(path, item);
}

function* protobufDefinitions(entries: Iterable<readonly [string, Schema]>): Pieces {
  for (const [name, schema] of entries) yield encodeDefinition(name, schema);
}
