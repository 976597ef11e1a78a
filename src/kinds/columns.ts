// What columns of a Table are made of, and how the values most of them show are written. Which cell shows what is a
// fact of the protocol; the descriptions are ours.
import type { LoadBalancerStatus, PodTemplateSpec } from "../api/gen/core/v1.ts";
import type { LabelSelector } from "../api/gen/meta/v1.ts";
import type { ApiObject } from "../api/object.ts";
import { parseTime } from "../api/time.ts";
import type { ValueMap } from "../api/value.ts";
import { assert } from "../base/assert.ts";
import { type Parts, partsOf } from "../codec/engine/parts.ts";
import { compareBytes, sortedKeys } from "../codec/json/write.ts";

/** What stands in a cell, as it is written to JSON. */
export type Cell = string | number | bigint | boolean | null;

/** Column types of OpenAPI. */
export type ColumnType = "string" | "integer" | "number" | "boolean" | "date";

/** One column and how its cell is computed; `now` is the wall clock in milliseconds: only cells that change ask it. */
export interface Column<T> {
  readonly name: string;
  readonly type: ColumnType;
  /** `name` marks the column clients take an object's name from. */
  readonly format: string;
  readonly description: string;
  /** 1: shown in wide output only. */
  readonly priority: number;
  readonly cell: (object: T, now: () => number) => Cell;
}

/** A condition of a row: why clients may hide it. */
export interface RowCondition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

/** How a kind is shown as a Table: columns over the object at its stored version. */
export interface Columns<T = ApiObject> {
  readonly columns: readonly Column<T>[];
  readonly conditions?: (object: T) => readonly RowCondition[];
  /** Every event of a watch carries the definitions, not the first alone. */
  readonly repeatsHeaders?: boolean;
  /** All that cells and conditions read, which of large objects is little; undefined: they are given whole objects. */
  readonly reads?: Parts;
  /** The same over parts of the object's document, where they are all that cells read: the rest need not be read. */
  readonly overParts?: OverParts;
}

/** Columns over a document that has these parts of an object, and maybe no others. */
export interface OverParts {
  readonly parts: Parts;
  readonly columns: readonly Column<ValueMap>[];
}

/**
 * What cells read of objects of one kind: `metadata.labels` with all below it, of lists the same of each item, and
 * `spec.containers.` that there are so many. Name, version and time of creation need no mention.
 */
export function reads(...paths: readonly string[]): Parts {
  const all = ["metadata.name", "metadata.resourceVersion", "metadata.creationTimestamp", ...paths];
  const [whole, there] = [all.filter((path) => !path.endsWith(".")), all.filter((path) => path.endsWith("."))];
  const parts = partsOf(
    whole.map((path) => path.split(".")),
    there.map((path) => path.slice(0, -1).split(".")),
  );
  assert(parts !== undefined, "A path has a key");
  return parts;
}

/** What templateColumns() reads of a template at this path. */
export function templateReads(path: string): readonly string[] {
  return [`${path}.spec.containers.name`, `${path}.spec.containers.image`];
}

interface Look {
  readonly type?: ColumnType;
  readonly format?: string;
  readonly wide?: boolean;
}

/** A column of strings unless told otherwise. */
export function column<T>(
  name: string,
  description: string,
  cell: (object: T, now: () => number) => Cell,
  { type = "string", format = "", wide = false }: Look = {},
): Column<T> {
  return { name, type, format, description, priority: wide ? 1 : 0, cell };
}

/** Looks of columns: in wide output only; of truth values; of whole numbers. */
export const wide = { wide: true } as const;
export const boolean = { type: "boolean" } as const;
export const integer = { type: "integer" } as const;

/** The name, which most Tables begin with. */
export const nameColumn: Column<ApiObject> = column(
  "Name",
  "Name of the object, unique among objects of its kind in its namespace",
  ({ metadata }) => metadata.name ?? "",
  { format: "name" },
);

