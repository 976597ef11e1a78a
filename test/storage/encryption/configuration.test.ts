// What a file with the fields of an EncryptionConfiguration may say, by upstream's rules.
import t from "tap";
import type { EncryptionDocument } from "../../../src/config/files/encryption.ts";
import { limits } from "../../../src/config/limits.ts";
import { readEncryption } from "../../../src/storage/encryption/configuration.ts";
import { documentOf, keyOf, type ProviderItem, type RuleOf } from "./fixture.ts";

const identity: ProviderItem = { identity: {} };
const kms = (more: object = {}): ProviderItem => ({ kms: { name: "k", endpoint: "unix:///run/k.sock", ...more } });

t.test("readEncryption() reads what is right, with upstream's defaults", (t) => {
  const read = readEncryption(
    documentOf(
      [["secrets.", "deployments.apps"], { aescbc: { keys: [keyOf("a", 1, 16), keyOf("b", 2, 24)] } }, identity],
      [["*."], kms(), kms({ name: "two", apiVersion: "v2", timeout: "1m" }), kms({ cachesize: -1, timeout: "100ms" })],
    ),
    false,
  );
  if (typeof read === "string") throw new Error(read);
  t.same([...read.providers.keys()], ["secrets", "deployments.apps", "*."]);
  t.equal(read.providers.get("secrets")?.[0], read.providers.get("deployments.apps")?.[0], "one provider for both");
  t.match(read.providers.get("secrets"), [
    { kind: "aescbc", keys: [{ name: "a", secret: Uint8Array.from(Buffer.alloc(16, 1)) }, { name: "b" }] },
    { kind: "identity" },
  ]);
  const common = { kind: "kms", path: "/run/k.sock" };
  t.same(read.providers.get("*."), [
    { ...common, index: 0, version: "v1", name: "k", timeoutMs: 3_000, cacheMax: 1_000 },
    { ...common, index: 1, version: "v2", name: "two", timeoutMs: 60_000, cacheMax: 1_000 },
    { ...common, index: 2, version: "v1", name: "k", timeoutMs: 100, cacheMax: 0 },
  ]);
  const wrapped = `${Buffer.alloc(32, 7).toString("base64").slice(0, 20)}\n${Buffer.alloc(32, 7).toString("base64").slice(20)}`;
  t.type(
    readEncryption(documentOf([["secrets"], { secretbox: { keys: [{ name: "w", secret: wrapped }] } }]), false),
    "object",
  );
  t.end();
});

/** What is wrong, and the line for it. */
const wrong: readonly (readonly [EncryptionDocument, string, reloads?: boolean])[] = [
  [
    documentOf([["secrets"], {}]),
    "resources[0].providers[0]: must be exactly one of aescbc, aesgcm, secretbox, kms, identity: it is empty",
  ],
  [
    documentOf([["secrets"], identity, { identity: {}, aescbc: { keys: [keyOf("a", 1)] } }]),
    "resources[0].providers[1]: must be exactly one of aescbc, aesgcm, secretbox, kms, identity: it has identity, aescbc; write an item for each",
  ],
  [
    documentOf([["secrets"], { aesgcm: { keys: [keyOf("a", 1), keyOf("b", 1, 31)] } }]),
    "resources[0].providers[0].aesgcm.keys[1].secret: must be a key of 16, 24 or 32 bytes, not of 31",
  ],
  [
    documentOf([["secrets"], { secretbox: { keys: [keyOf("a", 1, 16)] } }]),
    "resources[0].providers[0].secretbox.keys[0].secret: must be a key of 32 bytes, not of 16",
  ],
  [
    documentOf([["secrets"], { aescbc: { keys: [{ name: "a", secret: "c2VjcmV0-secret" }] } }]),
    "resources[0].providers[0].aescbc.keys[0].secret: must be base64",
  ],
  [documentOf([["Secrets"], identity]), "resources[0].resources[0]: must be lower case"],
  [documentOf([[".apps"], identity]), "resources[0].resources[0]: must be RESOURCE or RESOURCE.GROUP"],
  [documentOf([["secrets.*"], identity]), "resources[0].resources[0]: must not have a wildcard for the group alone"],
  [
    documentOf([["*"], identity]),
    "resources[0].resources[0]: must be *. for the core group, *.GROUP for another, or *.* for all resources",
  ],
  [
    documentOf([["*.apps"], identity], [["pods", "deployments.apps"], identity]),
    "resources[1].resources[1]: the line of *.apps above it holds for it, too; list it before that",
  ],
  [
    documentOf([["*.*"], identity], [["*.", "secrets"], identity]),
    "resources[1].resources[0]: the line of *.* above it holds for it, too; list it before that; " +
      "resources[1].resources[1]: the line of *. above it holds for it, too; list it before that",
  ],
  [
    documentOf([["secrets"], kms({ timeout: "0s" }), kms({ timeout: "fast" }), kms({ timeout: "2m" })]),
    [0, 1, 2]
      .map((i) => `resources[0].providers[${i}].kms.timeout: must be a duration above 0s, at most 60s`)
      .join("; "),
  ],
  [
    documentOf([
      ["secrets"],
      kms({ endpoint: "tcp://k:1" }),
      kms({ endpoint: "unix://run" }),
      kms({ endpoint: "unix:///@a" }),
    ]),
    [0, 1, 2]
      .map(
        (i) =>
          `resources[0].providers[${i}].kms.endpoint: must be unix:///PATH, the path of a socket in the file system`,
      )
      .join("; "),
  ],
  [
    documentOf([["secrets"], kms({ cachesize: 0 }), kms({ cachesize: limits.kmsCacheMax + 1 })]),
    [0, 1]
      .map(
        (i) =>
          `resources[0].providers[${i}].kms.cachesize: must be from 1 to ${limits.kmsCacheMax}, or negative for no cache`,
      )
      .join("; "),
  ],
  [
    documentOf([["secrets"], kms({ apiVersion: "v2", name: "a:b", cachesize: 5 })]),
    'resources[0].providers[0].kms.cachesize: is not supported with v2; resources[0].providers[0].kms.name: must not contain ":"',
  ],
  [
    documentOf([["secrets"], kms({ apiVersion: "v2" })], [["pods"], kms({ apiVersion: "v2" })]),
    "resources[1].providers[0].kms.name: another KMS plugin has this name; names must be unique",
  ],
  [
    documentOf([["secrets"], kms()], [["pods"], kms()]),
    "resources[1].providers[0].kms.name: another KMS plugin has this name; names must be unique",
    true,
  ],
];

t.test("readEncryption() names each field at fault, and shows nothing of keys", (t) => {
  for (const [document, line, reloads = false] of wrong) {
    const read = readEncryption(document, reloads);
    t.equal(read, line);
    t.notMatch(read, /c2VjcmV0/);
  }
  t.type(
    readEncryption(documentOf([["secrets"], kms()], [["pods"], kms()]), false),
    "object",
    "v1 may, without reload",
  );
  const many = documentOf(...Array.from({ length: 20 }, (): RuleOf => [["secrets"], {}]));
  t.match(readEncryption(many, false), /; and more$/);
  t.end();
});
