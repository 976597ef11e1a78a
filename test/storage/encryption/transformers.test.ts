// Values as upstream stores them: known ones are opened, ours are of the same form, and nothing else passes for one.
// The vectors were made by Python's cryptography, from the descriptions at the heads of the files.
import { createDecipheriv } from "node:crypto";
import { xsalsa20poly1305 } from "@noble/ciphers/salsa.js";
import t from "tap";
import { exposition, Registry } from "../../../src/observe/metrics.ts";
import { EncryptionMeter } from "../../../src/storage/encryption/meter.ts";
import { TransformError, type Transformers } from "../../../src/storage/encryption/transformers.ts";
import { configOf, keyOf, type ProviderItem, transformersOf } from "./fixture.ts";

const prefix = "/registry/secrets";
const key = "/registry/secrets/default/one";
const plain = Buffer.from('{"kind":"Secret","data":{"a":"YQ=="}}');

const rising = (bytes: number): string => Buffer.from(Array.from({ length: bytes }, (_, i) => i)).toString("base64");
const ofSecrets = (...providers: ProviderItem[]): Promise<Transformers> =>
  transformersOf(configOf([["secrets"], ...providers]));
const aescbc = (...keys: { name: string; secret: string }[]): ProviderItem => ({ aescbc: { keys } });
const aesgcm = (...keys: { name: string; secret: string }[]): ProviderItem => ({ aesgcm: { keys } });
const secretbox = (...keys: { name: string; secret: string }[]): ProviderItem => ({ secretbox: { keys } });
const identity: ProviderItem = { identity: {} };

/** Sync ciphers give values, not promises. */
function text(opened: Awaited<ReturnType<Transformers["open"]>> | Promise<unknown>): string {
  if (opened instanceof Promise) throw new Error("A promise");
  return `${Buffer.from(opened.bytes).toString()} ${opened.stale ? "stale" : "fresh"}`;
}

function sealed(transformers: Transformers, at = key, bytes: Uint8Array = plain, below = prefix): Buffer {
  const made = transformers.seal(below, at, bytes);
  if (made instanceof Promise) throw new Error("A promise");
  return Buffer.from(made);
}

/** Known values by provider and length of the key 00 01 02 …, named k. */
const known: readonly (readonly [kind: "aescbc" | "aesgcm", keyBytes: number, base64: string])[] = [
  [
    "aescbc",
    16,
    "azhzOmVuYzphZXNjYmM6djE6azpkZWZnaGlqa2xtbm9wcXJzhNrmT282Qh0IKMij0gxPJ1UniAdp1TJ1e1N4M32kqGEaW9xRdcMxP1SgdgYtNTnT",
  ],
  [
    "aesgcm",
    16,
    "azhzOmVuYzphZXNnY206djE6azoyMzQ1Njc4OTo7PD3KHGSj0pZgUAtf9Gm6Ymha7CHacgCI8MS7JrmMrrtvpKeFbQs56RUFVNqrQNYi0q/vAztUZA==",
  ],
  [
    "aescbc",
    24,
    "azhzOmVuYzphZXNjYmM6djE6azpkZWZnaGlqa2xtbm9wcXJzUu/CbnZ/TYhSNp9l663GjKf7jN9rrb38QoWBP8njLc895Z+fsR5TOioRJbAeAfSW",
  ],
  [
    "aesgcm",
    24,
    "azhzOmVuYzphZXNnY206djE6azoyMzQ1Njc4OTo7PD0dK4xFsodPofHKDseg6qqL068nnp81vfSaGA07ymbKBYKvS8B842Z2E/SaKfy7NUq7ohCc8Q==",
  ],
  [
    "aescbc",
    32,
    "azhzOmVuYzphZXNjYmM6djE6azpkZWZnaGlqa2xtbm9wcXJzRCg6ioCkXLoplmtgpcW9q0t0gGTw/OqqZuhq1wEfzsbOYbUAQYILDaMhAzS/U+5b",
  ],
  [
    "aesgcm",
    32,
    "azhzOmVuYzphZXNnY206djE6azoyMzQ1Njc4OTo7PD29eYSpq1ij2U9Uj+UpiIvaSpF/4P0shdGqOGq6jRHCIx496DZqMccaFTXT+ARYId+Big9Ptg==",
  ],
];

