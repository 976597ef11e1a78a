// Every word that threads share without a message: where it is, its unit, and the one thread that writes it.
// Each slot has a cache line (64 bytes) of its own, so that writers of one do not slow readers of another.
// @hot
//
//   slot 0          committed revision (i64) · wake (i32) · logs (i32)
//   slot 1 + log    doorbell (i32) · floor (i64) · stale (i64)
//
// In a segment's meta buffer the first word of each 64-byte entry is shared in the same way: segment.ts.
//
// Why the order suffices: all of these are read and written with Atomics, which are sequentially consistent. The store
// thread writes a record, its entry, the entry's type word, then the log's doorbell, then the committed revision, then
// wake. A reader of the committed revision R that then reads a log's doorbell and type words sees every record at or
// below R, perhaps some above it, which are left for the next look. A floor is written before the doorbell that
// announces it.
import { endianness } from "node:os";
import { assertShared } from "../../base/assert.ts";
import { limits } from "../../config/limits.ts";

// Byte offsets within a slot.
const committedByte = 0;
const wakeByte = 8;
const logsByte = 12;
const doorbellByte = 0;
const floorByte = 8;
const staleByte = 16;
const slotBytes = 64;
const controlBytes = slotBytes * (1 + limits.logCountMax);

// Segments, selection tables and this buffer hold little-endian numbers that are read through typed arrays.
assertShared(endianness() === "LE", "orch runs on little-endian machines only");

/** The control buffer: one per server, shared by the store thread (the only writer) and all fronts. */
export class ControlWords {
  readonly buffer: SharedArrayBuffer;
  readonly #words: Int32Array<SharedArrayBuffer>;
  readonly #bigs: BigInt64Array<SharedArrayBuffer>;

  constructor(buffer: SharedArrayBuffer) {
    assertShared(buffer.byteLength === controlBytes, `A control buffer of ${buffer.byteLength} bytes`);
    this.buffer = buffer;
    this.#words = new Int32Array(buffer);
    this.#bigs = new BigInt64Array(buffer);
  }

  /** A zeroed buffer with a slot for every log there may ever be. */
  static allocate(): ControlWords {
    return new ControlWords(new SharedArrayBuffer(controlBytes));
  }

  /** Newest revision whose record is in its log and which may be acknowledged. Written by the store thread. */
  get committed(): number {
    return Number(Atomics.load(this.#bigs, committedByte >> 3));
  }

  set committed(revision: number) {
    assertShared(Number.isSafeInteger(revision), "A committed revision is no integer");
    assertShared(revision >= this.committed, "The committed revision goes back");
    Atomics.store(this.#bigs, committedByte >> 3, BigInt(revision));
  }

  /** Counts publications, modulo 2^32; fronts sleep on it. Written by the store thread. */
  get wake(): number {
    return Atomics.load(this.#words, wakeByte >> 2);
  }

  /** Wakes every front that sleeps. Cheap when none does. */
  ring(): void {
    Atomics.add(this.#words, wakeByte >> 2, 1);
    Atomics.notify(this.#words, wakeByte >> 2);
  }

  /** Sleeps without blocking until `wake` is no longer `seen`. Does not keep the thread alive. */
  waitForRing(seen: number): Promise<unknown> | undefined {
    const result = Atomics.waitAsync(this.#words, wakeByte >> 2, seen);
    return result.async ? result.value : undefined;
  }

  /**
   * Counts logs registered and given up, modulo 2^32, each after its message was sent to the fronts: a front that reads
   * another number than before has messages to receive. Written by the store thread.
   */
  get logs(): number {
    return Atomics.load(this.#words, logsByte >> 2);
  }

  changeLogs(): void {
    Atomics.add(this.#words, logsByte >> 2, 1);
  }

  /** Counts events of a log, modulo 2^32: a batch published, a floor moved. Written by the store thread. */
  doorbell(log: number): number {
    return Atomics.load(this.#words, ((1 + log) * slotBytes + doorbellByte) >> 2);
  }

  ringLog(log: number): void {
    checkSlot(log);
    Atomics.add(this.#words, ((1 + log) * slotBytes + doorbellByte) >> 2, 1);
  }

  /** Revision from which on a log is complete. Written by the store thread; only grows. */
  floor(log: number): number {
    return Number(Atomics.load(this.#bigs, ((1 + log) * slotBytes + floorByte) >> 3));
  }

  setFloor(log: number, revision: number): void {
    checkSlot(log);
    assertShared(revision >= this.floor(log), "The floor of a log goes back");
    Atomics.store(this.#bigs, ((1 + log) * slotBytes + floorByte) >> 3, BigInt(revision));
  }

  /**
   * Revision up to which records of a log may be stored otherwise than they would be now. Written by the store thread; a
   * slot that is used again begins with 0.
   */
  stale(log: number): number {
    return Number(Atomics.load(this.#bigs, ((1 + log) * slotBytes + staleByte) >> 3));
  }

  setStale(log: number, revision: number): void {
    checkSlot(log);
    Atomics.store(this.#bigs, ((1 + log) * slotBytes + staleByte) >> 3, BigInt(revision));
  }
}

function checkSlot(log: number): void {
  assertShared(log >= 0 && log < limits.logCountMax, "A log has a slot beyond the control buffer");
}
