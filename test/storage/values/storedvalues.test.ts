// Values and the content of records: what is written is read back, by this server and as upstream writes it; nothing within
// an object passes for its resource version; what cannot be read says so without a word of what is in it.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { identities } from "../../../src/api/identity.ts";
import type { ApiObject } from "../../../src/api/object.ts";
import { builtInResources, createScheme, type Resource } from "../../../src/api/scheme.ts";
import { AssertionFailure, assert, SharedStateFailure } from "../../../src/base/assert.ts";
import { ownersBehind } from "../../../src/cache/shared/owners.ts";
import { decodeSelection, hasUnnamedField, selectionSource } from "../../../src/cache/shared/selection.ts";
import { encode, encodeForStore, isFault } from "../../../src/codec/engine/json.ts";
import { decodeProto, encodeProto, openEnvelope } from "../../../src/codec/proto/protobuf.ts";
import { limits } from "../../../src/config/limits.ts";
import { claimPrefixes } from "../../../src/request/commit/serviceallocations.ts";
import { type Change, changeTypes, StoreError } from "../../../src/storage/store.ts";
import { type Content, StoredValues } from "../../../src/storage/values/storedvalues.ts";
import { ObjectSource, objectFrom } from "../../support/objects.ts";
import { draws, fuzzRun } from "../../support/random.ts";

const identity = identities.kubernetes;
const scheme = createScheme({ identity, runtimeConfig: new Map([["api/all", true]]) });
const claims = Object.values(claimPrefixes);
const cluster = { family: "IPv4" } as const;
const json = new StoredValues({ scheme, mediaType: "application/json", claims, cluster });
const protobuf = new StoredValues({ scheme, mediaType: "application/vnd.kubernetes.protobuf", claims, cluster });

const storedKinds = [...new Set(scheme.resources.flatMap(({ stored }) => stored ?? []))];

function text({ body }: Pick<Content, "body">): string {
  return Buffer.from(body).toString();
}

/** The change whose record has this content. */
function changeOf(prefix: string, key: string, content: Content, revision: number): Change {
  const { body, versionAt, selection } = content;
  const bare = Buffer.concat([body.subarray(0, versionAt), body.subarray(versionAt + String(revision).length)]);
  return { prefix, key, expected: 0, type: changeTypes.create, selection, body: bare, versionAt };
}

/** What a selection says, but for whether the next write is stored in any case. */
function selected({ selection }: Content): object {
  const table = Uint8Array.from(selection);
  const { fields, labels, ...rest } = decodeSelection(selectionSource(table), 0);
  const owners = ownersBehind(table);
  const names = Array.from({ length: owners?.count ?? 0 }, (_, index) => owners?.name(index));
  return { ...rest, labels: labels.sort(), fields: fields.filter(([name]) => name !== ""), names };
}

function keyOf({ prefix = "", namespaced }: Resource): string {
  return namespaced ? `${prefix}/default/é-1` : `${prefix}/é-1`;
}

/** An object of a kind as a client could send it. */
function drawn(source: ObjectSource, stored: Resource): ApiObject {
  const object = objectFrom<ApiObject>(stored.message, source.json(stored.message));
  const { metadata } = object;
  metadata.name = "é-1";
  if (stored.namespaced) metadata.namespace = "default";
  else delete metadata.namespace;
  delete metadata.resourceVersion;
  object.kind = stored.kind;
  object.apiVersion = stored.apiVersion;
  return object;
}

const run = fuzzRun(25);

