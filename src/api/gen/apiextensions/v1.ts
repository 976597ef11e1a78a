// Written by scripts/gen from proto/: do not edit.
import type { RawJson } from "../../schema.ts";
import type * as meta_v1 from "../meta/v1.ts";

/** apiextensions/v1.ConversionRequest. */
export interface ConversionRequest {
  uid: string;
  desiredAPIVersion: string;
  objects?: RawJson[] | undefined;
}

/** apiextensions/v1.ConversionResponse. */
export interface ConversionResponse {
  uid: string;
  convertedObjects?: RawJson[] | undefined;
  result: meta_v1.Status;
}

/** apiextensions/v1.ConversionReview. */
export interface ConversionReview {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  request?: ConversionRequest | undefined;
  response?: ConversionResponse | undefined;
}

/** apiextensions/v1.CustomResourceColumnDefinition. */
export interface CustomResourceColumnDefinition {
  name: string;
  type: string;
  format?: string | undefined;
  description?: string | undefined;
  priority?: number | undefined;
  jsonPath: string;
}

/** apiextensions/v1.CustomResourceConversion. */
export interface CustomResourceConversion {
  strategy: string;
  webhook?: WebhookConversion | undefined;
}

/** apiextensions/v1.CustomResourceDefinition. */
export interface CustomResourceDefinition {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  spec: CustomResourceDefinitionSpec;
  status: CustomResourceDefinitionStatus;
}

/** apiextensions/v1.CustomResourceDefinitionCondition. */
export interface CustomResourceDefinitionCondition {
  type: string;
  status: string;
  lastTransitionTime?: string | undefined;
  reason?: string | undefined;
  message?: string | undefined;
}

/** apiextensions/v1.CustomResourceDefinitionList. */
export interface CustomResourceDefinitionList {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ListMeta;
  items?: CustomResourceDefinition[] | undefined;
}

/** apiextensions/v1.CustomResourceDefinitionNames. */
export interface CustomResourceDefinitionNames {
  plural: string;
  singular?: string | undefined;
  shortNames?: string[] | undefined;
  kind: string;
  listKind?: string | undefined;
  categories?: string[] | undefined;
}

/** apiextensions/v1.CustomResourceDefinitionSpec. */
export interface CustomResourceDefinitionSpec {
  group: string;
  names: CustomResourceDefinitionNames;
  scope: string;
  versions?: CustomResourceDefinitionVersion[] | undefined;
  conversion?: CustomResourceConversion | undefined;
  preserveUnknownFields?: boolean | undefined;
}

/** apiextensions/v1.CustomResourceDefinitionStatus. */
export interface CustomResourceDefinitionStatus {
  conditions?: CustomResourceDefinitionCondition[] | undefined;
  acceptedNames: CustomResourceDefinitionNames;
  storedVersions?: string[] | undefined;
}

/** apiextensions/v1.CustomResourceDefinitionVersion. */
export interface CustomResourceDefinitionVersion {
  name: string;
  served: boolean;
  storage: boolean;
  deprecated?: boolean | undefined;
  deprecationWarning?: string | undefined;
  schema?: CustomResourceValidation | undefined;
  subresources?: CustomResourceSubresources | undefined;
  additionalPrinterColumns?: CustomResourceColumnDefinition[] | undefined;
}

/** apiextensions/v1.CustomResourceSubresourceScale. */
export interface CustomResourceSubresourceScale {
  specReplicasPath: string;
  statusReplicasPath: string;
  labelSelectorPath?: string | undefined;
}

/** apiextensions/v1.CustomResourceSubresourceStatus. */
export interface CustomResourceSubresourceStatus {
}

/** apiextensions/v1.CustomResourceSubresources. */
export interface CustomResourceSubresources {
  status?: CustomResourceSubresourceStatus | undefined;
  scale?: CustomResourceSubresourceScale | undefined;
}

