// PodNodeSelector: the pods of a namespace go to the nodes the namespace is given, by its annotation or by the settings,
// and the settings may bound what its pods choose themselves.
import type { Namespace, Pod } from "../api/gen/core/v1.ts";
import type { ApiObject } from "../api/object.ts";
import type { Status } from "../api/status.ts";
import type { NodeSelectorSettings } from "../config/files/plugins.ts";
import { type AdmissionPlugin, type Attributes, type Environment, forbid, isAbout } from "./plugin.ts";

type Labels = ReadonlyMap<string, string>;

const fallback = "clusterDefaultNodeSelector";

/** Builds the plugin. */
export function nodeSelector({ objects, identity, settings }: Environment): AdmissionPlugin {
  const namespaces = objects.table<ApiObject & Namespace>("", "v1", "namespaces");
  const annotation = identity.spell("scheduler.alpha.kubernetes.io/node-selector");
  const read = readNodeSelectors(settings);
  const given = typeof read === "string" ? new Map<string, Labels>() : read;
  const ofNamespace = (name: string): Labels | string => {
    const own = namespaces.get("", name)?.metadata.annotations?.get(annotation);
    return own === undefined ? (given.get(fallback) ?? new Map()) : parseLabels(own);
  };
  const check = (attributes: Attributes, pod: Pod): Status | Labels => {
    const wanted = ofNamespace(attributes.namespace);
    if (typeof wanted === "string") return forbid(attributes, wanted);
    const own = pod.spec.nodeSelector;
    for (const [key, value] of wanted) {
      if (own?.has(key) !== true || own.get(key) === value) continue;
      return forbid(attributes, "pod node label selector conflicts with its namespace node label selector");
    }
    return wanted;
  };
  return {
    mutate(attributes) {
      if (!isNewPod(attributes)) return undefined;
      const pod = attributes.object as ApiObject & Pod;
      const wanted = check(attributes, pod);
      if (!(wanted instanceof Map)) return wanted as Status;
      if (wanted.size > 0) pod.spec.nodeSelector = new Map([...wanted, ...(pod.spec.nodeSelector ?? [])]);
      return undefined;
    },
    validate(attributes) {
      if (!isNewPod(attributes)) return undefined;
      const pod = attributes.object as ApiObject & Pod;
      const wanted = check(attributes, pod);
      if (!(wanted instanceof Map)) return wanted as Status;
      const allowed = given.get(attributes.namespace);
      if (allowed === undefined || allowed.size === 0) return undefined;
      for (const [key, value] of pod.spec.nodeSelector ?? []) {
        if (allowed.get(key) === value) continue;
        return forbid(attributes, "pod node label selector labels conflict with its namespace whitelist");
      }
      return undefined;
    },
  };
}

function isNewPod(attributes: Attributes): boolean {
  return attributes.operation === "create" && attributes.subresource === "" && isAbout(attributes, "", "pods");
}

/** Selectors by namespace, and that of the cluster; a text says what is wrong with the settings. */
export function readNodeSelectors(settings: string | undefined): Map<string, Labels> | string {
  if (settings === undefined) return new Map();
  const { podNodeSelectorPluginConfig: config = {} } = JSON.parse(settings) as NodeSelectorSettings;
  const found = new Map<string, Labels>();
  for (const [namespace, text] of Object.entries(config)) {
    const labels = parseLabels(text);
    if (typeof labels === "string") return `podNodeSelectorPluginConfig.${namespace}: ${labels}`;
    found.set(namespace, labels);
  }
  return found;
}

/** `a=b,c=d`; a text says what is wrong. */
function parseLabels(text: string): Map<string, string> | string {
  const labels = new Map<string, string>();
  if (text.trim() === "") return labels;
  for (const part of text.split(",")) {
    const [key = "", value, ...more] = part.trim().split("=");
    if (key === "" || value === undefined || more.length > 0) return `invalid selector: ${part.trim()}`;
    labels.set(key.trim(), value.trim());
  }
  return labels;
}
