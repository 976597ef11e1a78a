// Envelopes of both versions against a plugin on a socket: known values, the calls they cost, plugins that are away, that
// hang, that lie, and keys that change.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import type { Clock } from "../../../src/base/clock.ts";
import { limits } from "../../../src/config/limits.ts";
import { exposition, Registry } from "../../../src/observe/metrics.ts";
import type { Opened } from "../../../src/storage/encryption/cipher.ts";
import type { KmsProvider } from "../../../src/storage/encryption/configuration.ts";
import { KmsV1Cipher } from "../../../src/storage/encryption/kmsv1.ts";
import { KmsV2Cipher } from "../../../src/storage/encryption/kmsv2.ts";
import { EncryptionMeter } from "../../../src/storage/encryption/meter.ts";
import { configOf, KmsPlugin, keyOf, type ProviderItem, transformersOf } from "./fixture.ts";

const root = mkdtempSync(join(tmpdir(), "orch-kms-"));
t.teardown(() => rmSync(root, { recursive: true, force: true }));
let sockets = 0;

const prefix = "/registry/secrets";
const key = "/registry/secrets/default/one";
const plain = Buffer.from('{"kind":"Secret","data":{"a":"YQ=="}}');

class HandClock implements Clock {
  ms = 1_000;
  now(): number {
    return this.ms;
  }
  monotonic(): number {
    return this.ms;
  }
}

async function pluginOf(t: Test, version: "v1beta1" | "v2", keyId = "key-1"): Promise<KmsPlugin> {
  const plugin = new KmsPlugin(join(root, `s${sockets++}`), version);
  plugin.keyIds = [keyId];
  await plugin.start();
  t.teardown(() => plugin.stop());
  return plugin;
}

const providerOf = ({ path }: KmsPlugin, version: "v1" | "v2", more: Partial<KmsProvider> = {}): KmsProvider => {
  return { kind: "kms", index: 0, version, name: "p", path, timeoutMs: 2_000, cacheMax: 1_000, ...more };
};

function v1Of(t: Test, plugin: KmsPlugin, more: Partial<KmsProvider> = {}, registry = new Registry()): KmsV1Cipher {
  const cipher = new KmsV1Cipher(providerOf(plugin, "v1", more), new EncryptionMeter(registry));
  t.teardown(() => cipher.close());
  return cipher;
}

function v2Of(t: Test, plugin: KmsPlugin, clock: Clock = new HandClock()): KmsV2Cipher {
  const cipher = new KmsV2Cipher(providerOf(plugin, "v2"), new EncryptionMeter(new Registry()), clock);
  t.teardown(() => cipher.close());
  return cipher;
}

const text = ({ bytes, stale }: Opened): string => `${Buffer.from(bytes)} ${stale ? "stale" : "fresh"}`;
/** What follows the prefix. */
const restOf = (value: Uint8Array, version: string): Buffer =>
  Buffer.from(value).subarray(`k8s:enc:kms:${version}:p:`.length);
const known = (base64: string, version: string): Buffer => restOf(Buffer.from(base64, "base64"), version);

t.test("v1: known values are read, as this release of upstream writes them and as later ones do", async (t) => {
  const cipher = v1Of(t, await pluginOf(t, "v1beta1", ""));
  const cbc =
    "azhzOmVuYzprbXM6djE6cDoAIFpbWFleX1xdUlNQUVZXVFVKS0hJTk9MTUJDQEFGR0RFZGVmZ2hpamtsbW5vcHFyc0QoOoqApFy6KZZrYKXFvatL" +
    "dIBk8PzqqmboatcBH87GzmG1AEGCCw2jIQM0v1PuWw==";
  const gcm =
    "azhzOmVuYzprbXM6djE6cDoAIFpbWFleX1xdUlNQUVZXVFVKS0hJTk9MTUJDQEFGR0RFMjM0NTY3ODk6Ozw9vXmEqatYo9lPVI/lKYiL2kqRf+D9" +
    "LIXRqjhquo0RwiMePeg2ajHHGhU10/gEWCHfgYoPT7Y=";
  t.equal(text(await cipher.open(key, known(cbc, "v1"))), `${plain} fresh`);
  t.equal(text(await cipher.open(key, known(gcm, "v1"))), `${plain} fresh`);
});

