// What upstream itself stored encrypted, read with its own configuration file: every value is the object that upstream
// lists. Needs the shared snapshot of a database of upstream; without it the formats are known from vectors alone
// (transformers.test.ts).
import { existsSync, readFileSync } from "node:fs";
import t from "tap";
import { identities } from "../../../src/api/identity.ts";
import { messageOf } from "../../../src/api/messages.ts";
import { plainOf } from "../../../src/api/value.ts";
import { encode, Fault } from "../../../src/codec/engine/json.ts";
import { decodeProto, openEnvelope } from "../../../src/codec/proto/protobuf.ts";
import { parseYaml } from "../../../src/codec/yaml/yaml.ts";
import { loadFileCheck } from "../../../src/config/filecheck.ts";
import type { EncryptionDocument } from "../../../src/config/files/encryption.ts";
import { readEncryption } from "../../../src/storage/encryption/configuration.ts";
import { readEtcd } from "./bbolt.ts";
import { transformersOf } from "./fixture.ts";

const dir = "../shared/snapshots";

interface Listed {
  readonly resource: string;
  readonly object: { readonly metadata: { readonly namespace: string; readonly name: string } };
}

if (existsSync(dir)) {
  t.test("what upstream stored encrypted is what it lists", async (t) => {
    const document = parseYaml(readFileSync(`${dir}/encryption.yaml`));
    if (document instanceof Fault) throw new Error(document.message);
    const plain = plainOf(document);
    t.equal((await loadFileCheck(identities.kubernetes.spell))("encryption-configuration", plain), undefined);
    const config = readEncryption(plain as EncryptionDocument, false);
    if (typeof config === "string") throw new Error(config);
    const transformers = await transformersOf(config);
    const lines = readFileSync(`${dir}/reference-1.23.objects.ndjson`, "utf8").trim().split("\n");
    const listed = lines.map((line) => JSON.parse(line) as Listed);
    const stored = readEtcd(readFileSync(`${dir}/reference-1.23.etcd.db`));
    for (const [resource, kind, mark, countMin] of [
      ["secrets", "Secret", "k8s:enc:aescbc:v1:key1:", 20],
      ["configmaps", "ConfigMap", "k8s:enc:secretbox:v1:box1:", 200],
    ] as const) {
      const message = messageOf(`core/v1.${kind}`);
      const prefix = `/registry/${resource}`;
      const of = listed.filter((one) => one.resource === `/api/v1/${resource}`);
      const keys = [...stored.keys()].filter((key) => key.startsWith(`${prefix}/`));
      t.equal(keys.length, of.length, resource);
      t.ok(keys.length >= countMin, `${keys.length} ${resource}`);
      let encrypted = 0;
      for (const { object } of of) {
        const key = `${prefix}/${object.metadata.namespace}/${object.metadata.name}`;
        const { value = Buffer.alloc(0), revision = 0 } = stored.get(key) ?? {};
        const isSealed = value.toString("latin1", 0, mark.length) === mark;
        if (isSealed) encrypted += 1;
        const opened = await transformers.open(prefix, key, value);
        t.equal(opened.stale, !isSealed, `${key}: only what is plain is stale`);
        const envelope = openEnvelope(opened.bytes);
        if (envelope instanceof Fault) throw new Error(envelope.message);
        const read = decodeProto<{ metadata: { resourceVersion?: string } }>(message, envelope.raw);
        if (read instanceof Fault) throw new Error(read.message);
        read.metadata.resourceVersion = String(revision);
        const { apiVersion, kind } = envelope;
        t.same({ apiVersion, kind, ...JSON.parse(encode(message, read)) }, object, key);
      }
      t.ok(encrypted >= countMin, `${encrypted} encrypted`);
    }
  });
} else t.comment("no snapshot: values that upstream stored are not read");
