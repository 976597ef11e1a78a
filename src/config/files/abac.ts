// --authorization-policy-file: one JSON object per line, in one of two formats. Unknown fields are ignored, as upstream
// does.
import { type Static, Type } from "typebox";
import type { Spell } from "./parts.ts";

const user = Type.Optional(Type.String({ description: "User name; * is every authenticated user." }));
const group = Type.Optional(Type.String({ description: "Group of users; * is every authenticated user." }));
const readonly = Type.Optional(Type.Boolean({ description: "Allow get, list and watch only." }));

/** The schema of a line that has a version: a field that is left out matches nothing but the empty value. */
export function abacPolicy(spell: Spell) {
  return Type.Object({
    apiVersion: Type.Literal(spell("abac.authorization.kubernetes.io/v1beta1")),
    kind: Type.Literal("Policy"),
    spec: Type.Optional(
      Type.Object({
        user,
        group,
        readonly,
        apiGroup: Type.Optional(Type.String({ description: "API group; * is any." })),
        resource: Type.Optional(Type.String({ description: "Plural name; * is any." })),
        namespace: Type.Optional(Type.String({ description: "Namespace; * is any." })),
        nonResourcePath: Type.Optional(Type.String({ description: "Path that is no resource; /a* begins with /a." })),
      }),
    ),
  });
}

/** The schema of a line without a version: a field that is left out matches everything. */
export const oldAbacPolicy = Type.Object({
  user,
  group,
  readonly,
  resource: Type.Optional(Type.String({ description: "Plural name." })),
  namespace: Type.Optional(Type.String({ description: "Namespace." })),
});

/** A line that fits its schema. */
export type AbacLine = Static<ReturnType<typeof abacPolicy>>;

/** A line without a version that fits its schema. */
export type OldAbacLine = Static<typeof oldAbacPolicy>;
