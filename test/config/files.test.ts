// The formats of files an operator writes: what fits and what does not, the one line for it, and what checking costs.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { levels as podSecurityLevels } from "../../src/admission/podsecurity/policy.ts";
import { identities } from "../../src/api/identity.ts";
import { plainOf } from "../../src/api/value.ts";
import { levels, stages } from "../../src/audit/event.ts";
import { parseText } from "../../src/codec/json/scan.ts";
import { loadFileCheck } from "../../src/config/filecheck.ts";
import { type FormatName, formatNames, schemaOf } from "../../src/config/files/table.ts";
import { limits } from "../../src/config/limits.ts";
import { costOf } from "../support/cost.ts";

const { kubernetes, orch } = identities;
const check = await loadFileCheck(kubernetes.spell);

const policy = (...rules: unknown[]): object => ({ apiVersion: "audit.k8s.io/v1", kind: "Policy", rules });
const admission = { apiVersion: "apiserver.config.k8s.io/v1", kind: "AdmissionConfiguration" };
const webhook = { apiVersion: "apiserver.config.k8s.io/v1", kind: "WebhookAdmission", kubeConfigFile: "/f" };
const encryption = (...providers: unknown[]): object => ({
  apiVersion: "apiserver.config.k8s.io/v1",
  kind: "EncryptionConfiguration",
  resources: [{ resources: ["secrets"], providers }],
});
const tracing = (more: object): object => ({
  apiVersion: "apiserver.config.k8s.io/v1alpha1",
  kind: "TracingConfiguration",
  ...more,
});
const abac = { apiVersion: "abac.authorization.kubernetes.io/v1beta1", kind: "Policy" };
const rate = (more: object): object => ({ limits: [{ type: "User", qps: 1, burst: 1, ...more }] });
const images = (more: object): object => ({ imagePolicy: { kubeConfigFile: "f", ...more } });

/** Documents that fit; unknown fields are in all formats that take them. */
const good: readonly (readonly [FormatName, ...(readonly object[])])[] = [
  [
    "audit-policy",
    policy({ level: "None" }),
    { ...policy({ level: "Request", resources: [{ group: "apps" }] }), metadata: { name: "a" }, omitStages: ["Panic"] },
    policy({ level: "None", nonResourceURLs: ["*", "/a", "/a*"] }),
  ],
  [
    "admission-configuration",
    admission,
    { ...admission, apiVersion: "apiserver.k8s.io/v1alpha1", more: 1 },
    {
      ...admission,
      plugins: [
        { name: "A", more: 1, configuration: { a: 1 } },
        { name: "B", path: "" },
      ],
    },
  ],
  [
    "encryption-configuration",
    encryption({ identity: {} }),
    encryption({ aescbc: { keys: [{ name: "a", secret: "b" }] } }, { kms: { name: "k", endpoint: "unix:///k" } }),
    encryption({ kms: { apiVersion: "v2", name: "k", endpoint: "unix:///k", timeout: "3s" } }),
  ],
  ["tracing-configuration", tracing({}), tracing({ endpoint: "unix:///otel", samplingRatePerMillion: 1_000_000 })],
  ["event-rate-limit", rate({}), rate({ cacheSize: 0, more: 1 }), { ...rate({}), kind: 5 }],
  [
    "image-policy-webhook",
    images({}),
    images({ allowTTL: -1, denyTTL: 1800, retryBackoff: 300_000, defaultAllow: true, more: 1 }),
  ],
  ["pod-node-selector", {}, { podNodeSelectorPluginConfig: { "a\nb": "x=y" }, more: 1 }],
  [
    "pod-security",
    {},
    { kind: "PodSecurityConfiguration", apiVersion: "x", defaults: { enforce: "baseline", more: 1 }, more: 1 },
    { defaults: { "warn-version": "v1.20" }, exemptions: { usernames: ["a"], namespaces: [], more: [""] } },
  ],
  [
    "pod-toleration-restriction",
    {},
    { default: [{ key: "a", operator: "Exists", tolerationSeconds: -5 }], whitelist: [{}], more: 1 },
  ],
  [
    "resource-quota",
    {},
    { kind: "Configuration", limitedResources: [{ resource: "pods", more: 1 }], more: 1 },
    { limitedResources: [{ resource: "p", matchScopes: [{ scopeName: "a", operator: "In", values: ["b"] }] }] },
  ],
  ["webhook-admission", webhook, { ...webhook, kind: "WebhookAdmissionConfiguration", more: 1 }],
  [
    "kubeconfig",
    {},
    { clusters: [{ name: "a", cluster: { server: "https://a", more: 1 }, more: 1 }], users: [{ user: { exec: {} } }] },
  ],
  ["abac-policy", abac, { ...abac, spec: { user: "a", readonly: true, more: 1 }, more: 1 }],
  ["abac-policy-unversioned", {}, { apiVersion: "", user: "a", more: 1 }],
];

