import t from "tap";
import { encodeSelection, keyBytesOf, selectionSource } from "../../src/cache/shared/selection.ts";
import { packPage, unpackPage } from "../../src/storage/past.ts";
import { changeTypes, type PastPage } from "../../src/storage/store.ts";

t.test(
  "unpackPage() gives the records that were packed, with selections that can be read where they are",
  async (t) => {
    const names = ["a", "bcd", "é", "k".repeat(333)];
    const page: PastPage = {
      records: names.map((name, i) => ({
        revision: 2 ** 40 + i,
        createRevision: i % 2 === 0 ? 2 ** 40 + i : 7,
        previous: 0,
        type: i % 2 === 0 ? changeTypes.create : changeTypes.update,
        prefix: "/registry/pods",
        key: `/registry/pods/ns/${name}`,
        selection: encodeSelection("ns", name, undefined, []),
        body: Buffer.from(`{"name":"${name}"}`),
        versionAt: i,
      })),
      remaining: 12,
    };
    const packed = packPage(page);
    const { records, remaining } = unpackPage(structuredClone(packed), "/registry/pods");
    const plain = (record: (typeof records)[number]) => ({
      ...record,
      selection: Buffer.from(record.selection),
      body: Buffer.from(record.body),
    });
    t.same(records.map(plain), page.records.map(plain));
    t.equal(remaining, 12);
    for (const [i, { selection }] of records.entries()) {
      t.equal(keyBytesOf(selection), Buffer.byteLength(`ns/${names[i]}`));
      t.doesNotThrow(() => selectionSource(selection));
    }
    t.same(unpackPage(packPage({ records: [], remaining: 0 }), "/registry/pods"), { records: [], remaining: 0 });
    t.throws(() => unpackPage({ ...packed, keys: ["a"] }, "/registry/pods"), { name: "SharedStateFailure" });
  },
);