/** apiextensions/v1.CustomResourceValidation. */
export interface CustomResourceValidation {
  openAPIV3Schema?: JSONSchemaProps | undefined;
}

/** apiextensions/v1.ExternalDocumentation. */
export interface ExternalDocumentation {
  description?: string | undefined;
  url?: string | undefined;
}

/** apiextensions/v1.JSONSchemaProps. */
export interface JSONSchemaProps {
  id?: string | undefined;
  $schema?: string | undefined;
  $ref?: string | undefined;
  description?: string | undefined;
  type?: string | undefined;
  format?: string | undefined;
  title?: string | undefined;
  default?: RawJson | undefined;
  maximum?: number | undefined;
  exclusiveMaximum?: boolean | undefined;
  minimum?: number | undefined;
  exclusiveMinimum?: boolean | undefined;
  maxLength?: number | bigint | undefined;
  minLength?: number | bigint | undefined;
  pattern?: string | undefined;
  maxItems?: number | bigint | undefined;
  minItems?: number | bigint | undefined;
  uniqueItems?: boolean | undefined;
  multipleOf?: number | undefined;
  enum?: RawJson[] | undefined;
  maxProperties?: number | bigint | undefined;
  minProperties?: number | bigint | undefined;
  required?: string[] | undefined;
  items?: JSONSchemaPropsOrArray | undefined;
  allOf?: JSONSchemaProps[] | undefined;
  oneOf?: JSONSchemaProps[] | undefined;
  anyOf?: JSONSchemaProps[] | undefined;
  not?: JSONSchemaProps | undefined;
  properties?: Map<string, JSONSchemaProps> | undefined;
  additionalProperties?: JSONSchemaPropsOrBool | undefined;
  patternProperties?: Map<string, JSONSchemaProps> | undefined;
  dependencies?: Map<string, JSONSchemaPropsOrStringArray> | undefined;
  additionalItems?: JSONSchemaPropsOrBool | undefined;
  definitions?: Map<string, JSONSchemaProps> | undefined;
  externalDocs?: ExternalDocumentation | undefined;
  example?: RawJson | undefined;
  nullable?: boolean | undefined;
  "x-kubernetes-preserve-unknown-fields"?: boolean | undefined;
  "x-kubernetes-embedded-resource"?: boolean | undefined;
  "x-kubernetes-int-or-string"?: boolean | undefined;
  "x-kubernetes-list-map-keys"?: string[] | undefined;
  "x-kubernetes-list-type"?: string | undefined;
  "x-kubernetes-map-type"?: string | undefined;
  "x-kubernetes-validations"?: ValidationRule[] | undefined;
}

/** apiextensions/v1.JSONSchemaPropsOrArray. */
export interface JSONSchemaPropsOrArray {
  schema?: JSONSchemaProps | undefined;
  jSONSchemas?: JSONSchemaProps[] | undefined;
}

/** apiextensions/v1.JSONSchemaPropsOrBool. */
export interface JSONSchemaPropsOrBool {
  allows: boolean;
  schema?: JSONSchemaProps | undefined;
}

/** apiextensions/v1.JSONSchemaPropsOrStringArray. */
export interface JSONSchemaPropsOrStringArray {
  schema?: JSONSchemaProps | undefined;
  property?: string[] | undefined;
}

/** apiextensions/v1.ServiceReference. */
export interface ServiceReference {
  namespace: string;
  name: string;
  path?: string | undefined;
  port?: number | undefined;
}

/** apiextensions/v1.ValidationRule. */
export interface ValidationRule {
  rule: string;
  message?: string | undefined;
}

/** apiextensions/v1.WebhookClientConfig. */
export interface WebhookClientConfig {
  url?: string | undefined;
  service?: ServiceReference | undefined;
  caBundle?: string | undefined;
}

/** apiextensions/v1.WebhookConversion. */
export interface WebhookConversion {
  clientConfig?: WebhookClientConfig | undefined;
  conversionReviewVersions?: string[] | undefined;
}
