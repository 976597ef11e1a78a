import fc from "fast-check";
import t from "tap";
import { SharedStateFailure } from "../../src/base/assert.ts";
import { emptySet, FieldSet, pathText, setOf } from "../../src/merge/fieldset.ts";
import { fromJson } from "../support/values.ts";

/** Reads FieldsV1 and writes it again. */
function check(text: string): string {
  const written = FieldSet.decode(fromJson(text), 20)?.encode() ?? "refused";
  // The short way reads the same, or nothing.
  const read = FieldSet.read(text, 20)?.encode() ?? written;
  return read === written ? written : `${read} and ${written}`;
}

t.test("FieldSet.decode() and encode() keep one canonical form", (t) => {
  const table: [text: string, expected: string][] = [
    ["{}", "{}"],
    ['{"f:a":{}}', '{"f:a":{}}'],
    ['{"f:b":{},"f:a":{"f:c":{}}}', '{"f:a":{"f:c":{}},"f:b":{}}'],
    ['{"f:a":{".":{},"f:c":{}}}', '{"f:a":{".":{},"f:c":{}}}'],
    ['{"f:a":{".":{}}}', '{"f:a":{}}'],
    ['{"k:{\\"b\\":1, \\"a\\":\\"x\\"}":{}}', '{"k:{\\"a\\":\\"x\\",\\"b\\":1}":{}}'],
    ['{"k:{\\"p\\":443}":{},"k:{\\"p\\":80}":{}}', '{"k:{\\"p\\":80}":{},"k:{\\"p\\":443}":{}}'],
    ['{"v:\\"b\\"":{},"v:\\"a\\"":{},"v:3":{}}', '{"v:3":{},"v:\\"a\\"":{},"v:\\"b\\"":{}}'],
    ['{"i:10":{},"i:9":{}}', '{"i:9":{},"i:10":{}}'],
    ['{"f:<&>":{}}', '{"f:\\u003c\\u0026\\u003e":{}}'],
    ['{"f:__proto__":{"f:constructor":{}}}', '{"f:__proto__":{"f:constructor":{}}}'],
    ['{"x:a":{}}', "refused"],
    ['{"f":{}}', "refused"],
    ['{"k:{":{}}', "refused"],
    ['{"k:[]":{}}', "refused"],
    ['{"v:":{}}', "refused"],
    ['{"i:x":{}}', "refused"],
    ['{"f:a":1}', "refused"],
    ["[]", "refused"],
    [`${'{"f:a":'.repeat(21)}{}${"}".repeat(21)}`, "refused"],
  ];
  for (const [text, expected] of table) t.equal(check(text), expected, text);
  t.equal(({} as { x?: number }).x, undefined);
  t.end();
});

t.test("FieldSet.read() reads what encode() writes of lists, without their documents", (t) => {
  const texts = [
    '{"f:a":{".":{},"k:{\\"name\\":\\"x\\"}":{".":{},"f:name":{}},"k:{\\"name\\":\\"y\\"}":{".":{},"f:name":{}}}}',
    '{"f:p":{"k:{\\"p\\":80,\\"q\\":\\"TCP\\"}":{"f:p":{}},"k:{\\"p\\":443,\\"q\\":\\"TCP\\"}":{"f:p":{},"f:q":{}}},"f:v":{"v:\\"z\\"":{}}}',
  ];
  for (const text of texts) {
    const set = FieldSet.read(text, 20);
    t.equal(set?.equals(FieldSet.decode(fromJson(text), 20) as FieldSet), true, text);
  }
  const many = setOf(...Array.from({ length: 5_000 }, (_, i) => ["f:env", `k:{"name":"N${i * 7919}"}`, "f:name"]));
  const text = many.encode();
  t.equal(FieldSet.read(text, 20)?.equals(many), true);
  t.equal(FieldSet.decode(fromJson(text), 20)?.encode(), text);
  t.equal(many.paths().length, 5_000);
  for (const refused of ["", "{}", '{"f:a":{}', '{"f:a":{}}}', '{"f:a":{},"f:a":{}}', '{"f:a":{"f:b":{"f:c":{}}}}']) {
    t.equal(FieldSet.read(refused, 2), undefined, refused);
  }
  t.end();
});

t.test("pathText() prints paths as conflicts show them", (t) => {
  t.equal(pathText(["f:spec", 'k:{"port":80,"protocol":"TCP"}', "f:name"]), '.spec[port=80,protocol="TCP"].name');
  t.equal(pathText(["f:finalizers", 'v:"a"']), '.finalizers[="a"]');
  t.equal(pathText(["f:x", "i:3"]), ".x[3]");
  t.end();
});

const path = fc.array(fc.constantFrom("f:a", "f:b", 'k:{"n":1}', 'v:"x"'), { minLength: 1, maxLength: 4 });
const paths = fc.array(path, { maxLength: 12 });

t.test("FieldSet works as a set of paths", (t) => {
  const keys = (list: string[][]): Set<string> => new Set(list.map((item) => item.join("/")));
  const same = (set: FieldSet, expected: Set<string>): boolean => {
    const found = keys(set.paths());
    return found.size === expected.size && [...found].every((key) => expected.has(key));
  };
  const startsIn = (key: string, set: Set<string>): boolean =>
    [...set].some((other) => key === other || key.startsWith(`${other}/`));
  fc.assert(
    fc.property(paths, paths, (left, right) => {
      const [a, b] = [setOf(...left), setOf(...right)];
      const [inA, inB] = [keys(left), keys(right)];
      const all = new Set([...inA, ...inB]);
      const only = (keep: (key: string) => boolean): Set<string> => new Set([...all].filter(keep));
      return (
        same(a, inA) &&
        same(a.union(b), all) &&
        same(
          a.intersection(b),
          only((key) => inA.has(key) && inB.has(key)),
        ) &&
        same(
          a.difference(b),
          only((key) => inA.has(key) && !inB.has(key)),
        ) &&
        same(
          a.differenceBelow(b),
          only((key) => inA.has(key) && !startsIn(key, inB)),
        ) &&
        a.equals(b) === (inA.size === inB.size && [...inA].every((key) => inB.has(key))) &&
        left.every((item) => a.has(item)) &&
        a.difference(a).isEmpty &&
        // Operands stay as they are.
        same(a, inA) &&
        same(b, inB) &&
        (FieldSet.decode(fromJson(a.encode()), 20)?.equals(a) ?? false)
      );
    }),
    { numRuns: 1_000, seed: 20 },
  );
  t.end();
});

t.test("FieldSet.insert() changes no set that requests share", (t) => {
  const encoded = setOf(["f:spec", "f:replicas"]);
  encoded.encode();
  const changed = new SharedStateFailure("A set of fields is changed after it was encoded");
  t.throws(() => encoded.insert(["f:metadata"]), changed);
  t.throws(() => encoded.insert(["f:spec", "f:paused"]), changed, "parts were encoded with it");
  t.throws(() => encoded.graft(["f:status"], setOf(["f:phase"])), changed);
  t.throws(() => encoded.join("f:status", true, undefined), changed);
  t.throws(() => emptySet.insert(["f:spec"]), new SharedStateFailure("The empty set of fields is changed"));
  t.equal(encoded.encode(), '{"f:spec":{"f:replicas":{}}}');
  t.end();
});