t.test(`encode() and decode() keep objects of every kind in both media types, seed ${run.seed}`, (t) => {
  const source = new ObjectSource(draws(run.seed));
  for (const stored of storedKinds) {
    const { prefix } = stored;
    assert(prefix !== undefined, "It is stored");
    const key = keyOf(stored);
    for (let round = 0; round < run.rounds; round++) {
      const object = drawn(source, stored);
      const first = json.decode(prefix, key, Buffer.from(encode(stored.message, object)), 17);
      const change = changeOf(prefix, key, first, 17);
      t.strictSame(Buffer.from(json.encode(change)), change.body, "JSON is stored as it is");
      for (const values of [json, protobuf]) {
        const value = values.encode(change);
        const again = values.decode(prefix, key, value, 4_000_000_000);
        t.equal(text(again), text(first).replace('"resourceVersion":"17"', '"resourceVersion":"4000000000"'), key);
        t.equal(again.versionAt, first.versionAt);
        t.strictSame(selected(again), selected(first));
        t.notOk(hasUnnamedField(again.selection), `${key} as written by this server is settled`);
        t.equal(text(json.decode(prefix, key, value, 17)), text(first), "whatever the media type is now");
      }
      const bytes = encodeProto(stored.message, object);
      t.strictSame(selected(protobuf.decode(prefix, key, bytes, 17)), selected(first), "protobuf of the same object");
    }
  }
  t.end();
});

const fixtures = "../shared/fixtures";
const files = existsSync(fixtures) ? readdirSync(fixtures).filter((name) => name.endsWith(".pb")) : [];
const everyKind = new Map(
  builtInResources(identity).map((resource) => [`${resource.apiVersion} ${resource.kind}`, resource]),
);

for (const name of files) {
  const envelope = openEnvelope(readFileSync(join(fixtures, name)));
  assert(!isFault(envelope), `${name} is an envelope`);
  const { apiVersion, kind, raw } = envelope;
  const resource = everyKind.get(`${apiVersion} ${kind}`);
  if (resource?.stored === undefined) continue;
  t.test(`decode() reads the same from both forms of the fixture ${name}`, (t) => {
    const { message, prefix = "", namespaced } = resource;
    const fromProtobuf = decodeProto<ApiObject>(message, raw);
    assert(!isFault(fromProtobuf), "It is protobuf");
    const fromJson = objectFrom<ApiObject>(message, readFileSync(join(fixtures, name.replace(/pb$/, "json")), "utf8"));
    for (const object of [fromProtobuf, fromJson]) {
      object.kind = kind;
      object.apiVersion = apiVersion;
      object.metadata.resourceVersion = undefined;
      if (!namespaced) object.metadata.namespace = undefined;
    }
    const { metadata } = fromJson;
    const key = namespaced ? `${prefix}/${metadata.namespace}/${metadata.name}` : `${prefix}/${metadata.name}`;
    const one = json.decode(prefix, key, encodeProto(message, fromProtobuf), 5);
    const other = json.decode(prefix, key, Buffer.from(encode(message, fromJson)), 5);
    t.equal(text(one), text(other));
    t.strictSame(selected(one), selected(other));
    t.end();
  });
}

t.test("encode() writes protobuf where upstream does", (t) => {
  const source = new ObjectSource(draws(1));
  const jsonOnly: string[] = [];
  for (const stored of storedKinds) {
    const { prefix = "" } = stored;
    const content = json.decode(prefix, keyOf(stored), Buffer.from(encode(stored.message, drawn(source, stored))), 1);
    const value = protobuf.encode(changeOf(prefix, keyOf(stored), content, 1));
    if (value[0] === 0x7b) jsonOnly.push(stored.resource);
    else t.equal(Buffer.from(value).toString("latin1", 0, 4), "k8s\0", prefix);
  }
  t.strictSame(jsonOnly.sort(), ["apiservices", "customresourcedefinitions"]);
  t.end();
});

const pods = "/registry/pods";
const podKey = `${pods}/default/a`;
const goPod =
  '{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"default","uid":"u","creationTimestamp":"2020-01-01T00:00:00Z",' +
  '"labels":{"app":"web"},"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"r","uid":"o"}]},' +
  '"spec":{"containers":[{"name":"c","image":"i"}],"nodeName":"n1","serviceAccountName":"sa","future":{"x":1}},' +
  '"status":{"phase":"Running","podIP":"10.0.0.1"}}\n';

