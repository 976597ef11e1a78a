// What a definition of a custom resource serves: a resource for each of its versions, with the shape and the behaviour
// the definition gives it. Everything that depends on the definition hangs on these resources and goes with them.
import type {
  CustomResourceDefinition,
  CustomResourceDefinitionNames,
  CustomResourceDefinitionSpec,
  CustomResourceDefinitionVersion,
} from "../../api/gen/apiextensions/v1.ts";
import type { Identity } from "../../api/identity.ts";
import { messageOf } from "../../api/messages.ts";
import type { Message } from "../../api/schema.ts";
import { compareVersions, type Resource, type Subresource, storageVersionHashOf } from "../../api/scheme.ts";
import { assert } from "../../base/assert.ts";
import { giveType } from "../../merge/schema.ts";
import { giveRemote, type RemoteConversion, remoteOf } from "../remote.ts";
import { behaviourOf, carryBehaviour } from "../table.ts";
import { behaviourOfVersion } from "./behaviour.ts";
import { cleanupFinalizer } from "./names.ts";
import { openMessage } from "./openmessage.ts";
import { prefixOf } from "./prefix.ts";
import { workOn } from "./schemawork.ts";
import { type CustomVersion, compileVersions } from "./versions.ts";

/** Conditions of a definition that decide what is served. */
export type ConditionType = "NamesAccepted" | "Established" | "Terminating";

/** What discovery shows, in upstream's order. */
const verbs = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
const partVerbs = ["get", "patch", "update"];

/** Whether a condition of a definition is there with a status. */
export function isCondition(
  { status }: CustomResourceDefinition,
  type: ConditionType,
  value: "True" | "False" = "True",
): boolean {
  return (status.conditions ?? []).some((condition) => condition.type === type && condition.status === value);
}

/**
 * Whether a definition was emptied: it is being deleted, and others alone keep it. Its log is given up, and it serves
 * nothing any more.
 */
export function isEmptied({ metadata }: CustomResourceDefinition, identity: Identity): boolean {
  if (metadata.deletionTimestamp === undefined) return false;
  return metadata.finalizers?.includes(identity.spell(cleanupFinalizer)) !== true;
}

/** The webhook that converts objects of a definition; undefined: their versions differ in nothing but their names. */
export type ConverterOf = (definition: CustomResourceDefinition) => RemoteConversion | undefined;

/** What a definition's resources are made with, beside what it says in its header. */
export interface DefinitionParts {
  /** What it served until now, which is used again as far as it says the same. */
  readonly before?: readonly Resource[] | undefined;
  /** Left out: nothing is converted. */
  readonly converterOf?: ConverterOf;
  /**
   * The definition with its schemas, as it is when the first of them is needed; undefined: it is gone. Left out: the
   * definition that was given has them.
   */
  readonly whole?: () => CustomResourceDefinition | undefined;
  /** The same as it is stored, in bytes that are the caller's. Left out: other threads cannot be told. */
  readonly stored?: () => Uint8Array | undefined;
}

/**
 * The resources of a definition, one for each version that is served; none before it is established. The version its
 * objects are stored in is made, too, where it is not served. Nothing of the definition is kept but its names, columns
 * and subresources; schemas are compiled when they are needed.
 */
export function resourcesOf(
  definition: CustomResourceDefinition,
  identity: Identity,
  parts: DefinitionParts = {},
): readonly Resource[] {
  if (!isCondition(definition, "Established") || isEmptied(definition, identity)) return [];
  const { before = [] } = parts;
  const [known] = before;
  if (known?.definedAs !== textOf(definition)) return freshResources(definition, identity, parts);
  const ending = isCondition(definition, "Terminating");
  return known.ending === ending ? before : copiesOf(before, { ending }, identity);
}

/** The same resources but for what is told of them, with the behaviour they have. */
function copiesOf(before: readonly Resource[], change: Partial<Resource>, identity: Identity): readonly Resource[] {
  const copies = new Map<Resource, Draft>();
  for (const resource of new Set(before.flatMap(({ stored }) => stored ?? []).concat(before))) {
    const copy = { ...resource, ...change };
    carryBehaviour(copy, () => behaviourOf(resource, identity));
    const remote = remoteOf(resource);
    if (remote !== undefined) giveRemote(copy, remote);
    const compiler = compilers.get(resource);
    if (compiler !== undefined) compilers.set(copy, compiler);
    copies.set(resource, copy);
  }
  for (const copy of copies.values()) copy.stored = copy.stored && copies.get(copy.stored);
  return before.flatMap((resource) => copies.get(resource) ?? []);
}

