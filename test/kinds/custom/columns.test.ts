import t from "tap";
import type { Cell } from "../../../src/kinds/columns.ts";
import { columnsOf } from "../../../src/kinds/custom/columns.ts";
import { documentOf } from "./build.ts";

const now = Date.UTC(2026, 0, 2);
const full = documentOf(
  JSON.stringify({
    metadata: { name: "n", creationTimestamp: "2026-01-01T23:59:00Z", annotations: { "a.b/c": "found" } },
    spec: { int: 5, num: 2.5, str: "text", bool: true, when: "2025-12-31T00:00:00Z", list: ["a", "b", { k: 1 }] },
    status: { conditions: [{ type: "Other", status: "no" }, { type: "Ready", status: "True", n: 3 }, null] },
  }),
);

function cell(type: string, jsonPath: string, object = full): Cell | undefined {
  return columnsOf([{ name: "x", type, jsonPath }]).columns[1]?.cell(object, () => now);
}

t.test("columnsOf() shows values by the type of their column", (t) => {
  const rows: readonly (readonly [type: string, path: string, expected: Cell])[] = [
    ["integer", ".spec.int", 5],
    ["integer", ".spec.num", 2],
    ["integer", ".spec.str", null],
    ["number", ".spec.num", 2.5],
    ["number", ".spec.int", 5],
    ["boolean", ".spec.bool", true],
    ["boolean", ".spec.str", null],
    ["string", ".spec.str", "text"],
    ["string", ".spec.num", "2.5"],
    ["string", ".spec.bool", "true"],
    ["string", ".spec.list", '["a","b",{"k":1}]'],
    ["string", ".spec.none", null],
    ["date", ".spec.when", "2d"],
    ["date", ".metadata.creationTimestamp", "60s"],
    ["date", ".spec.str", "<invalid>"],
    ["date", ".spec.int", null],
  ];
  for (const [type, path, expected] of rows) t.equal(cell(type, path), expected, `${type} ${path}`);
  t.end();
});

t.test("columnsOf() reads paths as client-go does, and shows the first of several values", (t) => {
  const rows: readonly (readonly [path: string, expected: Cell])[] = [
    [".metadata.annotations.a\\.b/c", "found"],
    [".metadata.annotations['a\\.b/c']", "found"],
    // A key in brackets is read as a path, so that its dots need an escape there, too.
    [".metadata.annotations['a.b/c']", null],
    [".spec['str']", "text"],
    [".spec.list[0]", "a"],
    [".spec.list[-1]", '{"k":1}'],
    [".spec.list[1:]", "b"],
    [".spec.list[0:3:2]", "a"],
    [".spec.list[*]", "a"],
    [".spec.list[1,0]", "b"],
    [".spec.list[9]", null],
    [".spec.str[0]", null],
    ["..k", "1"],
    [".spec.*", "5"],
    ['.status.conditions[?(@.type=="Ready")].status', "True"],
    [".status.conditions[?(@.n>2)].type", "Ready"],
    [".status.conditions[?(@.n>2.5)].type", null],
    [".status.conditions[?(@.n)].type", "Ready"],
    [".status.conditions[?(@.type!='Other')].type", "Ready"],
    [".spec[?(@.a)]", null],
    [".spec.int.x", null],
  ];
  for (const [path, expected] of rows) t.equal(cell("string", path), expected, path);
  t.end();
});

t.test("a path without a meaning ends the list of columns", (t) => {
  for (const path of [".x[", ".x[a]", ".a[?(@.b", ".a[?(@.b)", ".a\n", "..a....b", ".a['b", ".a '\\q'", ".a !"]) {
    t.equal(cell("string", path), undefined, path);
  }
  const good = { name: "a", type: "string", jsonPath: ".a" };
  t.equal(columnsOf([good, { ...good, jsonPath: ".x[" }, good]).columns.length, 2);
  t.end();
});

t.test("columnsOf() tells what definitions say of columns", (t) => {
  const { columns } = columnsOf([
    { name: "A", type: "number", jsonPath: ".a" },
    { name: "B", type: "string", jsonPath: ".b", format: "byte", description: "the text", priority: 2 },
  ]);
  const shown = columns.map(({ name, type, format, description, priority }) => [
    name,
    type,
    format,
    description,
    priority,
  ]);
  t.match(shown, [
    ["Name", "string", "name", /./, 0],
    ["A", "number", "", "Custom resource definition column (in JSONPath format): .a", 0],
    ["B", "string", "byte", "the text", 2],
  ]);
  t.equal(
    columns[0]?.cell(full, () => now),
    "n",
  );
  for (const none of [undefined, []]) {
    const [, age] = columnsOf(none).columns;
    t.match(age, { name: "Age", type: "date" });
    t.equal(
      age?.cell(full, () => now),
      "60s",
    );
    t.equal(
      age?.cell(documentOf("{}"), () => now),
      null,
    );
  }
  t.end();
});