t.test(
  "decode() reads upstream's JSON as upstream does: unknown fields go, defaults and both names of a field come",
  (t) => {
    const content = json.decode(pods, podKey, Buffer.from(goPod), 7);
    const pod = JSON.parse(text(content)) as { spec: object };
    t.match(pod, {
      metadata: { resourceVersion: "7", uid: "u" },
      spec: {
        containers: [{ terminationMessagePath: "/dev/termination-log", imagePullPolicy: "Always" }],
        restartPolicy: "Always",
        serviceAccount: "sa",
        serviceAccountName: "sa",
      },
      status: { podIP: "10.0.0.1", podIPs: [{ ip: "10.0.0.1" }] },
    });
    t.notOk("future" in pod.spec);
    t.match(selected(content), { namespace: "default", name: "a", labels: [["app", "web"]], names: ["r"] });
    const fields = (selected(content) as { fields: [string, string][] }).fields;
    t.equal(new Map(fields).get("spec.nodeName"), "n1");
    t.ok(hasUnnamedField(content.selection), "it is stored anew at its next write");
    t.end();
  },
);

t.test("decode() completes services that were stored before they had several addresses", (t) => {
  const prefix = "/registry/services/specs";
  const table: [why: string, spec: object, want: object][] = [
    [
      "one address",
      { clusterIP: "10.0.0.1", selector: { a: "b" } },
      { clusterIPs: ["10.0.0.1"], ipFamilies: ["IPv4"], ipFamilyPolicy: "SingleStack" },
    ],
    [
      "of the other family",
      { clusterIP: "fd00::1" },
      { clusterIPs: ["fd00::1"], ipFamilies: ["IPv6"], ipFamilyPolicy: "SingleStack" },
    ],
    [
      "none",
      { clusterIP: "None", selector: { a: "b" } },
      { clusterIPs: ["None"], ipFamilies: ["IPv4"], ipFamilyPolicy: "SingleStack" },
    ],
    [
      "none, and endpoints of the client's own",
      { clusterIP: "None" },
      { clusterIPs: ["None"], ipFamilies: ["IPv4", "IPv6"], ipFamilyPolicy: "RequireDualStack" },
    ],
    [
      "another name",
      { type: "ExternalName", externalName: "x" },
      { clusterIPs: undefined, ipFamilies: undefined, ipFamilyPolicy: undefined },
    ],
    [
      "what is there stays",
      {
        clusterIP: "10.0.0.1",
        clusterIPs: ["10.0.0.1", "fd00::1"],
        ipFamilies: ["IPv4"],
        ipFamilyPolicy: "PreferDualStack",
      },
      { clusterIPs: ["10.0.0.1", "fd00::1"], ipFamilies: ["IPv4"], ipFamilyPolicy: "PreferDualStack" },
    ],
  ];
  for (const [why, spec, want] of table) {
    const value = JSON.stringify({ kind: "Service", apiVersion: "v1", metadata: { name: "s", namespace: "n" }, spec });
    const { body } = json.decode(prefix, `${prefix}/n/s`, Buffer.from(value), 1);
    const read = (JSON.parse(Buffer.from(body).toString()) as { spec: Record<string, unknown> }).spec;
    t.strictSame(Object.fromEntries(Object.keys(want).map((name) => [name, read[name]])), want, why);
  }
  t.end();
});

t.test("decode() drops a resource version and reads any order of fields", (t) => {
  const value =
    '{ "metadata" : {"resourceVersion":"", "name":"a"}, "value": 5, "apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass"}';
  const prefix = "/registry/priorityclasses";
  const content = json.decode(prefix, `${prefix}/a`, Buffer.from(value), 3);
  t.equal(
    text(content),
    '{"kind":"PriorityClass","apiVersion":"scheduling.k8s.io/v1","metadata":{"name":"a","resourceVersion":"3",' +
      '"creationTimestamp":null},"value":5,"preemptionPolicy":"PreemptLowerPriority"}',
  );
  t.end();
});

