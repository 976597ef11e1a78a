// Bootstrap tokens: secrets of one form are tokens as long as they say so (ATTACKS E09).
import t from "tap";
import { isAccepted } from "../../src/authn/authenticator.ts";
import { authnConfig, testAuthentication } from "../support/authn.ts";
import { openInProcess } from "../support/inprocess.ts";

const id = "abcdef";
const secret = "0123456789abcdef";

for (const identity of ["orch", "kubernetes"] as const) {
  t.test(`E09: bootstrap tokens, ${identity}`, async (t) => {
    const server = await openInProcess(identity);
    t.teardown(() => server.close());
    const clock = { now: () => server.nowMs, monotonic: () => performance.now() + server.aheadMs };
    const { views } = server.writers;
    const authn = testAuthentication(server.scheme, views, clock, authnConfig("--enable-bootstrap-token-auth"));
    const off = testAuthentication(server.scheme, views, clock);
    const { spell } = server.scheme.identity;
    const path = `/api/v1/namespaces/${spell("kube-system")}/secrets`;
    const put = async (fields: object, more: object = {}) => {
      await server.call("DELETE", `${path}/bootstrap-token-${id}`);
      const made = await server.call("POST", path, {
        apiVersion: "v1",
        kind: "Secret",
        type: spell("bootstrap.kubernetes.io/token"),
        metadata: { name: `bootstrap-token-${id}` },
        stringData: { "token-id": id, "token-secret": secret, "usage-bootstrap-authentication": "true", ...fields },
        ...more,
      });
      t.equal(made.code, 201, made.text);
    };
    const groups = async (token = `${id}.${secret}`, from = authn) => {
      const outcome = await from.review(token, []);
      return isAccepted(outcome) ? outcome.user.groups : outcome.reasons;
    };
    const invalid = ["invalid bearer token"];
    const base = ["system:bootstrappers", "system:authenticated"];
    t.same(await groups(), invalid, "no secret");
    await put({});
    t.same(await groups(), base);
    t.same(await groups(undefined, off), invalid, "not enabled");
    for (const wrong of [
      `${id}.${"f".repeat(16)}`,
      `${id}.${secret.slice(0, 15)}`,
      `${id}.${secret}0`,
      `${id}.${secret.toUpperCase()}`,
      `${id}${secret}`,
      `ABCDEF.${secret}`,
      `../x.y.${secret}`,
      `${id}.`,
    ]) {
      t.same(await groups(wrong), invalid, wrong);
    }
    const cases: [string, object, string[], object?][] = [
      ["ended", { expiration: "2026-01-02T03:04:04Z" }, invalid],
      ["not ended", { expiration: "2026-01-02T03:04:06Z" }, base],
      ["an end that is no time", { expiration: "soon" }, invalid],
      ["not for this", { "usage-bootstrap-authentication": "false" }, invalid],
      ["not said", { "usage-bootstrap-authentication": "" }, invalid],
      [
        "groups",
        { "auth-extra-groups": "system:bootstrappers:b,system:bootstrappers:a" },
        ["system:bootstrappers", "system:bootstrappers:a", "system:bootstrappers:b", "system:authenticated"],
      ],
      ["another group", { "auth-extra-groups": "system:masters" }, invalid],
      ["one of two groups", { "auth-extra-groups": "system:bootstrappers:a,system:masters" }, invalid],
      ["another id inside", { "token-id": "zzzzzz" }, invalid],
      ["another type", {}, invalid, { type: "Opaque" }],
    ];
    for (const [what, fields, expected, more] of cases) {
      await put(fields, more);
      t.same(await groups(), expected, what);
    }
    await put({ expiration: "2026-01-02T03:04:06Z" });
    t.same(await groups(), base);
    server.nowMs += 2_000;
    t.same(await groups(), invalid, "it ends while it is remembered");
    await put({});
    t.same(await groups(), base);
    await server.call("DELETE", `${path}/bootstrap-token-${id}`);
    t.same(await groups(), invalid, "removed");
    await put({}, { metadata: { name: `bootstrap-token-${id}`, finalizers: ["x.io/y"] } });
    t.same(await groups(), base);
    await server.call("DELETE", `${path}/bootstrap-token-${id}`);
    t.same(await groups(), invalid, "being removed");
  });
}
