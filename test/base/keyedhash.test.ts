import t from "tap";
import { KeyedHash } from "../../src/base/keyedhash.ts";
import { hashOfText } from "../../src/cache/shared/selection.ts";

t.test("of() depends on the key, on each character and on the length", async (t) => {
  const first = new KeyedHash(Uint32Array.of(1, 2));
  const texts = ["", "\0", "\0\0", "\0\0\0", "a", "a\0", "b", "ab", "ba", "abc", "abcd", "abcde", "\ud83d\ude00", "é"];
  t.equal(new Set(texts.map((text) => first.of(text))).size, texts.length);
  t.strictSame(
    texts.map((text) => first.of(text)),
    texts.map((text) => new KeyedHash(Uint32Array.of(1, 2)).of(text)),
  );
  for (const key of [Uint32Array.of(1, 3), Uint32Array.of(0x8000_0001, 2)])
    t.not(new KeyedHash(key).of("abc"), first.of("abc"));
  t.not(new KeyedHash().of("abc"), new KeyedHash().of("abc"), "a key of its own");
});

t.test("of() spreads names that differ little, and those that another hash takes for one", async (t) => {
  const hash = new KeyedHash();
  const buckets = new Int32Array(1 << 16);
  const count = 1 << 18;
  const values = new Set<number>();
  for (let index = 0; index < count; index++) {
    const value = hash.of(`/registry/configmaps/default/name-${index}`);
    values.add(value);
    buckets[value & 0xffff] = (buckets[value & 0xffff] as number) + 1;
  }
  // Four in each bucket, and eight pairs of one value.
  t.ok(Math.max(...buckets) < 24, `${Math.max(...buckets)} in one bucket`);
  t.ok(values.size > count - 40, `${count - values.size} have the value of another`);
  const byPlain = new Map<number, string[]>();
  for (let index = 0; index < 400_000; index++) {
    const name = `n${index.toString(36)}`;
    const plain = hashOfText(name) & 0xff_ffff;
    const same = byPlain.get(plain);
    if (same === undefined) byPlain.set(plain, [name]);
    else same.push(name);
  }
  const groups = [...byPlain.values()].filter((names) => names.length > 1);
  const agreeing = groups.filter(([one = "", other = ""]) => ((hash.of(one) ^ hash.of(other)) & 0xff_ffff) === 0);
  t.ok(groups.length > 1_000);
  t.ok(agreeing.length < 3, `${agreeing.length} of ${groups.length}`);
});
