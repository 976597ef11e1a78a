// OpenAPI documents of a snapshot, put together from parts: those of the built-in kinds are made once, those of a custom
// resource once per change of its definition, when a document is asked for first. Version 3 has one document per group
// version.
import type { RemoteDocuments } from "../../aggregation/remotedocuments.ts";
import { messageOf } from "../../api/messages.ts";
import type { Registry } from "../../api/registry.ts";
import type { Message } from "../../api/schema.ts";
import type { RemoteVersion, Resource, Scheme } from "../../api/scheme.ts";
import { inSlices } from "../../base/turn.ts";
import { longWork } from "../../config/longwork.ts";
import type { OpenApiMeter } from "../../observe/openapi.ts";
import { customDefinitions } from "../../openapi/openapicustom.ts";
import { customPaths, customPathsJson } from "../../openapi/openapicustompaths.ts";
import type { CustomSchema } from "../../openapi/openapidefined.ts";
import { definitionJson } from "../../openapi/openapijson.ts";
import { definitionName } from "../../openapi/openapinames.ts";
import {
  documentNames,
  groupVersionDocument,
  groupVersionPaths,
  kindTable,
  type PathEntry,
  rootMessages,
  rootOf,
  rootPaths,
} from "../../openapi/openapipaths.ts";
import { encodeDefinition, encodeDefinitionSlowly, encodeFrame, encodePath } from "../../openapi/openapiproto.ts";
import { comparableText, mergeRemotes, type RemoteOpenApi } from "../../openapi/openapiremote.ts";
import {
  addScalar,
  commonMessages,
  definitionsOf,
  type OpenApiVersion,
  type Schema,
  type SchemaContext,
} from "../../openapi/openapischema.ts";
import { type Document, documentOf, makePart, type Part, type Pieces, plainPart, Room } from "./openapiparts.ts";

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
  #definitions: ReadonlyMap<string, () => Schema> | undefined;
  readonly #texts = new Map<string, string>();

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
      const definitions = this.#allDefinitions();
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

  /** What a definition of version 2 says, to compare with that of others; undefined: there is none. */
  definitionText(name: string): string | undefined {
    const known = this.#texts.get(name);
    if (known !== undefined) return known;
    this.#definitions ??= this.#allDefinitions();
    const schema = this.#definitions.get(name);
    if (schema === undefined) return undefined;
    const text = comparableText(schema());
    this.#texts.set(name, text);
    return text;
  }

  /** Of version 2. */
  #allDefinitions(): ReadonlyMap<string, () => Schema> {
    const context = this.context(2);
    const roots = new Set<Message>();
    for (const { group, version } of documentNames(this.scheme).values()) {
      for (const message of rootMessages(this.scheme, group, version)) roots.add(message);
    }
    const definitions = definitionsOf(context, roots);
    addScalar(context, definitions, "Patch");
    return definitions;
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
/** Version 3 documents of extension servers, by what they sent. */
const remoteV3 = new WeakMap<Uint8Array, Promise<Document>>();
const builtIns = new WeakMap<Scheme, BuiltIn>();
const snapshots = new WeakMap<Scheme, Documents>();

