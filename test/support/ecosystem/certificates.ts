// A certificate: a flat spec with many enums, a status of conditions and times.
import {
  cel,
  column,
  condition,
  conditions,
  dnsName,
  flag,
  integer,
  type Json,
  list,
  mapOf,
  object,
  text,
  time,
} from "./parts.ts";
import type { Shape } from "./shape.ts";

const names = {
  group: "certs.example.dev",
  kind: "Certificate",
  plural: "certificates",
  shortNames: ["cert", "certs"],
  categories: ["certs-all"],
};
const selector = object({ key: text(), name: text() }, ["name"]);
const store = (): Json =>
  object(
    {
      alias: text({ maxLength: 250 }),
      create: flag(),
      passwordSecretRef: selector,
      password: text({ minLength: 1 }),
    },
    ["create"],
  );
const subjects = [
  "countries",
  "localities",
  "organizationalUnits",
  "organizations",
  "postalCodes",
  "provinces",
  "streetAddresses",
];
const spec = object(
  {
    additionalOutputFormats: list(object({ type: text({ enum: ["DER", "CombinedPEM"] }) }, ["type"])),
    commonName: text({ maxLength: 64 }),
    dnsNames: list(text()),
    duration: text(),
    emailAddresses: list(text({ format: "email" })),
    encodeUsagesInRequest: flag(),
    ipAddresses: list(text({ format: "ipv4" })),
    isCA: flag(),
    issuerRef: object({ group: text(), kind: text({ default: "Issuer" }), name: text({ minLength: 1 }) }, ["name"]),
    keystores: object({
      jks: store(),
      pkcs12: {
        ...store(),
        properties: {
          ...(store()["properties"] as Json),
          profile: text({ enum: ["LegacyRC2", "LegacyDES", "Modern2023"] }),
        },
      },
    }),
    literalSubject: text(),
    nameConstraints: object({
      critical: flag(),
      excluded: object({
        dnsDomains: list(text()),
        emailAddresses: list(text()),
        ipRanges: list(text({ format: "cidr" })),
        uriDomains: list(text()),
      }),
      permitted: object({
        dnsDomains: list(text()),
        emailAddresses: list(text()),
        ipRanges: list(text({ format: "cidr" })),
        uriDomains: list(text()),
      }),
    }),
    otherNames: list(object({ oid: text({ pattern: "^[0-9]+(\\.[0-9]+)*$" }), utf8Value: text() })),
    privateKey: object(
      {
        algorithm: text({ enum: ["RSA", "ECDSA", "Ed25519"] }),
        encoding: text({ enum: ["PKCS1", "PKCS8"], default: "PKCS1" }),
        rotationPolicy: text({ enum: ["Never", "Always"] }),
        size: integer({ minimum: 256, maximum: 8192 }),
      },
      [],
      { default: {} },
    ),
    renewBefore: text(),
    renewBeforePercentage: integer({ format: "int32", minimum: 1, maximum: 99 }),
    revisionHistoryLimit: integer({ format: "int32", minimum: 1 }),
    secretName: text({ minLength: 1, maxLength: 253, pattern: dnsName }),
    secretTemplate: object({ annotations: mapOf(text()), labels: mapOf(text({ maxLength: 63 })) }),
    subject: object({ ...Object.fromEntries(subjects.map((name) => [name, list(text())])), serialNumber: text() }),
    uris: list(text({ format: "uri" })),
    usages: list(
      text({
        enum: [
          "signing",
          "digital signature",
          "key encipherment",
          "cert sign",
          "crl sign",
          "server auth",
          "client auth",
        ],
      }),
      {
        default: ["digital signature", "key encipherment"],
        "x-kubernetes-list-type": "set",
      },
    ),
  },
  ["issuerRef", "secretName"],
  {
    "x-kubernetes-validations": [
      cel(
        "!(has(self.renewBefore) && has(self.renewBeforePercentage))",
        "only one of renewBefore and renewBeforePercentage",
      ),
    ],
  },
);
const status = object({
  conditions: conditions(),
  failedIssuanceAttempts: integer(),
  lastFailureTime: time,
  nextPrivateKeySecretName: text(),
  notAfter: time,
  notBefore: time,
  renewalTime: time,
  revision: integer(),
});
const columns = [
  column("Ready", '.status.conditions[?(@.type == "Ready")].status'),
  column("Secret", ".spec.secretName"),
  column("Issuer", ".spec.issuerRef.name", "string", { priority: 1 }),
  column("Status", '.status.conditions[?(@.type == "Ready")].message', "string", { priority: 1 }),
  column("Age", ".metadata.creationTimestamp", "date"),
];

/** A kind of certificates. */
export const certificates: Shape = {
  names,
  scope: "Namespaced",
  versions: ["v1"],
  spec,
  status,
  printed: columns,
  words: 45,
  object: (name, number) => ({
    secretName: `${name}-tls`,
    dnsNames: [`${name}.example.com`, `www.${number}.example.com`],
    issuerRef: { name: "ca", group: names.group },
    renewBeforePercentage: 1 + (number % 99),
    subject: { organizations: ["example"] },
  }),
  defaults: [
    ["spec.issuerRef.kind", "Issuer"],
    ["spec.privateKey", { encoding: "PKCS1" }],
    ["spec.usages", ["digital signature", "key encipherment"]],
  ],
  unknown: ["spec.dnsName", "spec.issuerRef.nam", "spec.keystores.jks2"],
  open: [],
  faults: [
    [
      ["spec.privateKey", { algorithm: "DSA" }],
      "spec.privateKey.algorithm",
      /Unsupported value: "DSA": supported values: "RSA", "ECDSA", "Ed25519"/,
    ],
    [["spec.privateKey", { size: 9000 }], "spec.privateKey.size", /should be less than or equal to 8192/],
    [["spec.secretName", "Not_A_Name"], "spec.secretName", /should match/],
    [["spec.issuerRef", undefined], "spec.issuerRef", /Required value/],
    [["spec.usages", ["signing", "signing"]], "spec.usages[1]", /Duplicate value: "signing"/],
    [["spec.ipAddresses", ["10.0.0.1", "10.0.0"]], "spec.ipAddresses", /must be of type ipv4/],
    [["spec.keystores", { jks: { alias: "a" } }], "spec.keystores.jks.create", /Required value/],
    [["spec.dnsNames", "example.com"], "spec.dnsNames", /must be of type array: "string"/],
  ],
  broken: [[["spec.renewBefore", "1h"], "spec", /only one of renewBefore and renewBeforePercentage/]],
  list: {
    path: "status.conditions",
    items: [condition("Ready"), condition("Issuing", "False")],
    changed: condition("Issuing", "Unknown"),
  },
  columns: ["READY", "SECRET", "ISSUER", "STATUS", "AGE"],
  explained: "spec.privateKey.encoding",
  size: undefined,
};
