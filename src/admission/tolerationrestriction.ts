// PodTolerationRestriction: a namespace says, by annotations or through the settings, what its pods tolerate without
// saying so, and what they may tolerate at all.
import type { Namespace, Pod, Toleration } from "../api/gen/core/v1.ts";
import type { ApiObject } from "../api/object.ts";
import type { TolerationSettings } from "../config/files/plugins.ts";
import { limits } from "../config/limits.ts";
import { qosClass } from "../kinds/core/podqos.ts";
import { areAllowed, mergeTolerations } from "../kinds/core/tolerations.ts";
import { type AdmissionPlugin, type Attributes, type Environment, forbid, isAbout } from "./plugin.ts";

/** What the settings say for namespaces that say nothing. */
interface Settings {
  readonly default: readonly Toleration[];
  readonly whitelist: readonly Toleration[];
}

/** Builds the plugin. */
export function tolerationRestriction({ objects, identity, settings }: Environment): AdmissionPlugin {
  const namespaces = objects.table<ApiObject & Namespace>("", "v1", "namespaces");
  const [defaults, whitelist] = ["defaultTolerations", "tolerationsWhitelist"].map((name) =>
    identity.spell(`scheduler.alpha.kubernetes.io/${name}`),
  );
  const pressure: Toleration = {
    key: identity.spell("node.kubernetes.io/memory-pressure"),
    operator: "Exists",
    effect: "NoSchedule",
  };
  const cluster = readTolerationSettings(settings);
  const said = (namespace: string, annotation = ""): readonly Toleration[] | string | undefined => {
    const text = namespaces.get("", namespace)?.metadata.annotations?.get(annotation);
    return text === undefined || text === "" ? undefined : parseTolerations(text);
  };
  return {
    mutate(attributes) {
      const pod = podOf(attributes);
      if (pod === undefined) return undefined;
      const own = attributes.operation === "create" ? (said(attributes.namespace, defaults) ?? cluster.default) : [];
      if (typeof own === "string") return forbid(attributes, own);
      const added = qosClass(pod.spec) === "BestEffort" ? own : [...own, pressure];
      if (added.length === 0) return undefined;
      const present = pod.spec.tolerations ?? [];
      if (present.length + added.length > limits.tolerationsMergedMax) {
        return forbid(attributes, `pod rejected: more than ${limits.tolerationsMergedMax} tolerations`);
      }
      pod.spec.tolerations = mergeTolerations(
        present,
        added.map((toleration) => ({ ...toleration })),
      );
      return undefined;
    },
    validate(attributes) {
      const tolerations = podOf(attributes)?.spec.tolerations ?? [];
      if (tolerations.length === 0) return undefined;
      const own = said(attributes.namespace, whitelist);
      if (typeof own === "string") return forbid(attributes, own);
      const allowed = own ?? cluster.whitelist;
      if (areAllowed(tolerations, allowed)) return undefined;
      const scope = own === undefined ? "cluster" : "namespace";
      const why = `pod tolerations (possibly merged with namespace default tolerations) conflict with its ${scope} whitelist`;
      return forbid(attributes, why);
    },
  };
}

function podOf(attributes: Attributes): (ApiObject & Pod) | undefined {
  const { operation, subresource, object } = attributes;
  if (subresource !== "" || !isAbout(attributes, "", "pods")) return undefined;
  return operation === "create" || operation === "update" ? (object as ApiObject & Pod) : undefined;
}

/** Reads the settings, JSON text that main checked. */
function readTolerationSettings(settings: string | undefined): Settings {
  const { default: defaults = [], whitelist = [] } = JSON.parse(settings ?? "{}") as TolerationSettings;
  return { default: defaults, whitelist };
}

function parseTolerations(text: string): readonly Toleration[] | string {
  try {
    const value: unknown = JSON.parse(text);
    return areTolerations(value) ? value : "the tolerations of the namespace are no list of tolerations";
  } catch {
    return "the tolerations of the namespace are no JSON";
  }
}

function areTolerations(value: unknown): value is Toleration[] {
  if (!Array.isArray(value)) return false;
  return value.every((item: unknown) => {
    if (typeof item !== "object" || item === null) return false;
    const { tolerationSeconds, ...texts } = item as { [key: string]: unknown };
    if (tolerationSeconds !== undefined && !Number.isSafeInteger(tolerationSeconds)) return false;
    const known = ["key", "operator", "value", "effect"];
    return Object.entries(texts).every(([key, text]) => known.includes(key) && typeof text === "string");
  });
}
