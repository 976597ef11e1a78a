// ServiceAccount: the identity of a pod's processes.
import type { ServiceAccount } from "../../api/gen/core/v1.ts";
import type { Resource } from "../../api/scheme.ts";
import type { OwnBehaviour } from "../behaviour.ts";
import { ageColumn, type Columns, column, nameColumn } from "../columns.ts";
import { strategyFor } from "../generic.ts";
import type { Strategy } from "../strategy.ts";

/** Behaviour of service accounts. */
export function serviceAccountBehaviour(resource: Resource): OwnBehaviour {
  return {
    strategy: serviceAccountStrategy(resource),
    columns: serviceAccountColumns(),
    metaRules: { update: [1, 1] },
  };
}

/** Service accounts: of a reference to a secret only the name is kept. */
function serviceAccountStrategy(resource: Resource): Strategy<ServiceAccount> {
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
function serviceAccountColumns(): Columns<ServiceAccount> {
  return {
    columns: [
      nameColumn,
      column("Secrets", "Number of secrets it may use", ({ secrets }) => secrets?.length ?? 0),
      ageColumn,
    ],
  };
}
