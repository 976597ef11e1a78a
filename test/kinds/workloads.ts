// Workloads, and checks of what their rules say of them.
import type { Test } from "tap";
import type { FieldError } from "../../src/api/fielderror.ts";
import type { DaemonSet, Deployment, ReplicaSet, StatefulSet } from "../../src/api/gen/apps/v1.ts";
import type { ReplicationController } from "../../src/api/gen/core/v1.ts";
import { contextOf, type Json, lines, make, template, workload } from "./build.ts";

/** A request of the group apps. */
export const context = contextOf("apps");
type Row = readonly [why: string, spec: Json, expected: readonly string[]];

/** Workloads of each kind around a spec. */
export const deployment = (spec: Json, status: Json = {}): Deployment =>
  make("Deployment", { metadata: { name: "a" }, spec: workload(spec), status }, "apps");
export const replicaSet = (spec: Json, status: Json = {}): ReplicaSet =>
  make("ReplicaSet", { metadata: { name: "a" }, spec: workload(spec), status }, "apps");
export const statefulSet = (spec: Json, status: Json = {}): StatefulSet =>
  make("StatefulSet", { metadata: { name: "a" }, spec: { serviceName: "s", ...workload(spec) }, status }, "apps");
export const daemonSet = (spec: Json, status: Json = {}): DaemonSet =>
  make("DaemonSet", { metadata: { name: "a" }, spec: workload(spec), status }, "apps");
export const controller = (spec: Json, status: Json = {}): ReplicationController =>
  make("ReplicationController", {
    metadata: { name: "a" },
    spec: { selector: { app: "web" }, template: template(), ...spec },
    status,
  });

/** The faults of each spec are those of its row. */
export function check(t: Test, rows: readonly Row[], faults: (spec: Json) => FieldError[]): void {
  for (const [why, spec, expected] of rows) t.same(lines(faults(spec)), expected, why);
}

/** What a template without the selector's labels is told. */
export const mismatch = (labels: string): string =>
  `spec.template.metadata.labels: Invalid value: ${labels}: \`selector\` does not match template \`labels\``;
/** Texts of labels, selectors and amounts, as upstream prints them. */
export const web = 'map[string]string{"app":"web"}';
export const selector = (labels: string): string =>
  `v1.LabelSelector{MatchLabels:${labels}, MatchExpressions:[]v1.LabelSelectorRequirement(nil)}`;
export const noLabels = "map[string]string(nil)";
export const intOrString = (type: number, int: number, text: string): string =>
  `intstr.IntOrString{Type:${type}, IntVal:${int}, StrVal:"${text}"}`;
