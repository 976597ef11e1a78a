// Encryption at rest over the engines that keep their data themselves: they keep the contract, their files hold nothing of
// what is encrypted, and keys come and go.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { nextTurn } from "../../../src/base/turn.ts";
import { KmsFailure } from "../../../src/storage/encryption/kmsfailure.ts";
import { type Sealer, sealedStore } from "../../../src/storage/encryption/sealedstore.ts";
import { TransformError, type Transformers } from "../../../src/storage/encryption/transformers.ts";
import { openLmdb } from "../../../src/storage/lmdb/store.ts";
import { openMemory } from "../../../src/storage/memory/store.ts";
import type { Change, Record, Store } from "../../../src/storage/store.ts";
import { HandClock, storeContract } from "../../contract/store.ts";
import { change, readBody } from "../../support/changes.ts";
import { configOf, keyOf, type ProviderItem, transformersOf } from "./fixture.ts";

const root = mkdtempSync(join(tmpdir(), "orch-sealed-"));
t.teardown(() => rmSync(root, { recursive: true, force: true }));
let places = 0;
const place = (): string => join(root, `store-${places++}`);

const aes = (...names: string[]): ProviderItem => ({
  aescbc: { keys: names.map((name) => keyOf(name, name.charCodeAt(0))) },
});
const identity: ProviderItem = { identity: {} };
const ofSecrets = (...providers: ProviderItem[]): Promise<Transformers> =>
  transformersOf(configOf([["secrets"], ...providers]));

/** The same, with an answer in a later turn, as where a plugin is asked. */
function slow(transformers: Transformers): Sealer {
  return {
    generation: 0,
    concerns: (prefix) => transformers.concerns(prefix),
    seal: async (...args) => {
      await nextTurn();
      return transformers.seal(...args);
    },
    open: async (...args) => {
      await nextTurn();
      return transformers.open(...args);
    },
  };
}

const all = await transformersOf(configOf([["*.*"], { aesgcm: { keys: [keyOf("a", 1)] } }]));
for (const [name, open] of [
  ["lmdb", openLmdb],
  ["memory", openMemory],
] as const) {
  storeContract(t, { name: `encrypted ${name}`, place, open: (options) => sealedStore(open(options), all) });
  storeContract(t, {
    name: `slowly encrypted ${name}`,
    place,
    open: (options) => sealedStore(open(options), slow(all)),
  });
}

const prefix = "/registry/secrets";
const secret = (type: "create" | "update" | "delete", name: string, expected: number, value = ""): Change =>
  change(type, name, expected, value, 0, prefix);

function lmdbAt(path: string, sealer: Sealer, patience = { clock: new HandClock(), waitMsMax: 0 }): Store {
  return sealedStore(openLmdb({ path, identity: "orch", clock: new HandClock() }), sealer, patience);
}

async function recordsOf(store: Store): Promise<Record[]> {
  const records: Record[] = [];
  await store.replay((some) => records.push(...some));
  return records;
}

/** `revision name value` of each record, and whether it is stale. */
async function shown(store: Store): Promise<string[]> {
  return (await recordsOf(store)).map(({ revision, key, body, isStale }) => {
    const { version, value } = readBody(body);
    return `${revision} ${key.slice(prefix.length + 1)} ${version} ${value}${isStale === true ? " stale" : ""}`;
  });
}

/** Whether a text is in any file of a folder. */
function holds(path: string, text: string): boolean {
  return readdirSync(path).some((name) => readFileSync(join(path, name)).includes(text));
}

