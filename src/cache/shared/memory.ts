// The memory of all logs: pairs of shared buffers in a few sizes, used again after every front released them. Shared
// buffers left to the garbage collectors of several threads accumulate to a multiple of the live ones, so nothing is
// left to them but the surplus.
import { assertShared, verify } from "../../base/assert.ts";
import { limits } from "../../config/limits.ts";
import { bytesOfMeta } from "./segment.ts";

/** The two buffers of a segment; `meta` is zeroed. */
export interface SegmentMemory {
  readonly sizeClass: number;
  readonly data: SharedArrayBuffer;
  readonly meta: SharedArrayBuffer;
}

/** Bytes of the two buffers, smallest first. Memory that is never written costs address space only. */
const sizeClasses: readonly { readonly dataBytes: number; readonly metaBytes: number }[] = [
  { dataBytes: 256 * 1024, metaBytes: 128 * 1024 },
  { dataBytes: 2048 * 1024, metaBytes: 1024 * 1024 },
  { dataBytes: 8192 * 1024, metaBytes: 4096 * 1024 },
];

/** A log takes the first class of at least this part of its size: logs start small and grow. */
const growthDivisor = 8;

/** Segments' memory, owned by the store thread. */
export class SegmentPool {
  readonly #free: SegmentMemory[][] = sizeClasses.map(() => []);
  /** Handed out and not given back. */
  readonly #taken = new Set<SegmentMemory>();
  /** Bytes waiting for reuse. */
  freeBytes = 0;
  /** Bytes handed out and not given back. */
  usedBytes = 0;

  /** Memory for the next segment of a log that holds `logBytes`, with room for a record of these sizes. */
  take(logBytes: number, frameBytes: number, selectionBytes: number): SegmentMemory {
    const last = sizeClasses.length - 1;
    let sizeClass = sizeClasses.findIndex(({ dataBytes }) => dataBytes * growthDivisor >= logBytes);
    if (sizeClass < 0) sizeClass = last;
    while (sizeClass < last && !holds(sizeClass, frameBytes, selectionBytes)) sizeClass++;
    assertShared(holds(sizeClass, frameBytes, selectionBytes), `A record of ${frameBytes} bytes exceeds every segment`);
    const recycled = this.#free[sizeClass]?.pop();
    const memory = recycled ?? allocate(sizeClass);
    this.#taken.add(memory);
    this.usedBytes += bytesOf(memory);
    if (recycled !== undefined) this.freeBytes -= bytesOf(memory);
    return memory;
  }

  /** Takes memory back. The caller zeroed the used part of `meta`, and no other thread can reach the buffers. */
  give(memory: SegmentMemory): void {
    const bytes = bytesOf(memory);
    assertShared(this.#taken.delete(memory), "The memory of a segment is given back twice");
    assertShared(bytes <= this.usedBytes, "More memory of segments is given back than was taken");
    verify(() => isZeroed(memory.meta), "The memory of a segment is given back with entries in it");
    this.usedBytes -= bytes;
    if (this.freeBytes + bytes > limits.poolBytesMax) return;
    this.freeBytes += bytes;
    this.#free[memory.sizeClass]?.push(memory);
  }
}

/** Bytes of both buffers. */
export function bytesOf(memory: SegmentMemory): number {
  return memory.data.byteLength + memory.meta.byteLength;
}

function isZeroed(meta: SharedArrayBuffer): boolean {
  return new Int32Array(meta).every((word) => word === 0);
}

function holds(sizeClass: number, frameBytes: number, selectionBytes: number): boolean {
  const size = sizeClasses[sizeClass];
  return size !== undefined && frameBytes <= size.dataBytes && bytesOfMeta(1, selectionBytes + 4) <= size.metaBytes;
}

function allocate(sizeClass: number): SegmentMemory {
  const size = sizeClasses[sizeClass];
  assertShared(size !== undefined, `There is no size class ${sizeClass}`);
  return {
    sizeClass,
    data: new SharedArrayBuffer(size.dataBytes),
    meta: new SharedArrayBuffer(size.metaBytes),
  };
}