t.test("decode() keeps all that a custom resource has, of any definition", (t) => {
  const prefix = "/registry/example.com/widgets";
  const value =
    '{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"annotations":{"resourceVersion":""},"labels":{"a":"b"},' +
    '"name":"w","namespace":"n","nonsense":1,"uid":"u"},"spec":{"resourceVersion":"","n":1.50,"z":null,"a":[]}}\n';
  const content = json.decode(prefix, `${prefix}/n/w`, Buffer.from(value), 12);
  t.equal(
    text(content),
    '{"kind":"Widget","apiVersion":"example.com/v1","metadata":{"name":"w","namespace":"n","uid":"u","resourceVersion":"12",' +
      '"creationTimestamp":null,"labels":{"a":"b"},"annotations":{"resourceVersion":""}},' +
      '"spec":{"a":[],"n":1.5,"resourceVersion":"","z":null}}',
  );
  const change = changeOf(prefix, `${prefix}/n/w`, content, 12);
  for (const values of [json, protobuf]) {
    t.strictSame(Buffer.from(values.encode(change)), change.body, "JSON, whatever the media type");
    const again = values.decode(prefix, `${prefix}/n/w`, values.encode(change), 12);
    t.equal(text(again), text(content));
    t.strictSame(selected(again), selected(content));
  }
  const cluster = value.replace('"namespace":"n",', "");
  t.equal(json.decode(prefix, `${prefix}/w`, Buffer.from(cluster), 1).versionAt > 0, true, "of the cluster");
  t.end();
});

/** Objects in which something else looks like an empty resource version of the object. */
const lookalikes: readonly string[] = [
  '"labels":{"resourceVersion":""}',
  '"annotations":{"a":"\\"resourceVersion\\":\\"\\"","resourceVersion":""}',
  '"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\\"metadata\\":{\\"resourceVersion\\":\\"\\"}}"}',
  '"managedFields":[{"manager":"m","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"resourceVersion":""}}}]',
];

t.test("decode() puts digits into the object's own metadata and nowhere else", (t) => {
  const prefix = "/registry/replicasets";
  const stored = storedKinds.find((kind) => kind.prefix === prefix);
  assert(stored !== undefined, "Replica sets are served");
  for (const meta of ['"generateName":"\\"resourceVersion\\":\\"\\","', ...lookalikes]) {
    for (const within of lookalikes) {
      const object = objectFrom<ApiObject>(
        stored.message,
        `{"kind":"ReplicaSet","apiVersion":"apps/v1","metadata":{"name":"a","namespace":"n",${meta}},` +
          `"spec":{"selector":{"matchLabels":{"resourceVersion":""}},"template":{"metadata":{"resourceVersion":"",${within}}}}}`,
      );
      const { body } = encodeForStore(stored.message, object);
      const { body: read, versionAt } = json.decode(prefix, `${prefix}/n/a`, body, 987_654);
      const shown = Buffer.from(read).toString();
      object.metadata.resourceVersion = "987654";
      t.equal(shown, encode(stored.message, object));
      t.equal(shown.slice(versionAt, versionAt + 7), '987654"');
    }
  }
  t.end();
});

t.test("decode() does not read what this server wrote, and a field of a later release survives", (t) => {
  const prefix = "/registry/configmaps";
  const body = Buffer.from(
    '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"é\\"","namespace":"n","resourceVersion":"","creationTimestamp":null,' +
      '"labels":{"a":"b"}},"data":{"a":"b"},"future":{"x":1}}',
  );
  const content = json.decode(prefix, `${prefix}/n/é"`, body, 31);
  t.equal(text(content), body.toString().replace('"resourceVersion":""', '"resourceVersion":"31"'));
  t.match(selected(content), { namespace: "n", name: 'é"', labels: [["a", "b"]] });
  t.end();
});

