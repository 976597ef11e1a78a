// Written by scripts/gen from proto/: do not edit.
import type * as meta_v1 from "../meta/v1.ts";

/** meta/v1beta1.PartialObjectMetadataList. */
export interface PartialObjectMetadataList {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ListMeta;
  items?: meta_v1.PartialObjectMetadata[] | undefined;
}