/** Compiles the schemas of a definition when one of them is needed first, and keeps nothing of it else. */
class VersionCompiler {
  readonly #identity: Identity;
  readonly #uid: string | undefined;
  /** Without schemas. */
  readonly #header: CustomResourceDefinitionSpec;
  #versions: ReadonlyMap<string, CustomVersion> = new Map();
  /** Undefined: all is done. */
  #steps: Generator<undefined> | undefined;
  #isComplete = true;
  /** See DefinitionParts. */
  readonly stored: DefinitionParts["stored"];

  constructor(
    definition: CustomResourceDefinition,
    header: CustomResourceDefinitionSpec,
    { whole = () => definition, stored }: Pick<DefinitionParts, "whole" | "stored">,
    identity: Identity,
  ) {
    this.stored = stored;
    this.#uid = definition.metadata.uid;
    this.#header = header;
    this.#identity = identity;
    this.#steps = this.#compile(whole);
  }

  /** What is left to be done, step by step; what is needed before is done at once. */
  get steps(): Iterator<undefined> | undefined {
    return this.#steps;
  }

  /** Every version was still there when schemas were needed. Where not, versions have none, and take anything. */
  get isComplete(): boolean {
    this.#finish();
    return this.#isComplete;
  }

  version(name: string): CustomVersion {
    this.#finish();
    const version = this.#versions.get(name);
    assert(version !== undefined, "Each version was compiled");
    return version;
  }

  #finish(): void {
    for (const _ of this.#steps ?? []);
  }

  *#compile(whole: () => CustomResourceDefinition | undefined): Generator<undefined> {
    const definition = whole();
    const known = definition?.metadata.uid === this.#uid ? (definition?.spec.versions ?? []) : [];
    const versions = (this.#header.versions ?? []).map((version) => {
      const found = known.find(({ name }) => name === version.name);
      if (found === undefined) this.#isComplete = false;
      const schema = found?.schema;
      return schema === undefined ? version : { ...version, schema };
    });
    const spec = { ...this.#header, versions };
    const { compiler, steps } = workOn(spec);
    yield* steps;
    const compiled = compileVersions(spec, this.#identity, compiler);
    yield;
    // Nothing of the definition is kept.
    for (const version of compiled) {
      version.form();
      yield;
    }
    this.#versions = new Map(compiled.map((version) => [version.name, version]));
    this.#steps = undefined;
  }
}

const compilers = new WeakMap<Resource, VersionCompiler>();

/**
 * Whether what a custom resource's definition says of its objects is known: it is not if the definition, or this version
 * of it, went before its schema was needed. Always so of other resources.
 */
export function hasSchema(resource: Resource): boolean {
  return compilers.get(resource)?.isComplete ?? true;
}

/** What is to be done before requests for a custom resource, which would do it at once; undefined: nothing is. */
export function stepsBefore(resource: Resource): Iterator<undefined> | undefined {
  return compilers.get(resource)?.steps;
}

/** Whether the objects of a resource can be worked on by threads that are handed its definition, or know it. */
export function isPortable(resource: Resource): boolean {
  if (resource.provided !== true) return true;
  // A webhook is asked by fronts alone.
  return remoteOf(resource) === undefined && compilers.get(resource)?.stored !== undefined;
}

/** The definition of a custom resource as it is stored now; undefined: it is gone. */
export function storedDefinitionOf(resource: Resource): Uint8Array | undefined {
  return compilers.get(resource)?.stored?.();
}

/** What a definition says but for its schemas, in texts of its own: parts of a larger one would keep all of it. */
function headerOf({ spec, status }: CustomResourceDefinition): {
  readonly spec: CustomResourceDefinitionSpec;
  readonly names: CustomResourceDefinitionNames;
} {
  const versions = (spec.versions ?? []).map(({ schema: _, ...version }) => version);
  return JSON.parse(JSON.stringify({ spec: { ...spec, versions }, names: status.acceptedNames })) as ReturnType<
    typeof headerOf
  >;
}

/** What decides how objects are served. A change of the spec is a new generation. */
function textOf({ metadata, status }: CustomResourceDefinition): string {
  return JSON.stringify([metadata.uid, String(metadata.generation), status.acceptedNames]);
}

