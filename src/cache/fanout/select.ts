// Evaluates selectors against a record's selection side-table: hashes first, bytes where they agree, never JSON.
// A selector is compiled once per request or group. Its meaning is that of api/selector.ts, which tests hold it to.
// @hot
import { type FieldRequirement, type LabelRequirement, labelHolds, type Selector } from "../../api/selector.ts";
import type { Location } from "../shared/record.ts";
import {
  entryOf,
  fieldCountOf,
  findField,
  findLabel,
  hasField,
  hasLabel,
  isName,
  isNamespace,
  isValue,
  labelCountOf,
  nameHash,
  namespaceHash,
  pairHashOf,
  type SelectionSource,
  selectionPair,
  selectionText,
  valueText,
} from "../shared/selection.ts";
import type { RecordSource } from "../view/view.ts";
import { manyFields, manyLabels } from "./manyterms.ts";

/** A selector compiled for records: call it with a location of `view`. Undefined when everything matches. */
export type Match = (view: RecordSource, at: Location) => boolean;

/** A selector compiled for side-tables: `table` is the table's first byte in `source`. */
export type TableMatch = (source: SelectionSource, table: number) => boolean;

/** Compiles a selector for records. Undefined when everything matches. */
export function compileSelector(selector: Selector): Match | undefined {
  const match = compileTables("", selector);
  if (match === undefined) return undefined;
  return (view, at) => match(view.selectionSource(at), view.selectionAt(at));
}

/** Compiles a namespace (empty: all) and a selector for side-tables. Undefined when everything matches. */
export function compileTables(namespace: string, selector: Selector): TableMatch | undefined {
  const tests: TableMatch[] = [];
  if (namespace !== "") tests.push(namespaceTest(namespace));
  const { fields, labels } = selector;
  if (fields.length > singleTestsMax) tests.push(manyFields(fields));
  else for (const requirement of fields) tests.push(fieldTest(requirement));
  if (labels.length > singleTestsMax) tests.push(manyLabels(labels));
  else for (const requirement of labels) tests.push(labelTest(requirement));
  const [one, two] = tests;
  if (one === undefined || tests.length === 0) return undefined;
  if (two === undefined) return one;
  if (tests.length === 2) return (source, table) => one(source, table) && two(source, table);
  return (source, table) => {
    for (const test of tests) if (!test(source, table)) return false;
    return true;
  };
}

/** The cost of matching one object with a selector, in units of limits.initialRecordsMax. */
export function examinationCost({ labels, fields }: Selector): number {
  return 1 + labels.length + fields.length;
}

/** True when an object that matches once matches all its life: only its name and namespace are looked at. */
export function isStable(selector: Selector): boolean {
  return selector.labels.length === 0 && selector.fields.every(({ field }) => isKeyField(field));
}

function isKeyField(field: string): boolean {
  return field === "metadata.name" || field === "metadata.namespace";
}

/** Requirements of labels or fields that are tested one by one; more are merged (manyterms.ts). */
const singleTestsMax = 4;

function namespaceTest(namespace: string): TableMatch {
  const text = selectionText(namespace);
  return (source, table) => isNamespace(source, table, text);
}

function fieldTest({ field, operator, value }: FieldRequirement): TableMatch {
  const equal = fieldEquals(field, value);
  return operator === "=" ? equal : (source, table) => !equal(source, table);
}

function fieldEquals(field: string, value: string): TableMatch {
  const text = selectionText(value);
  if (field === "metadata.name") return (source, table) => isName(source, table, text);
  if (field === "metadata.namespace") return (source, table) => isNamespace(source, table, text);
  if (value !== "") {
    const pair = selectionPair(field, value);
    return (source, table) => hasField(source, table, pair);
  }
  // A field that is absent is empty.
  const key = selectionText(field);
  return (source, table) => {
    const entry = findField(source, table, key);
    return entry < 0 || isValue(source, table, entry, text.bytes);
  };
}

function labelTest(requirement: LabelRequirement): TableMatch {
  const { key, operator, values } = requirement;
  const text = selectionText(key);
  switch (operator) {
    case "=":
    case "in":
      return labelIn(key, values);
    case "!=":
    case "notin": {
      const within = labelIn(key, values);
      return (source, table) => !within(source, table);
    }
    case "exists":
      return (source, table) => findLabel(source, table, text) >= 0;
    case "!":
      return (source, table) => findLabel(source, table, text) < 0;
    case ">":
    case "<":
      return (source, table) => {
        const entry = findLabel(source, table, text);
        return entry >= 0 && labelHolds(requirement, valueText(source, table, entry));
      };
  }
}