/** The time since an object was created. */
export const ageColumn: Column<ApiObject> = column(
  "Age",
  "Time since the server created the object",
  ({ metadata }, now) => since(metadata.creationTimestamp, now),
);

/** The columns of kinds that have none of their own. */
export const plainColumns: Columns = {
  columns: [
    nameColumn,
    column("Created At", "When the server created the object", ({ metadata }) => metadata.creationTimestamp ?? null, {
      type: "date",
    }),
  ],
};

/** What stands where nothing is. */
export const none = "<none>";
export const unset = "<unset>";
export const unknown = "<unknown>";

/** The time since a Time or MicroTime. */
export function since(time: string | undefined, now: () => number): string {
  const at = time === undefined ? undefined : parseTime(time);
  return at === undefined ? unknown : elapsed(now() - at);
}

/** A duration for people: two units at most, the smaller one only while it matters. */
export function elapsed(ms: number): string {
  const seconds = Math.trunc(ms / 1000);
  if (seconds < -1) return "<invalid>";
  if (seconds <= 0) return "0s";
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.trunc(seconds / 60);
  if (minutes < 10) return units(minutes, "m", seconds % 60, "s");
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.trunc(minutes / 60);
  if (hours < 8) return units(hours, "h", minutes % 60, "m");
  if (hours < 48) return `${hours}h`;
  const days = Math.trunc(hours / 24);
  if (days < 8) return units(days, "d", hours % 24, "h");
  if (days < 2 * 365) return `${days}d`;
  const years = Math.trunc(days / 365);
  return years < 8 ? units(years, "y", days % 365, "d") : `${years}y`;
}

function units(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large}${largeUnit}` : `${large}${largeUnit}${small}${smallUnit}`;
}

/** `a=1,b=2`; none when empty. */
export function labels(map: ReadonlyMap<string, string> | undefined): string {
  if (map === undefined || map.size === 0) return none;
  return sortedKeys(map)
    .map((key) => `${key}=${map.get(key) ?? ""}`)
    .join(",");
}

/** A label selector on one line; `empty` when it has no requirement. */
export function selector(requirements: LabelSelector | undefined, empty: string = none): string {
  const terms: [key: string, text: string][] = [];
  for (const [key, value] of requirements?.matchLabels ?? []) terms.push([key, `${key}=${value}`]);
  for (const { key, operator, values = [] } of requirements?.matchExpressions ?? []) {
    const list = values.toSorted(compareBytes).join(",");
    if (operator === "Exists") terms.push([key, key]);
    else if (operator === "DoesNotExist") terms.push([key, `!${key}`]);
    else terms.push([key, `${key} ${operator === "In" ? "in" : "notin"} (${list})`]);
  }
  if (terms.length === 0) return empty;
  return terms
    .sort(([a], [b]) => compareBytes(a, b))
    .map(([, text]) => text)
    .join(",");
}

/** The first three, and how many more of `count` there are. */
export function firstThree(list: readonly string[], empty: string, count = list.length): string {
  if (count === 0) return empty;
  const shown = list.slice(0, 3).join(",");
  return count > 3 ? `${shown} + ${count - 3} more...` : shown;
}

/** Names and images of the containers a template makes, shown in wide output. */
export function templateColumns<T>(templateOf: (object: T) => PodTemplateSpec | undefined, wide = true): Column<T>[] {
  const each = (object: T, part: "name" | "image"): string =>
    (templateOf(object)?.spec.containers ?? []).map((container) => container[part] ?? "").join(",");
  return [
    column("Containers", "Names of the containers in the pod template", (object) => each(object, "name"), { wide }),
    column("Images", "Images of the containers in the pod template", (object) => each(object, "image"), { wide }),
  ];
}

/** Addresses, or names, of load balancers: sorted, each once. */
export function balancerAddresses({ ingress }: LoadBalancerStatus): string[] {
  const all = (ingress ?? []).map(({ ip, hostname }) => ip || (hostname ?? ""));
  return [...new Set(all.filter((address) => address !== ""))].sort(compareBytes);
}
