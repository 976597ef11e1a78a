// Writes proto/ from the shared facts (messages.json, kinds.json). It was run once to bring the types in; since then
// proto/ is the truth and kept by hand. It is kept to compare proto/ with the facts of a later release:
// `node dist/scripts/facts.js ../shared/facts OUT` writes the files under OUT.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

interface FactField {
  json: string | null;
  proto?: string;
  number?: number;
  type?: string;
  label?: "optional" | "repeated" | "map";
  goType?: string;
  goPointer?: boolean;
  omitempty?: boolean;
  required?: boolean;
  inline?: boolean;
  items?: boolean;
  repeated?: boolean;
  format?: string;
  listType?: string;
  listMapKeys?: string[];
  mapType?: string;
  patchStrategy?: string;
  patchMergeKey?: string;
  default?: unknown;
  enumType?: string;
  enum?: string[];
  enumClosed?: boolean;
  openapiListType?: string;
  immutable?: true | string;
  mentionsDeprecated?: boolean;
  featureGate?: string;
}

interface FactMessage {
  package: string;
  name: string;
  fields: FactField[];
  typeMeta?: boolean;
  special?: string;
  namedList?: boolean;
  structType?: string;
  jsonOnly?: boolean;
  alpha?: boolean;
  goType?: string;
  openapiUnions?: { discriminator: string; "fields-to-discriminateBy": Record<string, string> }[];
}

interface FactKind {
  group: string;
  version: string;
  kind: string;
  listKind: string | null;
  resource: string;
  namespaced: boolean;
  shortNames: string[];
  categories: string[];
  verbs: string[];
  virtual: boolean;
  computed?: boolean;
  storedAs?: { group: string; version: string; kind: string };
  etcdPrefix?: string;
  introducedIn?: string;
  deprecatedIn?: string;
  removedIn?: string;
  replacement?: { group: string; version: string; kind: string };
  servedByDefault: boolean;
  protoPackage: string;
  subresources: { name: string; kind: string; group: string; version: string; verbs: string[]; connect?: boolean }[];
}

interface FactGroup {
  group: string;
  groupPriorityMinimum: number | null;
  versions: { version: string; versionPriority: number | null; servedByDefault: boolean }[];
  preferredVersion: string;
}

const core = "k8s.io.api.core.v1";
const meta = "k8s.io.apimachinery.pkg.apis.meta.v1";

/** Where a package's file lies under proto/. */
function fileOf(name: string): string {
  if (name.startsWith("k8s.io.apimachinery.pkg.apis.meta.")) return `meta/${last(name)}.proto`;
  if (name.startsWith("client.authentication.")) return `clientauthentication/${last(name)}.proto`;
  if (name.startsWith("k8s.io.apimachinery.") || name === "version") return `${last(name)}.proto`;
  return `${name.split(".").at(-2)}/${last(name)}.proto`;
}

function last(name: string): string {
  return name.slice(name.lastIndexOf(".") + 1);
}

/** Import aliases of the Go sources, as the package's own name (the one decode errors print). */
const aliases = new Map([
  ["metav1", "v1"],
  ["corev1", "v1"],
  ["apiv1", "v1"],
  ["batchv1", "v1"],
  ["authenticationv1", "v1"],
]);

const goScalars = new Set(["string", "bool", "int32", "int64", "uint32", "uint64", "float64", "byte"]);

/** Spells a source's Go type as reflection does: `[]Container` of core/v1 is `[]v1.Container`. */
function reflected(goType: string, goPackage: string): string {
  const match = /^((?:\*|\[\]|map\[string\])*)((?!\*).*)$/.exec(goType);
  const [, lead = "", name = ""] = match ?? [];
  const prefix = lead.startsWith("*") ? lead.slice(1) : lead;
  if (goScalars.has(name)) return `${prefix}${name === "byte" ? "uint8" : name}`;
  if (name === "interface{}") return `${prefix}interface {}`;
  const dot = name.indexOf(".");
  if (dot < 0) return `${prefix}${goPackage}.${name}`;
  const alias = name.slice(0, dot);
  return `${prefix}${aliases.get(alias) ?? alias}${name.slice(dot)}`;
}

