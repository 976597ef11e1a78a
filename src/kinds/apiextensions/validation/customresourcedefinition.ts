// Definitions of custom resources: names, versions, subresources, columns and conversion. The schemas of versions have
// rules of their own, in schema.ts.
import { at, type FieldError, forbiddenField, invalid, notSupported, required } from "../../../api/fielderror.ts";
import type * as crd from "../../../api/gen/apiextensions/v1.ts";
import { limits } from "../../../config/limits.ts";
import { checkClient } from "../../admissionregistration/validation/webhooks.ts";
import { hasDefaults, hasUnknownInDefaults } from "../../custom/defaults.ts";
import { RuleCheck } from "../../custom/rules/check.ts";
import { type SchemaWork, schemaWorkOf } from "../../custom/schemawork.ts";
import { compileVersions } from "../../custom/versions.ts";
import { isDns1035Label, isDns1123Subdomain } from "../../formats.ts";
import type { StrategyContext } from "../../strategy.ts";
import { addAll, checkChoice, type Errors, eachItem, empty, isFull } from "../../validation/check.ts";
import { equal } from "../../validation/equal.ts";
import { approvalIn, approvalKey } from "./approval.ts";
import { checkRootSchema, type SchemaRules } from "./schema.ts";

type Definition = crd.CustomResourceDefinition;

const scopes = ["Cluster", "Namespaced"];
const columnTypes = ["boolean", "date", "integer", "number", "string"];
const columnFormats = ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];
const strategies = ["None", "Webhook"];
const reviewVersions = ["v1", "v1beta1"];
const warningCharsMax = 256;
const unchangeable = "field is immutable";
const keepsUnknown = "cannot set to true, set x-preserve-unknown-fields to true in spec.versions[*].schema instead";

/** Rules of a new definition. */
export function validateDefinition(object: Definition, context: StrategyContext): FieldError[] {
  const out: Errors = [];
  const { metadata, spec } = object;
  if (metadata.name !== `${spec.names.plural}.${spec.group}`) {
    out.push(invalid("metadata.name", metadata.name ?? "", 'must be spec.names.plural+"."+spec.group'));
  }
  const work = schemaWorkOf(spec);
  if (isTooLarge(out, work, limits.definitionSchemasMax)) return out;
  checkDefinition(out, object, work, context, () => true);
  checkApproval(out, object, context);
  if (spec.preserveUnknownFields === true) {
    out.push(invalid("spec.preserveUnknownFields", true, keepsUnknown));
  }
  return out;
}

/** Rules of a changed definition: what its objects are stored by stays. */
export function validateDefinitionUpdate(object: Definition, old: Definition, context: StrategyContext): FieldError[] {
  const out: Errors = [];
  // One that was stored by a server that took it may still be changed, and go.
  const work = schemaWorkOf(object.spec);
  if (isTooLarge(out, work, Math.max(limits.definitionSchemasMax, schemaWorkOf(old.spec).count))) return out;
  let isPruned: boolean | undefined;
  checkDefinition(out, object, work, context, () => (isPruned ??= !hasUnprunedDefaults(old, context)));
  const [spec, before] = [object.spec, old.spec];
  const keep = (path: string, value: string, was: string): void => {
    if (value !== was) out.push(invalid(path, value, unchangeable));
  };
  const established = old.status.conditions?.some(({ type, status }) => type === "Established" && status === "True");
  if (established === true) {
    keep("spec.scope", spec.scope, before.scope);
    keep("spec.names.kind", spec.names.kind, before.names.kind);
  }
  keep("spec.group", spec.group, before.group);
  keep("spec.names.plural", spec.names.plural, before.names.plural);
  const key = context.identity.spell(approvalKey);
  if (object.metadata.annotations?.get(key) !== old.metadata.annotations?.get(key)) checkApproval(out, object, context);
  if (spec.preserveUnknownFields === true && before.preserveUnknownFields !== true) {
    out.push(invalid("spec.preserveUnknownFields", true, keepsUnknown));
  }
  return out;
}

/** What costs too much to be looked at is refused for that alone. */
function isTooLarge(out: Errors, { count }: SchemaWork, most: number): boolean {
  if (count <= most) return false;
  const why = `must not have more than ${most} schemas, with those within them and the items of their lists; has ${count}`;
  out.push(forbiddenField("spec.versions", why));
  return true;
}

