// Tokens of accounts that another server made. Two servers over one store, whose deliveries are in the test's hand.
import t from "tap";
import { until } from "../support/inprocess.ts";
import { isPending, openTwo } from "./two.ts";

const accounts = "/api/v1/namespaces/ns/serviceaccounts";
const path = "/api/v1/namespaces/ns/configmaps?resourceVersion=0";

t.test("a token is accepted by another server however late that hears of its account, and of its end", async (t) => {
  const servers = await openTwo();
  t.teardown(() => servers.close());
  const { a, b } = servers;
  b.server.checks = true;
  const use = (token: string) => b.call("GET", path, undefined, { authorization: `Bearer ${token}` });
  b.store.pause();
  t.equal((await a.call("POST", accounts, { metadata: { name: "robot" } })).code, 201);
  const { token } = (await a.call("POST", `${accounts}/robot/token`, {})).json.status;
  const { questions } = b.store;
  t.equal((await use(`${token.slice(0, -8)}AAAAAAAA`)).code, 401);
  t.equal(b.store.questions, questions, "a wrong signature is no reason to ask");
  const first = use(token);
  t.ok(await until(() => b.store.questions > questions), "its signature is verified, and the store is asked");
  t.ok(await isPending(first), "it is not refused before its account is here");
  b.store.resume();
  t.equal((await first).code, 200);
  const after = b.store.questions;
  t.equal(after, questions + 1);
  t.equal((await use(token)).code, 200);
  t.equal(b.store.questions, after, "of what is here nothing is asked");
  t.equal((await a.call("DELETE", `${accounts}/robot`)).code, 200);
  t.equal((await b.call("GET", `${accounts}/robot`, undefined, { authorization: `Bearer ${token}` })).code, 401);
  b.store.isAway = true;
  t.equal((await use(token)).code, 401, "a store that does not answer authenticates no client");
  b.store.isAway = false;
  for (const { server } of [a, b]) t.same(server.faults, []);
});
