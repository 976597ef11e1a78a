// Tokens of service accounts: what is signed is believed as long as what it hangs on is there, and nothing that only
// looks like it (ATTACKS E05 to E07, E15).
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { SignJWT } from "jose";
import t, { type Test } from "tap";
import type { User } from "../../src/api/user.ts";
import { boundClaims, legacyClaims } from "../../src/authn/accountclaims.ts";
import type { TokenSigner } from "../../src/authn/accountkeys.ts";
import { isAccepted } from "../../src/authn/authenticator.ts";
import type { AuthnEvents } from "../../src/authn/events.ts";
import { keyIdOf, parsePublicKeys } from "../../src/authn/jwt.ts";
import type { Authentication } from "../../src/authn/table.ts";
import { readAuthn } from "../../src/config/authnflags.ts";
import { parseFlags } from "../../src/config/flags.ts";
import { authnConfig, testAuthentication, testSigningKey, whoIs } from "../support/authn.ts";
import { type InProcess, openInProcess } from "../support/inprocess.ts";

const issuer = "https://kubernetes.default.svc";
const signingKey = createPrivateKey(testSigningKey);

interface Setting {
  readonly server: InProcess;
  readonly authn: Authentication;
  /** The uid of service account `default/robot`. */
  readonly uid: string;
  /** The user of a token; undefined: it is not valid. */
  who(token: string): Promise<User | undefined>;
}

async function setting(t: Test, events: Partial<AuthnEvents> = {}, ...flags: string[]): Promise<Setting> {
  const server = await openInProcess();
  t.teardown(() => server.close());
  const clock = { now: () => server.nowMs, monotonic: () => performance.now() + server.aheadMs };
  const authn = testAuthentication(server.scheme, server.writers.views, clock, authnConfig(...flags), [], {}, events);
  const made = await server.call("POST", "/api/v1/namespaces/default/serviceaccounts", account("robot"));
  const who = async (token: string) =>
    whoIs(authn, { headers: [["authorization", `Bearer ${token}`]], peer: undefined });
  return { server, authn, uid: made.json.metadata.uid, who };
}

const account = (name: string): object => ({ apiVersion: "v1", kind: "ServiceAccount", metadata: { name } });
const pod = (name: string, serviceAccountName: string): object => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name },
  spec: { serviceAccountName, containers: [{ name: "c", image: "i" }] },
});
const secret = (name: string): object => ({ apiVersion: "v1", kind: "Secret", metadata: { name } });

const tokenPath = "/api/v1/namespaces/default/serviceaccounts/robot/token";

async function request(server: InProcess, spec: object = {}): Promise<string> {
  const answer = await server.call("POST", tokenPath, { spec });
  if (answer.code !== 201) throw new Error(answer.text);
  return answer.json.status.token;
}

t.test("E06: a requested token is its account's until account, pod or secret go", async (t) => {
  const { server, who, uid } = await setting(t);
  const plain = await request(server);
  t.same(await who(plain), {
    name: "system:serviceaccount:default:robot",
    uid,
    groups: ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"],
    extra: new Map(),
  });
  await server.call("POST", "/api/v1/namespaces/default/pods", pod("p", "robot"));
  await server.call("POST", "/api/v1/namespaces/default/secrets", secret("s"));
  const ofPod = await request(server, { boundObjectRef: { kind: "Pod", apiVersion: "v1", name: "p" } });
  const ofSecret = await request(server, { boundObjectRef: { kind: "Secret", apiVersion: "v1", name: "s" } });
  t.same(
    [...((await who(ofPod))?.extra.keys() ?? [])],
    ["authentication.kubernetes.io/pod-name", "authentication.kubernetes.io/pod-uid"],
  );
  t.ok(await who(ofSecret));
  await server.call("DELETE", "/api/v1/namespaces/default/secrets/s");
  t.equal(await who(ofSecret), undefined, "at once");
  await server.call("POST", "/api/v1/namespaces/default/secrets", secret("s"));
  t.equal(await who(ofSecret), undefined, "another of the same name is another");
  await server.call("DELETE", "/api/v1/namespaces/default/pods/p?gracePeriodSeconds=0");
  t.equal(await who(ofPod), undefined);
  await server.call("POST", "/api/v1/namespaces/default/pods", pod("p", "robot"));
  t.equal(await who(ofPod), undefined);
  t.ok(await who(plain));
  await server.call("DELETE", "/api/v1/namespaces/default/serviceaccounts/robot");
  t.equal(await who(plain), undefined);
  await server.call("POST", "/api/v1/namespaces/default/serviceaccounts", account("robot"));
  t.equal(await who(plain), undefined);
});