function checkDefinition(
  out: Errors,
  object: Definition,
  { patterns, compiler, hasRules }: SchemaWork,
  context: StrategyContext,
  requirePruned: () => boolean,
): void {
  const { spec } = object;
  if (empty(spec.group)) out.push(required("spec.group"));
  else {
    const faults = isDns1123Subdomain(spec.group);
    if (faults.length > 0) out.push(invalid("spec.group", spec.group, faults.join(",")));
    else if (!spec.group.includes(".")) {
      out.push(invalid("spec.group", spec.group, "should be a domain with at least one dot"));
    }
  }
  checkChoice(out, "spec.scope", spec.scope, scopes);
  const rules = { patterns, compiler, identity: context.identity, requirePruned };
  const common = commonParts(spec.versions ?? []);
  checkVersions(out, spec, common, rules);
  const { plural, singular, kind, listKind } = spec.names;
  for (const [name, value] of Object.entries({ plural, singular, kind, listKind })) {
    if (empty(value)) out.push(required(`spec.names.${name}`));
  }
  checkNames(out, spec.names);
  const hasStatus = spec.versions?.some(({ subresources }) => subresources?.status !== undefined) === true;
  checkSchema(out, "spec.validation", common.schema, hasStatus, rules);
  checkScale(out, "spec.subresources.scale", common.subresources?.scale);
  checkColumns(out, "spec.additionalPrinterColumns", common.additionalPrinterColumns);
  checkConversion(out, spec.conversion);
  checkStoredVersions(out, object);
  if (out.length === 0 && hasRules) addAll(out, expressionFaults(spec, common, rules));
}

/** Compiles all versions; the faults of their rules in `x-kubernetes-validations`. */
function expressionFaults(spec: crd.CustomResourceDefinitionSpec, common: Parts, rules: SchemaRules): FieldError[] {
  const check = new RuleCheck(rules.patterns);
  const compiled = compileVersions(spec, rules.identity, rules.compiler);
  for (const [index, { schema }] of (spec.versions ?? []).entries()) {
    const root = schema?.openAPIV3Schema;
    const node = compiled[index]?.schema.root;
    if (root === undefined || node === undefined) continue;
    const path = common.schema === undefined ? `${at("spec.versions", index)}.schema` : "spec.validation";
    check.checkRoot(root, node, `${path}.openAPIV3Schema`);
    if (common.schema !== undefined) break;
  }
  return check.faults;
}

/** Whether a definition that was accepted earlier has defaults with unknown fields; then it may keep them. */
function hasUnprunedDefaults({ spec }: Definition, { identity }: StrategyContext): boolean {
  return (spec.versions ?? []).some(({ schema }) => {
    const root = schema?.openAPIV3Schema;
    return root !== undefined && hasUnknownInDefaults(root, identity);
  });
}

type Version = crd.CustomResourceDefinitionVersion;
type Parts = Pick<Version, (typeof partNames)[number]>;

const versionType = "apiextensions/v1.CustomResourceDefinitionVersion";
const partNames = ["schema", "subresources", "additionalPrinterColumns"] as const;
/** The parts that are the same in all versions: upstream keeps each of them once, and tells its faults once, there. */
function commonParts(versions: readonly Version[]): Parts {
  const [first, ...others] = versions;
  const common: { -readonly [K in keyof Parts]: Parts[K] } = {};
  if (first === undefined) return common;
  for (const name of partNames) {
    const part = { [name]: first[name] };
    const isCommon = others.every((other) => equal(versionType, part, { [name]: other[name] }));
    if (isCommon) Object.assign(common, part);
  }
  return common;
}