/** The Go type that follows from the protobuf type. gen.ts has the same rule. */
function derived(type: string, label: string | undefined): string {
  if (type.startsWith("map<")) return `map[string]${derived(type.slice(type.indexOf(",") + 1, -1), undefined)}`;
  const item =
    type === "double"
      ? "float64"
      : type === "bytes"
        ? "[]uint8"
        : type.includes(".")
          ? type.split(".").slice(-2).join(".")
          : type;
  return label === "repeated" ? `[]${item}` : item;
}

/** The protobuf type of a field that has none, from its Go type. */
function typeOf(goType: string, of: FactMessage): [type: string, label: "optional" | "repeated"] {
  const list = goType.startsWith("[]") && goType !== "[]byte";
  const name = goType.replace(/^\*|^\[\]/, "");
  const label = list ? "repeated" : "optional";
  if (goType === "[]byte") return ["bytes", "optional"];
  if (name === "interface{}" || name === "runtime.RawExtension")
    return ["k8s.io.apimachinery.pkg.runtime.RawExtension", label];
  if (name === "metav1.Time") return [`${meta}.Time`, label];
  if (goScalars.has(name)) return [name, label];
  if (name === "ListMeta") return [`${meta}.ListMeta`, label];
  return byName.has(`${of.package}.${name}`) ? [`${of.package}.${name}`, label] : ["string", label];
}

const [, , factsDir = "../shared/facts", outDir = "proto"] = process.argv;
const messages = JSON.parse(readFileSync(join(factsDir, "messages.json"), "utf8")) as FactMessage[];
const kinds = JSON.parse(readFileSync(join(factsDir, "kinds.json"), "utf8")) as {
  groups: FactGroup[];
  kinds: FactKind[];
};
const byName = new Map(messages.map((m) => [`${m.package}.${m.name}`, m]));
const kindOf = new Map(kinds.kinds.map((k) => [`${k.protoPackage}.${k.kind}`, k]));

interface Constants {
  name: string;
  closed: boolean;
  values: string[];
}
/** By package, then name. */
const constants = new Map<string, Map<string, Constants>>();

/** The package and name a field's enum type belongs to. */
function enumHome(field: FactField, of: FactMessage): [pkg: string, name: string] {
  const name = last(field.enumType ?? "");
  const go = reflected(field.goType ?? "", last(of.package)).replace(/^(\[\]|map\[string\])/, "");
  const foreign = (field.goType ?? "").includes(".");
  assertThat(last(go) === name || go === "string", `${of.package}.${of.name}.${field.json}: ${go} is not ${name}`);
  return [foreign ? (go.startsWith("types.") ? of.package : core) : of.package, name];
}

function assertThat(condition: boolean, message: string): void {
  if (!condition) throw new Error(message);
}

function collectConstants(): void {
  for (const m of messages) {
    for (const f of m.fields) {
      if (f.enum === undefined) continue;
      const [pkg, name] = enumHome(f, m);
      const of = constants.get(pkg) ?? new Map<string, Constants>();
      constants.set(pkg, of);
      const known = of.get(name);
      assertThat(
        known === undefined || String(known.values) === String(f.enum),
        `${pkg}.${name} differs: ${f.enum.join()}`,
      );
      of.set(name, { name, closed: f.enumClosed === true || known?.closed === true, values: f.enum });
    }
  }
}

const quote = (text: string): string => JSON.stringify(text);
const list = (texts: readonly string[]): string => `[${texts.map(quote).join(", ")}]`;

