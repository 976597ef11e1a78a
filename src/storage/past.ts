// A page of the past on its way from the store thread to a front: one buffer with what is bytes, seven numbers per record.
//
//   bytes    per record: its selection, from a multiple of 4 on, and its body
//   numbers  revision, createRevision, where the selection begins, its bytes, where the body begins, its bytes, versionAt
import { assertShared } from "../base/assert.ts";
import { changeTypes, type PastPage, type Record } from "./store.ts";

const numbersPerRecord = 7;

/** A PastPage as threads exchange it. */
export interface PackedPage {
  /** Transferred. */
  readonly bytes: ArrayBuffer;
  /** Transferred. */
  readonly numbers: Float64Array<ArrayBuffer>;
  readonly keys: readonly string[];
  readonly remaining: number;
}

/** Copies a page. */
export function packPage({ records, remaining }: PastPage): PackedPage {
  const sizes = records.map(({ selection, body }) => ((selection.length + 3) & ~3) + ((body.length + 3) & ~3));
  const bytes = new Uint8Array(sizes.reduce((sum, size) => sum + size, 0));
  const numbers = new Float64Array(numbersPerRecord * records.length);
  let at = 0;
  records.forEach(({ revision, createRevision, selection, body, versionAt }, i) => {
    const bodyAt = at + ((selection.length + 3) & ~3);
    bytes.set(selection, at);
    bytes.set(body, bodyAt);
    const row = [revision, createRevision, at, selection.length, bodyAt, body.length, versionAt];
    numbers.set(row, numbersPerRecord * i);
    at += sizes[i] ?? 0;
  });
  return { bytes: bytes.buffer, numbers, keys: records.map(({ key }) => key), remaining };
}

/** The page; its records are slices of what came, selections 4-aligned. */
export function unpackPage({ bytes, numbers, keys, remaining }: PackedPage, prefix: string): PastPage {
  assertShared(
    numbers.length === numbersPerRecord * keys.length,
    `${numbers.length} numbers of ${keys.length} records`,
  );
  const records = keys.map((key, i): Record => {
    const row = numbers.subarray(numbersPerRecord * i, numbersPerRecord * (i + 1));
    const [revision = 0, createRevision = 0, selectionAt = 0, selectionBytes = 0, bodyAt = 0, bodyBytes = 0] = row;
    return {
      revision,
      createRevision,
      previous: 0,
      type: revision === createRevision ? changeTypes.create : changeTypes.update,
      prefix,
      key,
      selection: new Uint8Array(bytes, selectionAt, selectionBytes),
      body: new Uint8Array(bytes, bodyAt, bodyBytes),
      versionAt: row[6] ?? 0,
    };
  });
  return { records, remaining };
}