function checkVersions(out: Errors, spec: crd.CustomResourceDefinitionSpec, common: Parts, rules: SchemaRules): void {
  const versions = spec.versions ?? [];
  if (
    spec.preserveUnknownFields === true &&
    versions.some(({ schema }) => hasDefaults(schema?.openAPIV3Schema ?? {}))
  ) {
    const why = "must be false in order to use defaults in the schema";
    out.push(invalid("spec.preserveUnknownFields", true, why));
  }
  eachItem(out, versions, "spec.versions", (version, path) => {
    checkLabel(out, `${path}.name`, version.name);
    checkWarning(out, `${path}.deprecationWarning`, version);
    const { schema, subresources, additionalPrinterColumns } = version;
    if (schema?.openAPIV3Schema === undefined) {
      out.push(required(`${path}.schema.openAPIV3Schema`, "schemas are required"));
    } else if (common.schema === undefined) {
      checkSchema(out, `${path}.schema`, schema, subresources?.status !== undefined, rules);
    }
    if (common.subresources === undefined) checkScale(out, `${path}.subresources.scale`, subresources?.scale);
    if (common.additionalPrinterColumns === undefined) {
      checkColumns(out, `${path}.additionalPrinterColumns`, additionalPrinterColumns);
    }
  });
  const names = versions.map(({ name }) => name);
  if (new Set(names).size < names.length) {
    out.push(invalid("spec.versions", names, "must contain unique version names"));
  }
  if (versions.filter(({ storage }) => storage).length !== 1) {
    out.push(invalid("spec.versions", names, "must have exactly one version marked as storage version"));
  }
}

function checkSchema(
  out: Errors,
  path: string,
  validation: crd.CustomResourceValidation | undefined,
  hasStatus: boolean,
  rules: SchemaRules,
): void {
  const schema = validation?.openAPIV3Schema;
  if (schema !== undefined) checkRootSchema(out, `${path}.openAPIV3Schema`, schema, hasStatus, rules);
}

function checkColumns(out: Errors, path: string, columns: Version["additionalPrinterColumns"]): void {
  eachItem(out, columns, path, (column, where) => checkColumn(out, where, column));
}

function checkWarning(out: Errors, path: string, version: crd.CustomResourceDefinitionVersion): void {
  const { deprecated, deprecationWarning: text } = version;
  if (text === undefined) return;
  if (deprecated !== true) out.push(invalid(path, text, "can only be set for deprecated versions"));
  if (text === "") out.push(invalid(path, text, "must not be empty"));
  if ([...text].length > warningCharsMax) {
    out.push(invalid(path, text, `must be <= ${warningCharsMax} characters long`));
  }
  const hidden = text.search(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u);
  if (hidden >= 0) {
    const bytes = Buffer.byteLength(text.slice(0, hidden));
    const where = `non-printable character found at index ${bytes}`;
    out.push(invalid(path, text, `must only contain printable UTF-8 characters; ${where}`));
  }
}

function checkLabel(out: Errors, path: string, value: string, lead = ""): void {
  const faults = isDns1035Label(value);
  if (faults.length > 0) out.push(invalid(path, value, lead + faults.join(",")));
}

function checkNames(out: Errors, names: crd.CustomResourceDefinitionNames): void {
  const path = "spec.names";
  const { plural, singular, kind, listKind } = names;
  if (!empty(plural)) checkLabel(out, `${path}.plural`, plural);
  if (!empty(singular)) checkLabel(out, `${path}.singular`, singular);
  for (const [name, value] of Object.entries({ kind, listKind })) {
    if (empty(value)) continue;
    const faults = isDns1035Label(value.toLowerCase());
    if (faults.length === 0) continue;
    out.push(invalid(`${path}.${name}`, value, `may have mixed case, but should otherwise match: ${faults.join(",")}`));
  }
  eachItem(out, names.shortNames, `${path}.shortNames`, (name, where) => checkLabel(out, where, name));
  if (!empty(kind) && kind === listKind) {
    out.push(invalid(`${path}.listKind`, listKind, "kind and listKind may not be the same"));
  }
  eachItem(out, names.categories, `${path}.categories`, (name, where) => checkLabel(out, where, name));
}

function checkScale(out: Errors, path: string, scale: crd.CustomResourceSubresourceScale | undefined): void {
  if (scale === undefined) return;
  const parts = [
    ["specReplicasPath", scale.specReplicasPath, ".spec."],
    ["statusReplicasPath", scale.statusReplicasPath, ".status."],
  ] as const;
  for (const [name, value, lead] of parts) {
    if (empty(value)) out.push(required(`${path}.${name}`));
    else if (checkPath(out, `${path}.${name}`, value) && !value.startsWith(lead)) {
      out.push(invalid(`${path}.${name}`, value, `should be a json path under ${lead.slice(0, -1)}`));
    }
  }
  const labels = scale.labelSelectorPath;
  if (empty(labels) || !checkPath(out, `${path}.labelSelectorPath`, labels)) return;
  if (!/^\.(spec|status)\./.test(labels)) {
    out.push(invalid(`${path}.labelSelectorPath`, labels, "should be a json path under either .spec or .status"));
  }
}

