// Parts of OpenAPI documents. A document is put together from parts that outlive it, so that a definition that changed
// costs its own part and no other. A part is kept as a piece of a deflate stream that ends on a byte and has no end of
// its own: pieces one after the other between the head and the trailer of gzip (RFC 1952) are the compressed document,
// and nothing has to be compressed again, nor kept in two forms. Clients that do not read gzip get pieces inflated.
import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { constants, deflateRaw, deflateRawSync, inflateRawSync } from "node:zlib";
import { assert } from "../../base/assert.ts";
import { copyOf } from "../../base/copy.ts";
import { crc32, crc32Joined } from "../../base/crc32.ts";
import { limits } from "../../config/limits.ts";
import { longWork } from "../../config/longwork.ts";
import type { SlowChunks } from "../answer/stream.ts";

/** What a part is written from: pieces of text or bytes; undefined only lets others work. */
export type Pieces = Iterable<string | Uint8Array | undefined>;

/** A part of a document. */
export interface Part {
  readonly bytes: number;
  readonly crc: number;
  /** SHA-256 of its bytes. */
  readonly digest: Uint8Array;
  readonly packedBytes: number;
  /** Its piece of a deflate stream; undefined: not kept. */
  packed: Uint8Array | undefined;
  /** Its bytes, where they are kept. */
  readonly raw: Uint8Array | undefined;
  /** Writes it again. */
  readonly pieces: () => Pieces;
}

const deflateElsewhere = promisify(deflateRaw);
/** Ends on a byte, and goes on. */
const open = { finishFlush: constants.Z_SYNC_FLUSH };
/** A fifth larger than the best, and four times as fast: parts of custom resources come and go. */
const fast = { ...open, level: constants.Z_BEST_SPEED };

/** Compresses a part: small ones here (a trip to another thread costs more), large ones elsewhere. */
async function deflate(raw: Uint8Array, isKept: boolean): Promise<Uint8Array> {
  const options = isKept ? open : fast;
  return raw.length > limits.openApiChunkBytes ? deflateElsewhere(raw, options) : deflateRawSync(raw, options);
}

/** Makes a part. `keepsRaw`: its bytes are kept, too, for clients that do not read gzip. */
export async function makePart(pieces: () => Pieces, keepsRaw = false): Promise<Part> {
  const raw = await written(pieces());
  const hash = createHash("sha256");
  let crc = 0;
  for (let at = 0; at < raw.length; at += limits.openApiChunkBytes) {
    await longWork.giveWay();
    const slice = raw.subarray(at, at + limits.openApiChunkBytes);
    hash.update(slice);
    crc = crc32(slice, crc);
  }
  const packed = await deflate(raw, keepsRaw);
  return {
    bytes: raw.length,
    crc,
    digest: hash.digest(),
    packedBytes: packed.length,
    packed: fitted(packed),
    raw: keepsRaw ? raw : undefined,
    pieces,
  };
}

/** The bytes alone: what zlib and Buffer give out may be the head of something larger. */
function fitted(bytes: Uint8Array): Uint8Array {
  return bytes.length === bytes.buffer.byteLength ? bytes : copyOf(bytes);
}

async function written(pieces: Pieces): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for (const piece of pieces) {
    if (piece !== undefined) parts.push(typeof piece === "string" ? Buffer.from(piece) : piece);
    await longWork.giveWay();
  }
  return parts.length === 1 ? (parts[0] as Uint8Array) : Buffer.concat(parts);
}

/** A part of few bytes, stored as they are. */
export function plainPart(content: string | Uint8Array): Part {
  const raw = Buffer.from(content);
  assert(raw.length < 0x10000, `A stored block holds 65535 bytes, not ${raw.length}`);
  const head = Buffer.alloc(5);
  head.writeUInt16LE(raw.length, 1);
  head.writeUInt16LE(~raw.length & 0xffff, 3);
  const packed = Buffer.concat([head, raw]);
  const digest = createHash("sha256").update(raw).digest();
  const pieces = () => [raw];
  return { bytes: raw.length, crc: crc32(raw), digest, packedBytes: packed.length, packed, raw, pieces };
}

