// --encryption-provider-config: an EncryptionConfiguration. What a schema cannot say (lengths of keys, one provider per
// item) checks storage/encryption/configuration.ts.
import { type Static, Type } from "typebox";
import type { Spell } from "./parts.ts";

const key = Type.Object(
  {
    name: Type.String({ minLength: 1, description: "Stored with each value; names the key it was encrypted with." }),
    secret: Type.String({ minLength: 1, writeOnly: true, description: "The key in base64." }),
  },
  { additionalProperties: false },
);

function keys(description: string) {
  return Type.Object(
    { keys: Type.Array(key, { minItems: 1, description: "The first one encrypts, all of them decrypt." }) },
    { additionalProperties: false, description },
  );
}

const kms = Type.Object(
  {
    apiVersion: Type.Optional(
      Type.Enum(["v1", "v2"], { description: "Of the KMS plugin's protocol; v1 if left out." }),
    ),
    name: Type.String({ minLength: 1, description: "Stored with each value." }),
    cachesize: Type.Optional(
      Type.Integer({ description: "Data keys kept decrypted, with v1 only; negative: none. 1000 if left out." }),
    ),
    endpoint: Type.String({ minLength: 1, description: "Where the plugin listens: unix:///PATH." }),
    timeout: Type.Optional(Type.String({ description: "Of a call, such as 3s, which it is if left out." })),
  },
  { additionalProperties: false, description: "A key management service encrypts the keys." },
);

const provider = Type.Object(
  {
    aesgcm: Type.Optional(keys("AES-GCM with keys of 16, 24 or 32 bytes; change them every 200,000 writes.")),
    aescbc: Type.Optional(keys("AES-CBC with PKCS#7 padding, and keys of 16, 24 or 32 bytes.")),
    secretbox: Type.Optional(keys("XSalsa20 and Poly1305 with keys of 32 bytes.")),
    identity: Type.Optional(
      Type.Object({}, { additionalProperties: false, description: "As it is: not encrypted. Written {}." }),
    ),
    kms: Type.Optional(kms),
  },
  { additionalProperties: false, description: "One provider." },
);

const rule = Type.Object(
  {
    resources: Type.Array(Type.String({ minLength: 1 }), {
      minItems: 1,
      description:
        "secrets, deployments.apps, widgets.example.com; *. (the core group), *.apps or *.* for all of them.",
    }),
    providers: Type.Array(provider, { minItems: 1, description: "The first one encrypts, all of them decrypt." }),
  },
  { additionalProperties: false },
);

/** The schema. A misspelled field would leave data unencrypted: unknown fields are faults, as upstream has it later. */
export function encryptionConfiguration(spell: Spell) {
  return Type.Object(
    {
      apiVersion: Type.Literal(spell("apiserver.config.k8s.io/v1")),
      kind: Type.Literal("EncryptionConfiguration"),
      resources: Type.Array(rule, { minItems: 1, description: "Resources that none of them names are not encrypted." }),
    },
    { additionalProperties: false },
  );
}

/** A file that fits its schema. */
export type EncryptionDocument = Static<ReturnType<typeof encryptionConfiguration>>;