t.test("no file holds anything of what is encrypted, through updates, deletes and compaction", async (t) => {
  const canary = "correct horse battery staple";
  const write = async (sealer: Sealer): Promise<string> => {
    const path = place();
    const store = lmdbAt(path, sealer);
    const large = { ...secret("create", "large", 0, canary), ...change("create", "large", 0, canary, 9_000, prefix) };
    await store.commit([secret("create", "a", 0, canary), large, secret("create", "b", 0, canary)]);
    await store.commit([secret("update", "a", 1, `${canary} 2`), change("create", "plain", 0, "in the open")]);
    await store.commit([secret("delete", "b", 3, canary)]);
    const check = (when: string): void => {
      t.equal(holds(path, canary), sealer === none, when);
      t.ok(holds(path, "in the open"), "what is not encrypted is there");
    };
    check("open");
    while (!(await store.compact(store.revision)));
    check("compacted");
    await store.close();
    check("closed");
    return path;
  };
  const none = await transformersOf(undefined);
  await write(none);
  for (const provider of [aes("a"), { secretbox: { keys: [keyOf("a", 1)] } }]) {
    const sealer = await ofSecrets(provider);
    const store = lmdbAt(await write(sealer), sealer);
    t.same(
      (await recordsOf(store)).map(({ body }) => readBody(body).value),
      [canary, `${canary} 2`, "in the open"],
    );
    await store.close();
  }
});

t.test("watchers hear of a commit as it was made, and of what was committed before, in order", async (t) => {
  for (const sealer of [await ofSecrets(aes("a")), slow(await ofSecrets(aes("a")))]) {
    const path = place();
    const store = lmdbAt(path, sealer);
    const told: Record[] = [];
    await store.watch(0, (records) => told.push(...records));
    const one = secret("create", "a", 0, "1");
    await store.commit([one, secret("create", "b", 0, "2"), change("create", "c", 0, "3")]);
    t.same(
      told.map(({ body }) => readBody(body)),
      ["1", "2", "3"].map((value) => ({ version: value, value })),
    );
    t.same(await recordsOf(store), told);
    t.equal(told[0]?.versionAt, one.versionAt);
    await store.close();
    const again = lmdbAt(path, sealer);
    const late: Record[] = [];
    const watching = again.watch(1, (records) => late.push(...records));
    await again.commit([secret("update", "a", 1, "4")]);
    await watching;
    t.same(
      late.map(({ revision, body }) => [revision, readBody(body).value]),
      [
        [2, "2"],
        [3, "3"],
        [4, "4"],
      ],
    );
    await again.close();
  }
});

t.test(
  "what was stored plain is read by identity, and refused without it; what is stored otherwise now is stale",
  async (t) => {
    const path = place();
    const plain = lmdbAt(path, await transformersOf(undefined));
    await plain.commit([secret("create", "a", 0, "1")]);
    await plain.close();
    const both = lmdbAt(path, await ofSecrets(aes("a"), identity));
    t.same(await shown(both), ["1 a 1 1 stale"]);
    await both.commit([secret("create", "b", 0, "2")]);
    t.same(await shown(both), ["1 a 1 1 stale", "2 b 2 2"]);
    await both.close();
    const strict = lmdbAt(path, await ofSecrets(aes("a")));
    await t.rejects(recordsOf(strict), {
      name: "TransformError",
      message:
        "/registry/secrets/a cannot be decrypted: it is not encrypted, and identity is not among the providers of secrets",
    });
    await strict.close();
    const back = lmdbAt(path, await ofSecrets(identity, aes("a")));
    t.same(await shown(back), ["1 a 1 1", "2 b 2 2 stale"]);
    await back.close();
    const without = lmdbAt(path, await transformersOf(undefined));
    await t.rejects(recordsOf(without), {
      message:
        "/registry/secrets/b cannot be decrypted: it was encrypted as k8s:enc:aescbc:v1:a:, and there is no --encryption-provider-config",
    });
    await without.close();
  },
);

