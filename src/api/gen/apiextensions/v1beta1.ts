// Written by scripts/gen from proto/: do not edit.
import type * as apiextensions_v1 from "../apiextensions/v1.ts";
import type * as meta_v1 from "../meta/v1.ts";

/** apiextensions/v1beta1.CustomResourceColumnDefinition. */
export interface CustomResourceColumnDefinition {
  name: string;
  type: string;
  format?: string | undefined;
  description?: string | undefined;
  priority?: number | undefined;
  JSONPath: string;
}

/** apiextensions/v1beta1.CustomResourceConversion. */
export interface CustomResourceConversion {
  strategy: string;
  webhookClientConfig?: apiextensions_v1.WebhookClientConfig | undefined;
  conversionReviewVersions?: string[] | undefined;
}

/** apiextensions/v1beta1.CustomResourceDefinition. */
export interface CustomResourceDefinition {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  spec: CustomResourceDefinitionSpec;
  status: apiextensions_v1.CustomResourceDefinitionStatus;
}

/** apiextensions/v1beta1.CustomResourceDefinitionSpec. */
export interface CustomResourceDefinitionSpec {
  group: string;
  version?: string | undefined;
  names: apiextensions_v1.CustomResourceDefinitionNames;
  scope: string;
  validation?: apiextensions_v1.CustomResourceValidation | undefined;
  subresources?: apiextensions_v1.CustomResourceSubresources | undefined;
  versions?: CustomResourceDefinitionVersion[] | undefined;
  additionalPrinterColumns?: CustomResourceColumnDefinition[] | undefined;
  conversion?: CustomResourceConversion | undefined;
  preserveUnknownFields?: boolean | undefined;
}

/** apiextensions/v1beta1.CustomResourceDefinitionVersion. */
export interface CustomResourceDefinitionVersion {
  name: string;
  served: boolean;
  storage: boolean;
  deprecated?: boolean | undefined;
  deprecationWarning?: string | undefined;
  schema?: apiextensions_v1.CustomResourceValidation | undefined;
  subresources?: apiextensions_v1.CustomResourceSubresources | undefined;
  additionalPrinterColumns?: CustomResourceColumnDefinition[] | undefined;
}