t.test("E06: a token ends a minute after its time, whatever was remembered", async (t) => {
  const { server, who } = await setting(t);
  const token = await request(server, { expirationSeconds: 600 });
  t.ok(await who(token));
  server.nowMs += 650_000;
  t.ok(await who(token), "clocks may differ by a minute");
  server.nowMs += 20_000;
  t.equal(await who(token), undefined);
});

t.test("E06: an object that is being deleted holds a token for a minute", async (t) => {
  const { server, who } = await setting(t);
  await server.call("POST", "/api/v1/namespaces/default/secrets", {
    ...secret("s"),
    metadata: { name: "s", finalizers: ["x.io/y"] },
  });
  const token = await request(server, { boundObjectRef: { kind: "Secret", apiVersion: "v1", name: "s" } });
  await server.call("DELETE", "/api/v1/namespaces/default/secrets/s");
  t.ok(await who(token));
  server.nowMs += 61_000;
  t.equal(await who(token), undefined);
});

t.test("the life of tokens is shortened, and lengthened for pods that do not know that theirs end", async (t) => {
  const { server } = await setting(t);
  await server.call("POST", "/api/v1/namespaces/default/pods", pod("p", "robot"));
  const boundObjectRef = { kind: "Pod", apiVersion: "v1", name: "p" };
  const lifeOf = async (spec: object): Promise<[number, number | undefined]> => {
    const claims = JSON.parse(
      Buffer.from((await request(server, spec)).split(".")[1] ?? "", "base64url").toString(),
    ) as Record<string, unknown>;
    const { exp, iat, nbf } = claims as Record<string, number>;
    t.equal(nbf, iat);
    const warnAfter = (claims["kubernetes.io"] as { warnafter?: number }).warnafter;
    return [(exp ?? 0) - (iat ?? 0), warnAfter === undefined ? undefined : warnAfter - (iat ?? 0)];
  };
  const year = 365 * 24 * 3600;
  t.same(await lifeOf({ expirationSeconds: 3607, boundObjectRef }), [year, 3607]);
  t.same(await lifeOf({ expirationSeconds: 3607 }), [3607, undefined], "not without a pod");
  t.same(await lifeOf({ expirationSeconds: 3608, boundObjectRef }), [3608, undefined]);
  t.same(await lifeOf({ expirationSeconds: 3607, boundObjectRef, audiences: ["vault"] }), [3607, undefined]);
});

t.test("a token that was let live longer is noted and counted from the time that was asked for", async (t) => {
  const counted: string[] = [];
  const { server, authn, who } = await setting(t, { accountToken: (kind) => void counted.push(kind) });
  await server.call("POST", "/api/v1/namespaces/default/pods", pod("p", "robot"));
  const boundObjectRef = { kind: "Pod", apiVersion: "v1", name: "p" };
  const token = await request(server, { expirationSeconds: 3607, boundObjectRef });
  const plain = await request(server);
  const use = async (text: string): Promise<[string, string][] | undefined> => {
    counted.length = 0;
    const user = await who(text);
    if (user === undefined) throw new Error("Refused");
    const notes = authn.notes(user);
    return notes && [...notes];
  };
  t.same([await use(plain), counted], [undefined, []], "others are neither");
  t.same([await use(token), counted], [[], ["valid"]]);
  server.nowMs += 3_607_000;
  t.same([await use(token), counted], [[], ["valid"]]);
  server.nowMs += 5_000;
  server.aheadMs += 20_000;
  const text = (seconds: number) =>
    `subject: system:serviceaccount:default:robot, seconds after warning threshold: ${seconds}`;
  t.same([await use(token), counted], [[["authentication.k8s.io/stale-token", text(5)]], ["stale"]]);
  server.nowMs += 7_000;
  t.same([await use(token), counted], [[["authentication.k8s.io/stale-token", text(12)]], ["stale"]], "kept");
});