t.test("open() reads known values of AES with keys of every length", async (t) => {
  for (const [kind, bytes, value] of known) {
    const transformers = await ofSecrets({ [kind]: { keys: [{ name: "k", secret: rising(bytes) }] } });
    t.equal(text(transformers.open(prefix, key, Buffer.from(value, "base64"))), `${plain} fresh`, `${kind} ${bytes}`);
  }
});

t.test("secretbox is NaCl's", async (t) => {
  // The first example of NaCl's own tests: key, nonce, message and box.
  const hex = (text: string): Buffer => Buffer.from(text, "hex");
  const nonce = hex("69696ee955b62b73cd62bda875fc73d68219e0036b7a0b37");
  const message = hex(
    "be075fc53c81f2d5cf141316ebeb0c7b5228c52a4c62cbd44b66849b64244ffce5ecbaaf33bd751a1ac728d45e6c61296cdc3c01233561f4" +
      "1db66cce314adb310e3be8250c46f06dceea3a7fa1348057e2f6556ad6b1318a024a838f21af1fde048977eb48f59ffd4924ca1c60902e52" +
      "f0a089bc76897040e082f937763848645e0705",
  );
  const box = hex(
    "f3ffc7703f9400e52a7dfb4b3d3305d98e993b9f48681273c29650ba32fc76ce48332ea7164d96a4476fb8c531a1186ac0dfc17c98dce87b" +
      "4da7f011ec48c97271d2c20f9b928fe2270d6fb863d51738b48eeee314a7cc8ab932164548e526ae90224368517acfeabd6bb3732bc0e9da" +
      "99832b61ca01b6de56244a9e88d5f9b37973f622a43d14a6599b1f654cb45a74e355a5",
  );
  const secret = hex("1b27556473e985d462cd51197a9a46c76009549eac6474f206c4ee0844f68389");
  const transformers = await ofSecrets(secretbox({ name: "box", secret: secret.toString("base64") }));
  const stored = Buffer.concat([Buffer.from("k8s:enc:secretbox:v1:box:"), nonce, box]);
  const opened = transformers.open(prefix, key, stored);
  t.ok(!(opened instanceof Promise) && message.equals(opened.bytes));
  const made = sealed(transformers);
  const rest = made.subarray("k8s:enc:secretbox:v1:box:".length);
  t.same(Buffer.from(xsalsa20poly1305(secret, rest.subarray(0, 24)).decrypt(rest.subarray(24))), plain);
});

t.test("seal() makes values of upstream's form, each with a nonce of its own", async (t) => {
  const secret = Buffer.from(rising(32), "base64");
  const cbc = await ofSecrets(aescbc({ name: "one", secret: rising(32) }), identity);
  const made = sealed(cbc);
  const head = "k8s:enc:aescbc:v1:one:";
  t.equal(made.toString("latin1", 0, head.length), head);
  t.equal(made.length, head.length + 16 + 48, "IV, and the text with its padding");
  const rest = made.subarray(head.length);
  const decipher = createDecipheriv("aes-256-cbc", secret, rest.subarray(0, 16));
  t.same(Buffer.concat([decipher.update(rest.subarray(16)), decipher.final()]), plain);
  t.notSame(sealed(cbc), made);

  const gcm = await ofSecrets(aesgcm({ name: "one", secret: rising(32) }));
  const box = sealed(gcm).subarray("k8s:enc:aesgcm:v1:one:".length);
  t.equal(box.length, 12 + plain.length + 16);
  const opener = createDecipheriv("aes-256-gcm", secret, box.subarray(0, 12));
  opener.setAAD(Buffer.from(key));
  opener.setAuthTag(box.subarray(-16));
  t.same(Buffer.concat([opener.update(box.subarray(12, -16)), opener.final()]), plain);
  t.throws(() => gcm.open(prefix, "/registry/secrets/default/two", sealed(gcm)), { name: "TransformError" }, "moved");
});

t.test("every value comes back, of every provider and length", async (t) => {
  for (const provider of [aescbc(keyOf("a", 1, 16)), aesgcm(keyOf("a", 1, 24)), secretbox(keyOf("a", 1))]) {
    const transformers = await ofSecrets(provider);
    for (let length = 1; length < 70; length++) {
      const bytes = Buffer.alloc(length, 0x7b);
      t.equal(text(transformers.open(prefix, key, sealed(transformers, key, bytes))), `${bytes} fresh`);
    }
  }
});

