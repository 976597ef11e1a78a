// StorageVersion: in which version each server stores a resource.
import type { StorageVersion } from "../../api/gen/apiserverinternal/v1alpha1.ts";
import type { Resource } from "../../api/scheme.ts";
import type { OwnBehaviour } from "../behaviour.ts";
import { ageColumn, type Columns, column, firstThree, nameColumn, unset } from "../columns.ts";
import { strategyFor } from "../generic.ts";
import { specAndMetadata } from "../resetfields.ts";

/** Behaviour of storage versions. */
export function storageVersionBehaviour(resource: Resource): OwnBehaviour {
  return {
    strategy: strategyFor(resource, { allowUnconditionalUpdate: false }),
    columns: storageVersionColumns(),
    resetFields: specAndMetadata,
    metaRules: { update: [0, 0], parts: { status: [0, 0] } },
  };
}

/** Columns of storage versions. */
function storageVersionColumns(): Columns<StorageVersion> {
  return {
    columns: [
      nameColumn,
      column("CommonEncodingVersion", "Version all servers store in", ({ status }) => {
        return status.commonEncodingVersion ?? unset;
      }),
      column("StorageVersions", "Version each server stores in", ({ status }) =>
        firstThree(
          (status.storageVersions ?? []).map((of) => `${of.apiServerID ?? ""}=${of.encodingVersion ?? ""}`),
          unset,
        ),
      ),
      ageColumn,
    ],
  };
}