t.test("E05: audiences: a token for another audience is not valid here", async (t) => {
  const { server, authn, who } = await setting(t);
  const vault = await request(server, { audiences: ["vault", "store"] });
  const own = await request(server);
  t.equal(await who(vault), undefined);
  t.ok(await who(own));
  const audiencesOf = async (token: string, ...audiences: string[]) => {
    const outcome = await authn.review(token, audiences);
    return isAccepted(outcome) ? outcome.audiences : outcome.reasons.at(-1);
  };
  t.same(await audiencesOf(vault, "vault", "other"), ["vault"]);
  t.match(await audiencesOf(vault), /^token audiences \["vault" "store"\] is invalid for the target audiences/);
  t.match(await audiencesOf(own, "vault"), /is invalid for the target audiences \["vault"\]$/);
  t.same(await audiencesOf(own), [issuer]);
  t.equal(await who(vault), undefined, "no answer for one audience is another's");
});

const encode = (value: object | string): string =>
  Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");

/** A token put together by hand. */
function forge(header: object | string, claims: object | string, key: KeyObject = signingKey): string {
  const text = `${encode(header)}.${encode(claims)}`;
  const signature = sign("sha256", Buffer.from(text), { key, dsaEncoding: "ieee-p1363" });
  return `${text}.${signature.toString("base64url")}`;
}

t.test("E07: what only looks like a token of this server is refused", async (t) => {
  const { server, who, uid } = await setting(t);
  const { identity } = server.scheme;
  const now = Math.floor(server.nowMs / 1000);
  const bound = { namespace: "default", account: { name: "robot", uid }, pod: undefined, secret: undefined };
  const claims = boundClaims(identity, {
    issuer,
    audiences: [issuer],
    claims: { ...bound, warnAfter: undefined },
    now,
    lifetime: 3600,
  });
  const kid = keyIdOf(signingKey);
  const header = { alg: "ES256", kid };
  const good = forge(header, claims);
  t.ok(await who(good), "the pattern itself is good");
  t.ok(await who(forge({ alg: "ES256" }, claims)), "without a key's name");
  t.ok(await who(forge({ alg: "ES256", kid: "../../etc/passwd" }, claims)), "a name is a hint, nothing is looked up");

  const publicKey = createPublicKey(signingKey);
  const pem = publicKey.export({ type: "spki", format: "pem" });
  const hmac = await new SignJWT(claims as never).setProtectedHeader({ alg: "HS256", kid }).sign(Buffer.from(pem));
  const stranger = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
  const wide = generateKeyPairSync("ec", { namedCurve: "P-384" }).privateKey;
  const jwk = createPublicKey(stranger).export({ format: "jwk" });
  const own = claims["kubernetes.io"] as object;
  const [head = "", body = "", signature = ""] = good.split(".");
  const der = sign("sha256", Buffer.from(`${head}.${body}`), signingKey).toString("base64url");
  const cases: [string, string][] = [
    ["no algorithm", `${encode({ alg: "none" })}.${body}.`],
    ["no algorithm, with a signature", `${encode({ alg: "none" })}.${body}.${signature}`],
    ["no algorithm in capitals", `${encode({ alg: "NONE" })}.${body}.`],
    ["nOnE", `${encode({ alg: "nOnE" })}.${body}.${signature}`],
    ["a public key as a secret", hmac],
    ["algorithm in lower case", forge({ alg: "es256", kid }, claims)],
    ["another algorithm", forge({ alg: "ES384", kid }, claims)],
    ["two algorithms, the wrong one last", forge(`{"alg":"ES256","alg":"none","kid":"${kid}"}`, claims)],
    ["two algorithms, the wrong one first, unsigned", `${encode(`{"alg":"none","alg":"ES256"}`)}.${body}.AAAA`],
    ["a list of algorithms", forge({ alg: ["ES256"], kid } as never, claims)],
    ["another curve", forge({ alg: "ES384", kid }, claims, wide)],
    ["a stranger's key", forge(header, claims, stranger)],
    ["a key brought along", forge({ ...header, jwk }, claims, stranger)],
    ["a key to fetch", forge({ ...header, jku: "http://127.0.0.1/x" }, claims, stranger)],
    ["a certificate brought along", forge({ ...header, x5c: ["AAAA"] }, claims, stranger)],
    ["a certificate to fetch", forge({ ...header, x5u: "http://127.0.0.1/x" }, claims, stranger)],
    ["a key's name of a prototype", forge({ alg: "ES256", kid: "__proto__" }, claims, stranger)],
    ["a key's name as a path", forge({ alg: "ES256", kid: "../../dev/null" }, claims, stranger)],
    ["a key's name as a query", forge({ alg: "ES256", kid: "' OR 1=1 --" }, claims, stranger)],
    ["unknown critical parameters", forge({ ...header, crit: ["x"], x: 1 }, claims)],
    ["an empty list of them", forge({ ...header, crit: [] }, claims)],
    ["a payload that is not encoded", forge({ ...header, b64: false, crit: ["b64"] }, claims)],
    ["the same, not marked", forge({ ...header, b64: false }, claims)],
    ["DER signature", `${head}.${body}.${der}`],
    ["bytes after it", `${good}AA`],
    ["padding", `${good}==`],
    ["a part more", `${good}.AA`],
    ["five parts", `${good}.AA.AA`],
    ["two parts", `${head}.${body}`],
    ["an empty signature", `${head}.${body}.`],
    ["no signature's bytes", `${head}.${body}.${"A".repeat(86)}`],
    ["other claims", `${head}.${encode({ ...claims, sub: "system:serviceaccount:kube-system:root" })}.${signature}`],
    ["blanks within", `${head} .${body}.${signature}`],
    ["a header that is a list", forge("[]", claims)],
    ["a header that is no JSON", forge("{", claims)],
    ["a payload that is no JSON", forge(header, "{")],
    ["a megabyte of name", forge({ alg: "ES256", kid: "x".repeat(1 << 20) }, claims, stranger)],
    ["another issuer", forge(header, { ...claims, iss: "https://evil" })],
    ["an issuer and a slash", forge(header, { ...claims, iss: `${issuer}/` })],
    ["no issuer", forge(header, { ...claims, iss: undefined })],
    ["another audience", forge(header, { ...claims, aud: ["vault"] })],
    ["an audience that is a number", forge(header, { ...claims, aud: [1] })],
    ["expired", forge(header, { ...claims, exp: now - 61 })],
    ["not yet", forge(header, { ...claims, nbf: now + 61 })],
    ["made in the future", forge(header, { ...claims, iat: now + 61 })],
    ["an end as text", forge(header, { ...claims, exp: String(now + 60) })],
    ["an end that is part of a second too early", forge(header, { ...claims, exp: now - 60.5 })],
    ["an end beyond numbers", forge(header, { ...claims, exp: 1e20 })],
    ["an end that is none", forge(header, JSON.stringify(claims).replace(/"exp":\d+/, '"exp":1e400'))],
    ["another's subject", forge(header, { ...claims, sub: "system:serviceaccount:kube-system:robot" })],
    [
      "two subjects, the wrong one last",
      forge(header, JSON.stringify(claims).replace(/}$/, ',"sub":"system:serviceaccount:default:other"}')),
    ],
    ["two ends, the earlier one last", forge(header, JSON.stringify(claims).replace(/}$/, `,"exp":${now - 61}}`))],
    ["no subject", forge(header, { ...claims, sub: undefined })],
    [
      "another uid",
      forge(header, { ...claims, "kubernetes.io": { ...own, serviceaccount: { name: "robot", uid: "x" } } }),
    ],
    ["no uid", forge(header, { ...claims, "kubernetes.io": { ...own, serviceaccount: { name: "robot" } } })],
    ["no own claims", forge(header, { ...claims, "kubernetes.io": undefined })],
    ["own claims in a prototype", forge(header, `{"__proto__":${JSON.stringify(claims)}}`)],
    [
      "a pod that is not there",
      forge(header, { ...claims, "kubernetes.io": { ...own, pod: { name: "p", uid: "u" } } }),
    ],
    ["a pod that is a text", forge(header, { ...claims, "kubernetes.io": { ...own, pod: "p" } })],
    ["a path for a name", forge(header, { ...claims, "kubernetes.io": { ...own, secret: { name: "../x", uid: "" } } })],
  ];
  for (const [what, token] of cases) t.equal(await who(token), undefined, what);
  t.ok(await who(good));
});