/** What is known of the OpenAPI of extension servers. */
export interface RemoteDescriptions {
  readonly v2: Pick<RemoteDocuments<RemoteOpenApi>, "generation" | "find" | "changesAfter">;
  readonly v3: Pick<RemoteDocuments<Uint8Array>, "generation" | "find">;
  /** Counts documents of version 2 that are put together anew. */
  readonly meter?: OpenApiMeter | undefined;
}

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
  readonly #remote: RemoteDescriptions | undefined;
  /** The newest with what extension servers say, by name. */
  readonly #newest = new Map<string, { readonly generation: number; readonly document: Promise<Document> }>();
  #custom: readonly Resource[] | undefined;
  #versions: Map<string, Resource[]> | undefined;

  constructor(
    scheme: Scheme,
    builtIn: BuiltIn,
    release: string,
    defined: DefinedSchema,
    remote: RemoteDescriptions | undefined,
  ) {
    this.#remote = scheme.remotes.length === 0 ? undefined : remote;
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
    if (this.#remoteOf(name) !== undefined) return !this.#scheme.gates.has("OpenAPIV3");
    const { group = "", version = "" } = this.#names.get(name) ?? {};
    return !this.#scheme.gates.has("OpenAPIV3") && this.#builtIn.scheme.groupVersion(group, version) === undefined;
  }

  /** Version 2. */
  v2(form: "v2" | "v2 protobuf"): Promise<Document> {
    return this.#with(form, this.#remote?.v2.generation, async () => {
      const ended = this.#remote?.meter?.began(form, this.#remote.v2);
      const builtIn = await this.#builtIn.parts(form);
      const all = [builtIn, ...(await partsOf(this.#scheme, form, this.#resources(), this.#defined))];
      const remote = await this.#remoteParts(form);
      const paths = [...all.map((parts) => parts.paths), ...remote.flatMap((parts) => parts.paths)];
      const definitions = [...all.map((parts) => parts.definitions), ...remote.flatMap((parts) => parts.definitions)];
      this.#room.keep([...paths, ...definitions]);
      ended?.();
      if (form === "v2") {
        return documentOf(framed(`{"swagger":"2.0",${this.#info}`, paths, '},"definitions":{', definitions, "}}"));
      }
      const { head, between } = encodeFrame(this.#title, this.#release, bytesOf(paths), bytesOf(definitions));
      return documentOf(framed(head, paths, between, definitions, ""));
    });
  }

  /** A document, made anew when what extension servers say has changed; undefined: there are none. */
  #with(name: string, generation: number | undefined, make: () => Promise<Document>): Promise<Document> {
    if (generation === undefined) return this.#documents.get(name, make);
    const known = this.#newest.get(name);
    if (known?.generation === generation) return known.document;
    const document = make();
    this.#newest.set(name, { generation, document });
    document.catch(() => {
      if (this.#newest.get(name)?.document === document) this.#newest.delete(name);
    });
    return document;
  }

  /** Of extension servers, for version 2, in an order that all fronts agree on. */
  async #remoteParts(form: "v2" | "v2 protobuf"): Promise<Parts[]> {
    const remote = this.#remote;
    if (remote === undefined) return [];
    const documents = [...this.#scheme.remotes]
      // Built-in kinds stay described as they are here: their paths are there already.
      .filter(({ group, version }) => this.#builtIn.scheme.groupVersion(group, version) === undefined)
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .flatMap((one) => remote.v2.find(one).document ?? []);
    if (documents.length === 0) return [];
    const custom = this.#customNames();
    const ours = (name: string): string | null | undefined =>
      custom.has(name) ? null : this.#builtIn.definitionText(name);
    const { paths, definitions } = await inSlices(mergeRemotes(documents, ours), longWork);
    if (form === "v2 protobuf") {
      return [
        {
          paths: await makePart(() => protobufPaths(paths)),
          definitions: await makePart(() => protobufDefinitions(definitions)),
        },
      ];
    }
    const members = (entries: readonly (readonly [string, object])[]) => () =>
      entries.length === 0 ? [] : continued(jsonMembers(entries));
    return [{ paths: await makePart(members(paths)), definitions: await makePart(members(definitions)) }];
  }

  /** Names of the definitions of custom resources. */
  #customNames(): ReadonlySet<string> {
    const names = new Set<string>();
    for (const { group, version, kind, listKind } of this.#resources()) {
      for (const each of [kind, listKind]) {
        names.add(definitionName(this.#scheme.identity, `${group}/${version}.${each}`));
      }
    }
    return names;
  }

  /** The index of version 3. */
  index(): Promise<Document> {
    return this.#with("v3", this.#remote?.v3.generation, async () => {
      const paths: Record<string, { serverRelativeURL: string }> = {};
      const remote = this.#scheme.remotes.map(({ group, version }) => rootOf(group, version).slice(1));
      for (const name of [...new Set([...this.#names.keys(), ...remote])].sort()) {
        const document = await this.v3(name);
        if (document === undefined) continue;
        paths[name] = { serverRelativeURL: `/openapi/v3/${name}?hash=${document.etag.slice(1, -1)}` };
      }
      return documentOf([await makePart(() => [`${JSON.stringify({ paths })}\n`])]);
    });
  }

  /** The version 3 document of a group version; undefined: there is none. */
  async v3(name: string): Promise<Document | undefined> {
    const elsewhere = this.#remoteOf(name);
    if (elsewhere !== undefined) {
      const bytes = this.#remote?.v3.find(elsewhere).document;
      if (bytes === undefined) return undefined;
      let document = remoteV3.get(bytes);
      document ??= makePart(() => [bytes]).then((part) => documentOf([part]));
      remoteV3.set(bytes, document);
      return document;
    }
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

  /** The extension server that answers for the group version of a version 3 document. */
  #remoteOf(name: string): RemoteVersion | undefined {
    const [root, group = "", version = "", ...more] = name.split("/");
    return root === "apis" && more.length === 0 ? this.#scheme.remote(group, version) : undefined;
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
      .filter(({ provided, group, version }) => provided === true && this.#scheme.remote(group, version) === undefined)
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
export function documentsOf(
  registry: Registry,
  release: string,
  defined: DefinedSchema,
  remote?: RemoteDescriptions,
): Documents {
  const scheme = registry.current();
  let documents = snapshots.get(scheme);
  if (documents === undefined) {
    let builtIn = builtIns.get(registry.builtIn);
    if (builtIn === undefined) {
      builtIn = new BuiltIn(registry.builtIn);
      builtIns.set(registry.builtIn, builtIn);
    }
    documents = new Documents(scheme, builtIn, release, defined, remote);
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
    await longWork.giveWay();
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

/** Behind others. */
function* continued(pieces: Iterable<string>): Generator<string> {
  yield ",";
  yield* pieces;
}

function* protobufPaths(entries: Iterable<PathEntry>): Pieces {
  for (const [path, item] of entries) yield encodePath(path, item);
}

function* protobufDefinitions(entries: Iterable<readonly [string, Schema]>): Pieces {
  for (const [name, schema] of entries) yield encodeDefinition(name, schema);
}