function freshResources(
  definition: CustomResourceDefinition,
  identity: Identity,
  parts: DefinitionParts,
): readonly Resource[] {
  const { spec, names } = headerOf(definition);
  const versions = spec.versions ?? [];
  const compiler = new VersionCompiler(definition, spec, parts, identity);
  const storage = versions.find((version) => version.storage);
  assert(storage !== undefined, "A definition has a version to store objects in");
  const header = { ...definition, spec, status: { ...definition.status, acceptedNames: names } };
  const prefix = prefixOf(header);
  const stored = draftOf(header, storage, storage.name, prefix);
  stored.stored = stored;
  const drafts = versions
    .filter(({ served }) => served)
    .map((version) => {
      if (version === storage) return stored;
      return Object.assign(draftOf(header, version, storage.name, prefix), { stored });
    });
  const remote = parts.converterOf?.(header);
  for (const draft of new Set([stored, ...drafts])) {
    if (remote !== undefined) giveRemote(draft, remote);
    equip(draft, compiler);
  }
  return drafts;
}

/** Gives a resource what is compiled later. Its functions keep what functions beside them refer to: no definition. */
function equip(resource: Resource, compiler: VersionCompiler): void {
  const { version, message } = resource;
  compilers.set(resource, compiler);
  giveType(message, () => compiler.version(version).mergeType());
  carryBehaviour(resource, () => behaviourOfVersion(resource, compiler.version(version)));
}

/** The resource a definition's objects are stored as, also where that version is not served; undefined: none are. */
export function storedResourceOf(
  definition: CustomResourceDefinition,
  identity: Identity,
  parts: DefinitionParts = {},
): Resource | undefined {
  const { spec } = definition;
  const versions = (spec.versions ?? []).map((version) => ({ ...version, served: version.storage }));
  return resourcesOf({ ...definition, spec: { ...spec, versions } }, identity, parts)[0];
}

type Draft = { -readonly [K in keyof Resource]: Resource[K] };

function draftOf(
  definition: CustomResourceDefinition,
  version: CustomResourceDefinitionVersion,
  storedVersion: string,
  prefix: string,
): Draft {
  const { group, scope } = definition.spec;
  const names: CustomResourceDefinitionNames = definition.status.acceptedNames;
  const { plural, singular, kind, listKind } = names;
  const message = openMessage(`${group}/${version.name}.${kind}`, kind);
  return {
    group,
    version: version.name,
    apiVersion: `${group}/${version.name}`,
    kind,
    listKind: listKind ?? `${kind}List`,
    resource: plural,
    singular: singular ?? kind.toLowerCase(),
    namespaced: scope === "Namespaced",
    shortNames: names.shortNames ?? [],
    categories: names.categories ?? [],
    verbs,
    virtual: false,
    computed: false,
    servedByDefault: true,
    provided: true,
    ending: isCondition(definition, "Terminating"),
    definedAs: textOf(definition),
    redefined: (definition.metadata.generation ?? 1) !== 1,
    deprecationWarning: deprecationOf(definition.spec, kind, version),
    subresources: subresourcesOf(group, kind, version, message),
    storageVersionHash: storageVersionHashOf(group, storedVersion, kind),
    introducedIn: undefined,
    deprecatedIn: undefined,
    removedIn: undefined,
    replacement: undefined,
    message,
    stored: undefined,
    prefix,
  };
}

function subresourcesOf(
  group: string,
  kind: string,
  { name, subresources }: CustomResourceDefinitionVersion,
  message: Message,
): Subresource[] {
  const found: Subresource[] = [];
  if (subresources?.status !== undefined) {
    found.push({ name: "status", kind, group, version: name, verbs: partVerbs, message });
  }
  if (subresources?.scale !== undefined) {
    const scale = messageOf("autoscaling/v1.Scale");
    found.push({ name: "scale", kind: "Scale", group: "autoscaling", version: "v1", verbs: partVerbs, message: scale });
  }
  return found;
}

/** The warning of a deprecated version; one that says nothing else names the best version that is newer and is not. */
function deprecationOf(
  { group, versions = [] }: CustomResourceDefinitionSpec,
  kind: string,
  { name, deprecated, deprecationWarning }: CustomResourceDefinitionVersion,
): string | undefined {
  if (deprecated !== true) return undefined;
  if (deprecationWarning !== undefined) return deprecationWarning;
  const [best] = versions
    .filter((version) => version.served && version.deprecated !== true && compareVersions(version.name, name) < 0)
    .map((version) => version.name)
    .sort(compareVersions);
  const instead = best === undefined ? "" : `; use ${group}/${best} ${kind}`;
  return `${group}/${name} ${kind} is deprecated${instead}`;
}
