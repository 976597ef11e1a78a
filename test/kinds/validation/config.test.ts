import t from "tap";
import type { ConfigMap, Secret } from "../../../src/api/gen/core/v1.ts";
import { identities } from "../../../src/api/identity.ts";
import { validateConfigMap, validateConfigMapUpdate } from "../../../src/kinds/core/configmap.ts";
import { validateSecret, validateSecretUpdate } from "../../../src/kinds/core/secret.ts";
import { context, type Json, lines, make, texts } from "./build.ts";

const map = (more: Json): ConfigMap => make("ConfigMap", { metadata: { name: "m" }, ...more });
const secret = (more: Json): Secret => make("Secret", { metadata: { name: "s" }, ...more });
const base64 = (text: string): string => Buffer.from(text).toString("base64");
const frozen = "Forbidden: field is immutable when `immutable` is set";

t.test("validateConfigMap() checks keys and sizes", (t) => {
  const long = "k".repeat(254);
  const rows: [why: string, object: Json, expected: string[]][] = [
    ["values", { data: { a: "", "b.c-D_1": "2" }, binaryData: { c: "AA==" } }, []],
    ["special keys", { data: { ["__proto__"]: "1", constructor: "2" } }, []],
    [
      "keys",
      { data: { "a b": "", "..": "" }, binaryData: { "": "", "..x": "" } },
      [
        `data[a b]: Invalid value: "a b": ${texts.configKey}`,
        "data[..]: Invalid value: \"..\": must not be '..'",
        `binaryData[]: Invalid value: "": ${texts.configKey}`,
        "binaryData[..x]: Invalid value: \"..x\": must not start with '..'",
      ],
    ],
    [
      "a long key",
      { data: { [long]: "" } },
      [`data[${long}]: Invalid value: "${long}": must be no more than 253 characters`],
    ],
    [
      "a key in both",
      { data: { k: "" }, binaryData: { k: "" } },
      ['data[k]: Invalid value: "k": duplicate of key present in binaryData'],
    ],
    ["just fits", { data: { k: "x".repeat(1048573) }, binaryData: { b: "AAAA" } }, []],
    [
      "one byte more",
      { data: { k: "x".repeat(1048574) }, binaryData: { b: "AAAA" } },
      [": Too long: must have at most 1048576 bytes"],
    ],
  ];
  for (const [why, object, expected] of rows) t.same(lines(validateConfigMap(map(object), context)), expected, why);
  t.end();
});

t.test("validateConfigMapUpdate() keeps immutable maps", (t) => {
  const fixed = { data: { a: "1" }, binaryData: { b: "AA==" }, immutable: true };
  const update = (now: Json, old: Json): string[] => lines(validateConfigMapUpdate(map(now), map(old), context));
  t.same(update({ data: { a: "2" } }, { data: { a: "1" } }), []);
  t.same(update(fixed, { data: { a: "1" } }), [], "it may become immutable");
  t.same(update({ ...fixed, data: { a: "2" } }, fixed), [`data: ${frozen}`]);
  t.same(update({ ...fixed, data: { a: "1", b: "1" }, binaryData: {} }, fixed), [
    `data: ${frozen}`,
    `binaryData: ${frozen}`,
  ]);
  t.same(update({ data: fixed.data, binaryData: fixed.binaryData, immutable: false }, fixed), [`immutable: ${frozen}`]);
  t.end();
});

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