t.test("a key may go when no object needs it: history that it encrypted is dropped", async (t) => {
  const path = place();
  const first = lmdbAt(path, await ofSecrets(aes("a")));
  await first.commit([secret("create", "x", 0, "1"), secret("create", "y", 0, "2"), secret("create", "z", 0, "3")]);
  await first.commit([change("create", "plain", 0, "4"), secret("delete", "z", 3, "3")]);
  await first.close();
  const second = lmdbAt(path, await ofSecrets(aes("b", "a")));
  await second.commit([secret("update", "x", 1, "1"), change("update", "plain", 4, "5")]);
  t.same((await shown(second)).slice(0, 3), ["1 x 1 1 stale", "2 y 2 2 stale", "3 z 3 3 stale"]);
  await second.close();

  // One object needs it still.
  const early = lmdbAt(path, await ofSecrets(aes("b")));
  await t.rejects(recordsOf(early), {
    name: "TransformError",
    message:
      /^\/registry\/secrets\/y cannot be decrypted: it was encrypted as k8s:enc:aescbc:v1:a:, and secrets has no/,
  });
  t.equal(early.floor, 0, "nothing was dropped");
  await early.close();

  const third = lmdbAt(path, await ofSecrets(aes("b", "a")));
  await third.commit([secret("update", "y", 2, "2")]);
  await third.close();
  const late = lmdbAt(path, await ofSecrets(aes("b")));
  await t.rejects(recordsOf(late), { name: "StoreError", kind: "compacted" });
  t.equal(late.floor, 8, "what stands for the newest one that cannot be read");
  t.same(
    (await recordsOf(late)).map(({ revision, body }) => [revision, readBody(body).value]),
    [
      [6, "1"],
      [7, "5"],
      [8, "2"],
    ],
  );
  await late.close();
});

t.test("what cannot be encrypted is refused alone, and the order of the others stays", async (t) => {
  const sealer = slow(await ofSecrets(aes("a")));
  const fails: Sealer = {
    ...sealer,
    seal: (below, key, plain) => {
      if (!key.endsWith("/away")) return sealer.seal(below, key, plain);
      throw new TransformError(key, "seal", "the plugin is away", new KmsFailure("the plugin is away", "Unavailable"));
    },
  };
  const store = lmdbAt(place(), fails);
  const outcomes = await store.commit([
    secret("create", "away", 0),
    secret("create", "a", 0),
    secret("create", "away", 0),
    change("create", "b", 0),
    secret("update", "a", 7),
  ]);
  const refused = {
    refused: "not-encrypted",
    message: "/registry/secrets/away cannot be encrypted: the plugin is away",
  };
  t.same(outcomes, [refused, { revision: 1 }, refused, { revision: 2 }, { actual: 1 }]);
  await store.close();
});

t.test("a plugin that is away while a store is read is waited for, but not for ever", async (t) => {
  const path = place();
  const transformers = await ofSecrets(aes("a"));
  const store = lmdbAt(path, transformers);
  await store.commit([secret("create", "x", 0, "1"), secret("create", "y", 0, "2")]);
  await store.close();
  let failures = 3;
  const away: Sealer = {
    ...slow(transformers),
    open: (below, key, bytes) => {
      if (failures-- <= 0) return transformers.open(below, key, bytes);
      throw new TransformError(key, "open", "the plugin is away", new KmsFailure("the plugin is away", "Unavailable"));
    },
  };
  const patient = lmdbAt(path, away, { clock: new HandClock(), waitMsMax: 1 });
  t.same(await shown(patient), ["1 x 1 1", "2 y 2 2"]);
  failures = Number.POSITIVE_INFINITY;
  await patient.close();
  const impatient = lmdbAt(path, away);
  await t.rejects(recordsOf(impatient), { message: "/registry/secrets/x cannot be decrypted: the plugin is away" });
  await impatient.close();
});

t.test("what is encrypted while keys change is encrypted again", async (t) => {
  const transformers = await ofSecrets(aes("a"));
  let reloading: Promise<unknown> | undefined;
  let count = 0;
  const during: Sealer = {
    get generation() {
      return transformers.generation;
    },
    concerns: (below) => transformers.concerns(below),
    open: (...args) => transformers.open(...args),
    seal: async (...args) => {
      const sealed = await transformers.seal(...args);
      count += 1;
      reloading ??= transformers.reload(configOf([["secrets"], aes("b", "a")]));
      await reloading;
      return sealed;
    },
  };
  const path = place();
  const store = lmdbAt(path, during);
  await store.commit([secret("create", "x", 0, "1"), secret("create", "y", 0, "2")]);
  t.equal(count, 4);
  await store.close();
  const again = lmdbAt(path, await ofSecrets(aes("b", "a")));
  t.same(await shown(again), ["1 x 1 1", "2 y 2 2"]);
  await again.close();
});
