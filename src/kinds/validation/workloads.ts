// Workloads of apps/v1, and ReplicationController.
import type { FieldError } from "../../api/fielderror.ts";
import type * as apps from "../../api/gen/apps_v1.ts";
import type * as core from "../../api/gen/core_v1.ts";
import type { StrategyContext } from "../strategy.ts";

/** Rules of a new Deployment. */
export function validateDeployment(_object: apps.Deployment, _context: StrategyContext): FieldError[] {
  return [];
}

/** Rules of a changed Deployment. */
export function validateDeploymentUpdate(
  _object: apps.Deployment,
  _old: apps.Deployment,
  _context: StrategyContext,
): FieldError[] {
  return [];
}

/** Rules of a changed status of a Deployment. */
export function validateDeploymentStatusUpdate(
  _object: apps.Deployment,
  _old: apps.Deployment,
  _context: StrategyContext,
): FieldError[] {
  return [];
}

/** Rules of a new ReplicaSet. */
export function validateReplicaSet(_object: apps.ReplicaSet, _context: StrategyContext): FieldError[] {
  return [];
}

/** Rules of a changed ReplicaSet. */
export function validateReplicaSetUpdate(
  _object: apps.ReplicaSet,
  _old: apps.ReplicaSet,
  _context: StrategyContext,
): FieldError[] {
  return [];
}

/** Rules of a changed status of a ReplicaSet. */
export function validateReplicaSetStatusUpdate(
  _object: apps.ReplicaSet,
  _old: apps.ReplicaSet,
  _context: StrategyContext,
): FieldError[] {
  return [];
}

/** Rules of a new StatefulSet. */
export function validateStatefulSet(_object: apps.StatefulSet, _context: StrategyContext): FieldError[] {
  return [];
}

/** Rules of a changed StatefulSet. */
export function validateStatefulSetUpdate(
  _object: apps.StatefulSet,
  _old: apps.StatefulSet,
  _context: StrategyContext,
): FieldError[] {
  return [];
}

/** Rules of a changed status of a StatefulSet. */
export function validateStatefulSetStatusUpdate(
  _object: apps.StatefulSet,
  _old: apps.StatefulSet,
  _context: StrategyContext,
): FieldError[] {
  return [];
}

/** Rules of a new DaemonSet. */
export function validateDaemonSet(_object: apps.DaemonSet, _context: StrategyContext): FieldError[] {
  return [];
}

/** Rules of a changed DaemonSet. */
export function validateDaemonSetUpdate(
  _object: apps.DaemonSet,
  _old: apps.DaemonSet,
  _context: StrategyContext,
): FieldError[] {
  return [];
}

/** Rules of a changed status of a DaemonSet. */
export function validateDaemonSetStatusUpdate(
  _object: apps.DaemonSet,
  _old: apps.DaemonSet,
  _context: StrategyContext,
): FieldError[] {
  return [];
}

/** Rules of a new ControllerRevision. */
export function validateControllerRevision(_object: apps.ControllerRevision, _context: StrategyContext): FieldError[] {
  return [];
}

/** Rules of a changed ControllerRevision. */
export function validateControllerRevisionUpdate(
  _object: apps.ControllerRevision,
  _old: apps.ControllerRevision,
  _context: StrategyContext,
): FieldError[] {
  return [];
}

/** Rules of a new ReplicationController. */
export function validateReplicationController(
  _object: core.ReplicationController,
  _context: StrategyContext,
): FieldError[] {
  return [];
}

/** Rules of a changed ReplicationController. */
export function validateReplicationControllerUpdate(
  _object: core.ReplicationController,
  _old: core.ReplicationController,
  _context: StrategyContext,
): FieldError[] {
  return [];
}

/** Rules of a changed status of a ReplicationController. */
export function validateReplicationControllerStatusUpdate(
  _object: core.ReplicationController,
  _old: core.ReplicationController,
  _context: StrategyContext,
): FieldError[] {
  return [];
}
