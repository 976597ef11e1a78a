// What OpenAPI says about custom resources, as upstream's recorded answers have it: clients and generators compare these
// texts. Built-in kinds are told in words of our own (openapitexts.ts).
const conventions = "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md";

/** Descriptions of definitions, in the canonical spelling. */
export const customTexts = {
  own: {
    apiVersion:
      "APIVersion defines the versioned schema of this representation of an object. Servers should convert " +
      "recognized schemas to the latest internal value, and may reject unrecognized values. More info: " +
      `${conventions}#resources`,
    kind:
      "Kind is a string value representing the REST resource this object represents. Servers may infer this from " +
      "the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: " +
      `${conventions}#types-kinds`,
  },
  embedded: {
    apiVersion:
      "apiVersion defines the versioned schema of this representation of an object. More info: " +
      `${conventions}#resources`,
    kind:
      "kind is a string value representing the type of this object. In CamelCase. More info: " +
      `${conventions}#types-kinds`,
  },
  metadata: {
    ObjectMeta: `Standard object's metadata. More info: ${conventions}#metadata`,
    ListMeta: `Standard list metadata. More info: ${conventions}#types-kinds`,
  },
  items: (plural: string): string => `List of ${plural}. More info: ${conventions}`,
} as const;

/** Descriptions of parameters, in the canonical spelling; those of lists are our own. */
export const customParameterTexts: Readonly<Record<string, string>> = {
  namespace: "object name and auth scope, such as for teams and projects",
  pretty: "If 'true', then the output is pretty printed.",
  dryRun:
    "When present, indicates that modifications should not be persisted. An invalid or unrecognized " +
    "dryRun directive will result in an error response and no further processing of the request. Valid " +
    "values are: - All: all dry run stages will be processed",
  fieldManager:
    "fieldManager is a name associated with the actor or entity that is making these changes. The value " +
    "must be less than or 128 characters long, and only contain printable characters, as defined by " +
    "https://golang.org/pkg/unicode/#IsPrint.",
  gracePeriodSeconds:
    "The duration in seconds before the object should be deleted. Value must be non-negative integer. The " +
    "value zero indicates delete immediately. If this value is nil, the default grace period for the " +
    "specified type will be used. Defaults to a per object value if not specified. zero means delete " +
    "immediately.",
  orphanDependents:
    "Deprecated: please use the PropagationPolicy, this field will be deprecated in 1.7. Should the " +
    'dependent objects be orphaned. If true/false, the "orphan" finalizer will be added to/removed from ' +
    "the object's finalizers list. Either this field or PropagationPolicy may be set, but not both.",
  propagationPolicy:
    "Whether and how garbage collection will be performed. Either this field or OrphanDependents may be " +
    "set, but not both. The default policy is decided by the existing finalizer set in the " +
    "metadata.finalizers and the resource-specific default policy. Acceptable values are: 'Orphan' - " +
    "orphan the dependents; 'Background' - allow the garbage collector to delete the dependents in the " +
    "background; 'Foreground' - a cascading policy that deletes all dependents in the foreground.",
  resourceVersion:
    "resourceVersion sets a constraint on what resource versions a request may be served from. See " +
    "https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions for " +
    "details.\n\nDefaults to unset",
};