t.test("tokens that live in secrets end with them, unless they are not looked up", async (t) => {
  for (const lookup of [true, false]) {
    const { server, authn, who, uid } = await setting(t, {}, `--service-account-lookup=${lookup}`);
    const { identity } = server.scheme;
    const claims = legacyClaims(identity, { namespace: "default", account: { name: "robot", uid }, secretName: "s" });
    const token = await authn.accounts.signer.sign(claims);
    t.equal((await who(token)) === undefined, lookup, "no such secret");
    const data = { token: Buffer.from(token).toString("base64") };
    await server.call("POST", "/api/v1/namespaces/default/secrets", { ...secret("s"), data });
    t.equal((await who(token))?.name, "system:serviceaccount:default:robot");
    const other = { token: Buffer.from("other").toString("base64") };
    await server.call("PUT", "/api/v1/namespaces/default/secrets/s", { ...secret("s"), data: other });
    t.equal((await who(token)) === undefined, lookup, "another token in it");
    await server.call("PUT", "/api/v1/namespaces/default/secrets/s", { ...secret("s"), data });
    t.ok(await who(token));
    await server.call("DELETE", "/api/v1/namespaces/default/serviceaccounts/robot");
    t.equal((await who(token)) === undefined, lookup, "no account");
    for (const missing of Object.keys(claims).filter((name) => name !== "iss")) {
      const part = await authn.accounts.signer.sign({ ...claims, [missing]: undefined });
      t.equal(await who(part), undefined, `without ${missing}`);
    }
  }
});