t.test("decode() reads claims as they were written, and leaves upstream's ranges to it", (t) => {
  const prefix = claimPrefixes.address;
  const body = Buffer.from(
    '{"kind":"Claim","apiVersion":"v1","metadata":{"resourceVersion":"","name":"10.0.0.1"},"namespace":"n","name":"s","uid":"u","sinceMs":"1"}',
  );
  const versionAt = body.indexOf('""') + 1;
  const key = `${prefix}/10.0.0.1`;
  const change = { prefix, key, expected: 0, type: 1, selection: Buffer.alloc(0), body, versionAt } as const;
  for (const values of [json, protobuf]) {
    t.equal(values.encode(change), body);
    const content = values.decode(prefix, key, body, 5);
    t.equal(text(content), body.toString().replace('""', '"5"'));
    t.match(selected(content), { namespace: "", name: "10.0.0.1", labels: [], fields: [] });
  }
  t.end();
});

t.test("decode() marks what is encrypted with an old key, of any kind", (t) => {
  const prefix = "/registry/example.com/widgets";
  const widget = Buffer.from('{"kind":"W","apiVersion":"example.com/v1","metadata":{"name":"w","resourceVersion":""}}');
  t.notOk(hasUnnamedField(json.decode(prefix, `${prefix}/w`, widget, 1).selection));
  t.ok(hasUnnamedField(json.decode(prefix, `${prefix}/w`, widget, 1, true).selection));
  const pod = json.encode(changeOf(pods, podKey, json.decode(pods, podKey, Buffer.from(goPod), 1), 1));
  t.notOk(hasUnnamedField(json.decode(pods, podKey, pod, 1).selection));
  t.ok(hasUnnamedField(json.decode(pods, podKey, pod, 1, true).selection));
  t.end();
});

t.test("decode() reads what is large whole", (t) => {
  const endpoints = "/registry/services/endpoints";
  const addresses = Array.from({ length: 1_100 }, (_, index) => ({ ip: `10.0.${index >> 8}.${index & 255}` }));
  const subsets = [{ addresses, ports: [{ port: 80 }] }];
  const metadata = { name: "a", namespace: "n" };
  const listed = { kind: "Endpoints", apiVersion: "v1", metadata, subsets };
  const read = json.decode(endpoints, `${endpoints}/n/a`, Buffer.from(JSON.stringify(listed)), 1);
  const [subset] = (JSON.parse(text(read)) as typeof listed).subsets;
  t.equal(subset?.addresses.length, 1_100, "writes are cut, what is stored is not");
  const maps = "/registry/configmaps";
  const data = Object.fromEntries(Array.from({ length: limits.bodyValuesMax + 1 }, (_, index) => [`k${index}`, ""]));
  const map = Buffer.from(JSON.stringify({ kind: "ConfigMap", apiVersion: "v1", metadata, data }));
  const content = json.decode(maps, `${maps}/n/a`, map, 1);
  const value = protobuf.encode(changeOf(maps, `${maps}/n/a`, content, 1));
  t.ok(text(json.decode(maps, `${maps}/n/a`, value, 1)) === text(content), "more values than a body may have");
  t.end();
});

t.test("decode() gives templates of pods both names of a service account, as upstream's types do", (t) => {
  const template = { spec: { containers: [], serviceAccountName: "sa", serviceAccount: "old" } };
  const table: [prefix: string, object: object][] = [
    ["/registry/podtemplates", { kind: "PodTemplate", apiVersion: "v1", template }],
    ["/registry/cronjobs", { kind: "CronJob", apiVersion: "batch/v1", spec: { jobTemplate: { spec: { template } } } }],
    ["/registry/jobs", { kind: "Job", apiVersion: "batch/v1", spec: { template } }],
  ];
  for (const [prefix, object] of table) {
    const value = Buffer.from(JSON.stringify({ ...object, metadata: { name: "a", namespace: "n" } }));
    t.match(text(json.decode(prefix, `${prefix}/n/a`, value, 1)), /"serviceAccountName":"sa","serviceAccount":"sa"/);
  }
  t.end();
});

