// From proto/ to TypeScript: the interfaces of every group version, the message descriptors and the table of kinds.
// Pure apart from reading proto/, so that a test can compare the outcome with what is committed.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fieldFlags } from "../src/api/descriptor.ts";
import {
  blocksOf,
  flagOf,
  numberOf,
  type OptionValue,
  type ProtoField,
  type ProtoFile,
  type ProtoMessage,
  parseProto,
  textOf,
  textsOf,
} from "./proto.ts";

/** Messages that are scalars of the API, and the scalar they are. */
const specialScalars = new Map([
  ["Time", "Time"],
  ["MicroTime", "MicroTime"],
  ["Duration", "Duration"],
  ["Quantity", "Quantity"],
  ["IntOrString", "IntOrString"],
  ["RawExtension", "raw"],
  ["FieldsV1", "raw"],
  ["JSON", "raw"],
]);

/** TypeScript types of scalars in memory (see schema.ts). */
const memory = new Map([
  ["bool", "boolean"],
  ["string", "string"],
  ["bytes", "string"],
  ["int32", "number"],
  ["int64", "number | bigint"],
  ["uint32", "number"],
  ["uint64", "number | bigint"],
  ["float", "number"],
  ["double", "number"],
  ["Time", "string"],
  ["MicroTime", "string"],
  ["Duration", "string"],
  ["Quantity", "string"],
  ["IntOrString", "number | string"],
  ["raw", "RawJson"],
]);

/** Special scalars whose zero is written, and hence always there. */
const presentSpecials = new Set(["Quantity", "IntOrString", "Duration"]);

interface Source {
  /** What other files call it: `core_v1`. */
  readonly module: string;
  /** Prefix of message names: `core/v1`. */
  readonly prefix: string;
  readonly file: ProtoFile;
}

interface World {
  readonly sources: readonly Source[];
  /** By fully qualified name. */
  readonly messages: ReadonlyMap<string, { readonly source: Source; readonly message: ProtoMessage }>;
  /** Declared constants by fully qualified name. */
  readonly constants: ReadonlyMap<string, readonly string[]>;
}

/** File name to text of everything under src/api/gen. */
export function generate(protoDir: string): Map<string, string> {
  const world = read(protoDir);
  const files = new Map<string, string>();
  for (const source of world.sources) files.set(`${source.prefix}.ts`, interfaces(world, source));
  files.set("messages.ts", descriptors(world));
  files.set("kinds.ts", kinds(world));
  return files;
}

function read(protoDir: string): World {
  const paths = readdirSync(protoDir, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".proto") && !path.startsWith("orch/"))
    .sort();
  const sources = paths.map((path) => {
    const prefix = path.slice(0, -".proto".length);
    return {
      module: prefix.replace("/", "_"),
      prefix,
      file: parseProto(path, readFileSync(join(protoDir, path), "utf8")),
    };
  });
  const messages = new Map<string, { source: Source; message: ProtoMessage }>();
  const constants = new Map<string, readonly string[]>();
  for (const source of sources) {
    for (const message of source.file.messages)
      messages.set(`${source.file.package}.${message.name}`, { source, message });
    for (const block of blocksOf(source.file.options, "constants")) {
      constants.set(`${source.file.package}.${textOf(block, "name")}`, textsOf(block, "values"));
    }
  }
  return { sources, messages, constants };
}

const banner = "// Written by scripts/gen from proto/: do not edit.\n";

/** A field's type as the descriptor names it: scalar, special scalar or `core/v1.Pod`. */
function descriptorType(world: World, field: ProtoField): { type: string; message?: ProtoMessage; source?: Source } {
  if (!field.type.includes(".")) return { type: field.type };
  const found = world.messages.get(field.type);
  if (found === undefined) throw new Error(`${field.name}: no message ${field.type}`);
  const special = specialScalars.get(textOf(found.message.options, "special") ?? "");
  if (special !== undefined) return { type: special };
  return { type: `${found.source.prefix}.${found.message.name}`, ...found };
}

function flags(field: ProtoField): number {
  const required = flagOf(field.options, "required") ?? false;
  return (
    (flagOf(field.options, "inline") === true ? fieldFlags.inline : 0) |
    (flagOf(field.options, "pointer") === true ? fieldFlags.pointer : 0) |
    ((flagOf(field.options, "omitempty") ?? !required) ? fieldFlags.omitEmpty : 0) |
    (required ? fieldFlags.required : 0) |
    (field.label === "repeated" ? fieldFlags.list : 0) |
    (field.label === "map" ? fieldFlags.map : 0)
  );
}

