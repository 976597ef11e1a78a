// Written by scripts/gen from proto/: do not edit.
import type * as meta_v1 from "../meta/v1.ts";

/** scheduling/v1.PriorityClass. */
export interface PriorityClass {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  value: number;
  globalDefault?: boolean | undefined;
  description?: string | undefined;
  preemptionPolicy?: string | undefined;
}

/** scheduling/v1.PriorityClassList. */
export interface PriorityClassList {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ListMeta;
  items?: PriorityClass[] | undefined;
}