t.test("E14: tokens of a key that was replaced are good as long as it is listed", async (t) => {
  const { server, who } = await setting(t);
  const before = await request(server);
  t.ok(await who(before));
  const clock = { now: () => server.nowMs, monotonic: () => performance.now() };
  const { views } = server.writers;
  const fresh = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ type: "pkcs8", format: "pem" });
  const material = (accountKeys: string) => ({ signingKey: fresh.toString(), privateKey: "", accountKeys });
  const old = createPublicKey(signingKey).export({ type: "spki", format: "pem" });
  const both = testAuthentication(server.scheme, views, clock, authnConfig(), [], material(`${fresh}\n${old}`));
  const only = testAuthentication(server.scheme, views, clock, authnConfig(), [], material(fresh.toString()));
  t.ok(isAccepted(await both.review(before, [])));
  t.notOk(isAccepted(await only.review(before, [])));
  const { keys } = JSON.parse(both.accounts.keySet) as { keys: { kid: string; alg: string; d?: string }[] };
  t.same(
    keys.map(({ alg }) => alg),
    ["RS256", "ES256"],
  );
  t.ok(
    keys.every(({ d }) => d === undefined),
    "nothing private is shown",
  );
});

t.test("--service-account-private-key-file signs the tokens in secrets, and no other", async (t) => {
  const { server } = await setting(t);
  const clock = { now: () => server.nowMs, monotonic: () => performance.now() };
  const { views } = server.writers;
  const own = generateKeyPairSync("ec", { namedCurve: "P-384" }).privateKey.export({ type: "pkcs8", format: "pem" });
  const of = (privateKey: string) =>
    testAuthentication(server.scheme, views, clock, authnConfig(), [], { privateKey }).accounts;
  const algorithm = async (signer: TokenSigner): Promise<string> =>
    JSON.parse(Buffer.from((await signer.sign({})).split(".")[0] ?? "", "base64url").toString()).alg;
  t.equal(await algorithm(of(own.toString()).controllerSigner), "ES384");
  t.equal(await algorithm(of(own.toString()).signer), "ES256");
  t.equal(await algorithm(of("").controllerSigner), "ES256", "without it, the signing key does");
  const values = parseFlags(["--service-account-private-key-file=/k"]);
  t.match("fault" in values ? values : readAuthn(values), { accounts: { privateKeyFile: "/k" } });
});

t.test("parsePublicKeys() reads keys and certificates of every form", (t) => {
  const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const ec = generateKeyPairSync("ec", { namedCurve: "P-384" });
  const edwards = generateKeyPairSync("ed25519");
  const texts = [
    rsa.publicKey.export({ type: "spki", format: "pem" }),
    rsa.publicKey.export({ type: "pkcs1", format: "pem" }),
    rsa.privateKey.export({ type: "pkcs1", format: "pem" }),
    rsa.privateKey.export({ type: "pkcs8", format: "pem" }),
    ec.publicKey.export({ type: "spki", format: "pem" }),
    ec.privateKey.export({ type: "sec1", format: "pem" }),
  ];
  const keys = parsePublicKeys(texts.join("\n"));
  if (typeof keys === "string") throw new Error(keys);
  t.same(
    keys.map(({ algorithm }) => algorithm),
    ["RS256", "RS256", "RS256", "RS256", "ES384", "ES384"],
  );
  t.equal(new Set(keys.map(({ id }) => id)).size, 2, "a key has one name");
  t.ok(keys.every(({ key }) => key.type === "public"));
  t.equal(parsePublicKeys("nothing"), "it holds no RSA or ECDSA key");
  t.equal(
    parsePublicKeys(edwards.publicKey.export({ type: "spki", format: "pem" }).toString()),
    "it holds no RSA or ECDSA key",
  );
  t.equal(
    parsePublicKeys("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"),
    "it holds a key that cannot be read",
  );
  t.end();
});