t.test("decode() drops metadata of a custom resource that has another type, as upstream does", (t) => {
  const prefix = "/registry/a.b/ws";
  const value = '{"apiVersion":"a.b/v1","kind":"W","metadata":{"name":"w","labels":5,"annotations":{"a":"b"}},"x":1}';
  const { metadata } = JSON.parse(text(json.decode(prefix, `${prefix}/w`, Buffer.from(value), 1))) as ApiObject;
  t.notOk("labels" in metadata);
  t.strictSame(metadata.annotations as unknown, { a: "b" });
  t.end();
});

t.test("decode() takes a broken rule for a broken value, and broken shared state for neither", (t) => {
  const prefix = "/registry/services/specs";
  const value = Buffer.from(
    '{"kind":"Service","apiVersion":"v1","metadata":{"name":"s","namespace":"n"},"spec":{"clusterIP":"None"}}',
  );
  const failing = (failure: Error) =>
    new StoredValues({
      scheme,
      mediaType: "application/json",
      claims,
      cluster: {
        get family(): "IPv4" {
          throw failure;
        },
      },
    });
  const read = (failure: Error) => (): Content => failing(failure).decode(prefix, `${prefix}/n/s`, value, 1);
  t.throws(read(new AssertionFailure("x")), {
    name: "StoreError",
    message: `The value of ${prefix}/n/s is an object that breaks a rule of its type`,
  });
  t.throws(read(new SharedStateFailure("x")), { name: "SharedStateFailure" });
  t.throws(read(new TypeError("x")), { name: "TypeError" });
  t.end();
});

t.test("decode() marks what upstream would store otherwise, and bytes that are null", (t) => {
  const prefix = "/registry/secrets";
  const read = (value: string): Content => json.decode(prefix, `${prefix}/n/s`, Buffer.from(value), 1);
  const secret = (rest: string): string =>
    `{"kind":"Secret","apiVersion":"v1","metadata":{"name":"s","namespace":"n","creationTimestamp":null},${rest}}\n`;
  t.notOk(hasUnnamedField(read(secret('"data":{"a":"AA=="},"type":"Opaque"')).selection), "as upstream writes it");
  const stale = Buffer.from(secret('"data":{"a":"AA=="},"type":"Opaque"'));
  t.ok(hasUnnamedField(json.decode(prefix, `${prefix}/n/s`, stale, 1, true).selection), "encrypted with an old key");
  t.ok(hasUnnamedField(read(secret('"data":{"a":"AA=="}')).selection), "a default is missing");
  const empty = read(secret('"data":{"a":null},"type":"Opaque"'));
  t.ok(hasUnnamedField(empty.selection), "null");
  t.match(JSON.parse(text(empty)), { data: { a: "" } });
  t.end();
});

