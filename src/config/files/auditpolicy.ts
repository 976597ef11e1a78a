// --audit-policy-file: a Policy of audit.k8s.io/v1.
import { type Static, Type } from "typebox";
import { type Spell, strings, subdomain } from "./parts.ts";

const level = Type.Enum(["None", "Metadata", "Request", "RequestResponse"], {
  description: "How much of a request is written, in rising order.",
});

const omitStages = Type.Array(Type.Enum(["RequestReceived", "ResponseStarted", "ResponseComplete", "Panic"]), {
  description: "Stages no event is written for; those of the policy and of the rule add up.",
});

const omitManagedFields = Type.Boolean({
  description: "Leave managedFields out of the objects of events; a rule's setting overrides the policy's.",
});

const resources = Type.Object(
  {
    group: Type.Optional(subdomain("API group; empty is the core group.")),
    resources: Type.Optional(
      strings("Resources: pods, pods/log (a subresource), pods/*, */log or *. Empty is all of the group."),
    ),
    resourceNames: Type.Optional(strings("Names of objects; needs resources. Empty is any.")),
  },
  { additionalProperties: false },
);

const rule = Type.Object(
  {
    level,
    users: Type.Optional(strings("User names; empty is any.")),
    userGroups: Type.Optional(strings("Groups of users, one of which the user is in; empty is any.")),
    verbs: Type.Optional(strings("Verbs; empty is any.")),
    resources: Type.Optional(Type.Array(resources, { description: "Resources the rule is about; empty is all." })),
    namespaces: Type.Optional(strings('Namespaces; "" means requests without one. Empty is any.')),
    nonResourceURLs: Type.Optional(
      Type.Array(
        Type.String({
          pattern: "^(?:\\*|/[^*]*\\*?)$",
          patternErrorMessage: "* or a path from / on, with * at its end only",
        }),
        { description: "Paths that are no resources; not together with resources or namespaces." },
      ),
    ),
    omitStages: Type.Optional(omitStages),
    omitManagedFields: Type.Optional(omitManagedFields),
  },
  { additionalProperties: false, description: "The first rule that matches a request decides." },
);

/** The schema. A misspelled field would silently mean something else: unknown fields are faults. */
export function auditPolicy(spell: Spell) {
  return Type.Object(
    {
      apiVersion: Type.Literal(spell("audit.k8s.io/v1")),
      kind: Type.Literal("Policy"),
      metadata: Type.Optional(Type.Unknown()),
      omitStages: Type.Optional(omitStages),
      omitManagedFields: Type.Optional(omitManagedFields),
      rules: Type.Array(rule, { minItems: 1, description: "In the order they are looked at." }),
    },
    { additionalProperties: false },
  );
}

/** A policy that fits its schema. */
export type AuditPolicy = Static<ReturnType<typeof auditPolicy>>;

/** A rule of one. */
export type AuditRule = Static<typeof rule>;
