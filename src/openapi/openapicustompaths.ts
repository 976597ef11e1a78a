// OpenAPI paths of custom resources: the calls every resource has, told as upstream tells them for definitions.
import { type Identity, perIdentity } from "../api/identity.ts";
import type { Resource, Subresource } from "../api/scheme.ts";
import { type Call, listQuery } from "./openapicalls.ts";
import type { CustomContext } from "./openapicustom.ts";
import { type PathEntry, resourcePaths, rootOf, shortGroup, validId, type Wording } from "./openapipaths.ts";
import { customParameterTexts } from "./openapirecorded.ts";
import type { OpenApiVersion } from "./openapischema.ts";
import { parameterTexts } from "./openapitexts.ts";

const jsonAndYaml = ["application/json", "application/yaml"];

/** The paths of one custom resource. */
export function customPaths({ identity, version }: CustomContext, resource: Resource): Generator<PathEntry> {
  const { group, kind, version: served } = resource;
  const { id, tag } = namesOf(identity, group, served);
  const context = {
    identity,
    version,
    wording: wordingOf(identity, version),
    nameText: `name of the ${kind}`,
    kindsOf: () => [],
  };
  return resourcePaths(
    context,
    resource,
    rootOf(group, served),
    ({ namespaced }, action) => idOf(id, namespaced, kind, action),
    (call, sub) => told(call, resource, [tag], sub),
  );
}

/**
 * The paths of one custom resource as members of a JSON object, without its braces. All of one scope and with the same
 * subresources differ in names alone, so their text is made once and filled in.
 */
export function customPathsJson({ identity, version }: CustomContext, resource: Resource): string {
  const { group, kind, listKind, namespaced, resource: plural, version: served, subresources } = resource;
  const { templates } = wordingOf(identity, version);
  const shape = [namespaced, ...subresources.map((sub) => sub.name)].join();
  let template = templates.get(shape);
  if (template === undefined) {
    template = templateOf({ identity, version }, resource);
    templates.set(shape, template);
  }
  const { id, tag } = namesOf(identity, group, served);
  const names = new Map([
    [hole.article + hole.kind, articleOf(kind).trimStart() + kind],
    [hole.id, id],
    [hole.tag, tag],
    [hole.turned, group.split(".").reverse().join(".")],
    [hole.group, group],
    [hole.version, served],
    [hole.plural, plural],
    [hole.kind, kind],
    [hole.listKind, listKind],
  ]);
  // Names are letters, digits, dots and dashes: nothing JSON would escape. Every second part is a hole.
  return template.map((part, at) => (at % 2 === 0 ? part : names.get(part))).join("");
}

/** Letters that stand for names in a text; no name of a definition has them. */
const hole = {
  group: "\u7532.\u4e59",
  turned: "\u4e59.\u7532",
  id: "\u7532\u4e59\u4e19",
  tag: "\u7532\u4e59_\u4e19",
  version: "\u4e19",
  plural: "\u4e01",
  kind: "\u620a",
  listKind: "\u5df1",
  article: "a ",
} as const;
const holes = /(\u7532\u4e59_?\u4e19|\u4e59\.\u7532|\u7532\.\u4e59|a \u620a|[\u4e19\u4e01\u620a\u5df1])/;

function templateOf(context: CustomContext, resource: Resource): readonly string[] {
  const { group, version, plural, kind, listKind } = hole;
  const message = { ...resource.message, name: `${group}/${version}.${kind}` };
  const subresources = resource.subresources.map((sub) =>
    sub.message === resource.message ? { ...sub, message } : sub,
  );
  const names = { group, version, resource: plural, kind, listKind, message, subresources };
  const paths = [...customPaths(context, { ...resource, ...names })];
  return paths
    .map(([path, item]) => `${JSON.stringify(path)}:${JSON.stringify(item)}`)
    .join()
    .split(holes);
}

/** How operations of a group version are called, and their tag. */
function namesOf(identity: Identity, group: string, version: string): { readonly id: string; readonly tag: string } {
  const short = shortGroup(identity, group);
  const id = validId(short, true) + validId(version, true);
  return { id, tag: `${validId(short, false)}_${validId(version, false)}` };
}

/** What is told of all custom resources in one version of OpenAPI. */
interface CustomWording extends Wording {
  /** Paths as JSON, every second part a hole, by scope and subresources. */
  readonly templates: Map<string, readonly string[]>;
}

const wordingsOf = perIdentity(() => new Map<OpenApiVersion, CustomWording>());

/** Made once for each version: what is told of one custom resource is told of all. */
function wordingOf(identity: Identity, version: OpenApiVersion): CustomWording {
  const known = wordingsOf(identity);
  let wording = known.get(version);
  if (wording === undefined) {
    const texts = Object.entries({ ...parameterTexts, ...customParameterTexts });
    wording = {
      texts: Object.fromEntries(texts.map(([name, text]) => [name, identity.spell(text)])),
      patchTypes: ["application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml"],
      bodyTypes: jsonAndYaml,
      answerTypes: () => jsonAndYaml,
      parameters: new Map(),
      templates: new Map(),
    };
    known.set(version, wording);
  }
  return wording;
}

/** Upstream puts the group version behind the verb, and takes `delete` for the verb of a collection, too. */
function idOf(name: string, namespaced: boolean, kind: string, action: string): string {
  const scope = namespaced ? "Namespaced" : "";
  return action === "deleteCollection" ? `delete${name}Collection${scope}${kind}` : `${action}${name}${scope}${kind}`;
}

function told(call: Call, { group, version, kind }: Resource, tags: readonly string[], sub?: Subresource): Call {
  const of = sub === undefined ? "" : ` ${sub.name} of`;
  const query = call.query.filter((parameter) => parameter !== "fieldValidation" && parameter !== "force");
  // Of subresources, too, whatever their own kind is.
  const common: Call = { ...call, query, tags, kind: { group, kind, version } };
  switch (call.action) {
    case "list":
      return { ...common, description: `list objects of kind ${kind}` };
    case "post":
      return { ...common, description: `create${articleOf(kind)}${kind}` };
    case "deletecollection":
      return { ...common, description: `delete collection of ${kind}`, query: listQuery, body: undefined };
    case "get":
      return { ...common, description: `read${of} the specified ${kind}`, query: ["resourceVersion"] };
    case "put":
      return { ...common, description: `replace${of} the specified ${kind}` };
    case "delete":
      return { ...common, description: `delete${articleOf(kind)}${kind}` };
    default:
      return { ...common, description: `partially update${of} the specified ${kind}`, codes: [200] };
  }
}

/** Kinds that look like a plural have none. */
function articleOf(kind: string): string {
  if (kind.endsWith("s") && !kind.endsWith("ss")) return " ";
  return /^[aeiou]/i.test(kind) ? " an " : " a ";
}