function fieldLine(m: FactMessage, f: FactField, index: number): string {
  const goPackage = last(m.package);
  const [type, label] = f.type === undefined ? typeOf(f.goType ?? "", m) : [f.type, f.label ?? "optional"];
  const options: string[] = [];
  const json = f.json ?? "";
  const name = f.proto ?? (/^\w+$/.test(json) ? json : json.replace(/-(.)/g, (_, c: string) => c.toUpperCase()));
  if (json !== name && json !== "" && json !== "-") options.push(`json_name = ${quote(json)}`);
  const add = (option: string, value: string | undefined): void => {
    if (value !== undefined) options.push(`(orch.${option}) = ${value}`);
  };
  const flag = (option: string, value: boolean | undefined): void => add(option, value === true ? "true" : undefined);
  flag("inline", f.inline);
  flag("pointer", f.goPointer);
  flag("required", f.required);
  if (f.omitempty !== undefined && f.omitempty === f.required) add("omitempty", String(f.omitempty));
  const go = reflected(f.goType ?? derived(type, label), goPackage);
  const home = f.enum === undefined ? undefined : enumHome(f, m);
  if (home !== undefined) add("enum", quote(home[0] === m.package ? home[1] : home.join(".")));
  const followed =
    home === undefined ? derived(type, label) : `${label === "repeated" ? "[]" : ""}${last(home[0])}.${home[1]}`;
  if (f.goType !== undefined && go !== followed && go !== "[]uint8") add("go_type", quote(go));
  add("list_type", f.listType && f.listType !== "none" ? quote(f.listType) : undefined);
  for (const key of f.listMapKeys ?? []) add("list_map_keys", quote(key));
  add("map_type", f.mapType && quote(f.mapType));
  for (const strategy of f.patchStrategy?.split(",") ?? []) add("patch_strategy", quote(strategy));
  add("patch_merge_key", f.patchMergeKey && quote(f.patchMergeKey));
  if ("default" in f) add("default_json", quote(JSON.stringify(f.default)));
  add("immutable", f.immutable && quote(f.immutable === true ? "always" : f.immutable));
  add("feature_gate", f.featureGate && quote(f.featureGate));
  const format: Record<string, string> = { int32: "int32", int64: "int64", double: "double", bytes: "byte" };
  const follows = format[type.startsWith("map<") ? type.slice(type.indexOf(",") + 1, -1) : type] ?? "";
  if (f.type !== undefined && (f.format ?? "") !== follows) add("format", quote(f.format ?? ""));
  add("openapi_list_type", f.openapiListType && quote(f.openapiListType));
  if (f.mentionsDeprecated === true) options.push("deprecated = true");
  const short = type.replace(`${m.package}.`, "");
  const head = label === "map" ? short.replace(",", ", ") : `${label} ${short}`;
  return `  ${head} ${name} = ${f.number ?? index + 1}${brackets(options)};`;
}

function brackets(options: readonly string[]): string {
  if (options.length === 0) return "";
  const line = ` [${options.join(", ")}]`;
  return line.length <= 60 ? line : ` [\n    ${options.join(",\n    ")}\n  ]`;
}

function resourceOption(k: FactKind): string[] {
  const lines = [`name: ${quote(k.resource)}`];
  if (k.listKind) lines.push(`list: ${quote(k.listKind)}`);
  if (k.namespaced) lines.push("namespaced: true");
  if (k.shortNames.length > 0) lines.push(`short_names: ${list(k.shortNames)}`);
  if (k.categories.length > 0) lines.push(`categories: ${list(k.categories)}`);
  lines.push(`verbs: ${list(k.verbs)}`);
  if (k.virtual) lines.push("virtual: true");
  if (k.computed === true) lines.push("computed: true");
  const kind = (of: { group: string; version: string; kind: string }): string =>
    `{ group: ${quote(of.group)}, version: ${quote(of.version)}, kind: ${quote(of.kind)} }`;
  if (k.storedAs) lines.push(`stored_as: ${kind(k.storedAs)}`);
  if (k.etcdPrefix) lines.push(`prefix: ${quote(k.etcdPrefix)}`);
  if (k.introducedIn) lines.push(`introduced_in: ${quote(k.introducedIn)}`);
  if (k.deprecatedIn) lines.push(`deprecated_in: ${quote(k.deprecatedIn)}`);
  if (k.removedIn) lines.push(`removed_in: ${quote(k.removedIn)}`);
  if (k.replacement) lines.push(`replacement: ${kind(k.replacement)}`);
  if (!k.servedByDefault) lines.push("off_by_default: true");
  for (const s of k.subresources) {
    const foreign = s.group !== k.group || s.version !== k.version;
    const of = foreign ? `, group: ${quote(s.group)}, version: ${quote(s.version)}` : "";
    const connect = s.connect === true ? ", connect: true" : "";
    lines.push(
      `subresources: { name: ${quote(s.name)}, kind: ${quote(s.kind)}${of}, verbs: ${list(s.verbs)}${connect} }`,
    );
  }
  return ["  option (orch.resource) = {", ...lines.map((line) => `    ${line}`), "  };"];
}