/** JSON name: empty for inlined messages. */
function jsonName(field: ProtoField): string {
  if (flagOf(field.options, "inline") === true) return "";
  return textOf(field.options, "json_name") ?? field.name;
}

function interfaces(world: World, source: Source): string {
  const used = new Set<string>();
  let raw = false;
  const typeName = (field: ProtoField): string => {
    const of = descriptorType(world, field);
    const scalar = memory.get(of.type);
    raw ||= of.type === "raw";
    if (scalar !== undefined) return scalar;
    if (of.message === undefined || of.source === undefined) throw new Error(`${field.name}: unknown type ${of.type}`);
    if (textOf(of.message.options, "special") === "List") return "string[]";
    if (of.source === source) return of.message.name;
    used.add(of.source.module);
    return `${of.source.module}.${of.message.name}`;
  };
  const body: string[] = [];
  for (const message of source.file.messages) {
    const special = textOf(message.options, "special") ?? "";
    if (specialScalars.has(special) || special === "List") continue;
    const inlined = message.fields.filter((f) => flagOf(f.options, "inline") === true).map(typeName);
    const parents = inlined.length === 0 ? "" : ` extends ${inlined.join(", ")}`;
    body.push(`/** ${source.prefix}.${message.name}. */`, `export interface ${message.name}${parents} {`);
    if (flagOf(message.options, "type_meta") === true)
      body.push("  kind?: string | undefined;", "  apiVersion?: string | undefined;");
    for (const field of message.fields) {
      if (flagOf(field.options, "inline") === true) continue;
      body.push(`  ${property(jsonName(field))}${member(world, field, typeName(field))};`);
    }
    body.push("}", "");
  }
  const head = [banner.trimEnd()];
  const top = source.prefix.includes("/") ? "../" : "./";
  if (raw) head.push(`import type { RawJson } from "../${top}schema.ts";`);
  for (const module of [...used].sort())
    head.push(`import type * as ${module} from "${top}${module.replace("_", "/")}.ts";`);
  if (body.length === 0) head.push("export {};");
  return `${[...head, "", ...body].join("\n").trimEnd()}\n`;
}

function property(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}

/** `?: T | undefined` or `: T`, by the rules of schema.ts: what Go always holds is always there. */
function member(world: World, field: ProtoField, type: string): string {
  const bits = flags(field);
  const several = type.includes("|") ? `(${type})` : type;
  if (field.label === "repeated") return `?: ${several}[] | undefined`;
  // Bytes in maps may be null (codec/nullbytes.ts).
  if (field.label === "map") return `?: Map<string, ${type}${field.type === "bytes" ? " | null" : ""}> | undefined`;
  const of = descriptorType(world, field);
  const always =
    of.message !== undefined
      ? type !== "string[]"
      : of.type === "Time" || of.type === "MicroTime" || of.type === "raw" || of.type === "bytes"
        ? false
        : presentSpecials.has(of.type) || (bits & fieldFlags.omitEmpty) === 0;
  return (bits & fieldFlags.pointer) === 0 && always ? `: ${type}` : `?: ${type} | undefined`;
}

function descriptors(world: World): string {
  const lines = [banner.trimEnd(), 'import type { MessageData } from "../descriptor.ts";', ""];
  lines.push("export const messageData: readonly MessageData[] = [");
  for (const source of world.sources) {
    for (const message of source.file.messages) lines.push(...descriptor(world, source, message));
  }
  lines.push("];", "");
  return lines.join("\n");
}

function descriptor(world: World, source: Source, message: ProtoMessage): string[] {
  const special = textOf(message.options, "special");
  if (special !== undefined && specialScalars.has(special)) return [];
  const head = [`name: ${JSON.stringify(`${source.prefix}.${message.name}`)}`];
  if (flagOf(message.options, "type_meta") === true) head.push("typeMeta: true");
  if (special !== undefined) head.push(`special: ${JSON.stringify(special)}`);
  const structType = textOf(message.options, "struct_type");
  if (structType !== undefined) head.push(`structType: ${JSON.stringify(structType)}`);
  if (message.fields.length === 0) return [`  { ${head.join(", ")}, fields: [] },`];
  const fields = message.fields.map((field) => {
    const tuple = [jsonName(field), field.number, descriptorType(world, field).type, flags(field)].map((v) =>
      JSON.stringify(v),
    );
    const extras = extrasOf(world, source, field);
    if (extras.length > 0) tuple.push(`{ ${extras.join(", ")} }`);
    return `    [${tuple.join(", ")}],`;
  });
  return [`  { ${head.join(", ")}, fields: [`, ...fields, "  ] },"];
}

