// OpenID Connect against a real HTTPS provider: whose tokens are taken, how its keys change, what an outage does, and that
// no client can make the server hammer it (ATTACKS E08).
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { SignJWT } from "jose";
import t, { type Test } from "tap";
import { isAccepted } from "../../src/authn/authenticator.ts";
import { authnConfig, testAuthentication } from "../support/authn.ts";
import { openInProcess } from "../support/inprocess.ts";
import { openPeer, sayJson } from "../support/peer.ts";

interface Key {
  readonly kid: string;
  readonly privateKey: KeyObject;
  readonly jwk: object;
}

function makeKey(kid: string, type: "rsa" | "ec" = "rsa", more: object = {}): Key {
  const { privateKey, publicKey } =
    type === "rsa"
      ? generateKeyPairSync("rsa", { modulusLength: 2048 })
      : generateKeyPairSync("ec", { namedCurve: "P-256" });
  return { kid, privateKey, jwk: { kid, use: "sig", ...publicKey.export({ format: "jwk" }), ...more } };
}

/** A provider and a server that believes it. */
async function setting(t: Test, ...flags: string[]) {
  const state = { keys: [makeKey("one")], down: false, asked: 0, discovered: 0, issuer: "", document: {} as object };
  const peer = await openPeer((_body, response, request) => {
    if (state.down) return void response.destroy();
    if (request.url === "/idp/.well-known/openid-configuration") {
      state.discovered++;
      return sayJson(response, { issuer: state.issuer, jwks_uri: `${peer.url}/keys`, ...state.document });
    }
    state.asked++;
    sayJson(response, { keys: state.keys.map(({ jwk }) => jwk) });
  });
  t.teardown(() => peer.close());
  state.issuer = `${peer.url}/idp`;
  const server = await openInProcess();
  t.teardown(() => server.close());
  const clock = { now: () => server.nowMs, monotonic: () => performance.now() + server.aheadMs };
  const config = authnConfig(`--oidc-issuer-url=${state.issuer}`, "--oidc-client-id=cli", ...flags);
  const material = { oidcAuthorities: peer.authority };
  const authn = testAuthentication(server.scheme, server.writers.views, clock, config, [], material);
  const now = Math.floor(server.nowMs / 1000);
  const token = (claims: object = {}, key: Key | undefined = state.keys[0], alg = "RS256"): Promise<string> => {
    if (key === undefined) throw new Error("No key");
    const all = { iss: state.issuer, aud: "cli", sub: "jane", exp: now + 600, iat: now, ...claims };
    return new SignJWT(all).setProtectedHeader({ alg, kid: key.kid }).sign(key.privateKey);
  };
  /** Name and groups; or the last reason. */
  const who = async (text: string): Promise<string> => {
    const outcome = await authn.review(text, []);
    if (!isAccepted(outcome)) return outcome.reasons.at(-1) ?? "";
    return [outcome.user.name, ...outcome.user.groups.filter((group) => group !== "system:authenticated")].join(" ");
  };
  return { state, server, token, who, now, peer };
}

t.test("E08: names, groups and prefixes come from the claims the flags name", async (t) => {
  const plain = await setting(t);
  t.equal(await plain.who(await plain.token()), `${plain.state.issuer}#jane`, "the issuer parts users of providers");
  const groups = ["--oidc-groups-claim=teams", "--oidc-groups-prefix=idp:", "--oidc-username-prefix=u:"];
  const { who, token } = await setting(t, ...groups, "--oidc-required-claim=hd=example.com");
  const hd = "example.com";
  const cases: [object, string | RegExp][] = [
    [{ hd, teams: ["a", "system:masters"] }, "u:jane idp:a idp:system:masters"],
    [{ hd, teams: "a" }, "u:jane idp:a"],
    [{ hd }, "u:jane"],
    [{ hd, teams: [1] }, /parse groups claim/],
    [{ hd, teams: { a: 1 } }, /parse groups claim/],
    [{ hd, sub: 7 }, /parse username claims "sub"/],
    [{}, /required claim hd not present/],
    [{ hd: "example.org" }, /required claim hd value does not match$/],
    [{ hd, _claim_names: { teams: "x" }, _claim_sources: { x: { endpoint: "http://127.0.0.1:1/" } } }, "u:jane"],
    [{ hd: ["example.com"] }, /required claim hd value does not match$/],
  ];
  for (const [claims, expected] of cases) t.match(await who(await token(claims)), expected, JSON.stringify(claims));
  const mail = await setting(t, "--oidc-username-claim=email");
  const email = "jane@example.com";
  t.equal(await mail.who(await mail.token({ email })), email);
  t.equal(await mail.who(await mail.token({ email, email_verified: true })), email);
  for (const email_verified of [false, "true", 0, null]) {
    t.equal(await mail.who(await mail.token({ email, email_verified })), "oidc: email not verified");
  }
  t.match(await mail.who(await mail.token()), /parse username claims "email"/);
});

