// The file etcd keeps its data in, read without etcd: pages of bbolt, whose bucket `key` holds every revision of every key.
//
//   page   id u64 │ flags u16 (1: branch, 2: leaf, 4: meta) │ count u16 │ overflow u32 │ elements, their bytes behind them
//   meta   magic u32 │ version u32 │ page size u32 │ flags u32 │ root page u64 │ …, transaction u64 at byte 48
//   branch position u32 │ key bytes u32 │ page u64            leaf   flags u32 (1: bucket) │ position │ key bytes │ value bytes
import { readFileSync } from "node:fs";
import { ProtoReader } from "../../../src/codec/proto/protoreader.ts";

/** A key as it stands in the newest state of a file. */
export interface KeptValue {
  readonly key: string;
  readonly createRevision: number;
  readonly modRevision: number;
  readonly value: Buffer;
}

const headBytes = 16;
const elementBytes = 16;

/** The newest state of an etcd data file, by key. */
export function readBoltFile(path: string): Map<string, KeptValue> {
  const file = readFileSync(path);
  const pageBytes = file.readUInt32LE(headBytes + 8);
  const metas = [0, pageBytes].map((at) => ({
    root: Number(file.readBigUInt64LE(at + headBytes + 16)),
    transaction: file.readBigUInt64LE(at + headBytes + 48),
  }));
  const [newest] = metas.sort((a, b) => (a.transaction < b.transaction ? 1 : -1));
  const state = new Map<string, KeptValue>();
  for (const [name, bucket] of leaves(file, pageBytes, newest?.root ?? 0)) {
    if (name.toString() !== "key") continue;
    const revisions = leaves(file, pageBytes, Number(bucket.readBigUInt64LE(0)));
    for (const [revision, bytes] of revisions) {
      const kept = readKeptValue(bytes);
      // A revision is two numbers of eight bytes with an underscore between, and a `t` behind that of a delete.
      if (revision.length > 17) state.delete(kept.key);
      else state.set(kept.key, kept);
    }
  }
  return state;
}

function* leaves(file: Buffer, pageBytes: number, page: number): Generator<[key: Buffer, value: Buffer]> {
  const start = page * pageBytes;
  const isBranch = (file.readUInt16LE(start + 8) & 1) === 1;
  const count = file.readUInt16LE(start + 10);
  for (let index = 0; index < count; index++) {
    const at = start + headBytes + index * elementBytes;
    if (isBranch) {
      yield* leaves(file, pageBytes, Number(file.readBigUInt64LE(at + 8)));
      continue;
    }
    const key = at + file.readUInt32LE(at + 4);
    const value = key + file.readUInt32LE(at + 8);
    yield [file.subarray(key, value), file.subarray(value, value + file.readUInt32LE(at + 12))];
  }
}

/** key (1), create_revision (2), mod_revision (3), version (4), value (5), lease (6). */
function readKeptValue(bytes: Buffer): KeptValue {
  const reader = new ProtoReader(bytes);
  const end = bytes.length;
  const kept = { key: "", createRevision: 0, modRevision: 0, value: Buffer.alloc(0) as Buffer };
  while (reader.at < end) {
    const tag = reader.varint(end);
    if (tag === 10) kept.key = reader.text(reader.span(end));
    else if (tag === 16) kept.createRevision = reader.varint(end);
    else if (tag === 24) kept.modRevision = reader.varint(end);
    else if (tag === 42) kept.value = reader.slice(reader.span(end));
    else reader.skip(tag % 8, end);
  }
  return kept;
}
