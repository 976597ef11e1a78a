// StorageVersion: in which version each server stores a resource.
import type { StorageVersion } from "../../api/gen/apiserverinternal/v1alpha1.ts";
import { ageColumn, type Columns, column, firstThree, nameColumn, unset } from "../columns/cells.ts";

/** Columns of storage versions. */
export function storageVersionColumns(): Columns<StorageVersion> {
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
