// The two requests that have to do with tokens: asking for one, and asking whose one is. Texts and codes are the
// reference's, as recorded.
import t from "tap";
import { messageOf } from "../../src/api/messages.ts";
import { decode, Fault, parseText } from "../../src/codec/engine/json.ts";
import { decodeProto, encodeEnvelope, encodeMessage, openEnvelope } from "../../src/codec/proto/protobuf.ts";
import { authnConfig, testAuthentication } from "../support/authn.ts";
import { openInProcess } from "../support/inprocess.ts";

const accounts = "/api/v1/namespaces/default/serviceaccounts";
const path = `${accounts}/robot/token`;
const reviews = "/apis/authentication.k8s.io/v1/tokenreviews";

t.test("a token request is answered with itself and a token", async (t) => {
  const server = await openInProcess();
  t.teardown(() => server.close());
  await server.call("POST", accounts, { metadata: { name: "robot" } });
  const before = server.store.changes.length;
  const answer = await server.call("POST", path, {}, { "user-agent": "tester/1" });
  t.equal(answer.code, 201);
  const { token } = answer.json.status;
  t.match(token, /^[\w-]+\.[\w-]+\.[\w-]+$/);
  t.same(answer.json, {
    kind: "TokenRequest",
    apiVersion: "authentication.k8s.io/v1",
    metadata: {
      creationTimestamp: null,
      managedFields: [
        {
          manager: "tester",
          operation: "Update",
          apiVersion: "authentication.k8s.io/v1",
          time: "2026-01-02T03:04:05Z",
          fieldsType: "FieldsV1",
          fieldsV1: { "f:spec": { "f:expirationSeconds": {} } },
          subresource: "token",
        },
      ],
    },
    spec: { audiences: ["https://kubernetes.default.svc"], expirationSeconds: 3600, boundObjectRef: null },
    status: { token, expirationTimestamp: "2026-01-02T04:04:05Z" },
  });
  t.equal(server.store.changes.length, before, "nothing is stored");
  const claims = JSON.parse(Buffer.from(token.split(".")[1], "base64url").toString());
  const made = await server.call("GET", `${accounts}/robot`);
  t.same(claims, {
    aud: ["https://kubernetes.default.svc"],
    exp: 1_767_326_645,
    iat: 1_767_323_045,
    iss: "https://kubernetes.default.svc",
    "kubernetes.io": { namespace: "default", serviceaccount: { name: "robot", uid: made.json.metadata.uid } },
    nbf: 1_767_323_045,
    sub: "system:serviceaccount:default:robot",
  });
});

t.test("E15: token requests that cannot be are refused in upstream's words", async (t) => {
  const server = await openInProcess();
  t.teardown(() => server.close());
  await server.call("POST", accounts, { metadata: { name: "robot" } });
  const containers = [{ name: "c", image: "i" }];
  await server.call("POST", "/api/v1/namespaces/default/pods", {
    metadata: { name: "p" },
    spec: { serviceAccountName: "default", containers },
  });
  const bound = (kind: string, name: string, apiVersion = "v1", uid?: string) => ({
    boundObjectRef: { kind, apiVersion, name, uid },
  });
  await server.call("POST", "/api/v1/namespaces/default/secrets", { metadata: { name: "s" } });
  const cases: [object, number, string | RegExp][] = [
    [{ expirationSeconds: 599 }, 422, /Invalid value: 599: may not specify a duration less than 10 minutes$/],
    [{ expirationSeconds: 2 ** 32 + 1 }, 422, /may not specify a duration larger than 2\^32 seconds$/],
    [{ expirationSeconds: -1 }, 422, /less than 10 minutes$/],
    [bound("Pod", "none"), 404, 'pods "none" not found'],
    [bound("Secret", "none"), 404, 'secrets "none" not found'],
    [bound("Node", "n"), 400, "cannot bind token to object of type /v1, Kind=Node"],
    [bound("Deployment", "n", "apps/v1"), 400, "cannot bind token to object of type apps/v1, Kind=Deployment"],
    [
      bound("Pod", "p"),
      400,
      'cannot bind token for serviceaccount "robot" to pod running with different serviceaccount name.',
    ],
    [
      bound("Secret", "s", "v1", "1111"),
      409,
      /^Operation cannot be fulfilled on Secret "s": the UID in the bound object reference \(1111\) does not match/,
    ],
  ];
  for (const [spec, code, message] of cases) {
    const answer = await server.call("POST", path, { spec });
    t.equal(answer.code, code, JSON.stringify(spec));
    t.match(answer.json.message, message);
  }
  const absent = await server.call("POST", `${accounts}/none/token`, {});
  t.equal(absent.json.message, 'serviceaccounts "none" not found');
  t.equal((await server.call("POST", path, { kind: "Pod", apiVersion: "v1" })).code, 400);
  t.equal((await server.call("GET", path)).code, 405);
});

