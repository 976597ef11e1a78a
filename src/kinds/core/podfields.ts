// Fields of pods and pod templates that are not stored as sent: the two names of the service account are made one, and
// what is switched off at this release is dropped, unless the stored object uses it already (it outlived a downgrade).
import type { Container, EphemeralContainer, PodSpec, PodTemplateSpec, Probe } from "../../api/gen/core/v1.ts";
import type { StrategyContext } from "../strategy.ts";

type AnyContainer = Container | EphemeralContainer;

/** A field behind a gate: is it used, and how to take it away. */
interface Disabled {
  readonly gate: string;
  used(spec: PodSpec): boolean;
  drop(spec: PodSpec): void;
}

const disabled: readonly Disabled[] = [
  {
    gate: "IdentifyPodOS",
    used: (spec) => spec.os !== undefined,
    drop: (spec) => {
      spec.os = undefined;
    },
  },
  {
    gate: "ProbeTerminationGracePeriod",
    used: (spec) => probesOf(spec).some((probe) => probe.terminationGracePeriodSeconds !== undefined),
    drop: (spec) => {
      for (const probe of probesOf(spec)) probe.terminationGracePeriodSeconds = undefined;
    },
  },
  {
    gate: "GRPCContainerProbe",
    used: (spec) => probesOf(spec).some((probe) => probe.grpc !== undefined),
    drop: (spec) => {
      for (const probe of probesOf(spec)) probe.grpc = undefined;
    },
  },
  // Not dropped but set to what it means.
  {
    gate: "ProcMountType",
    used: (spec) =>
      containersOf(spec).some(({ securityContext }) => (securityContext?.procMount ?? "Default") !== "Default"),
    drop: (spec) => {
      for (const { securityContext } of containersOf(spec)) {
        if (securityContext?.procMount !== undefined) securityContext.procMount = "Default";
      }
    },
  },
  {
    gate: "AnyVolumeDataSource",
    used: (spec) =>
      spec.volumes?.some((v) => v.ephemeral?.volumeClaimTemplate?.spec.dataSourceRef !== undefined) ?? false,
    drop: (spec) => {
      for (const { ephemeral } of spec.volumes ?? []) {
        if (ephemeral?.volumeClaimTemplate) ephemeral.volumeClaimTemplate.spec.dataSourceRef = undefined;
      }
    },
  },
];

/** serviceAccount is the old name of serviceAccountName; the new one wins and both are answered. */
export function copyServiceAccount(spec: PodSpec): void {
  if (!spec.serviceAccountName && spec.serviceAccount) spec.serviceAccountName = spec.serviceAccount;
  if (spec.serviceAccountName) spec.serviceAccount = spec.serviceAccountName;
}

/** Settles the fields of a pod about to be written over `old`. */
export function settlePodFields({ gates }: StrategyContext, spec: PodSpec, old: PodSpec | undefined): void {
  // Again: a plugin may have set it.
  copyServiceAccount(spec);
  for (const field of disabled) {
    if (!gates.has(field.gate) && field.used(spec) && !(old && field.used(old))) field.drop(spec);
  }
}

/** The same for templates, which may be absent. */
export function settleTemplateFields(
  context: StrategyContext,
  template: PodTemplateSpec | undefined,
  old: PodTemplateSpec | undefined,
): void {
  if (template !== undefined) settlePodFields(context, template.spec, old?.spec);
}

function containersOf(spec: PodSpec): AnyContainer[] {
  return [...(spec.initContainers ?? []), ...(spec.containers ?? []), ...(spec.ephemeralContainers ?? [])];
}

function probesOf(spec: PodSpec): Probe[] {
  return containersOf(spec).flatMap(({ livenessProbe, readinessProbe, startupProbe }) =>
    [livenessProbe, readinessProbe, startupProbe].filter((probe) => probe !== undefined),
  );
}
