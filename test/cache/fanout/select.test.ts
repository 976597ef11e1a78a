import fc from "fast-check";
import t from "tap";
import { matchesFields, matchesLabels, type Selector } from "../../../src/api/selector.ts";
import { compileTables, indexKindCount, indexTerms, RecordTerms } from "../../../src/cache/fanout/select.ts";
import { encodeSelection, selectionSource } from "../../../src/cache/shared/selection.ts";
import { selectorOf } from "../../support/fakefront.ts";

const words = fc.constantFrom("", "a", "b", "web", "5", "12", "x.y");
const keys = fc.constantFrom("a", "b", "n", "app.example/tier");
const labelTexts = fc.oneof(
  fc.tuple(keys, fc.constantFrom("=", "==", "!="), words).map((parts) => parts.join("")),
  fc
    .tuple(keys, fc.constantFrom("in", "notin"), fc.array(words, { minLength: 1, maxLength: 3 }))
    .map(([key, operator, values]) => `${key} ${operator} (${values.join(",")})`),
  keys,
  keys.map((key) => `!${key}`),
  fc.tuple(keys, fc.constantFrom(">", "<"), fc.integer({ min: 0, max: 20 })).map((parts) => parts.join("")),
);
const fieldTexts = fc
  .tuple(
    fc.constantFrom("spec.nodeName", "metadata.name", "metadata.namespace", "absent"),
    fc.constantFrom("=", "!="),
    words,
  )
  .map((parts) => parts.join(""));

t.test("compileTables() agrees with the selectors' meaning, and indexTerms() never hides a match", (t) => {
  const property = fc.property(
    fc.array(labelTexts, { maxLength: 8 }),
    fc.array(fieldTexts, { maxLength: 7 }),
    fc.constantFrom("", "a", "b"),
    fc.record({
      namespace: fc.constantFrom("a", "b", "web"),
      name: fc.constantFrom("a", "b", "web", "12"),
      labels: fc.dictionary(keys, words),
      node: words,
    }),
    (labelParts, fieldParts, namespace, object) => {
      const selector = selectorOf(labelParts.join(","), fieldParts.join(","));
      const labels = new Map(Object.entries(object.labels));
      const table = encodeSelection(object.namespace, object.name, labels, [["spec.nodeName", object.node]]);
      const source = selectionSource(table);
      const fields = new Map([
        ["spec.nodeName", object.node],
        ["metadata.name", object.name],
        ["metadata.namespace", object.namespace],
      ]);
      const inside = namespace === "" || namespace === object.namespace;
      const expected = inside && matchesLabels(selector.labels, labels) && matchesFields(selector.fields, fields);
      const match = compileTables(namespace, selector);
      t.equal(match === undefined || match(source, 0), expected);
      const terms = indexTerms(namespace, selector, 16);
      if (!expected || terms === undefined) return;
      const used = new Array<number>(indexKindCount).fill(0);
      used[terms.kind] = 1;
      const record = new RecordTerms();
      record.read(source, 0, used, false);
      t.ok(
        terms.keys.some((key) => record.keys.subarray(0, record.count).includes(key)),
        "a matching record leads to the group",
      );
    },
  );
  fc.assert(property, { numRuns: 2_000 });
  t.end();
});

t.test("compileTables() of nothing matches everything", (t) => {
  t.equal(compileTables("", selectorOf("", "")), undefined);
  t.end();
});

t.test("indexTerms() lists a group under what its selector requires", (t) => {
  const cases: readonly (readonly [
    namespace: string,
    labels: string,
    fields: string,
    kind: number | undefined,
    count: number,
  ])[] = [
    ["", "", "", undefined, 0],
    ["a", "", "", 0, 1],
    ["", "", "metadata.name=x", 1, 1],
    ["a", "app=b", "metadata.name=x", 4, 1],
    ["", "", "spec.nodeName=n1", 2, 1],
    ["a", "", "spec.nodeName=n1", 5, 1],
    ["", "app=b", "", 3, 1],
    ["", "app in (a,b,c)", "", 3, 3],
    ["a", "app=b", "", 6, 1],
    ["", "app!=b", "", undefined, 0],
    ["", "app", "", undefined, 0],
    ["", "", "spec.nodeName=", undefined, 0],
    ["", "", "metadata.namespace=a", 0, 1],
    ["", "", "metadata.namespace=a,metadata.name=x", 4, 1],
  ];
  for (const [namespace, labels, fields, kind, count] of cases) {
    const terms = indexTerms(namespace, selectorOf(labels, fields), 16);
    t.equal(terms?.kind, kind, `${namespace}|${labels}|${fields}`);
    t.equal(terms?.keys.length ?? 0, count);
  }
  t.end();
});

t.test("compileTables() judges a record by what it has, however many requirements there are", (t) => {
  const labels = new Map(Array.from({ length: 6 }, (_, index) => [`own${index}`, "x"]));
  const source = selectionSource(encodeSelection("a", "b", labels, [["spec.nodeName", "n"]]));
  const cost = (selector: Selector): number => {
    const match = compileTables("", selector);
    const start = process.cpuUsage();
    for (let round = 0; round < 20_000; round += 1) if (match?.(source, 0) !== true) throw new Error("No match");
    const { user, system } = process.cpuUsage(start);
    return user + system;
  };
  const many = (count: number): string[] => Array.from({ length: count }, (_, index) => `k${index}!=v`);
  const bounds = (count: number): string[] => Array.from({ length: count }, (_, index) => `own0!=v${index}`);
  const nodes = (count: number): string[] => Array.from({ length: count }, (_, index) => `spec.nodeName!=v${index}`);
  for (const [about, selector] of [
    ["labels it does not have", (count: number) => selectorOf(many(count).join(","), "")],
    ["one label", (count: number) => selectorOf(bounds(count).join(","), "")],
    ["one field", (count: number) => selectorOf("", nodes(count).join(","))],
  ] as const) {
    cost(selector(10));
    const [few, lots] = [cost(selector(10)), cost(selector(1_000))];
    t.ok(lots < 10 * few + 20_000, `${about}: 10 requirements ${few} us, 1,000 ${lots} us`);
  }
  t.end();
});

t.test("compileTables() finds each of thousands of values", (t) => {
  const values = Array.from({ length: 5_000 }, (_, i) => `v${i}`);
  const within = compileTables("", selectorOf(`app in (${values.join(",")})`, ""));
  for (const [value, expected] of [
    ["v0", true],
    ["v4999", true],
    ["v5000", false],
    ["", false],
  ] as const) {
    const table = selectionSource(encodeSelection("a", "b", new Map([["app", value]]), []));
    t.equal(within?.(table, 0), expected, value);
  }
  t.equal(within?.(selectionSource(encodeSelection("a", "b", new Map([["other", "v1"]]), [])), 0), false);
  t.end();
});
