// What encryption at rest costs the store thread: one value encrypted, one decrypted, by provider and bytes of the object.
// Expected: below 10 us for AES and 2 KiB, three times that for secretbox, which is JavaScript; nothing without a file.
// Run: node dist/perf/micro/encryption.js [rounds]. One line of JSON per case, ns of CPU time per operation: median, least
// and greatest. CPU time, because this machine is shared.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  configOf,
  KmsPlugin,
  keyOf,
  type ProviderItem,
  transformersOf,
} from "../../test/storage/encryption/fixture.ts";
import { change } from "../../test/support/changes.ts";

const rounds = Number(process.argv[2] ?? 7);
const count = 5_000;
const prefix = "/registry/secrets";
const key = `${prefix}/default/one`;
const keys = { keys: [keyOf("a", 1)] };

const directory = mkdtempSync(join(tmpdir(), "orch-perf-"));
const plugin = new KmsPlugin(join(directory, "plugin"), "v2");
await plugin.start();

const providers: readonly (readonly [name: string, provider?: ProviderItem])[] = [
  ["none"],
  ["identity", { identity: {} }],
  ["aescbc", { aescbc: keys }],
  ["aesgcm", { aesgcm: keys }],
  ["secretbox", { secretbox: keys }],
  ["kms v2", { kms: { apiVersion: "v2", name: "p", endpoint: `unix://${plugin.path}` } }],
];

async function measure(name: string, operation: () => unknown): Promise<void> {
  const ns: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    const start = process.cpuUsage();
    for (let n = 0; n < count; n++) await operation();
    const { user, system } = process.cpuUsage(start);
    // The first round compiles.
    if (round > 0) ns.push(((user + system) * 1000) / count);
  }
  ns.sort((a, b) => a - b);
  const [least = 0, median = 0, greatest = 0] = [ns[0], ns[rounds >> 1], ns.at(-1)].map((n) => Math.round(n ?? 0));
  console.log(JSON.stringify({ case: name, ns: median, least, greatest }));
}

for (const padding of [500, 2_000, 10_000]) {
  for (const [name, provider] of providers) {
    const transformers = await transformersOf(provider && configOf([["secrets"], provider]));
    const { body } = change("create", "x", 0, "", padding, prefix);
    const value = await transformers.seal(prefix, key, body);
    await measure(`seal/${name} ${padding}`, () => transformers.seal(prefix, key, body));
    await measure(`open/${name} ${padding}`, () => transformers.open(prefix, key, value));
    transformers.close();
  }
}
plugin.stop();
rmSync(directory, { recursive: true, force: true });