t.test("token requests and reviews speak protobuf", async (t) => {
  const server = await openInProcess();
  t.teardown(() => server.close());
  await server.call("POST", accounts, { metadata: { name: "robot" } });
  const type = "application/vnd.kubernetes.protobuf";
  const headers = { "content-type": type, accept: type };
  const send = async (at: string, kind: string, value: object) => {
    const message = messageOf(`authentication/v1.${kind}`);
    const parsed = parseText(JSON.stringify(value));
    if (parsed instanceof Fault) throw new Error(parsed.message);
    const object = decode<object>(message, parsed);
    if (object instanceof Fault) throw new Error(object.message);
    const body = encodeEnvelope("authentication.k8s.io/v1", kind, encodeMessage(message, object));
    const answer = await server.call("POST", at, body, headers);
    t.equal(answer.code, 201, answer.text);
    const envelope = openEnvelope(answer.bytes);
    if (envelope instanceof Fault) throw new Error(envelope.message);
    t.equal(envelope.kind, kind);
    // biome-ignore lint/suspicious/noExplicitAny: a test looks into any answer
    return decodeProto<any>(message, envelope.raw);
  };
  const { status } = await send(path, "TokenRequest", { spec: { expirationSeconds: 700 } });
  const review = await send(reviews, "TokenReview", { spec: { token: status.token } });
  t.equal(review.status.authenticated, true);
  t.equal(review.status.user.username, "system:serviceaccount:default:robot");
});

t.test("a review says whose a token is, or why it is not valid", async (t) => {
  const server = await openInProcess();
  t.teardown(() => server.close());
  await server.call("POST", accounts, { metadata: { name: "robot" } });
  const { token } = (await server.call("POST", path, { spec: { audiences: ["vault"] } })).json.status;
  const statusOf = async (spec: object) => (await server.call("POST", reviews, { spec })).json.status;
  const vault = await statusOf({ token, audiences: ["vault", "other"] });
  t.match(vault, { authenticated: true, audiences: ["vault"], user: { username: /robot$/, groups: [/./, /./, /./] } });
  const aud = '[invalid bearer token, token audiences ["vault"] is invalid for the target audiences ';
  t.same(await statusOf({ token }), { user: {}, error: `${aud}["https://kubernetes.default.svc"]]` });
  t.same(await statusOf({ token, audiences: ["a", "b"] }), { user: {}, error: `${aud}["a" "b"]]` });
  t.same(await statusOf({ token: "nonsense" }), { user: {}, error: "invalid bearer token" });
  for (const spec of [{}, { token: "" }]) {
    const answer = await server.call("POST", reviews, { spec });
    t.equal(answer.code, 400);
    t.equal(answer.json.message, "token is required for TokenReview in authentication");
  }
  t.equal((await server.call("GET", reviews)).code, 405);
});

t.test("the issuer's documents are for every user with the right, for an hour", async (t) => {
  const server = await openInProcess();
  t.teardown(() => server.close());
  const configuration = await server.call("GET", "/.well-known/openid-configuration");
  t.same(configuration.json, {
    issuer: "https://kubernetes.default.svc",
    jwks_uri: "https://127.0.0.1:6443/openid/v1/jwks",
    response_types_supported: ["id_token"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: ["ES256"],
  });
  const headersOf = (headers: readonly (readonly [string, string])[]) => new Map(headers);
  t.equal(headersOf(configuration.headers).get("Cache-Control"), "public, max-age=3600");
  const keys = await server.call("GET", "/openid/v1/jwks");
  t.equal(headersOf(keys.headers).get("Content-Type"), "application/jwk-set+json");
  t.match(keys.json, { keys: [{ use: "sig", kty: "EC", alg: "ES256", kid: /^[\w-]{43}$/ }] });
  const refused = await server.call("GET", "/openid/v1/jwks", undefined, { accept: "application/json" });
  t.equal(refused.code, 406);
  t.equal((await server.call("POST", "/openid/v1/jwks", {})).code, 404);
});

t.test("a life beyond the limit is shortened, with a warning", async (t) => {
  const server = await openInProcess();
  t.teardown(() => server.close());
  await server.call("POST", accounts, { metadata: { name: "robot" } });
  const clock = { now: () => server.nowMs, monotonic: () => performance.now() };
  const config = authnConfig("--service-account-max-token-expiration=2h");
  const limited = testAuthentication(server.scheme, server.writers.views, clock, config);
  Object.assign(server.writers.authn.accounts, limited.accounts);
  const answer = await server.call("POST", path, { spec: { expirationSeconds: 7201 } });
  t.equal(answer.json.spec.expirationSeconds, 7200);
  const warning = answer.headers.find(([name]) => name === "Warning")?.[1];
  t.match(warning, /requested expiration of 7201 seconds shortened to 7200 seconds/);
});
