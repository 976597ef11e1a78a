// What is counted of authentication, in upstream's labels.
import t from "tap";
import { identities } from "../../src/api/identity.ts";
import type { Headers } from "../../src/authn/authenticator.ts";
import { countAuthn } from "../../src/authn/events.ts";
import { hashToken } from "../../src/authn/tokens.ts";
import { systemClock } from "../../src/base/clock.ts";
import { Registry, seriesOf } from "../../src/observe/metrics.ts";
import { authnConfig, testAuthentication } from "../support/authn.ts";
import { openInProcess } from "../support/inprocess.ts";

t.test("attempts are counted by result, and users by sort, never by name", async (t) => {
  const server = await openInProcess("orch");
  t.teardown(() => server.close());
  const registry = new Registry();
  const events = countAuthn(registry, identities.orch);
  const account = "system:serviceaccount:orch-system:default";
  const names = ["admin", "kubelet", account, "jane@example.com", "bob", "system:serviceaccount:kube-system:default"];
  const tokens = names.map((name) => ({ hash: hashToken(name), name, uid: "", groups: [] }));
  const open = (...flags: string[]) =>
    testAuthentication(server.scheme, server.writers.views, systemClock, authnConfig(...flags), tokens, {}, events);
  const [strict, lenient] = [open("--anonymous-auth=false"), open()];
  const ask = (from: typeof strict, token?: string): unknown => {
    const headers: Headers = token === undefined ? [] : [["authorization", `Bearer ${token}`]];
    return from.authenticate({ headers, peer: undefined });
  };
  for (const name of names) t.ok(ask(strict, name), name);
  t.ok(ask(lenient), "anonymous");
  for (const from of [strict, lenient]) t.notOk(ask(from, "wrong"));
  t.notOk(ask(strict), "nothing where something is needed");
  const counted = (name: string): Record<string, number | undefined> => {
    const family = registry.snapshot().find((one) => one.name === name);
    const at = family?.type === "histogram" ? -2 : -1;
    return Object.fromEntries((family && seriesOf(family))?.map(([key, values]) => [key, values.at(at)]) ?? []);
  };
  const attempts = { success: 7, error: 2, failure: 1 };
  t.same(counted("authentication_attempts"), attempts);
  t.same(counted("authentication_duration_seconds"), attempts);
  t.same(counted("authenticated_user_requests"), { admin: 1, kubelet: 1, [account]: 1, email_id: 1, other: 3 });
});