t.test(
  "the first key of the first provider encrypts, all decrypt, and what another one encrypted is stale",
  async (t) => {
    const providers = [aescbc(keyOf("a", 1), keyOf("b", 2)), aesgcm(keyOf("a", 3)), secretbox(keyOf("a", 4)), identity];
    const all = await ofSecrets(...providers);
    t.match(sealed(all).toString("latin1"), /^k8s:enc:aescbc:v1:a:/);
    t.equal(text(all.open(prefix, key, sealed(all))), `${plain} fresh`);
    const others = [aescbc(keyOf("b", 2)), ...providers.slice(1)];
    for (const other of others) {
      const value = sealed(await ofSecrets(other));
      t.equal(text(all.open(prefix, key, value)), `${plain} stale`, value.toString("latin1", 0, 20));
    }
    const away = await ofSecrets(identity, ...providers);
    t.same(sealed(away), plain, "identity first: stored as it is");
    t.equal(text(away.open(prefix, key, plain)), `${plain} fresh`);
    t.equal(text(away.open(prefix, key, sealed(all))), `${plain} stale`, "what is encrypted is not taken for plain");
  },
);

t.test("keys of one name are tried one after the other", async (t) => {
  for (const provider of ["aescbc", "aesgcm", "secretbox"] as const) {
    const both = await ofSecrets({ [provider]: { keys: [keyOf("k", 1)] } }, { [provider]: { keys: [keyOf("k", 2)] } });
    const former = await ofSecrets({ [provider]: { keys: [keyOf("k", 2)] } });
    // Of AES-CBC one of 256 values finds a valid padding with a wrong key, and one of 256 of those begins as JSON does.
    for (let i = 0; i < 2_000; i++) {
      const opened = text(both.open(prefix, key, sealed(former)));
      if (opened !== `${plain} stale`) t.fail(`${provider}: ${opened}`);
    }
  }
});