function messageText(m: FactMessage): string[] {
  const lines = [`message ${m.name} {`];
  const option = (name: string, value: string): void => void lines.push(`  option (orch.${name}) = ${value};`);
  if (m.typeMeta === true) option("type_meta", "true");
  const special = m.namedList === true ? "List" : m.special;
  if (special !== undefined) option("special", quote(special));
  if (m.structType !== undefined) option("struct_type", quote(m.structType));
  if (m.jsonOnly === true) option("json_only", "true");
  if (m.alpha === true) option("alpha", "true");
  for (const union of m.openapiUnions ?? []) {
    const fields = Object.entries(union["fields-to-discriminateBy"]).map(
      ([field, value]) => `fields: { field: ${quote(field)}, value: ${quote(value)} }`,
    );
    option("union", `{ discriminator: ${quote(union.discriminator)}, ${fields.join(", ")} }`);
  }
  const kind = kindOf.get(`${m.package}.${m.name}`);
  if (kind !== undefined) lines.push(...resourceOption(kind));
  if (lines.length > 1 && m.fields.length > 0) lines.push("");
  lines.push(...m.fields.map((f, index) => fieldLine(m, f, index)), "}", "");
  return lines;
}

function fileText(pkg: string): string {
  const of = messages.filter((m) => m.package === pkg);
  const served = kinds.kinds.find((k) => k.protoPackage === pkg);
  const body = of.flatMap(messageText);
  const text = body.join("\n");
  const used = [...new Set(messages.map((m) => m.package))].filter(
    (p) => p !== pkg && text.includes(`${p}.`) && of.some((m) => m.fields.some((f) => mentions(f, p, m))),
  );
  const imports = ["orch/options.proto", ...used.map(fileOf)].sort();
  const lines = [
    'syntax = "proto2";',
    "",
    `package ${pkg};`,
    "",
    ...imports.map((path) => `import ${quote(path)};`),
    "",
  ];
  if (served !== undefined) {
    const group = kinds.groups.find((g) => g.group === served.group);
    const version = group?.versions.find((v) => v.version === served.version);
    if (group === undefined || version === undefined) throw new Error(`no group ${served.group}/${served.version}`);
    lines.push(
      "option (orch.group_version) = {",
      `  group: ${quote(group.group)}`,
      `  version: ${quote(version.version)}`,
    );
    if (group.groupPriorityMinimum !== null) lines.push(`  group_priority: ${group.groupPriorityMinimum}`);
    if (version.versionPriority !== null) lines.push(`  version_priority: ${version.versionPriority}`);
    if (group.preferredVersion === version.version) lines.push("  preferred: true");
    if (!version.servedByDefault) lines.push("  off_by_default: true");
    lines.push("};", "");
  }
  for (const c of constants.get(pkg)?.values() ?? []) {
    const closed = c.closed ? ", closed: true" : "";
    lines.push(`option (orch.constants) = { name: ${quote(c.name)}${closed}, values: ${list(c.values)} };`);
  }
  if (constants.has(pkg)) lines.push("");
  return `${[...lines, ...body].join("\n").trimEnd()}\n`;
}

function mentions(f: FactField, pkg: string, of: FactMessage): boolean {
  const type = f.type ?? typeOf(f.goType ?? "", of)[0];
  const named = type.startsWith("map<") ? type.slice(type.indexOf(",") + 1, -1) : type;
  const home = f.enum === undefined ? undefined : enumHome(f, of)[0];
  return named.slice(0, Math.max(0, named.lastIndexOf("."))) === pkg || home === pkg;
}

collectConstants();
for (const pkg of new Set(messages.map((m) => m.package))) {
  const path = join(outDir, fileOf(pkg));
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, fileText(pkg));
}
