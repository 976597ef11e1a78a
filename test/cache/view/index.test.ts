import t from "tap";
import { fromByteKey, type KeyEntry, KeyIndex, toByteKey } from "../../../src/cache/view/index.ts";
import { randomSource } from "../fixture.ts";

function keysAfter(index: KeyIndex, after: string): string[] {
  const keys: string[] = [];
  index.scan(after, (entry) => keys.push(entry.key) > 0);
  return keys;
}

t.test("KeyIndex yields keys in order, and counts them, while they come and go", (t) => {
  const random = randomSource(7);
  const index = new KeyIndex();
  const entries = new Map<string, KeyEntry>();
  const liveKeys = new Set<string>();
  for (let step = 0; step < 20_000; step++) {
    const key = `k${Math.floor(random() * 3000)}`;
    const entry = entries.get(key);
    if (entry === undefined) entries.set(key, index.enter(key));
    else if (random() < 0.4) {
      const live = random() < 0.7;
      t.equal(index.setLive(entry, live), live !== liveKeys.has(key));
      if (live) liveKeys.add(key);
      else liveKeys.delete(key);
    } else if (random() < 0.7) {
      liveKeys.delete(key);
      index.remove(entry);
      entries.delete(key);
    }
    // Between scans: of chunks that are in no order.
    if (step % 199 === 0) {
      const within = [...liveKeys].filter((each) => each > key && each < "k27");
      t.equal(index.countLive(key, "k27"), within.length, `live entries after ${key}, before a scan`);
    }
    if (step % 2000 !== 0) continue;
    const sorted = [...entries.keys()].sort();
    t.strictSame(keysAfter(index, ""), sorted);
    t.strictSame(
      keysAfter(index, key),
      sorted.filter((each) => each > key),
      "from a key that may be there or not",
    );
    t.equal(index.size, sorted.length);
    for (const [after, end] of [
      ["", ""],
      [key, ""],
      ["", key],
      ["k1", "k2"],
      [key, "k29"],
      ["k2", "k1"],
      ["z", ""],
    ] as const) {
      const within = [...liveKeys].filter((each) => each > after && (end === "" || each < end));
      t.equal(index.countLive(after, end), within.length, `live entries after ${after}, below ${end}`);
    }
  }
  for (const entry of entries.values()) index.remove(entry);
  t.strictSame(keysAfter(index, ""), []);
  index.enter("again");
  t.strictSame(keysAfter(index, ""), ["again"]);
  t.end();
});

t.test("KeyIndex.enter() copes with rising and falling keys", (t) => {
  for (const rising of [true, false]) {
    const index = new KeyIndex();
    const keys = Array.from({ length: 5000 }, (_, i) => String(i).padStart(6, "0"));
    for (const key of rising ? keys : keys.toReversed()) index.enter(key);
    t.strictSame(keysAfter(index, ""), keys);
    t.strictSame(keysAfter(index, "004000").length, 999);
    t.equal(index.enter("004000"), index.find("004000"), "a key is entered once");
    t.equal(index.size, keys.length);
  }
  t.end();
});

t.test("KeyIndex.scan() stops when told", (t) => {
  const index = new KeyIndex();
  for (let i = 0; i < 2000; i++) index.enter(String(i));
  let seen = 0;
  index.scan("", () => ++seen < 700);
  t.equal(seen, 700);
  t.end();
});

t.test("toByteKey() makes keys compare as their UTF-8 bytes do", (t) => {
  const texts = ["a", "a-b/x", "a/x", "ab/x", "z", "é", "\ud7ff", "\ue000", "\uffff", "𝄞", "a𝄞", "~"];
  const byKey = texts.toSorted((a, b) => (toByteKey(a) < toByteKey(b) ? -1 : 1));
  const byBytes = texts.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  t.strictSame(byKey, byBytes);
  t.not(texts.toSorted().join(), byBytes.join(), "which JavaScript's own order is not");
  for (const text of texts) t.equal(fromByteKey(toByteKey(text)), text);
  t.end();
});
