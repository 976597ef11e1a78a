// Config maps, secrets and service accounts.
import type { ConfigMap, Secret, ServiceAccount } from "../api/gen/core/v1.ts";
import type { Resource } from "../api/scheme.ts";
import { strategyFor } from "./generic.ts";
import type { Strategy } from "./strategy.ts";
import {
  validateConfigMap,
  validateConfigMapUpdate,
  validateSecret,
  validateSecretUpdate,
} from "./validation/config.ts";

/** Config maps. */
export function configMapStrategy(resource: Resource): Strategy<ConfigMap> {
  return strategyFor<ConfigMap>(resource, {
    boundsSize: true,
    validate: validateConfigMap,
    validateUpdate: validateConfigMapUpdate,
  });
}

/** Secrets: stringData is a way to write data, never stored. */
export function secretStrategy(resource: Resource): Strategy<Secret> {
  return strategyFor<Secret>(resource, {
    boundsSize: true,
    canonicalize: mergeStringData,
    prepareForUpdate(_context, secret, old) {
      if (!secret.type) secret.type = old.type;
    },
    validate: validateSecret,
    validateUpdate: validateSecretUpdate,
    selectableFields: ({ type }) => [["type", type ?? ""]],
    fieldLabels: ["type"],
  });
}

function mergeStringData(secret: Secret): void {
  if (secret.stringData?.size) {
    secret.data ??= new Map();
    for (const [key, value] of secret.stringData) secret.data.set(key, Buffer.from(value).toString("base64"));
  }
  secret.stringData = undefined;
}

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