/** Names behind dots, as far as upstream looks. True: sound. */
function checkPath(out: Errors, path: string, value: string): boolean {
  if (value.startsWith(".")) return true;
  out.push(invalid(path, value, "must be a simple json path starting with ."));
  return false;
}

function checkColumn(out: Errors, path: string, column: crd.CustomResourceColumnDefinition): void {
  if (empty(column.name)) out.push(required(`${path}.name`));
  const types = `must be one of ${columnTypes.join(",")}`;
  if (empty(column.type)) out.push(required(`${path}.type`, types));
  else if (!columnTypes.includes(column.type)) out.push(invalid(`${path}.type`, column.type, types));
  if (!empty(column.format) && !columnFormats.includes(column.format)) {
    out.push(invalid(`${path}.format`, column.format, `must be one of ${columnFormats.join(",")}`));
  }
  if (empty(column.jsonPath)) out.push(required(`${path}.JSONPath`));
  else checkPath(out, `${path}.JSONPath`, column.jsonPath);
}

function checkConversion(out: Errors, conversion: crd.CustomResourceConversion | undefined): void {
  if (conversion === undefined) return;
  const path = "spec.conversion";
  const { strategy, webhook } = conversion;
  if (empty(strategy)) out.push(required(`${path}.strategy`));
  else if (!strategies.includes(strategy)) out.push(notSupported(`${path}.strategy`, strategy, strategies));
  const { clientConfig, conversionReviewVersions: versions = [] } = webhook ?? {};
  if (strategy !== "Webhook") {
    const why = "should not be set when strategy is not set to Webhook";
    if (clientConfig !== undefined) out.push(forbiddenField(`${path}.webhookClientConfig`, why));
    if (versions.length > 0) out.push(forbiddenField(`${path}.conversionReviewVersions`, why));
    return;
  }
  if (clientConfig === undefined) {
    out.push(required(`${path}.webhookClientConfig`, "required when strategy is set to Webhook"));
  } else checkClient(out, `${path}.webhookClientConfig`, clientConfig);
  checkReviewVersions(out, `${path}.conversionReviewVersions`, versions);
}

function checkReviewVersions(out: Errors, path: string, versions: readonly string[]): void {
  if (versions.length === 0) {
    out.push(required(path));
    return;
  }
  const seen = new Set<string>();
  eachItem(out, versions, path, (version, where) => {
    if (seen.has(version)) out.push(invalid(where, version, "duplicate version"));
    seen.add(version);
    checkLabel(out, where, version);
  });
  if (!isFull(out) && !versions.some((version) => reviewVersions.includes(version))) {
    out.push(invalid(path, versions, `must include at least one of ${reviewVersions.join(", ")}`));
  }
}

function checkStoredVersions(out: Errors, { spec, status }: Definition): void {
  const path = "status.storedVersions";
  const stored = status.storedVersions ?? [];
  if (stored.length === 0) {
    out.push(invalid(path, stored, "must have at least one stored version"));
    return;
  }
  const known = new Set(spec.versions?.map(({ name }) => name));
  for (const { name, storage } of spec.versions ?? []) {
    if (storage && !stored.includes(name)) out.push(invalid(path, stored, `must have the storage version ${name}`));
  }
  eachItem(out, stored, path, (name, where) => {
    if (!known.has(name)) out.push(invalid(where, name, "must appear in spec.versions"));
  });
}

/** Groups of the community's own domains need an annotation that names their approval. */
function checkApproval(out: Errors, { metadata, spec }: Definition, { identity }: StrategyContext): void {
  const key = identity.spell(approvalKey);
  const word = metadata.annotations?.get(key) ?? "";
  const approval = approvalIn(spec.group, word, identity);
  const path = at("metadata.annotations", key);
  if (approval?.state === "Missing") out.push(required(path, approval.message));
  if (approval?.state === "Invalid") out.push(invalid(path, word, approval.message));
}