const secretText = "hunter2";
const broken: readonly (readonly [
  why: string,
  prefix: string,
  key: string,
  value: string | Uint8Array,
  reason: RegExp,
])[] = [
  ["encrypted", pods, podKey, `k8s:enc:aescbc:v1:key1:${secretText}`, /is encrypted; --encryption-provider-config/],
  ["no JSON", pods, podKey, `${secretText}{`, /is neither JSON nor protobuf/],
  ["cut off", pods, podKey, goPod.slice(0, 100).replace('"u"', `"${secretText}"`), /is neither JSON nor protobuf/],
  ["nothing", pods, podKey, "", /is neither JSON nor protobuf/],
  ["a list", pods, podKey, `["${secretText}"]`, /is JSON, but no object/],
  ["no type", pods, podKey, `{"metadata":{"name":"${secretText}"}}`, /is of no version of Pod that can be read/],
  ["a kind that is not known", pods, podKey, `{"kind":"${secretText}","apiVersion":"v1"}`, /is of no version of Pod/],
  ["another kind", pods, podKey, goPod.replace('"Pod"', '"Secret"'), /is a Secret of v1, and no Pod/],
  [
    "another type of a field",
    pods,
    podKey,
    goPod.replace('"nodeName":"n1"', `"nodeName":{"${secretText}":1}`),
    /is no Pod of v1$/,
  ],
  ["another name", pods, `${pods}/default/b`, goPod.replace('"a"', `"${secretText}"`), /is an object of another name$/],
  ["another namespace", pods, `${pods}/other/a`, goPod, /is an object of another namespace$/],
  [
    "another kind in a value of this server",
    "/registry/configmaps",
    "/registry/configmaps/n/a",
    `{"kind":"Secret","apiVersion":"v1","metadata":{"name":"a","namespace":"n","resourceVersion":""},"data":{"a":"${secretText}"}}`,
    /is no Secret of v1$|is a Secret of v1, and no ConfigMap$/,
  ],
  [
    "another name in a value of this server",
    pods,
    `${pods}/default/b`,
    json.encode(changeOf(pods, podKey, json.decode(pods, podKey, Buffer.from(goPod), 1), 1)),
    /is an object of another name$/,
  ],
  [
    "protobuf cut off",
    pods,
    podKey,
    Buffer.from("k8s\0\x0a\x09\x0a\x02v1\x12\x03Pod\x12\x40abc", "latin1"),
    /is no protobuf/,
  ],
  ["protobuf of no type", pods, podKey, Buffer.from("k8s\0\x12\x01\x08", "latin1"), /is of no version of Pod/],
  [
    "protobuf of another shape",
    pods,
    podKey,
    Buffer.from("k8s\0\x0a\x09\x0a\x02v1\x12\x03Pod\x12\x02\x08\x01", "latin1"),
    /is no Pod of v1$/,
  ],
  [
    "a custom resource of no kind",
    "/registry/a.b/ws",
    "/registry/a.b/ws/w",
    '{"kind":"","apiVersion":"a.b/v1","metadata":{"name":"w"}}',
    /is no object of the group a\.b$/,
  ],
  [
    "a custom resource of another group",
    "/registry/a.b/ws",
    "/registry/a.b/ws/w",
    '{"kind":"W","apiVersion":"c.d/v1","metadata":{"name":"w","resourceVersion":""}}',
    /is no object of the group a\.b$/,
  ],
  [
    "metadata that is none",
    "/registry/a.b/ws",
    "/registry/a.b/ws/w",
    `{"kind":"W","apiVersion":"a.b/v1","metadata":"${secretText}"}`,
    /is no object of a custom resource$/,
  ],
  ["no claim", claimPrefixes.port, `${claimPrefixes.port}/30000`, `{"a":"${secretText}"}`, /is no claim$/],
  ["nowhere", "/registry/nothing", "/registry/nothing/a", "{}", /is at no place of a kind$/],
];

for (const [why, prefix, key, value, reason] of broken) {
  t.test(`decode() names key and reason of a value that is ${why}, and nothing of it`, (t) => {
    try {
      json.decode(prefix, key, typeof value === "string" ? Buffer.from(value) : value, 1);
      t.fail("it is read");
    } catch (error) {
      assert(error instanceof StoreError, String(error));
      t.equal(error.kind, "corrupt");
      t.match(error.message, reason);
      t.ok(error.message.startsWith(`The value of ${key} `), error.message);
      t.notOk(error.message.includes(secretText), error.message);
      t.equal(error.cause, undefined);
    }
    t.end();
  });
}

t.test("decode() survives any bytes", (t) => {
  const { next, pick } = draws(run.seed);
  const good = [
    Buffer.from(goPod),
    Buffer.from(protobuf.encode(changeOf(pods, podKey, json.decode(pods, podKey, Buffer.from(goPod), 1), 1))),
    Buffer.from(json.encode(changeOf(pods, podKey, json.decode(pods, podKey, Buffer.from(goPod), 1), 1))),
  ];
  for (let round = 0; round < 3_000; round++) {
    const value = Buffer.from(pick(good));
    for (let change = 0; change <= next(3); change++) value[next(value.length)] = next(256);
    try {
      json.decode(pods, podKey, value.subarray(0, next(10) === 0 ? next(value.length) : value.length), 1);
    } catch (error) {
      assert(error instanceof StoreError, String(error));
      t.equal(error.kind, "corrupt");
    }
  }
  t.end();
});
