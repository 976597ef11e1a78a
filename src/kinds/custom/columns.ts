// The columns of custom objects: what a definition lists, by paths into the object, and its name before them.
import type { CustomResourceColumnDefinition } from "../../api/gen/apiextensions/v1.ts";
import { parseTime } from "../../api/time.ts";
import { textAt, type Value, type ValueMap } from "../../api/value.ts";
import { partsOf } from "../../codec/engine/parts.ts";
import { type Cell, type Column, type Columns, type ColumnType, elapsed, nameColumn, unknown } from "../columns.ts";
import { compilePath, firstAt, type JsonPath, keysOf } from "./jsonpath.ts";
import { floatOf, floatText, integerOf, isNumber } from "./numbers.ts";
import { canonicalText } from "./texts.ts";

/** What is shown where a definition lists no columns. */
const standard: readonly CustomResourceColumnDefinition[] = [
  {
    name: "Age",
    type: "date",
    jsonPath: ".metadata.creationTimestamp",
    description: "Time since the server created the object",
  },
];

/**
 * The columns of a version. Cells read the generic document. A path without a meaning ends the list, as on upstream, which
 * takes such definitions and shows the columns before it.
 */
export function columnsOf(definitions: readonly CustomResourceColumnDefinition[] | undefined): Columns<ValueMap> {
  const read: (readonly string[])[] = [
    ["metadata", "name"],
    ["metadata", "resourceVersion"],
  ];
  const columns: Column<ValueMap>[] = [{ ...nameColumn, cell: (object) => textAt(object.get("metadata"), "name") }];
  const listed = definitions === undefined || definitions.length === 0 ? standard : definitions;
  for (const { name, type, format = "", description = "", priority = 0, jsonPath } of listed) {
    const path = compilePath(jsonPath);
    if (path === undefined) break;
    read.push(keysOf(path));
    columns.push({
      name,
      type: type as ColumnType,
      format,
      description:
        description === "" ? `Custom resource definition column (in JSONPath format): ${jsonPath}` : description,
      priority,
      cell: cellsOf(path, type),
    });
  }
  const parts = partsOf(read);
  return { columns, ...(parts && { overParts: { parts, columns } }) };
}

function cellsOf(path: JsonPath, type: string): Column<ValueMap>["cell"] {
  return (object, now) => {
    const value = firstAt(path, object);
    return value === undefined ? null : cellOf(value, type, now);
  };
}

/** A value as a cell of a type; null where it is of another one. */
function cellOf(value: Value, type: string, now: () => number): Cell {
  switch (type) {
    case "string":
      return textOf(value);
    case "integer":
      return isNumber(value) ? (integerOf(value) ?? wholeOf(floatOf(value))) : null;
    case "number":
      return isNumber(value) ? floatOf(value) : null;
    case "boolean":
      return typeof value === "boolean" ? value : null;
    case "date":
      return typeof value === "string" ? ageOf(value, now) : null;
    default:
      return null;
  }
}

function wholeOf(float: number): number | bigint {
  const whole = Math.trunc(float);
  return Number.isSafeInteger(whole) ? whole + 0 : BigInt(whole);
}

/** Objects and lists as JSON, scalars as they are. */
function textOf(value: Value): Cell {
  if (typeof value === "string") return value;
  if (value === null) return "<no value>";
  if (!isNumber(value)) return canonicalText(value, false);
  return String(integerOf(value) ?? floatText(floatOf(value)));
}

function ageOf(text: string, now: () => number): string {
  if (text === "" || text === "null") return unknown;
  const time = parseTime(text);
  return time === undefined ? "<invalid>" : elapsed(now() - time);
}