/** A document that is ready to be sent. */
export interface Document {
  readonly parts: readonly Part[];
  readonly bytes: number;
  readonly packedBytes: number;
  /** Strong, quotes included: another one for other content, and for nothing else. */
  readonly etag: string;
  readonly trailer: Uint8Array;
}

/** No name, no time, no system. */
const gzipHead = Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255);

/** Puts a document together. */
export async function documentOf(parts: readonly Part[]): Promise<Document> {
  const hash = createHash("sha256");
  let bytes = 0;
  let packed = 0;
  let crc = 0;
  for (const part of parts) {
    hash.update(part.digest);
    crc = crc32Joined(crc, part.crc, part.bytes);
    bytes += part.bytes;
    packed += part.packedBytes;
    await longWork.giveWay();
  }
  // An empty last block, the sum and the length.
  const trailer = Buffer.from([3, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
  trailer.writeUInt32LE(crc, 2);
  trailer.writeUInt32LE(bytes % 2 ** 32, 6);
  const etag = `"${hash.digest("hex").toUpperCase()}"`;
  return { parts, bytes, packedBytes: gzipHead.length + packed + trailer.length, etag, trailer };
}

/** Room for compressed parts that are kept. */
export class Room {
  #left: number;

  constructor(bytes: number = limits.openApiBytesMax) {
    this.#left = bytes;
  }

  /** Keeps parts as long as there is room, and lets go of the rest; it is written again when it is sent. */
  keep(parts: readonly Part[]): void {
    for (const part of parts) {
      if (part.raw !== undefined) continue;
      this.#left -= part.packedBytes;
      if (this.#left < 0) part.packed = undefined;
    }
  }
}

/** A document chunk by chunk, gzipped or as it is. */
export class DocumentChunks implements SlowChunks {
  done = false;
  /** A part that was not kept cannot be written again: its definition has changed. */
  isGone = false;
  readonly #document: Document;
  readonly #packs: boolean;
  /** The next part. */
  #at = 0;
  /** What is left of the part before. */
  #rest: Uint8Array;

  constructor(document: Document, packs: boolean) {
    this.#document = document;
    this.#packs = packs;
    this.#rest = packs ? gzipHead : new Uint8Array();
  }

  async next(): Promise<Uint8Array> {
    const { parts, trailer } = this.#document;
    const chunk: Uint8Array[] = [];
    let room = limits.openApiChunkBytes;
    while (!this.done && room > 0) {
      const piece = this.#rest.subarray(0, room);
      this.#rest = this.#rest.subarray(piece.length);
      chunk.push(piece);
      room -= piece.length;
      if (this.#rest.length > 0) continue;
      const part = parts[this.#at];
      this.#at += 1;
      if (part !== undefined) {
        const bytes = this.#packs ? await packedOf(part) : await rawOf(part);
        if (bytes === undefined) {
          this.isGone = true;
          break;
        }
        this.#rest = bytes;
      } else if (this.#packs && this.#at === parts.length + 1) this.#rest = trailer;
      else this.done = true;
      await longWork.giveWay();
    }
    return Buffer.concat(chunk);
  }
}

/** Writes a part again; undefined: what it was written from has changed meanwhile. */
async function again(part: Part): Promise<Uint8Array | undefined> {
  const raw = await written(part.pieces());
  return raw.length === part.bytes && crc32(raw) === part.crc ? raw : undefined;
}

async function packedOf(part: Part): Promise<Uint8Array | undefined> {
  if (part.packed !== undefined) return part.packed;
  const raw = await again(part);
  return raw && deflate(raw, false);
}

async function rawOf(part: Part): Promise<Uint8Array | undefined> {
  if (part.raw !== undefined) return part.raw;
  return part.packed === undefined ? again(part) : inflateRawSync(part.packed, open);
}

/** All of a document at once: for small ones. Undefined: it is not to be had any more. */
export async function wholeOf(document: Document, packs: boolean): Promise<Uint8Array | undefined> {
  const chunks = new DocumentChunks(document, packs);
  const all: Uint8Array[] = [];
  while (!chunks.done && !chunks.isGone) all.push(await chunks.next());
  if (chunks.isGone) return undefined;
  return Buffer.concat(all);
}
