import t from "tap";
import {
  decodeSelection,
  encodeSelection,
  findField,
  findLabel,
  hasField,
  hasLabel,
  isName,
  isNamespace,
  isValue,
  keyBytesOf,
  keyEnd,
  keyStart,
  nameHash,
  namespaceHash,
  pairHashOf,
  selectionPair,
  selectionSource,
  selectionText,
  valueText,
} from "../../../src/cache/shared/selection.ts";

interface Case {
  readonly name: string;
  readonly namespace: string;
  readonly object: string;
  readonly labels: [string, string][];
  readonly fields: [string, string][];
}

const cases: readonly Case[] = [
  { name: "nothing but a name", namespace: "", object: "n", labels: [], fields: [] },
  { name: "a namespaced object", namespace: "default", object: "web-0", labels: [["app", "web"]], fields: [] },
  {
    name: "empty values, and values that run into one another",
    namespace: "a",
    object: "b",
    labels: [
      ["a", ""],
      ["", "a"],
      ["ab", "c"],
      ["a=b", "c"],
    ],
    fields: [
      ["spec.nodeName", ""],
      ["status.phase", "Running"],
    ],
  },
  {
    name: "keys that objects have by themselves",
    namespace: "constructor",
    object: "__proto__",
    labels: [
      ["__proto__", "constructor"],
      ["toString", "hasOwnProperty"],
    ],
    fields: [["__proto__", "x"]],
  },
  {
    name: "text beyond ASCII",
    namespace: "ns",
    object: "größe-€-𝄞",
    labels: [["schlüssel", "wert-ß"]],
    fields: [["f", "𝄞𝄞"]],
  },
  {
    name: "more than the scratch holds",
    namespace: "ns",
    object: "big",
    labels: Array.from({ length: 3000 }, (_, i): [string, string] => [`label-${i}`, `value-${i}`.repeat(4)]),
    fields: [["f", "v"]],
  },
];

/** The table at some multiple of 4 inside other memory, as in a segment. */
function embed(table: Uint8Array, at: number) {
  const bytes = new Uint8Array(new SharedArrayBuffer(at + table.length + 64)).fill(0xff);
  bytes.set(table, at);
  return { bytes, words: new Int32Array(bytes.buffer) };
}

for (const { name, namespace, object, labels, fields } of cases) {
  t.test(`encodeSelection() keeps what selectors look at: ${name}`, (t) => {
    const table = encodeSelection(namespace, object, new Map(labels), fields);
    t.equal(table.length % 4, 0, "the length is a multiple of 4");
    const key = namespace === "" ? object : `${namespace}/${object}`;
    t.equal(keyBytesOf(table), Buffer.byteLength(key), "the key's bytes are counted");
    for (const at of [0, 4, 128]) {
      const source = embed(table, at);
      t.strictSame(decodeSelection(source, at), { namespace, name: object, labels, fields }, "everything is there");
      t.equal(Buffer.from(source.bytes.slice(keyStart(source, at), keyEnd(source, at))).toString(), key);
      t.ok(isNamespace(source, at, selectionText(namespace)));
      t.ok(isName(source, at, selectionText(object)));
      t.notOk(isNamespace(source, at, selectionText(`${namespace}x`)));
      t.notOk(isName(source, at, selectionText(`${object}x`)));
      t.equal(namespaceHash(source, at), selectionText(namespace).hash);
      t.equal(nameHash(source, at), selectionText(object).hash);
    }
    t.end();
  });

  t.test(`hasLabel(), hasField() find exactly what is there: ${name}`, (t) => {
    const source = selectionSource(encodeSelection(namespace, object, new Map(labels), fields));
    const tests = [
      { pairs: labels, has: hasLabel, find: findLabel },
      { pairs: fields, has: hasField, find: findField },
    ];
    for (const { pairs, has, find } of tests) {
      for (const [key, value] of pairs) {
        if (!has(source, 0, selectionPair(key, value))) t.fail(`${key}=${value} is not found`);
        const entry = find(source, 0, selectionText(key));
        if (entry < 0) t.fail(`${key} is not found`);
        if (valueText(source, 0, entry) !== value) t.fail(`${key} has another value`);
        if (!isValue(source, 0, entry, Buffer.from(value))) t.fail(`${key} has other bytes`);
        if (pairHashOf(source, entry) !== selectionPair(key, value).hash) t.fail(`${key} has another hash`);
        if (has(source, 0, selectionPair(key, `${value}x`))) t.fail(`${key} has a value it does not have`);
        if (has(source, 0, selectionPair(`${key}x`, value))) t.fail(`a key that is not there has ${value}`);
      }
      t.equal(find(source, 0, selectionText("not there")), -1);
      t.notOk(has(source, 0, selectionPair("not there", "")));
    }
    t.end();
  });
}

t.test("hasLabel() is not misled by equal hashes", (t) => {
  // FNV-1a of these two is equal.
  const [one, other] = ["costarring", "liquid"];
  t.equal(selectionText(one).hash, selectionText(other).hash);
  const source = selectionSource(encodeSelection("", one, new Map([[one, one]]), [["f", one]]));
  t.equal(findLabel(source, 0, selectionText(other)), -1);
  t.notOk(isName(source, 0, selectionText(other)));
  t.ok(hasLabel(source, 0, selectionPair(one, one)));
  t.end();
});

t.test("keyBytesOf() refuses what is no table", (t) => {
  const table = encodeSelection("ns", "name", new Map([["a", "b"]]), []);
  const wrongLayout = table.slice();
  wrongLayout[28] = 9;
  const manyLabels = table.slice();
  manyLabels[2] = 0xff;
  const longName = table.slice();
  longName[20] = 0xff;
  const bad = [
    new Uint8Array(0),
    new Uint8Array(32),
    table.slice(0, 28),
    table.slice(1),
    wrongLayout,
    manyLabels,
    longName,
  ];
  for (const bytes of bad) t.equal(keyBytesOf(bytes), -1);
  t.end();
});
