// Error messages of one line for a document, by the schema of its format. The library finds the faults, in time linear
// in the document, and stops at its bound; the texts are ours: path, expected, and found.
import type { TSchema } from "typebox";
import { Errors } from "typebox/schema";
import { System } from "typebox/system";
import { limits } from "../limits.ts";
import type { Spell } from "./parts.ts";
import { type FormatName, schemaOf } from "./table.ts";

// One more than is shown, so that it is known whether there are more.
System.Settings.Set({ maxErrors: limits.fileFaultsMax + 1 });

/** Parts of a schema that texts are made of. */
interface Node {
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly items?: Node;
  readonly properties?: Readonly<Record<string, Node>>;
  readonly minItems?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  /** The meaning of the pattern, after "must be"; editors show it, too. */
  readonly patternErrorMessage?: string;
  /** May be secret: no fault shows such a value. */
  readonly writeOnly?: boolean;
}

interface Fault {
  readonly at: string;
  readonly text: string;
}

/**
 * Returns an error message of one line for a document of a format; undefined: valid. `document`: plain objects and
 * lists, in which a field that is null is left out, as upstream reads files.
 */
export function checkDocument(name: FormatName, document: unknown, spell: Spell): string | undefined {
  const schema = schemaOf(name, spell);
  const [, errors] = Errors(schema, document);
  const found = errors.flatMap((error) => faultsOf(error, schema, document));
  // With another kind the rest would be judged by the wrong schema.
  const typed = found.filter(({ at }) => at === "apiVersion" || at === "kind");
  const faults = typed.length > 0 ? typed : found;
  if (faults.length === 0) return undefined;
  const shown = faults.slice(0, limits.fileFaultsMax).map(({ at, text }) => (at === "" ? text : `${at}: ${text}`));
  return faults.length > shown.length ? `${shown.join("; ")}; and more` : shown.join("; ");
}

type LibraryError = ReturnType<typeof Errors>[1][number];

function faultsOf(error: LibraryError, schema: TSchema, document: unknown): Fault[] {
  // Each unknown field is reported on its own, as "boolean".
  if (error.keyword === "additionalProperties") return [];
  const keys = keysOf(error.instancePath);
  const at = pathText(document, keys);
  if (error.keyword === "boolean") {
    const owner = nodeAt(schema, keysOf(error.schemaPath).slice(0, -1));
    const known = Object.keys(owner.properties ?? {}).join(", ");
    return [{ at, text: `there is no such field; there are ${known}` }];
  }
  const node = nodeAt(schema, keysOf(error.schemaPath));
  if (error.keyword === "required") {
    return error.params.requiredProperties.slice(0, limits.fileFaultsMax).map((key) => {
      const part = node.properties?.[key] ?? {};
      return { at: at === "" ? key : `${at}.${key}`, text: `is missing; it must be ${wanted(part)}` };
    });
  }
  return [{ at, text: `must be ${wanted(node)}, not ${shownValue(valueAt(document, keys), node)}` }];
}

/** The keys of a JSON pointer; that of a schema may begin with #. */
function keysOf(pointer: string): string[] {
  const [, ...keys] = pointer.split("/");
  return keys.map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** `rules[2].level`; keys that are no names are quoted. */
function pathText(document: unknown, keys: readonly string[]): string {
  let text = "";
  let value = document;
  for (const key of keys) {
    if (Array.isArray(value)) text += `[${key}]`;
    else if (!/^[\w-]+$/.test(key)) text += `[${cut(JSON.stringify(key))}]`;
    else text += text === "" ? cut(key) : `.${cut(key)}`;
    value = stepInto(value, key);
  }
  return text;
}

function valueAt(document: unknown, keys: readonly string[]): unknown {
  return keys.reduce(stepInto, document);
}

function nodeAt(schema: unknown, keys: readonly string[]): Node {
  return (keys.reduce(stepInto, schema) ?? {}) as Node;
}

function stepInto(value: unknown, key: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
  return (value as { readonly [key: string]: unknown })[key];
}

/** The expected value of a part of a schema: follows "must be". */
function wanted(node: Node): string {
  if (node.const !== undefined) return String(node.const);
  if (node.enum !== undefined) {
    const [only, ...more] = node.enum;
    return more.length === 0 ? String(only) : `one of ${node.enum.join(", ")}`;
  }
  if (node.patternErrorMessage !== undefined) return node.patternErrorMessage;
  switch (node.type) {
    case "object":
      return "an object";
    case "boolean":
      return "true or false";
    case "integer":
      return `a whole number${rangeText(node)}`;
    case "array": {
      const empty = (node.minItems ?? 0) > 0 ? " that is not empty" : "";
      return node.items?.type === "string" ? `a list of strings${empty}` : `a list${empty}`;
    }
    default:
      return (node.minLength ?? 0) > 0 ? "a string that is not empty" : "a string";
  }
}

function rangeText({ minimum, maximum }: Node): string {
  const max = maximum === undefined || maximum === Number.MAX_SAFE_INTEGER ? undefined : maximum;
  const min = minimum === Number.MIN_SAFE_INTEGER ? undefined : minimum;
  if (min !== undefined && max !== undefined) return ` from ${min} to ${max}`;
  if (min !== undefined) return ` of at least ${min}`;
  return max === undefined ? "" : ` of at most ${max}`;
}

/** A value where another is wanted: its type alone where it may be secret, or where it may be a whole other file. */
function shownValue(value: unknown, { type, writeOnly }: Node): string {
  if (Array.isArray(value)) return value.length === 0 ? "an empty list" : "a list";
  if (value === null) return "null";
  if (typeof value === "object") return "an object";
  if (writeOnly === true || type === "object" || type === "array") return `a ${typeof value}`;
  return cut(JSON.stringify(value) ?? "nothing");
}

function cut(text: string): string {
  return text.length > limits.fileShownCharsMax ? `${text.slice(0, limits.fileShownCharsMax)}…` : text;
}
