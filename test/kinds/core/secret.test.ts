import t from "tap";
import type { Secret } from "../../../src/api/gen/core/v1.ts";
import { identities } from "../../../src/api/identity.ts";
import { validateSecret, validateSecretUpdate } from "../../../src/kinds/core/secret.ts";
import { context, type Json, lines, make, texts } from "../build.ts";
import { created, kind } from "../written.ts";

t.test("Secrets keep what was written as text, and only as data", (t) => {
  const secret = created(kind("", "v1", "secrets"), { data: { a: "eA==" }, stringData: { b: "é", a: "__proto__" } });
  t.strictSame(secret["data"], { a: "X19wcm90b19f", b: "w6k=" });
  t.notOk("stringData" in secret);
  t.end();
});

const secret = (more: Json): Secret => make("Secret", { metadata: { name: "s" }, ...more });
const base64 = (text: string): string => Buffer.from(text).toString("base64");
const frozen = "Forbidden: field is immutable when `immutable` is set";

t.test("validateSecret() asks for what the type needs", (t) => {
  const type = (name: string, data: Json = {}): Json => ({ type: `kubernetes.io/${name}`, data });
  const rows: [why: string, object: Json, expected: string[]][] = [
    ["opaque", { data: { a: "" } }, []],
    ["a type of one's own", { type: "a.b/c" }, []],
    ["keys", { data: { "a b": "" } }, [`data[a b]: Invalid value: "a b": ${texts.configKey}`]],
    ["size", { data: { a: base64("x".repeat(1048577)) } }, ["data: Too long: must have at most 1048576 bytes"]],
    [
      "an account",
      type("service-account-token"),
      ["metadata.annotations[kubernetes.io/service-account.name]: Required value"],
    ],
    ["a registry", type("dockercfg"), ["data[.dockercfg]: Required value"]],
    [
      "a registry's JSON",
      type("dockerconfigjson", { ".dockerconfigjson": base64("nope") }),
      [
        "data[.dockerconfigjson]: Invalid value: \"<secret contents redacted>\": invalid character 'o' in literal null (expecting 'u')",
      ],
    ],
    [
      "a registry's list",
      type("dockercfg", { ".dockercfg": base64("[]") }),
      [
        'data[.dockercfg]: Invalid value: "<secret contents redacted>": json: cannot unmarshal array into Go value of type map[string]interface {}',
      ],
    ],
    ["a good registry", type("dockercfg", { ".dockercfg": base64("{}") }), []],
    ["a password", type("basic-auth"), ["data[%s][username]: Required value", "data[%s][password]: Required value"]],
    ["only a password", type("basic-auth", { password: "" }), []],
    ["a key", type("ssh-auth", { "ssh-privatekey": "" }), ["data[%s][ssh-privatekey]: Required value"]],
    ["a certificate", type("tls", { "tls.key": "" }), ["data[tls.crt]: Required value"]],
  ];
  for (const [why, object, expected] of rows) t.same(lines(validateSecret(secret(object), context)), expected, why);
  const branded = { ...context, identity: identities.orch };
  t.same(lines(validateSecret(secret({ type: "orch.io/tls" }), branded)), [
    "data[tls.crt]: Required value",
    "data[tls.key]: Required value",
  ]);
  t.same(
    lines(validateSecret(secret({ type: "kubernetes.io/tls" }), branded)),
    [],
    "another identity's type is any type",
  );
  t.end();
});

t.test("validateSecretUpdate() keeps type and immutable data", (t) => {
  const update = (now: Json, old: Json): string[] => lines(validateSecretUpdate(secret(now), secret(old), context));
  t.same(update({ type: "b" }, { type: "a" }), ['type: Invalid value: "b": field is immutable']);
  t.same(update({ data: { a: "AA==" }, immutable: true }, { immutable: true }), [`data: ${frozen}`]);
  t.same(update({}, { immutable: true }), [`immutable: ${frozen}`]);
  t.end();
});
