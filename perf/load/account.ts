// The service account the pods of a benchmark name, made by a client that logs in as the server's own configuration file
// says.
import { identities } from "../../src/api/identity.ts";
import { assert } from "../../src/base/assert.ts";
import { openClient } from "../../src/client/client.ts";
import { limits } from "../../src/config/limits.ts";
import { CallFailure } from "../../src/outbound/client.ts";
import type { TestServer } from "../../test/support/server.ts";

/** Makes the account in the namespace `default`. */
export async function makeAccount(server: TestServer, account: object): Promise<void> {
  const client = openClient({ config: server.kubeconfig, identity: identities.kubernetes });
  assert(typeof client !== "string", `The configuration file of the server: ${client}`);
  const answer = await client.call({
    method: "POST",
    path: "/api/v1/namespaces/default/serviceaccounts",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(account),
    timeoutMs: limits.requestMsMax,
  });
  client.close();
  const why = answer instanceof CallFailure ? answer.message : `answered ${answer.code}`;
  assert(
    !(answer instanceof CallFailure) && answer.code === 201,
    `The service account of the pods was not made: ${why}`,
  );
}
