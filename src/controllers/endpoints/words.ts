// Labels and annotations that controllers of endpoints write and read, as the identity spells them.
import type { Identity } from "../../api/identity.ts";

/** Their names. */
export interface LabelNames {
  /** Label: the service has no cluster address. */
  readonly headless: string;
  /** Annotation: not all addresses are in the list. */
  readonly overCapacity: string;
  /** Annotation: when what led to the newest write happened. */
  readonly triggerTime: string;
  /** Annotation of services: addresses that are not ready count as ready ones. */
  readonly tolerateUnready: string;
  /** Annotation: programs elect their leader by the object. */
  readonly leader: string;
  /** Label of slices: the service they are of. */
  readonly serviceName: string;
  /** Label of slices: the controller that writes them. */
  readonly managedBy: string;
  /** Label of Endpoints: no slices are made of them. */
  readonly skipMirror: string;
  /** Annotation: what a client applied last. */
  readonly lastApplied: string;
  /** Label of nodes. */
  readonly zone: string;
}

/** The names in one identity. */
export function labelNames({ spell }: Identity): LabelNames {
  return {
    headless: spell("service.kubernetes.io/headless"),
    overCapacity: spell("endpoints.kubernetes.io/over-capacity"),
    triggerTime: spell("endpoints.kubernetes.io/last-change-trigger-time"),
    tolerateUnready: spell("service.alpha.kubernetes.io/tolerate-unready-endpoints"),
    leader: spell("control-plane.alpha.kubernetes.io/leader"),
    serviceName: spell("kubernetes.io/service-name"),
    managedBy: spell("endpointslice.kubernetes.io/managed-by"),
    skipMirror: spell("endpointslice.kubernetes.io/skip-mirror"),
    lastApplied: spell("kubectl.kubernetes.io/last-applied-configuration"),
    zone: spell("topology.kubernetes.io/zone"),
  };
}
