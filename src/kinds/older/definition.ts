// Definitions of custom resources in apiextensions.k8s.io/v1beta1, the version upstream keeps them in: what all versions of
// a definition have in common stands in it once.
import type {
  CustomResourceColumnDefinition,
  CustomResourceConversion,
  CustomResourceDefinition,
  CustomResourceDefinitionVersion,
} from "../../api/gen/apiextensions/v1.ts";
import type {
  CustomResourceColumnDefinition as OldColumn,
  CustomResourceConversion as OldConversion,
  CustomResourceDefinition as OldDefinition,
  CustomResourceDefinitionSpec as OldSpec,
  CustomResourceDefinitionVersion as OldVersion,
} from "../../api/gen/apiextensions/v1beta1.ts";
import type { OlderVersion } from "./version.ts";

/** Versions of definitions. */
export const olderDefinitions: readonly OlderVersion[] = [
  {
    group: "apiextensions.k8s.io",
    version: "v1beta1",
    kinds: ["CustomResourceDefinition"],
    message: "apiextensions/v1beta1.CustomResourceDefinition",
    successor: ["apiextensions.k8s.io", "v1"],
    succeed: fromDefinition,
    kept: true,
  },
];

function fromDefinition(object: OldDefinition): CustomResourceDefinition {
  const { version, validation, subresources, additionalPrinterColumns, ...spec } = object.spec;
  return {
    ...object,
    spec: {
      ...spec,
      scope: spec.scope || "Namespaced",
      versions: versionsOf(object.spec).map((each) => fromVersion(each, object.spec)),
      conversion: spec.conversion && fromConversion(spec.conversion),
      preserveUnknownFields: (spec.preserveUnknownFields ?? true) || undefined,
    },
  };
}

/** Definitions of early releases have one version, and no list of them. */
function versionsOf({ version = "", versions = [] }: OldSpec): readonly OldVersion[] {
  if (versions.length > 0 || version === "") return versions;
  return [{ name: version, served: true, storage: true }];
}

/** What the spec says is said of each version. */
function fromVersion(version: OldVersion, spec: OldSpec): CustomResourceDefinitionVersion {
  const { additionalPrinterColumns: own, ...rest } = version;
  const columns = spec.additionalPrinterColumns ?? own;
  return {
    ...rest,
    schema: spec.validation ?? version.schema,
    subresources: spec.subresources ?? version.subresources,
    additionalPrinterColumns: columns?.map(fromColumn),
  };
}

function fromColumn({ JSONPath: jsonPath, ...column }: OldColumn): CustomResourceColumnDefinition {
  return { ...column, jsonPath };
}

function fromConversion({ strategy, ...old }: OldConversion): CustomResourceConversion {
  const { webhookClientConfig: clientConfig } = old;
  const isListed = (old.conversionReviewVersions?.length ?? 0) > 0;
  const listed = strategy === "Webhook" && !isListed ? ["v1beta1"] : old.conversionReviewVersions;
  if (clientConfig === undefined && listed === undefined) return { strategy };
  return { strategy, webhook: { clientConfig, conversionReviewVersions: listed } };
}
