// Reads a database file of etcd: the newest value of each key. Just enough of bbolt's pages for a file that is not written.
//
//   page     16 bytes: id (u64), flags (u16), count (u16), overflow pages (u32); then its elements
//   meta     after the page header: magic, version, page size, flags (u32 each), root page, sequence (u64), …, txid
//   branch   16 bytes per element: key at (u32), key bytes (u32), page (u64)
//   leaf     16 bytes per element: flags (u32), key at (u32), key bytes (u32), value bytes (u32); `at` from the element
//   bucket   value of a leaf with flag 1: root page, sequence (u64); page 0: the page follows inside the value
import { ReadMessage } from "../../../src/storage/encryption/kmscodec.ts";

const headBytes = 16;
const elementBytes = 16;
const metaMagic = 0xed0cdaed;
const branchFlag = 1;

/** A value in etcd. */
export interface StoredValue {
  readonly key: string;
  readonly value: Buffer;
  readonly revision: number;
}

/** The newest value of each key of a database that is not deleted, by key. */
export function readEtcd(file: Buffer): Map<string, StoredValue> {
  const pageBytes = metaOf(file, 0).pageBytes;
  const metas = [metaOf(file, 0), metaOf(file, pageBytes)].filter(({ magic }) => magic === metaMagic);
  const root = metas.reduce((one, other) => (other.txid > one.txid ? other : one)).root;
  const values = new Map<string, StoredValue>();
  const page = (id: number): Buffer => file.subarray(id * pageBytes);
  for (const [name, bucket] of leaves(page(root), page)) {
    if (name.toString() !== "key") continue;
    const own = Number(bucket.readBigUInt64LE(0));
    // In order of revision: the last one of a key is the newest.
    for (const [revision, bytes] of leaves(own === 0 ? bucket.subarray(headBytes) : page(own), page)) {
      const message = new ReadMessage(bytes);
      const key = message.text(1);
      // 17 bytes, and a t behind them for a delete.
      if (revision.length > 17) values.delete(key);
      else values.set(key, { key, value: message.bytes(5), revision: message.number(3) });
    }
  }
  return values;
}

function metaOf(file: Buffer, at: number) {
  const meta = at + headBytes;
  return {
    magic: file.readUInt32LE(meta),
    pageBytes: file.readUInt32LE(meta + 8),
    root: Number(file.readBigUInt64LE(meta + 16)),
    txid: file.readBigUInt64LE(meta + 48),
  };
}

function* leaves(bytes: Buffer, page: (id: number) => Buffer): Generator<[key: Buffer, value: Buffer]> {
  const isBranch = (bytes.readUInt16LE(8) & branchFlag) !== 0;
  for (let i = 0; i < bytes.readUInt16LE(10); i++) {
    const element = bytes.subarray(headBytes + i * elementBytes);
    if (isBranch) {
      yield* leaves(page(Number(element.readBigUInt64LE(8))), page);
      continue;
    }
    const at = element.readUInt32LE(4);
    const keyEnd = at + element.readUInt32LE(8);
    yield [element.subarray(at, keyEnd), element.subarray(keyEnd, keyEnd + element.readUInt32LE(12))];
  }
}
