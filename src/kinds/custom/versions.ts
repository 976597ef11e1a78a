// The versions of a definition, ready to be served: what each makes of its schema, its columns and its scale subresource.
import type { FieldError } from "../../api/fielderror.ts";
import type {
  CustomResourceDefinitionSpec,
  CustomResourceDefinitionVersion,
  JSONSchemaProps,
} from "../../api/gen/apiextensions/v1.ts";
import type { Identity } from "../../api/identity.ts";
import { messageOf } from "../../api/messages.ts";
import type { ValueMap } from "../../api/value.ts";
import { encode } from "../../codec/engine/json.ts";
import { emptySet, type FieldSet, setOf } from "../../merge/fieldset.ts";
import type { MapType } from "../../merge/schema.ts";
import { formOf } from "../behaviour.ts";
import type { Columns } from "../columns.ts";
import { columnsOf } from "./columns.ts";
import { mergeTypeOf } from "./mergetype.ts";
import type { SchemaCompiler } from "./plan.ts";
import { ruleFaults } from "./rules/evaluate.ts";
import { type ScalePaths, scalePaths } from "./scalepaths.ts";
import { type CompiledSchema, compileSchemas } from "./schema.ts";

/** One version of a definition, compiled. Immutable. */
export interface CustomVersion {
  readonly name: string;
  readonly schema: CompiledSchema;
  /** Of the schema as it is written: see Behaviour.form. Worked out when it is first asked for, from what it was compiled from. */
  readonly form: () => number;
  /** Cells read the generic document. */
  readonly columns: Columns<ValueMap>;
  /** Undefined: there is no scale subresource. */
  readonly scale: ScalePaths | undefined;
  /** The field of the size at each version of the definition, by `group/version`; empty: it has no scale subresource. */
  readonly sizes: ReadonlyMap<string, FieldSet>;
  /** The type of its objects for server-side apply; made when it is first asked for. */
  readonly mergeType: () => MapType;
  /** What its rules in `x-kubernetes-validations` say of an object, and of what it replaces. */
  readonly ruleFaults: (object: ValueMap, old: ValueMap | undefined) => FieldError[];
}

const schemaMessage = messageOf("apiextensions/v1.JSONSchemaProps");

/** What versions without a schema have: anything goes. */
const anything = { type: "object", "x-kubernetes-preserve-unknown-fields": true } as const;

/** Compiles all versions of a definition; what their schemas share is compiled once. `compiler`: see compileSchemas(). */
export function compileVersions(
  spec: CustomResourceDefinitionSpec,
  identity: Identity,
  compiler?: SchemaCompiler,
): CustomVersion[] {
  const versions = spec.versions ?? [];
  const roots: JSONSchemaProps[] = versions.map(({ schema }) => schema?.openAPIV3Schema ?? anything);
  const schemas = compileSchemas(roots, identity, spec.preserveUnknownFields !== true, compiler);
  const sizes = sizesOf(spec);
  const made: CustomVersion[] = [];
  for (const [index, schema] of schemas.entries()) {
    made.push(customVersion(versions[index], roots[index] ?? anything, schema, sizes));
  }
  return made;
}

/** Functions keep all that functions beside them refer to: here that is the compiled schema, and its source for a while. */
function customVersion(
  version: CustomResourceDefinitionVersion | undefined,
  root: JSONSchemaProps,
  schema: CompiledSchema,
  sizes: ReadonlyMap<string, FieldSet>,
): CustomVersion {
  const { name = "", additionalPrinterColumns, subresources } = version ?? {};
  let mergeType: MapType | undefined;
  return {
    name,
    schema,
    form: formLater(name, root),
    columns: columnsOf(additionalPrinterColumns),
    scale: subresources?.scale === undefined ? undefined : scalePaths(subresources.scale),
    sizes,
    mergeType: () => {
      mergeType ??= mergeTypeOf(schema.root);
      return mergeType;
    },
    ruleFaults: (object, old) => (schema.root.hasExpressions ? ruleFaults(schema.root, object, old) : []),
  };
}

function formLater(name: string, root: JSONSchemaProps): () => number {
  let source: JSONSchemaProps | undefined = root;
  let form: number | undefined;
  return () => {
    form ??= formOf(`${name}\n${encode(schemaMessage, source ?? anything)}`);
    source = undefined;
    return form;
  };
}

function sizesOf({ group, versions = [] }: CustomResourceDefinitionSpec): ReadonlyMap<string, FieldSet> {
  const sizeOf = ({ subresources }: (typeof versions)[number]): FieldSet => {
    if (subresources?.scale === undefined) return emptySet;
    return setOf(scalePaths(subresources.scale).specReplicas.map((name) => `f:${name}`));
  };
  return new Map(versions.map((version) => [`${group}/${version.name}`, sizeOf(version)]));
}
