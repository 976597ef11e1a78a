// How authenticators are put in order: who decides, what a wrong credential means, what is added to an answer.
import t from "tap";
import {
  type Accepted,
  type Authenticator,
  anonymous,
  audienceAgnostic,
  type Credentials,
  type Outcome,
  reasonText,
  refused,
  union,
  withAnonymous,
  withAuthenticatedGroup,
} from "../../src/authn/authenticator.ts";
import { bearerAuthenticator, protocolAuthenticator } from "../../src/authn/bearer.ts";

const none: Credentials = { headers: [], peer: undefined };

const accepted = (name: string, ...groups: string[]): Accepted => ({
  user: { name, uid: "", groups, extra: new Map() },
});

/** One that answers so, at once or later. */
function saying(outcome: Outcome, later = false): Authenticator {
  return { authenticate: () => (later ? Promise.resolve(outcome) : outcome) };
}

t.test("union() takes the first that accepts, and refuses only when none does", async (t) => {
  const alice = accepted("alice");
  const bob = accepted("bob");
  const cases: [string, Outcome[], Outcome][] = [
    ["none", [undefined, undefined], undefined],
    ["the first", [alice, bob], alice],
    ["past nothing", [undefined, bob], bob],
    ["past a refusal", [refused("no"), bob], bob],
    ["refusals together", [refused("a"), undefined, refused("b")], { reasons: ["a", "b"] }],
  ];
  for (const [what, outcomes, expected] of cases) {
    const now = union(outcomes.map((one) => saying(one))).authenticate(none);
    t.notOk(now instanceof Promise, `${what}: at once`);
    t.same(now, expected, what);
    for (const late of [0, 1]) {
      const list = outcomes.map((one, index) => saying(one, index === late));
      t.same(await union(list).authenticate(none), expected, `${what}, ${late} late`);
    }
  }
  t.equal(reasonText({ reasons: ["a"] }), "a");
  t.equal(reasonText({ reasons: ["a", "a"] }), "a");
  t.equal(reasonText({ reasons: ["a", "b", "a"] }), "[a, b]");
});

t.test("withAnonymous() never stands in for wrong credentials", (t) => {
  t.same(withAnonymous(saying(undefined)).authenticate(none), { user: anonymous });
  t.same(withAnonymous(saying(refused("no"))).authenticate(none), refused("no"));
  t.same(withAnonymous(saying(accepted("alice"))).authenticate(none), accepted("alice"));
  t.end();
});

t.test("withAuthenticatedGroup() adds the group once, and not to the anonymous", (t) => {
  const groupsOf = (one: Accepted): unknown => {
    const outcome = withAuthenticatedGroup(saying(one)).authenticate(none) as Accepted;
    return outcome.user.groups;
  };
  t.same(groupsOf(accepted("alice", "dev")), ["dev", "system:authenticated"]);
  t.same(groupsOf(accepted("alice", "system:authenticated", "dev")), ["system:authenticated", "dev"]);
  t.same(groupsOf({ user: anonymous }), ["system:unauthenticated"]);
  t.same(groupsOf(accepted("system:anonymous", "x")), ["x"]);
  t.end();
});

t.test("audienceAgnostic() makes a token good for the server's audiences and no other", (t) => {
  const inner = { authenticateToken: () => accepted("alice") };
  const tokens = audienceAgnostic(inner, ["api", "other"]);
  t.same(tokens.authenticateToken("x", undefined), accepted("alice"));
  t.same(tokens.authenticateToken("x", ["vault", "api"]), { ...accepted("alice"), audiences: ["api"] });
  t.equal(tokens.authenticateToken("x", ["vault"]), undefined);
  t.end();
});

const knowsAbc = { authenticateToken: (token: string) => (token === "abc" ? accepted("alice") : undefined) };

t.test("bearerAuthenticator() reads the first Authorization header", (t) => {
  const wrong = refused("invalid bearer token");
  const cases: [string[], Outcome][] = [
    [["Bearer abc"], accepted("alice")],
    [["bearer abc"], accepted("alice")],
    [["  Bearer abc "], accepted("alice")],
    [["Bearer abc more"], accepted("alice")],
    [["Bearer ab"], wrong],
    [["Bearer __proto__"], wrong],
    [[""], undefined],
    [["abc"], undefined],
    [["Bearer"], undefined],
    [["Bearer "], undefined],
    [["Bearer  abc"], undefined],
    [["Basic abc"], undefined],
    [[], undefined],
    [["Basic x", "Bearer abc"], undefined],
  ];
  for (const [values, expected] of cases) {
    const headers = values.map((value) => ["authorization", value] as const);
    const outcome = bearerAuthenticator(knowsAbc).authenticate({ headers, peer: undefined });
    t.same(outcome, expected, JSON.stringify(values));
  }
  t.end();
});

t.test("E12: protocolAuthenticator() takes exactly one token beside another subprotocol", (t) => {
  const prefix = "base64url.bearer.authorization.k8s.io.";
  const one = `${prefix}${Buffer.from("abc").toString("base64url")}`;
  const upgrade: [string, string][] = [
    ["connection", "keep-alive, Upgrade"],
    ["upgrade", "websocket"],
  ];
  const cases: [string, [string, string][], Outcome][] = [
    ["good", [...upgrade, ["sec-websocket-protocol", `${one}, v4.channel`]], accepted("alice")],
    [
      "in two headers",
      [...upgrade, ["sec-websocket-protocol", "v4.channel"], ["sec-websocket-protocol", one]],
      accepted("alice"),
    ],
    ["no handshake", [["sec-websocket-protocol", `${one}, v4`]], undefined],
    ["no token", [...upgrade, ["sec-websocket-protocol", "v4"]], undefined],
    ["alone", [...upgrade, ["sec-websocket-protocol", one]], refused("missing additional subprotocol")],
    [
      "twice",
      [...upgrade, ["sec-websocket-protocol", `${one},${one},v4`]],
      refused("multiple base64.bearer.authorization tokens specified"),
    ],
    [
      "padded",
      [...upgrade, ["sec-websocket-protocol", `${prefix}YWI=,v4`]],
      refused("invalid base64.bearer.authorization token encoding"),
    ],
    [
      "no text",
      [...upgrade, ["sec-websocket-protocol", `${prefix}_w,v4`]],
      refused("invalid base64.bearer.authorization token"),
    ],
    ["empty", [...upgrade, ["sec-websocket-protocol", `${prefix},v4`]], undefined],
    ["unknown", [...upgrade, ["sec-websocket-protocol", `${prefix}YWI,v4`]], refused("invalid bearer token")],
  ];
  for (const [what, headers, expected] of cases) {
    t.same(protocolAuthenticator(knowsAbc, prefix).authenticate({ headers, peer: undefined }), expected, what);
  }
  t.end();
});