function labelIn(key: string, values: readonly string[]): TableMatch {
  const [value] = values;
  if (values.length === 1 && value !== undefined) {
    const pair = selectionPair(key, value);
    return (source, table) => hasLabel(source, table, pair);
  }
  const text = selectionText(key);
  // By the hash an entry carries: a list of thousands costs a record no more than one of two.
  const byHash = new Map<number, Uint8Array[]>();
  for (const each of values) {
    const pair = selectionPair(key, each);
    const alike = byHash.get(pair.hash);
    if (alike === undefined) byHash.set(pair.hash, [pair.value]);
    else alike.push(pair.value);
  }
  return (source, table) => {
    const entry = findLabel(source, table, text);
    if (entry < 0) return false;
    const alike = byHash.get(pairHashOf(source, entry));
    if (alike === undefined) return false;
    for (const bytes of alike) if (isValue(source, table, entry, bytes)) return true;
    return false;
  };
}

// Finding groups by record. A selector that requires one value of one thing (a name, a field, a label) or one
// namespace is listed under a number made of those hashes; a record is looked up under the numbers of its name, labels
// and fields. A number that two things share costs a test, never an answer: the group's match decides.

/** Index terms of a group: the kind of number, and the numbers. */
export interface IndexTerms {
  readonly kind: number;
  readonly keys: readonly number[];
}

/** Kinds of index numbers, each with and without the namespace mixed in. */
export const indexKinds = {
  namespace: 0,
  name: 1,
  field: 2,
  label: 3,
  nameInNamespace: 4,
  fieldInNamespace: 5,
  labelInNamespace: 6,
} as const;

/** Number of index kinds. */
export const indexKindCount = 7;

/** Where a group of this namespace and selector is listed; undefined: its match must see every record. */
export function indexTerms(namespace: string, selector: Selector, termsMax: number): IndexTerms | undefined {
  const pinned = selector.fields.find(({ field, operator }) => field === "metadata.namespace" && operator === "=");
  const space = namespace === "" ? (pinned?.value ?? "") : namespace;
  const spaceHash = space === "" ? undefined : selectionText(space).hash;
  const inside = spaceHash === undefined ? 0 : 3;
  const name = selector.fields.find(({ field, operator }) => field === "metadata.name" && operator === "=");
  if (name !== undefined) {
    return { kind: indexKinds.name + inside, keys: [indexKey(spaceHash ?? 0, selectionText(name.value).hash)] };
  }
  const field = selector.fields.find((each) => each.operator === "=" && each.value !== "" && !isKeyField(each.field));
  if (field !== undefined) {
    const pair = selectionPair(field.field, field.value);
    return { kind: indexKinds.field + inside, keys: [indexKey(spaceHash ?? 0, pair.hash)] };
  }
  const label = selector.labels.find(
    ({ operator, values }) => (operator === "=" || operator === "in") && values.length <= termsMax,
  );
  if (label !== undefined) {
    const keys = label.values.map((value) => indexKey(spaceHash ?? 0, selectionPair(label.key, value).hash));
    return { kind: indexKinds.label + inside, keys: [...new Set(keys)] };
  }
  return spaceHash === undefined ? undefined : { kind: indexKinds.namespace, keys: [indexKey(spaceHash, 0)] };
}

/** The index numbers of a record, for the kinds in use. Reused for every record of a thread. */
export class RecordTerms {
  /** Numbers of the last read, the first `count` of them. */
  keys = new Int32Array(64);
  count = 0;

  /** Reads a record's numbers of the kinds whose `used` is above 0; `mutableOnly` leaves out name and namespace. */
  read(source: SelectionSource, table: number, used: readonly number[], mutableOnly: boolean): void {
    this.count = 0;
    const space = namespaceHash(source, table);
    if (!mutableOnly) {
      const name = nameHash(source, table);
      if (isUsed(used, indexKinds.namespace)) this.#add(indexKey(space, 0));
      if (isUsed(used, indexKinds.name)) this.#add(indexKey(0, name));
      if (isUsed(used, indexKinds.nameInNamespace)) this.#add(indexKey(space, name));
    }
    const labels = labelCountOf(source, table);
    this.#addEntries(source, table, 0, labels, space, used, indexKinds.label);
    this.#addEntries(source, table, labels, labels + fieldCountOf(source, table), space, used, indexKinds.field);
  }

  #addEntries(
    source: SelectionSource,
    table: number,
    from: number,
    end: number,
    space: number,
    used: readonly number[],
    kind: number,
  ): void {
    const anywhere = isUsed(used, kind);
    const inside = isUsed(used, kind + 3);
    if (!anywhere && !inside) return;
    for (let index = from; index < end; index += 1) {
      const hash = pairHashOf(source, entryOf(table, index));
      if (anywhere) this.#add(indexKey(0, hash));
      if (inside) this.#add(indexKey(space, hash));
    }
  }

  #add(key: number): void {
    if (this.count === this.keys.length) {
      const larger = new Int32Array(this.keys.length * 2);
      larger.set(this.keys);
      this.keys = larger;
    }
    this.keys[this.count++] = key;
  }
}

function isUsed(used: readonly number[], kind: number): boolean {
  return (used[kind] ?? 0) > 0;
}

function indexKey(space: number, term: number): number {
  return (Math.imul(space, 0x9e3779b1) ^ term) | 0;
}