/** What does not fit, and the line for it. */
const bad: readonly (readonly [FormatName, unknown, string])[] = [
  ["audit-policy", 5, "must be an object, not a number"],
  ["audit-policy", { kind: "Policy", rule: [] }, "apiVersion: is missing; it must be audit.k8s.io/v1"],
  ["audit-policy", { ...policy(), kind: "policy", rules: 5 }, 'kind: must be Policy, not "policy"'],
  ["audit-policy", policy(), "rules: must be a list that is not empty, not an empty list"],
  [
    "audit-policy",
    policy({ level: "None" }, { level: "Everything", verb: [] }),
    "rules[1].verb: there is no such field; there are level, users, userGroups, verbs, resources, namespaces, " +
      "nonResourceURLs, omitStages, omitManagedFields; " +
      'rules[1].level: must be one of None, Metadata, Request, RequestResponse, not "Everything"',
  ],
  [
    "audit-policy",
    policy({ level: "None", resources: [{ group: "", resource: ["pods"] }] }),
    "rules[0].resources[0].resource: there is no such field; there are group, resources, resourceNames",
  ],
  [
    "audit-policy",
    policy({ level: "None", resources: [{ group: "A" }] }),
    'rules[0].resources[0].group: must be a DNS subdomain: at most 253 lower case letters, digits, - and ., not "A"',
  ],
  [
    "audit-policy",
    policy({ level: "None", nonResourceURLs: ["healthz"] }),
    'rules[0].nonResourceURLs[0]: must be * or a path from / on, with * at its end only, not "healthz"',
  ],
  ["admission-configuration", { ...admission, plugins: {} }, "plugins: must be a list, not an object"],
  [
    "admission-configuration",
    { ...admission, plugins: [{ name: "" }] },
    'plugins[0].name: must be a string that is not empty, not ""',
  ],
  [
    "admission-configuration",
    { ...admission, plugins: [{ name: "A", configuration: [] }] },
    "plugins[0].configuration: must be an object, not an empty list",
  ],
  [
    "encryption-configuration",
    encryption(),
    "resources[0].providers: must be a list that is not empty, not an empty list",
  ],
  [
    "encryption-configuration",
    encryption({ aescbc: { keys: [], key: 1 } }, { identities: {} }),
    "resources[0].providers[0].aescbc.key: there is no such field; there are keys; " +
      "resources[0].providers[0].aescbc.keys: must be a list that is not empty, not an empty list; " +
      "resources[0].providers[1].identities: there is no such field; there are aesgcm, aescbc, secretbox, identity, kms",
  ],
  [
    "encryption-configuration",
    encryption({ secretbox: { keys: [{ name: "a", secret: 1234567890 }] } }),
    "resources[0].providers[0].secretbox.keys[0].secret: must be a string that is not empty, not a number",
  ],
  [
    "tracing-configuration",
    tracing({ samplingRate: 1 }),
    "samplingRate: there is no such field; there are apiVersion, kind, endpoint, samplingRatePerMillion",
  ],
  [
    "tracing-configuration",
    tracing({ endpoint: "https://otel:4317" }),
    'endpoint: must be a target of gRPC: host:port, dns:///host:port or unix:///path, not "https://otel:4317"',
  ],
  ["event-rate-limit", {}, "limits: is missing; it must be a list that is not empty"],
  [
    "event-rate-limit",
    rate({ type: "Odd" }),
    'limits[0].type: must be one of Server, Namespace, User, SourceAndObject, not "Odd"',
  ],
  ["event-rate-limit", rate({ qps: 0 }), "limits[0].qps: must be a whole number of at least 1, not 0"],
  ["event-rate-limit", rate({ burst: 1e300 }), "limits[0].burst: must be a whole number of at least 1, not 1e+300"],
  ["event-rate-limit", rate({ burst: "1" }), 'limits[0].burst: must be a whole number of at least 1, not "1"'],
  [
    "event-rate-limit",
    rate({ cacheSize: 1e9 }),
    "limits[0].cacheSize: must be a whole number from 0 to 1000000, not 1000000000",
  ],
  ["image-policy-webhook", {}, "imagePolicy: is missing; it must be an object"],
  [
    "image-policy-webhook",
    images({ allowTTL: 0.5 }),
    "imagePolicy.allowTTL: must be a whole number of at most 1800, not 0.5",
  ],
  [
    "image-policy-webhook",
    images({ denyTTL: 9999 }),
    "imagePolicy.denyTTL: must be a whole number of at most 1800, not 9999",
  ],
  [
    "image-policy-webhook",
    images({ defaultAllow: "yes" }),
    'imagePolicy.defaultAllow: must be true or false, not "yes"',
  ],
  [
    "pod-node-selector",
    { podNodeSelectorPluginConfig: [] },
    "podNodeSelectorPluginConfig: must be an object, not an empty list",
  ],
  [
    "pod-node-selector",
    { podNodeSelectorPluginConfig: { "a.b\n": 1 } },
    'podNodeSelectorPluginConfig["a.b\\n"]: must be a string, not 1',
  ],
  ["pod-security", { kind: "Other" }, 'kind: must be PodSecurityConfiguration, not "Other"'],
  [
    "pod-security",
    { defaults: { audit: "x", "warn-version": "2" } },
    'defaults.audit: must be one of privileged, baseline, restricted, not "x"; ' +
      'defaults.warn-version: must be latest or v1.x, not "2"',
  ],
  [
    "pod-security",
    { exemptions: { namespaces: [""] } },
    'exemptions.namespaces[0]: must be a string that is not empty, not ""',
  ],
  ["pod-toleration-restriction", { default: {} }, "default: must be a list, not an object"],
  ["pod-toleration-restriction", { whitelist: [{ key: 1 }] }, "whitelist[0].key: must be a string, not 1"],
  [
    "pod-toleration-restriction",
    { default: [{ ke: "x" }] },
    "default[0].ke: there is no such field; there are key, operator, value, effect, tolerationSeconds",
  ],
  ["resource-quota", { kind: "Odd" }, 'kind: must be one of ResourceQuotaConfiguration, Configuration, not "Odd"'],
  [
    "resource-quota",
    { limitedResources: [{}] },
    "limitedResources[0].resource: is missing; it must be a string that is not empty",
  ],
  [
    "resource-quota",
    { limitedResources: [{ resource: "a", matchScopes: [{ scopeName: "b" }] }] },
    "limitedResources[0].matchScopes[0].operator: is missing; it must be a string",
  ],
  [
    "webhook-admission",
    { ...webhook, kind: "Odd" },
    'kind: must be one of WebhookAdmissionConfiguration, WebhookAdmission, not "Odd"',
  ],
  ["webhook-admission", { ...webhook, kubeConfigFile: 5 }, "kubeConfigFile: must be a string that is not empty, not 5"],
  ["kubeconfig", { users: [{ user: { token: 12345 } }] }, "users[0].user.token: must be a string, not a number"],
  ["kubeconfig", { users: [{ user: "secret" }] }, "users[0].user: must be an object, not a string"],
  ["kubeconfig", { users: ["secret"] }, "users[0]: must be an object, not a string"],
  [
    "kubeconfig",
    { clusters: [{ cluster: { "insecure-skip-tls-verify": "true" } }] },
    'clusters[0].cluster.insecure-skip-tls-verify: must be true or false, not "true"',
  ],
  ["abac-policy", { ...abac, spec: [] }, "spec: must be an object, not an empty list"],
  ["abac-policy-unversioned", { readonly: "yes" }, 'readonly: must be true or false, not "yes"'],
];