t.test("v1: values of a turn share a data key and a call; data keys are kept, and asked for once", async (t) => {
  const plugin = await pluginOf(t, "v1beta1");
  const registry = new Registry();
  const cipher = v1Of(t, plugin, {}, registry);
  const values = await Promise.all([1, 2, 3].map((n) => cipher.seal(`${key}${n}`, plain)));
  t.same(plugin.calls, ["Encrypt"]);
  const heads = values.map((value) => restOf(value, "v1").toString("hex", 0, 34));
  t.equal(new Set(heads).size, 1);
  t.match(heads[0], /^0020/, "the length of the encrypted data key");
  t.equal(new Set(values.map((value) => Buffer.from(value).toString("hex"))).size, 3, "each has its own IV");
  t.notSame(restOf(await cipher.seal(key, plain), "v1").toString("hex", 0, 34), heads[0], "the next turn has another");
  for (const value of values) {
    const opened = cipher.open(key, restOf(value, "v1"));
    t.ok(!(opened instanceof Promise) && plain.equals(opened.bytes), "at once");
  }
  plugin.calls.length = 0;
  const other = v1Of(t, plugin);
  const opened = await Promise.all(values.map((value) => other.open(key, restOf(value, "v1"))));
  t.same([opened.map(text), plugin.calls], [[1, 2, 3].map(() => `${plain} fresh`), ["Decrypt"]]);
  const shown = exposition([registry.snapshot()]);
  t.match(shown, "apiserver_storage_envelope_transformation_cache_misses_total 0\n");
  t.match(shown, "apiserver_storage_data_key_generation_duration_seconds_count 2\n");
  const call = 'grpc_status_code="OK",method_name="/v1beta1.KeyManagementService/Encrypt",provider_name="p"';
  t.match(shown, `apiserver_envelope_encryption_kms_operations_latency_seconds_count{${call}} 2\n`);
});

t.test("v1: without a cache each value asks the plugin", async (t) => {
  const plugin = await pluginOf(t, "v1beta1");
  const cipher = v1Of(t, plugin, { cacheMax: 0 });
  const value = restOf(await cipher.seal(key, plain), "v1");
  for (let i = 0; i < 2; i++) t.equal(text(await cipher.open(key, value)), `${plain} fresh`);
  t.same(plugin.calls, ["Encrypt", "Decrypt", "Decrypt"]);
});

t.test("v1: a bounded number of data keys is kept", async (t) => {
  const plugin = await pluginOf(t, "v1beta1");
  const cipher = v1Of(t, plugin, { cacheMax: 4 });
  const values: Buffer[] = [];
  for (let i = 0; i < 10; i++) values.push(restOf(await cipher.seal(key, plain), "v1"));
  plugin.calls.length = 0;
  for (const value of values) await cipher.open(key, value);
  t.ok(plugin.calls.length >= 6, `${plugin.calls.length} asked for again`);
});

t.test("v1: a plugin that does not answer costs one time limit, and not every change", async (t) => {
  const plugin = await pluginOf(t, "v1beta1");
  const cipher = v1Of(t, plugin, { timeoutMs: 300 });
  await cipher.probe.look();
  t.equal(cipher.probe.failure, undefined);
  plugin.hangs = true;
  const failure = {
    name: "KmsFailure",
    code: "DeadlineExceeded",
    message: /^KMS plugin "p": Encrypt: DeadlineExceeded: /,
  };
  await t.rejects(cipher.seal(key, plain), failure);
  const asked = plugin.calls.length;
  for (let i = 0; i < 100; i++) await t.rejects(cipher.seal(key, plain), failure);
  t.equal(plugin.calls.length, asked, "the plugin was not asked again");
  await cipher.probe.look();
  t.match(cipher.probe.failure, /Version: DeadlineExceeded/);
  plugin.hangs = false;
  await cipher.probe.look();
  t.equal(cipher.probe.failure, undefined);
  t.type(await cipher.seal(key, plain), Uint8Array);
});

