// Definitions as operators publish them, made to the same depth and size: certificates, routes of a gateway, a monitoring
// server with the whole of a pod within, and queues of work. Each comes with objects that hold, what the server makes of
// them, and changes that make them invalid in a field that is known.
import { certificates } from "./ecosystem/certificates.ts";
import { monitors } from "./ecosystem/monitors.ts";
import { type Json, object, text } from "./ecosystem/parts.ts";
import { queues } from "./ecosystem/queues.ts";
import { routes } from "./ecosystem/routes.ts";
import type { Edit, Shape } from "./ecosystem/shape.ts";
import { workloads } from "./ecosystem/workloads.ts";
import { type Draws, draws } from "./random.ts";

/** A definition, and what holds for its objects. */
export interface Published extends Omit<Shape, "object" | "spec" | "status" | "printed" | "words" | "more" | "names"> {
  /** `plural.group`. */
  readonly name: string;
  readonly group: string;
  readonly plural: string;
  readonly kind: string;
  readonly shortName: string;
  readonly category: string;
  readonly definition: Json;
  /** Where its objects are: those of the namespace `default`, where they are in one. */
  readonly path: string;
  /** An object that holds; each number gives another one. */
  readonly object: (name: string, number: number) => Json;
}

/** All of them. The seed chooses the words and sizes of descriptions, never what holds. */
export function ecosystem(seed = 1): readonly Published[] {
  const words = new Words(draws(seed));
  return [certificates, routes, monitors, queues, workloads].map((shape) => published(shape, words));
}

function published(shape: Shape, words: Words): Published {
  const { group, plural, kind, shortNames, categories } = shape.names;
  const [version = ""] = shape.versions;
  const { object: specOf, names: _names, ...rest } = shape;
  return {
    ...rest,
    name: `${plural}.${group}`,
    group,
    plural,
    kind,
    shortName: shortNames[0] ?? "",
    category: categories[0] ?? "",
    definition: definitionOf(shape, words),
    path: `/apis/${group}/${version}/${shape.scope === "Cluster" ? "" : "namespaces/default/"}${plural}`,
    object: (name, number) => ({
      apiVersion: `${group}/${version}`,
      kind,
      metadata: { name },
      spec: specOf(name, number),
    }),
  };
}

function definitionOf(shape: Shape, words: Words): Json {
  const { names, scope, versions, printed, subresources = { status: {} }, annotations } = shape;
  const { group, ...called } = names;
  const { kind, plural } = called;
  const schema = { openAPIV3Schema: rootOf(shape, words) };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: {
      name: `${plural}.${group}`,
      annotations: { "generator.example.dev/version": "v0.1.0", ...annotations },
      labels: { "app.example.dev/part-of": group.split(".")[0] },
    },
    spec: {
      group,
      names: { ...called, singular: kind.toLowerCase(), listKind: `${kind}List` },
      scope,
      versions: versions.map((name, index) => ({
        name,
        served: true,
        storage: index === 0,
        schema,
        additionalPrinterColumns: printed,
        subresources,
      })),
    },
  };
}

/** The schema of all versions, with what every object has, and with descriptions. */
function rootOf({ names, spec, status, more, words: count }: Shape, words: Words): Json {
  const bare = object({ apiVersion: text(), kind: text(), spec, status }, ["spec"], more);
  const schema = described(words, bare, names.kind, count);
  // Of the metadata a schema may say nothing, not even what it is for.
  (schema["properties"] as Json)["metadata"] = { type: "object" };
  return schema;
}

/** Gives each field of a schema a description, as generators take them from comments. */
function described(words: Words, schema: Json, name: string, count: number): Json {
  const out: Json = { description: words.text(name, count), ...schema };
  return below(out, (inner, key) => described(words, inner, key, count));
}

/** A schema with what it declares changed. */
function below(schema: Json, change: (inner: Json, name: string) => Json): Json {
  const out = { ...schema };
  if (out["properties"] !== undefined) {
    const entries = Object.entries(out["properties"] as Record<string, Json>);
    out["properties"] = Object.fromEntries(entries.map(([name, inner]) => [name, change(inner, name)]));
  }
  // Items are described by the field that holds them.
  if (out["items"] !== undefined) out["items"] = below(out["items"] as Json, change);
  const values = out["additionalProperties"];
  if (typeof values === "object") out["additionalProperties"] = below(values as Json, change);
  return out;
}

/** The object of a path: keys and indexes. */
function stepsOf(path: string): (string | number)[] {
  return path.split(/\.|(?=\[)/).map((step) => (step.startsWith("[") ? Number(step.slice(1, -1)) : step));
}

/** What stands at a path. */
export function valueAt(object: unknown, path: string): unknown {
  return stepsOf(path).reduce<unknown>((at, step) => (at as Json | undefined)?.[step as string], object);
}

/** A copy of an object with changes. */
export function edited(object: Json, ...edits: readonly Edit[]): Json {
  const copy = structuredClone(object);
  for (const [path, value] of edits) {
    const steps = stepsOf(path);
    const last = steps.pop() as string;
    let at = copy;
    for (const step of steps) {
      at[step as string] ??= {};
      at = at[step as string] as Json;
    }
    if (value === undefined) delete at[last];
    else at[last] = value;
  }
  return copy;
}

const vocabulary =
  "the a of this field resource controller object value name when is set to be used by for from must not may default " +
  "namespace secret key reference list each one other only if it will that which server request client version";

/** Sentences: the same for the same seed. */
class Words {
  readonly #draws: Draws;
  readonly #words = vocabulary.split(" ");

  constructor(of: Draws) {
    this.#draws = of;
  }

  /** About so many words, in lines as generators break them. */
  text(name: string, count: number): string {
    const total = Math.max(3, Math.round(count / 2) + this.#draws.next(count));
    let [text, line] = [name, name.length];
    for (let index = 0; index < total; index += 1) {
      const word = this.#draws.pick(this.#words);
      const gap = line > 100 ? "\n" : " ";
      line = gap === "\n" ? word.length : line + word.length + 1;
      text += gap + word;
    }
    return `${text}.`;
  }
}
