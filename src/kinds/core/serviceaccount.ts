// ServiceAccount: who the processes of a pod are.
import type { ServiceAccount } from "../../api/gen/core/v1.ts";
import type { Resource } from "../../api/scheme.ts";
import { ageColumn, type Columns, column, nameColumn } from "../columns/cells.ts";
import { strategyFor } from "../generic.ts";
import type { Strategy } from "../strategy.ts";

/** Service accounts: of a reference to a secret only the name is kept. */
export function serviceAccountStrategy(resource: Resource): Strategy<ServiceAccount> {
  const keepNames = (account: ServiceAccount) => {
    account.secrets = account.secrets?.map(({ name }) => ({ name }));
  };
  return strategyFor<ServiceAccount>(resource, {
    returnsDeletedObject: true,
    prepareForCreate: (_context, account) => keepNames(account),
    prepareForUpdate: (_context, account) => keepNames(account),
  });
}

/** Columns of service accounts. */
export function serviceAccountColumns(): Columns<ServiceAccount> {
  return {
    columns: [
      nameColumn,
      column("Secrets", "Number of secrets it may use", ({ secrets }) => secrets?.length ?? 0),
      ageColumn,
    ],
  };
}
