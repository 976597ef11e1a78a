// Written by scripts/gen from proto/: do not edit.
import type * as core_v1 from "../core/v1.ts";
import type * as meta_v1 from "../meta/v1.ts";

/** node/v1beta1.Overhead. */
export interface Overhead {
  podFixed?: Map<string, string> | undefined;
}

/** node/v1beta1.RuntimeClass. */
export interface RuntimeClass {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  handler: string;
  overhead?: Overhead | undefined;
  scheduling?: Scheduling | undefined;
}

/** node/v1beta1.RuntimeClassList. */
export interface RuntimeClassList {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ListMeta;
  items?: RuntimeClass[] | undefined;
}

/** node/v1beta1.Scheduling. */
export interface Scheduling {
  nodeSelector?: Map<string, string> | undefined;
  tolerations?: core_v1.Toleration[] | undefined;
}