t.test("E08: tokens for others, of others and out of time are refused", async (t) => {
  const { who, token, state, now, server } = await setting(t);
  const cases: [string, object, RegExp][] = [
    ["another audience", { aud: "other" }, /another audience/],
    ["no audience", { aud: undefined }, /another audience/],
    ["one of several audiences", { aud: ["other", "cli"] }, /#jane$/],
    ["another issuer", { iss: `${state.issuer}/` }, /^invalid bearer token$/],
    ["expired", { exp: now - 1 }, /token is expired/],
    ["no end", { exp: undefined }, /no expiry/],
    ["an end as text", { exp: "9999999999" }, /no expiry/],
    ["not yet", { nbf: now + 400 }, /not valid yet/],
  ];
  for (const [what, claims, expected] of cases) t.match(await who(await token(claims)), expected, what);
  const stranger = makeKey("one");
  t.match(await who(await token({}, stranger)), /failed to verify signature/, "another's key of the same name");
  t.match(await who(await token({}, state.keys[0], "RS512")), /failed to verify/, "an algorithm that is not allowed");
  t.match(await who(await token({}, state.keys[0], "PS256")), /failed to verify/);
  const secret = Buffer.from(JSON.stringify(state.keys[0]?.jwk));
  const claims = { iss: state.issuer, aud: "cli", sub: "jane", exp: now + 600 };
  const hmac = await new SignJWT(claims).setProtectedHeader({ alg: "HS256", kid: "one" }).sign(secret);
  t.match(await who(hmac), /failed to verify/, "a public key as a secret");
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  t.equal(await who(`${encode({ alg: "none" })}.${encode(claims)}.`), "invalid bearer token", "unsigned");
  const good = await token({ exp: now + 5 });
  t.match(await who(good), /#jane$/);
  server.nowMs += 6_000;
  t.match(await who(good), /token is expired/, "also while it is remembered");
});

t.test("E08: keys rotate, outlive an outage, and are not fetched for strangers", async (t) => {
  const { who, token, state, server } = await setting(t);
  const first = await token();
  t.match(await who(first), /#jane$/);
  t.equal(state.asked, 1);
  for (let count = 0; count < 20; count++) await who(await token({ n: count }, makeKey(`x${count}`, "ec"), "ES256"));
  t.equal(state.asked, 1, "twenty unknown keys within seconds are no questions");
  const second = makeKey("two");
  state.keys = [second];
  server.aheadMs += 20_000;
  t.match(await who(await token({}, second)), /#jane$/, "a new key is looked for");
  t.equal(state.asked, 2);
  server.aheadMs += 20_000;
  t.match(await who(first), /failed to verify/, "an old one is forgotten");
  server.aheadMs += 20_000;
  state.down = true;
  t.match(await who(await token({ n: 1 }, second)), /#jane$/, "an outage changes nothing for known keys");
  t.match(await who(await token({}, makeKey("three"))), /^oidc: fetching keys: /);
  state.down = false;
  server.aheadMs += 20_000;
  state.keys = [second, makeKey("three")];
  t.match(await who(await token({}, state.keys[1])), /#jane$/);
});

t.test("E08: a provider that lies or is away authenticates no client, and is asked again", async (t) => {
  const { who, token, state, server } = await setting(t);
  const wrong: [string, () => void, RegExp][] = [
    ["away", () => (state.down = true), /^oidc: discovery: /],
    ["another issuer", () => (state.document = { issuer: "https://evil" }), /issuer did not match/],
    ["keys over plain HTTP", () => (state.document = { jwks_uri: "http://127.0.0.1:1/keys" }), /must be https/],
    ["no keys", () => (state.document = { jwks_uri: `${state.issuer}/.well-known/openid-configuration` }), /no keys/],
  ];
  for (const [what, break_, expected] of wrong) {
    state.down = false;
    break_();
    t.match(await who(await token()), expected, what);
    t.match(await who(await token({ again: what })), expected, "not asked again at once");
    server.aheadMs += 20_000;
  }
});

t.test("E08: only keys that fit the algorithms are taken", async (t) => {
  const { who, token, state, server } = await setting(t, "--oidc-signing-algs=ES256,PS256");
  const ec = makeKey("ec", "ec");
  const named = makeKey("named", "rsa", { alg: "RS256" });
  const encrypting = makeKey("enc", "ec", { use: "enc" });
  const rsa = makeKey("rsa");
  state.keys = [ec, named, encrypting, rsa, { ...ec, jwk: { kty: "oct", k: "AAAA", kid: "oct" } }];
  t.match(await who(await token({}, ec, "ES256")), /#jane$/);
  t.match(await who(await token({}, rsa, "PS256")), /#jane$/);
  server.aheadMs += 20_000;
  for (const [key, algorithm] of [
    [named, "PS256"],
    [encrypting, "ES256"],
    [rsa, "RS256"],
  ] as const) {
    t.match(await who(await token({ key: key.kid }, key, algorithm)), /failed to verify/, key.kid);
  }
});