t.test("every format takes what fits it, and says in one line where another document does not", (t) => {
  for (const [name, ...documents] of good) {
    for (const document of documents) t.equal(check(name, document), undefined, JSON.stringify(document));
  }
  for (const [name, document, line] of bad) t.equal(check(name, document), line);
  t.same(new Set(good.map(([name]) => name)), new Set(formatNames), "every format is tried");
  t.same(new Set(bad.map(([name]) => name)), new Set(formatNames), "every format is tried");
  t.end();
});

t.test("names in files are spelled in the identity", async (t) => {
  const own = await loadFileCheck(orch.spell);
  t.equal(own("audit-policy", { ...policy({ level: "None" }), apiVersion: "audit.orch.io/v1" }), undefined);
  t.match(own("audit-policy", policy({ level: "None" })), /^apiVersion: must be audit\.orch\.io\/v1, not /);
});

t.test("schemas have the values that the code knows", (t) => {
  const text = JSON.stringify(schemaOf("audit-policy", kubernetes.spell));
  t.ok(text.includes(JSON.stringify(levels)));
  t.ok(text.includes(JSON.stringify(stages)));
  t.ok(JSON.stringify(schemaOf("pod-security", kubernetes.spell)).includes(JSON.stringify(podSecurityLevels)));
  t.end();
});

