// PodTemplate: a template of pods that is an object by itself.
import type { PodTemplate } from "../../api/gen/core/v1.ts";
import type { Resource } from "../../api/scheme.ts";
import type { OwnBehaviour } from "../behaviour.ts";
import { type Columns, column, labels, nameColumn, templateColumns } from "../columns.ts";
import { countUp, differs, fieldOf, strategyFor } from "../generic.ts";
import type { Strategy } from "../strategy.ts";
import { copyServiceAccount, settlePodFields } from "./podfields.ts";
import { podWarnings } from "./podwarnings.ts";
import { validatePodTemplate, validatePodTemplateUpdate } from "./validation/pod/pod.ts";

/** Behaviour of pod templates. */
export function podTemplateBehaviour(resource: Resource): OwnBehaviour {
  return {
    strategy: podTemplateStrategy(resource),
    columns: podTemplateColumns(),
  };
}

function podTemplateStrategy(resource: Resource): Strategy<PodTemplate> {
  const template = fieldOf(resource, "template");
  return strategyFor<PodTemplate>(resource, {
    returnsDeletedObject: true,
    canonicalize: ({ template: pods }) => copyServiceAccount(pods.spec),
    prepareForCreate(context, object) {
      object.metadata.generation = 1;
      settlePodFields(context, object.template.spec, undefined);
    },
    prepareForUpdate(context, object, old) {
      settlePodFields(context, object.template.spec, old.template.spec);
      if (differs(template, object, old)) countUp(object, old);
    },
    warnings({ identity: names }, { metadata, template: pods }, old) {
      const isSame = old !== undefined && metadata.generation === old.metadata.generation;
      return isSame ? [] : podWarnings(names, "template", pods);
    },
    validate: validatePodTemplate,
    validateUpdate: validatePodTemplateUpdate,
  });
}

/** Columns of pod templates. */
function podTemplateColumns(): Columns<PodTemplate> {
  return {
    columns: [
      nameColumn,
      ...templateColumns<PodTemplate>(({ template }) => template, false),
      column("Pod Labels", "Labels of the pods made from the template", ({ template }) =>
        labels(template.metadata?.labels),
      ),
    ],
  };
}