t.test("v1: a plugin that refuses, lies, speaks another version, or goes and comes back", async (t) => {
  const plugin = await pluginOf(t, "v1beta1");
  const cipher = v1Of(t, plugin);
  plugin.fault = "no such\nkey";
  await t.rejects(cipher.seal(key, plain), {
    name: "KmsFailure",
    code: "Unknown",
    message: /: Unknown: no such key$/,
  });
  plugin.fault = undefined;
  plugin.version = "v9";
  await cipher.probe.look();
  t.match(cipher.probe.failure, 'Version: it speaks "v9", not v1beta1');
  plugin.version = "v1beta1";
  plugin.stop();
  await cipher.probe.look();
  t.match(cipher.probe.failure, /Unavailable/);
  await t.rejects(cipher.seal(key, plain), { code: "Unavailable" });
  await plugin.start();
  for (let i = 0; cipher.probe.failure !== undefined && i < 200; i++) {
    await cipher.probe.look();
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  t.equal(cipher.probe.failure, undefined);
  t.throws(() => cipher.open(key, Buffer.from([0])), /too short/);
  t.throws(() => cipher.open(key, Buffer.from([0, 0, 1, 2])), /too short/);
  t.throws(() => cipher.open(key, Buffer.from([0, 9, 1, 2])), /too short/);
});

t.test("v2: known values are read, of seeds and of single keys", async (t) => {
  const cipher = v2Of(t, await pluginOf(t, "v2"));
  await cipher.probe.look();
  const seed =
    "azhzOmVuYzprbXM6djI6cDoKYcjJysvMzc7P0NHS09TV1tfY2drb3N3e3+Dh4uPk5ebnMjM0NTY3ODk6Ozw9p0RNeqlANQKvRUOY2W2Hcr+W/9Wt" +
    "WhHufNON30AaKB6uekeIXEYFSsVywB0aF50GE3bukWkSBWtleS0xGiABAAMCBQQHBgkICwoNDA8OERATEhUUFxYZGBsaHRwfHiIYChN2ZXJzaW9u" +
    "LmV4YW1wbGUuY29tEgE3KAE=";
  const single =
    "azhzOmVuYzprbXM6djI6cDoKQTIzNDU2Nzg5Ojs8Pb15hKmrWKPZT1SP5SmIi9pKkX/g/SyF0ao4arqNEcIjHj3oNmoxxxoVNdP4BFgh34GKD0+2" +
    "EgVrZXktMRogAQADAgUEBwYJCAsKDQwPDhEQExIVFBcWGRgbGh0cHx4iGAoTdmVyc2lvbi5leGFtcGxlLmNvbRIBNw==" +
    "";
  t.equal(text(await cipher.open(key, known(seed, "v2"))), `${plain} fresh`);
  t.equal(
    text(await cipher.open(key, known(single, "v2"))),
    `${plain} stale`,
    "of earlier releases: would be a seed now",
  );
});

t.test("v2: a seed serves all values of a key, and is encrypted once", async (t) => {
  const plugin = await pluginOf(t, "v2");
  const cipher = v2Of(t, plugin);
  t.throws(() => cipher.seal(key, plain), { name: "KmsFailure", message: /it made no key yet/ });
  await cipher.probe.look();
  const values = Array.from({ length: 50 }, () => cipher.seal(key, plain));
  await cipher.probe.look();
  t.same(plugin.calls, ["Status", "Encrypt", "Status"]);
  t.equal(new Set(values.map((value) => Buffer.from(value).toString("hex"))).size, 50);
  for (const value of values) t.equal(text(await cipher.open(key, restOf(value, "v2"))), `${plain} fresh`);
  const [first = new Uint8Array()] = values;
  t.throws(() => cipher.open(`${key}2`, restOf(first, "v2")), Error, "under another key");
  const other = v2Of(t, plugin);
  await other.probe.look();
  plugin.calls.length = 0;
  await Promise.all(values.map((value) => other.open(key, restOf(value, "v2"))));
  t.same(plugin.calls, ["Decrypt"], "another server asks once");
});

t.test("v2: another key ID brings another seed, and what was encrypted before is stale", async (t) => {
  const plugin = await pluginOf(t, "v2");
  const cipher = v2Of(t, plugin);
  let rotated = 0;
  cipher.onRotated = () => {
    rotated += 1;
  };
  await cipher.probe.look();
  const before = restOf(cipher.seal(key, plain), "v2");
  plugin.keyIds = ["key-2", "key-1"];
  t.equal(text(await cipher.open(key, before)), `${plain} fresh`, "until the next look");
  await cipher.probe.look();
  t.equal(rotated, 1);
  t.equal(text(await cipher.open(key, before)), `${plain} stale`);
  t.equal(text(await cipher.open(key, restOf(cipher.seal(key, plain), "v2"))), `${plain} fresh`);
  await cipher.probe.look();
  t.equal(rotated, 1);
  // A server that reads before the plugin told it of its key learns later that what it read is stale.
  const late = v2Of(t, plugin);
  let told = 0;
  late.onRotated = () => {
    told += 1;
  };
  await late.open(key, before);
  await late.probe.look();
  t.equal(told, 1);
});

t.test(
  "v2: a seed is used for some minutes after its plugin was heard of, and then nothing is encrypted",
  async (t) => {
    const plugin = await pluginOf(t, "v2");
    const clock = new HandClock();
    const cipher = v2Of(t, plugin, clock);
    await cipher.probe.look();
    const value = restOf(cipher.seal(key, plain), "v2");
    plugin.health = "not well";
    clock.ms += limits.kmsSeedMsMax;
    await cipher.probe.look();
    t.match(cipher.probe.failure, 'Status: it is not well: "not well"');
    t.type(cipher.seal(key, plain), Uint8Array);
    clock.ms += 1;
    t.throws(() => cipher.seal(key, plain), { name: "KmsFailure", message: /its key is too old: .*not well/ });
    t.equal(text(await cipher.open(key, value)), `${plain} fresh`, "reads go on");
    plugin.health = "ok";
    await cipher.probe.look();
    t.type(cipher.seal(key, plain), Uint8Array);
    t.same(plugin.calls, ["Status", "Encrypt", "Status", "Status"], "with the same seed");
  },
);

t.test("v2: what a plugin must not do is refused", async (t) => {
  const plugin = await pluginOf(t, "v2");
  const cipher = v2Of(t, plugin);
  const fails = async (message: RegExp | string): Promise<void> => {
    await cipher.probe.look();
    t.match(cipher.probe.failure, message);
    t.throws(() => cipher.seal(key, plain), { name: "KmsFailure" });
  };
  plugin.version = "v3";
  await fails('Status: it speaks "v3", not v2');
  plugin.version = "v2";
  plugin.keyIds = [""];
  await fails("Status: it has no key ID");
  plugin.keyIds = ["k".repeat(1025)];
  await fails("Status: its key ID is too long");
  // Between Status and Encrypt the key changes.
  plugin.keyIds = ["key-1"];
  plugin.betweenCalls = () => {
    plugin.keyIds = ["key-2"];
  };
  await fails("Encrypt: another key ID than Status has");
  plugin.betweenCalls = undefined;
  await cipher.probe.look();
  t.equal(cipher.probe.failure, undefined);
  for (const rest of [[], [0x0a], [0x0a, 1, 1], [0x12, 1, 0x61, 0x1a, 1, 1], [8, 1]]) {
    t.throws(() => cipher.open(key, Buffer.from(rest)), Error, String(rest));
  }
});

t.test("what a plugin encrypted is stale where another provider comes first", async (t) => {
  const plugin = await pluginOf(t, "v1beta1");
  const kms: ProviderItem = { kms: { name: "p", endpoint: `unix://${plugin.path}`, cachesize: -1 } };
  const former = await transformersOf(configOf([["secrets"], kms]));
  const transformers = await transformersOf(configOf([["secrets"], { aescbc: { keys: [keyOf("k", 1)] } }, kms]));
  for (const one of [former, transformers]) t.teardown(() => one.close());
  const value = await former.seal(prefix, key, plain);
  t.equal(text(await former.open(prefix, key, value)), `${plain} fresh`);
  t.equal(text(await transformers.open(prefix, key, value)), `${plain} stale`);
});

t.test("transformers say which plugins fail, and take no configuration whose plugin does not answer", async (t) => {
  const plugin = await pluginOf(t, "v2");
  const gone = join(root, "nothing");
  const kms = (path: string, name: string): ProviderItem => ({
    kms: { apiVersion: "v2", name, endpoint: `unix://${path}`, timeout: "500ms" },
  });
  const transformers = await transformersOf(
    configOf([["secrets"], kms(plugin.path, "a"), kms(gone, "b"), { identity: {} }]),
  );
  t.teardown(() => transformers.close());
  t.same(transformers.failing, [false, true]);
  const value = await transformers.seal(prefix, key, plain);
  t.equal(text(await transformers.open(prefix, key, value)), `${plain} fresh`);
  const refused = await transformers.reload(configOf([["secrets"], kms(gone, "b")]));
  t.match(refused, /^KMS plugin "b": Status: Unavailable/);
  t.equal(text(await transformers.open(prefix, key, value)), `${plain} fresh`, "all is as it was");
  t.equal(await transformers.reload(configOf([["secrets"], kms(plugin.path, "a")])), undefined);
  t.same(transformers.failing, [false]);
  t.equal(text(await transformers.open(prefix, key, value)), `${plain} fresh`);
  const away = await transformersOf(configOf([["secrets"], kms(gone, "a"), { aescbc: { keys: [keyOf("k", 1)] } }]));
  t.teardown(() => away.close());
  t.throws(() => away.seal(prefix, key, plain), {
    name: "TransformError",
    isPassing: true,
    operation: "seal",
    message: /^\/registry\/secrets\/default\/one cannot be encrypted: KMS plugin "a": it made no key yet: /,
  });
  await t.rejects(async () => away.open(prefix, key, value), {
    name: "TransformError",
    isPassing: true,
    operation: "open",
  });
});