t.test("a line shows a bounded part of what is wrong", (t) => {
  const many = check("audit-policy", policy(...Array.from({ length: 1000 }, () => ({ level: "x".repeat(10_000) }))));
  t.match(many, /^rules\[0\]\.level: .*x…; rules\[1\].*; and more$/);
  t.equal(many?.split("; ").length, limits.fileFaultsMax + 1);
  t.ok((many?.length ?? 0) < 3_000);
  const keys = check("audit-policy", policy(Object.fromEntries(Array.from({ length: 1e5 }, (_, i) => [`k${i}`, 1]))));
  t.ok((keys?.length ?? 0) < 3_000);
  t.equal(check("audit-policy", policy({ level: "None" }, ...Array(8).fill({ level: "a" })))?.includes("more"), false);
  t.end();
});

t.test("plainOf() leaves out null, keeps keys as they are, and goes no deeper than files do", (t) => {
  const plain = (json: string): unknown => plainOf(parseText(json) as Parameters<typeof plainOf>[0]);
  t.strictSame(plain('{"a":null,"b":[null,1.5,2,99999999999999999999]}'), { b: [null, 1.5, 2, 1e20] });
  const odd = plain('{"__proto__":{"level":"None"},"constructor":1}') as object;
  t.equal(Object.getPrototypeOf(odd), Object.prototype);
  t.same(Object.keys(odd), ["__proto__", "constructor"]);
  t.match(check("audit-policy", { ...policy(odd) }), /^rules\[0\]\.level: is missing/);
  const deep = JSON.stringify(plain(`${"[".repeat(9_000)}${"]".repeat(9_000)}`));
  t.equal(deep.length, 2 * (limits.fileDepthMax + 1));
  t.end();
});

t.test("checking takes time in proportion to the document", async (t) => {
  const rules = (count: number): object =>
    policy(...Array.from({ length: count }, () => ({ level: "None", users: ["a"] })));
  const urls = (count: number): object => policy({ level: "None", nonResourceURLs: [`/${"a".repeat(count)}**`] });
  const groups = (count: number): object => policy({ level: "None", resources: [{ group: `${"a".repeat(count)}_` }] });
  const wide = (count: number): object =>
    policy(Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, 1])));
  for (const [what, make, count] of [
    ["rules", rules, 2_000],
    ["urls", urls, 1e6],
    ["groups", groups, 1e6],
    ["fields", wide, 20_000],
  ] as const) {
    const [one, eight] = [make(count), make(count * 8)];
    const small = await costOf(() => check("audit-policy", one), 5);
    const large = await costOf(() => check("audit-policy", eight), 5);
    // Linear is eight, square 64; caches that others use as well may triple it.
    t.ok(large < 24 * Math.max(small, 5), `${what}: ${small} and ${large} ms`);
  }
});

/** Packages that a file loads with all it imports; built, so that imports of types are gone. */
function packagesOf(file: string, seen = new Set<string>()): Set<string> {
  const packages = new Set<string>();
  if (seen.has(file)) return packages;
  seen.add(file);
  for (const [, name = ""] of readFileSync(file, "utf8").matchAll(/^(?:import|export)[^;"]*?"([^"]+)";/gm)) {
    if (!name.startsWith(".")) packages.add(name);
    else for (const more of packagesOf(join(dirname(file), name), seen)) packages.add(more);
  }
  return packages;
}

t.test("no thread loads the schemas before there is a file to check", (t) => {
  const dist = fileURLToPath(new URL("../../", import.meta.url));
  for (const file of ["src/main.js", "workers/front.js", "workers/store.js", "workers/audit.js", "workers/pool.js"]) {
    const packages = packagesOf(join(dist, file));
    t.ok(
      [...packages].some((name) => name.startsWith("node:")),
      `${file} loads something`,
    );
    t.same(
      [...packages].filter((name) => name.startsWith("typebox")),
      [],
      file,
    );
  }
  const loaded = packagesOf(join(dist, "src/config/files/check.js"));
  t.ok(loaded.has("typebox") && loaded.has("typebox/schema"));
  t.end();
});
