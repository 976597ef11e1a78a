// Definitions of custom resources for tests that are about what they serve, not about how they come to be established.
import { definitions } from "./definitions.ts";
import type { InProcess } from "./inprocess.ts";
import { type Draws, draws } from "./random.ts";

/** A JSON object. */
type Json = Record<string, unknown>;

/** What definition() may be told. */
export interface DefinitionOptions {
  readonly group?: string;
  readonly scope?: "Namespaced" | "Cluster";
  readonly versions?: readonly Json[];
  /** Of the one version there is, where none are told. */
  readonly schema?: Json;
  readonly subresources?: Json;
}

/** A version of a definition. */
export function version(name: string, schema: Json, more: Json = {}): Json {
  return { name, served: true, storage: true, schema: { openAPIV3Schema: schema }, ...more };
}

/** A definition of `kind`, its plural with an s; in the canonical spelling. */
export function definition(kind: string, options: DefinitionOptions = {}): Json {
  const { group = "example.com", scope = "Namespaced", schema = { type: "object" }, subresources } = options;
  const singular = kind.toLowerCase();
  const plural = `${singular}s`;
  const more = subresources === undefined ? {} : { subresources };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope,
      names: { plural, singular, kind, listKind: `${kind}List` },
      versions: options.versions ?? [version("v1", schema, more)],
    },
  };
}

/** The definition's document with what makes it established. */
export function established(stored: Json): Json {
  const { names, versions } = stored["spec"] as { names: Json; versions: { name: string; storage: boolean }[] };
  const since = "2026-01-01T00:00:00Z";
  const conditions = ["NamesAccepted", "Established"].map((type) => {
    return { type, status: "True", reason: "Test", message: "", lastTransitionTime: since };
  });
  const storedVersions = versions.filter(({ storage }) => storage).map(({ name }) => name);
  return { ...stored, status: { acceptedNames: names, conditions, storedVersions } };
}

/** Creates a definition and establishes it. */
export async function establish(server: InProcess, body: Json): Promise<void> {
  const all = server.scheme.identity.spell(definitions);
  const created = await server.call("POST", all, JSON.parse(server.scheme.identity.spell(JSON.stringify(body))));
  if (created.code !== 201) throw new Error(created.text);
  const { group, names } = created.json.spec as { group: string; names: { plural: string } };
  await server.views.register(`/registry/${group}/${names.plural}`);
  const name = `${names.plural}.${group}`;
  const answer = await server.call("PUT", `${all}/${name}/status`, established(created.json));
  if (answer.code !== 200) throw new Error(answer.text);
}

/** Changes a definition by a JSON patch, without its status. */
export async function change(server: InProcess, name: string, patch: readonly Json[]): Promise<void> {
  const target = `${server.scheme.identity.spell(definitions)}/${name}`;
  const answer = await server.call("PATCH", target, JSON.stringify(patch), {
    "content-type": "application/json-patch+json",
  });
  if (answer.code !== 200) throw new Error(answer.text);
}

const words = "name of the object that refers to a route which must be set when its policy or port is known".split(" ");

/** A schema as those of operators are: deep, described, of about so many bytes as JSON. */
export function drawSchema(seed: number, bytes: number): Json {
  const drawn = draws(seed);
  const properties: Json = {};
  for (let size = 0, index = 0; size < bytes; index += 1) {
    const property = drawProperty(drawn, 5);
    properties[`f${index}`] = property;
    size += JSON.stringify(property).length + 8;
  }
  return { type: "object", properties: { spec: { type: "object", properties }, status: { type: "object" } } };
}

function drawProperty(drawn: Draws, depth: number): Json {
  const { next, pick, chance } = drawn;
  const description = Array.from({ length: 6 + next(20) }, () => pick(words)).join(" ");
  if (depth === 0 || chance(50)) {
    const rules = pick([{}, { pattern: "^[a-z]+$" }, { enum: ["A", "B"] }, { maxLength: 63 }, { format: "date-time" }]);
    return { type: "string", description, ...rules };
  }
  if (chance(20)) return { type: "integer", format: "int32", minimum: 1, description };
  if (chance(25)) return { type: "array", items: drawProperty(drawn, depth - 1), description };
  if (chance(20)) {
    return { "x-kubernetes-int-or-string": true, anyOf: [{ type: "integer" }, { type: "string" }], description };
  }
  const properties: Json = {};
  for (let index = 0; index < 3 + next(5); index += 1) properties[`p${index}`] = drawProperty(drawn, depth - 1);
  return { type: "object", properties, description, required: ["p0"] };
}
