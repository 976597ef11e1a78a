// --admission-control-config-file: which plugin gets which settings.
import { type Static, Type } from "typebox";
import type { Spell } from "./parts.ts";

const plugin = Type.Object({
  name: Type.String({ minLength: 1, description: "Name of the plugin, as in --enable-admission-plugins." }),
  path: Type.Optional(Type.String({ description: "File with the settings, relative to this one." })),
  configuration: Type.Optional(
    Type.Object({}, { additionalProperties: true, description: "The settings themselves; goes before path." }),
  ),
});

/** The schema; unknown fields are ignored, as upstream does. */
export function admissionConfiguration(spell: Spell) {
  return Type.Object({
    apiVersion: Type.Enum([spell("apiserver.config.k8s.io/v1"), spell("apiserver.k8s.io/v1alpha1")]),
    kind: Type.Literal("AdmissionConfiguration"),
    plugins: Type.Optional(Type.Array(plugin, { description: "A plugin is named once." })),
  });
}

/** A file that fits its schema. */
export type AdmissionConfiguration = Static<ReturnType<typeof admissionConfiguration>>;