function extrasOf(world: World, source: Source, field: ProtoField): string[] {
  const extras: string[] = [];
  const add = (name: string, value: OptionValue | undefined): void => {
    if (value !== undefined && !(Array.isArray(value) && value.length === 0))
      extras.push(`${name}: ${JSON.stringify(value)}`);
  };
  const constants = textOf(field.options, "enum");
  const home = constants === undefined || constants.includes(".") ? constants : `${source.file.package}.${constants}`;
  const list = field.label === "repeated" ? "[]" : "";
  add("go", textOf(field.options, "go_type") ?? (home && list + home.split(".").slice(-2).join(".")));
  add("listType", textOf(field.options, "list_type"));
  add("listMapKeys", textsOf(field.options, "list_map_keys"));
  add("mapType", textOf(field.options, "map_type"));
  add("patchStrategy", textsOf(field.options, "patch_strategy"));
  add("patchMergeKey", textOf(field.options, "patch_merge_key"));
  add("default", textOf(field.options, "default_json"));
  if (home !== undefined) {
    const values = world.constants.get(home);
    if (values === undefined) throw new Error(`${source.prefix}: no constants ${home}`);
    add("enum", [...values]);
  }
  add("immutable", textOf(field.options, "immutable"));
  return extras;
}

function kinds(world: World): string {
  const lines = [banner.trimEnd(), 'import type { GroupVersionData, KindData } from "../descriptor.ts";', ""];
  lines.push("export const groupVersionData: readonly GroupVersionData[] = [");
  for (const source of world.sources) {
    for (const block of blocksOf(source.file.options, "group_version")) {
      lines.push(
        `  ${JSON.stringify({
          group: textOf(block, "group") ?? "",
          version: textOf(block, "version") ?? "",
          groupPriority: numberOf(block, "group_priority") ?? null,
          versionPriority: numberOf(block, "version_priority") ?? null,
          preferred: flagOf(block, "preferred") ?? false,
          servedByDefault: flagOf(block, "off_by_default") !== true,
        }).replaceAll("null", "undefined")},`,
      );
    }
  }
  lines.push("];", "", "export const kindData: readonly KindData[] = [");
  for (const source of world.sources) {
    const of = blocksOf(source.file.options, "group_version")[0];
    for (const message of source.file.messages) {
      for (const block of blocksOf(message.options, "resource")) {
        if (of === undefined) throw new Error(`${source.prefix}.${message.name} is served, but its file has no group`);
        lines.push(`  ${JSON.stringify(kind(source, message, of, block))},`);
      }
    }
  }
  lines.push("];", "");
  return lines.join("\n");
}

function kind(
  source: Source,
  message: ProtoMessage,
  of: Map<string, OptionValue>,
  block: Map<string, OptionValue>,
): object {
  const group = textOf(of, "group") ?? "";
  const version = textOf(of, "version") ?? "";
  return {
    group,
    version,
    kind: message.name,
    message: `${source.prefix}.${message.name}`,
    listKind: textOf(block, "list") ?? "",
    resource: textOf(block, "name"),
    namespaced: flagOf(block, "namespaced") ?? false,
    shortNames: textsOf(block, "short_names"),
    categories: textsOf(block, "categories"),
    verbs: textsOf(block, "verbs"),
    virtual: flagOf(block, "virtual") ?? false,
    computed: flagOf(block, "computed") ?? false,
    servedByDefault: flagOf(block, "off_by_default") !== true && flagOf(of, "off_by_default") !== true,
    storedAs: kindName(block, "stored_as"),
    prefix: textOf(block, "prefix"),
    introducedIn: textOf(block, "introduced_in"),
    deprecatedIn: textOf(block, "deprecated_in"),
    removedIn: textOf(block, "removed_in"),
    replacement: kindName(block, "replacement"),
    subresources: blocksOf(block, "subresources").map((sub) => ({
      name: textOf(sub, "name"),
      kind: textOf(sub, "kind"),
      group: textOf(sub, "group") ?? group,
      version: textOf(sub, "version") ?? version,
      verbs: textsOf(sub, "verbs"),
      connect: flagOf(sub, "connect"),
    })),
  };
}

function kindName(block: Map<string, OptionValue>, name: string): object | undefined {
  const of = blocksOf(block, name)[0];
  return of && { group: textOf(of, "group") ?? "", version: textOf(of, "version"), kind: textOf(of, "kind") };
}
