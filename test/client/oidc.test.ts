// ID tokens are used until they expire, then renewed with the refresh token the provider gave last.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { identities } from "../../src/api/identity.ts";
import { openClient } from "../../src/client/client.ts";
import { CallFailure } from "../../src/outbound/client.ts";
import { openPeer, sayJson } from "../support/peer.ts";

function tokenOf(subject: string, expiresInSeconds: number): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  return `${part({ alg: "ES256" })}.${part({ sub: subject, exp: Math.floor(Date.now() / 1000) + expiresInSeconds })}.c2ln`;
}

t.test("an expired ID token is renewed, with the newest refresh token", async (t) => {
  const asked: string[] = [];
  let renewed = 0;
  const provider = await openPeer((body, response, request) => {
    if (request.url === "/realm/.well-known/openid-configuration") {
      return sayJson(response, { token_endpoint: `${provider.url}/realm/token` });
    }
    asked.push(`${request.headers.authorization} ${body}`);
    renewed += 1;
    // The first one is short-lived, so that it must be renewed again.
    const idToken = tokenOf(`n${renewed}`, renewed === 1 ? -1 : 3600);
    sayJson(response, { id_token: idToken, refresh_token: `r${renewed}` });
  });
  const seen: string[] = [];
  const server = await openPeer((_body, response, request) => {
    const token = (request.headers.authorization ?? "").split(".")[1] ?? "";
    seen.push(JSON.parse(Buffer.from(token, "base64url").toString()).sub);
    sayJson(response, {});
  });
  t.teardown(() => {
    provider.close();
    server.close();
  });
  const data = (text: string): string => Buffer.from(text).toString("base64");
  const settings = {
    "idp-issuer-url": `${provider.url}/realm`,
    "client-id": "me",
    "client-secret": "hush",
    "refresh-token": "r0",
    "id-token": tokenOf("old", -10),
    "idp-certificate-authority-data": data(provider.authority),
  };
  const config = join(t.testdir({}), "config");
  const cluster = { server: server.url, "certificate-authority-data": data(server.authority) };
  const user = { "auth-provider": { name: "oidc", config: settings } };
  writeFileSync(config, JSON.stringify({ clusters: [{ name: "c", cluster }], users: [{ name: "u", user }] }));
  const client = openClient({ config, identity: identities.orch });
  if (typeof client === "string") return void t.fail(client);
  t.teardown(() => client.close());
  for (let i = 0; i < 3; i++) {
    const answer = await client.call({ method: "GET", timeoutMs: 10_000 });
    t.equal(answer instanceof CallFailure ? answer.message : answer.code, 200);
  }
  t.same(seen, ["n1", "n2", "n2"]);
  const basic = `Basic ${Buffer.from("me:hush").toString("base64")}`;
  t.same(asked, [
    `${basic} grant_type=refresh_token&refresh_token=r0`,
    `${basic} grant_type=refresh_token&refresh_token=r1`,
  ]);
});
