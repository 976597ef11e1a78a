// Scale, the one shape in which everything with a replica count can be resized: what of a workload it shows, and what
// of it a workload takes over.
import { type FieldError, invalid } from "../api/fielderror.ts";
import type { Scale } from "../api/gen/autoscaling/v1.ts";
import type { LabelSelector } from "../api/gen/meta/v1.ts";
import { compareBytes } from "../api/gotext.ts";
import type { Identity } from "../api/identity.ts";
import type { ApiObject } from "../api/object.ts";
import type { FieldSet } from "../merge/fieldset.ts";
import { validateMeta } from "./meta.ts";

/** What Scale knows of a workload: deployments, replica sets, stateful sets, replication controllers. */
export interface Scalable extends ApiObject {
  readonly spec: {
    replicas?: number | undefined;
    /** Replication controllers select by a plain map. */
    selector?: LabelSelector | Map<string, string> | undefined;
  };
  readonly status: { replicas?: number | undefined };
}

/** How objects of a kind are read and resized as a Scale. */
export interface Scaling {
  /** The Scale of an object. */
  read(object: ApiObject): Scale;
  /** Makes an object as large as a Scale says. The version a Scale names is the version of the object. */
  write(object: ApiObject, scale: Scale): void;
  /** Left out: objects have their size in `spec.replicas`. */
  readonly defined?: DefinedSize | undefined;
}

/**
 * The size of a custom resource, which is where its definition says and may be missing. The rules of the object are all
 * the rules there are, and a size that an update changed has no owner (upstream).
 */
export interface DefinedSize {
  /** The path of the size, as a definition has it. */
  readonly path: string;
  /** The field of the size at a version (`group/version`), empty where that has none; undefined: no such version. */
  readonly at: (apiVersion: string) => FieldSet | undefined;
}

/** Scaling by `spec.replicas`, with what `spec.selector` selects. */
export const replicaScaling: Scaling = { read: scaleOf, write: applyScale };

function scaleOf(workload: ApiObject): Scale {
  const { metadata, spec, status } = workload as Scalable;
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata;
  return {
    kind: "Scale",
    apiVersion: "autoscaling/v1",
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    spec: { replicas: spec.replicas ?? 0 },
    status: { replicas: status.replicas ?? 0, selector: selectorText(spec.selector) },
  };
}

function applyScale(workload: ApiObject, scale: Scale): void {
  (workload as Scalable).spec.replicas = scale.spec.replicas ?? 0;
  if (scale.metadata.resourceVersion === undefined) delete workload.metadata.resourceVersion;
  else workload.metadata.resourceVersion = scale.metadata.resourceVersion;
}

/** All faults of a Scale. */
export function validateScale({ metadata, spec }: Scale, identity: Identity): FieldError[] {
  const errors = validateMeta(metadata, true, "dns1123-subdomain", identity);
  const replicas = spec.replicas ?? 0;
  if (replicas < 0) errors.push(invalid("spec.replicas", replicas, "must be greater than or equal to 0"));
  return errors;
}

/** A selector in the grammar of `labelSelector`, as clients of Scale read it; requirements sorted by key. */
function selectorText(selector: LabelSelector | Map<string, string> | undefined): string {
  const { matchLabels, matchExpressions = [] } = selector instanceof Map ? { matchLabels: selector } : (selector ?? {});
  const requirements = [...(matchLabels ?? [])].map(([key, value]) => ({ key, text: `${key}=${value}` }));
  for (const { key, operator, values = [] } of matchExpressions) {
    requirements.push({ key, text: expressionText(key, operator, values) });
  }
  return requirements
    .sort((a, b) => compareBytes(a.key, b.key))
    .map(({ text }) => text)
    .join(",");
}

function expressionText(key: string, operator: string, values: readonly string[]): string {
  switch (operator) {
    case "In":
      return `${key} in (${values.toSorted(compareBytes).join(",")})`;
    case "NotIn":
      return `${key} notin (${values.toSorted(compareBytes).join(",")})`;
    case "DoesNotExist":
      return `!${key}`;
    default:
      return key;
  }
}