t.test("a value that no provider opens is refused, and nothing of it or of keys is said", async (t) => {
  const transformers = await ofSecrets(aescbc(keyOf("a", 1)), aesgcm(keyOf("g", 1)), secretbox(keyOf("s", 1)));
  const other = await ofSecrets(aescbc(keyOf("b", 1)));
  const value = (provider: ProviderItem): Promise<Buffer> => ofSecrets(provider).then((own) => sealed(own));
  const cut = (await value(aescbc(keyOf("a", 1)))).subarray(0, -1);
  const flipped = await value(secretbox(keyOf("s", 1)));
  flipped[flipped.length - 1] = (flipped.at(-1) ?? 0) ^ 1;
  const none = await transformersOf(undefined);
  const cases: readonly (readonly [Transformers, Buffer, RegExp])[] = [
    [
      transformers,
      plain,
      /one cannot be decrypted: it is not encrypted, and identity is not among the providers of secrets$/,
    ],
    [transformers, Buffer.alloc(0), /it is not encrypted/],
    [transformers, sealed(other), /it was encrypted as k8s:enc:aescbc:v1:b:, and secrets has no such provider$/],
    [none, sealed(other), /it was encrypted as k8s:enc:aescbc:v1:b:, and there is no --encryption-provider-config$/],
    [
      transformers,
      await value(aesgcm(keyOf("g", 2))),
      /as k8s:enc:aesgcm:v1:g: with another key of that name, or was altered \(/,
    ],
    [transformers, cut, /as k8s:enc:aescbc:v1:a: with another key of that name, or was altered \(/],
    [transformers, flipped, /as k8s:enc:secretbox:v1:s: with another/],
    [transformers, Buffer.from("k8s:enc:aescbc:v1:a:"), /it is too short/],
    [transformers, Buffer.from("k8s:enc:aesgcm:v1:g:123"), /it is too short/],
    [transformers, Buffer.from("k8s:enc:secretbox:v1:s:123"), /it is too short/],
    [transformers, Buffer.from("k8s:enc:x y z secret of someone"), /it was encrypted as k8s:enc:…, and/],
  ];
  for (const [own, bytes, message] of cases) {
    const error = t.throws(() => own.open(prefix, key, bytes), { name: "TransformError", message }) as Error;
    t.ok(error instanceof TransformError && !error.isPassing && error.key === key && error.operation === "open");
    t.notMatch(error.message, /YQ==|secret of someone|AQEB/);
    t.notMatch(error.message, /\n/);
  }
});

t.test("a resource has the providers of its own line, of its group's, or of all", async (t) => {
  const transformers = await transformersOf(
    configOf(
      [["secrets", "widgets.example.com"], aescbc(keyOf("own", 1))],
      [["*."], aescbc(keyOf("core", 1))],
      [["*.apps"], aescbc(keyOf("apps", 1))],
      [["*.*"], aescbc(keyOf("all", 1))],
    ),
  );
  const wanted = {
    "/registry/secrets": "own",
    "/registry/example.com/widgets": "own",
    "/registry/configmaps": "core",
    "/registry/apps/deployments": "apps",
    "/registry/example.com/others": "all",
    "/registry/batch/jobs": "all",
  };
  for (const [below, name] of Object.entries(wanted)) {
    t.equal(sealed(transformers, `${below}/x`, plain, below).toString("latin1").split(":")[4], name, below);
    t.ok(transformers.concerns(below));
  }
  const few = await ofSecrets(aescbc(keyOf("own", 1)));
  t.equal(few.seal("/registry/configmaps", "/registry/configmaps/x", plain), plain, "the same bytes");
  t.notOk(few.concerns("/registry/configmaps"));
  t.throws(
    () => few.open("/registry/configmaps", "/registry/configmaps/x", sealed(few)),
    /configmaps has no such provider/,
  );
});

t.test("a resource that is listed twice has the providers of both lines, as upstream", async (t) => {
  const transformers = await transformersOf(configOf([["secrets"], aescbc(keyOf("a", 1))], [["secrets"], identity]));
  t.equal(text(transformers.open(prefix, key, plain)), `${plain} stale`);
});

t.test("reload() goes over to another configuration, and tells what is stale", async (t) => {
  const a = aescbc(keyOf("a", 1));
  const b = aescbc(keyOf("b", 1), keyOf("a", 1));
  const below = ["/registry/secrets", "/registry/configmaps", "/registry/apps/deployments"];
  const transformers = await transformersOf(configOf([["secrets", "configmaps"], a]));
  const told: string[][] = [];
  transformers.onOutdated((isOutdated) => told.push(below.filter(isOutdated)));
  const value = sealed(transformers);
  t.equal(await transformers.reload(configOf([["secrets"], b], [["configmaps"], a, identity])), undefined);
  t.equal(
    await transformers.reload(configOf([["secrets"], b], [["configmaps"], a], [["*.apps"], identity])),
    undefined,
  );
  t.equal(await transformers.reload(configOf([["secrets"], b], [["*.apps"], a])), undefined);
  t.equal(await transformers.reload(configOf([["secrets"], aescbc(keyOf("b", 2))], [["*.apps"], a])), undefined);
  t.same(told, [[below[0]], [], [below[1], below[2]], [below[0]]]);
  t.equal(transformers.generation, 4);
  t.throws(() => transformers.open(prefix, key, value), /no such provider/, "the key that is gone");
});

t.test("values are counted by upstream's names", async (t) => {
  const registry = new Registry();
  const meter = new EncryptionMeter(registry);
  const config = configOf([["secrets"], aescbc(keyOf("a", 1)), identity]);
  const transformers = await transformersOf(config, { meter });
  const value = sealed(transformers);
  text(transformers.open(prefix, key, value));
  text(transformers.open(prefix, key, plain));
  sealed(transformers, "/registry/pods/x", plain, "/registry/pods");
  t.throws(() => transformers.open(prefix, key, Buffer.from("k8s:enc:aescbc:v1:z:")));
  t.throws(() => transformers.open(prefix, key, value.subarray(0, 40)));
  const shown = exposition([registry.snapshot()]);
  const line = (labels: string): string => `apiserver_storage_transformation_operations_total{${labels}} 1\n`;
  const aes = 'transformer_prefix="k8s:enc:aescbc:v1:"';
  t.match(shown, line(`status="OK",transformation_type="to_storage",${aes}`));
  t.match(shown, line(`status="OK",transformation_type="from_storage",${aes}`));
  t.match(shown, line(`status="unknown-non-grpc",transformation_type="from_storage",${aes}`));
  t.match(shown, line('status="OK",transformation_type="from_storage",transformer_prefix="identity"'));
  t.match(shown, line('status="unknown-non-grpc",transformation_type="from_storage",transformer_prefix="unknown"'));
  t.match(shown, 'apiserver_storage_transformation_duration_seconds_count{transformation_type="to_storage"} 1\n');
});
