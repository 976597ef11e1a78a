// Durations in HDR histograms: microseconds from 1 to ten minutes, three significant digits, whatever their number.
import { build, decodeFromCompressedBase64, encodeIntoCompressedBase64, type Histogram as Hdr } from "hdr-histogram-js";

const highestUs = 600_000_000;

/** A histogram of microseconds; histograms of several processes are added up. */
export class Histogram {
  readonly #hdr: Hdr;

  constructor(hdr?: Hdr) {
    this.#hdr =
      hdr ?? build({ highestTrackableValue: highestUs, numberOfSignificantValueDigits: 3, bitBucketSize: 32 });
  }

  /** What encode() made of one. */
  static decode(text: string): Histogram {
    return new Histogram(decodeFromCompressedBase64(text, 32, false) as Hdr);
  }

  /** Below a microsecond counts as one, above ten minutes as those. */
  add(us: number): void {
    this.#hdr.recordValue(us < 1 ? 1 : Math.min(highestUs, Math.round(us)));
  }

  /** Adds another one's values. */
  merge(other: Histogram): void {
    this.#hdr.add(other.#hdr);
  }

  /** As text, for another process. */
  encode(): string {
    return encodeIntoCompressedBase64(this.#hdr);
  }

  /** How many values there are. */
  get count(): number {
    return this.#hdr.totalCount;
  }

  /** Milliseconds at a share of all values, e.g. 0.99; 0 when there are none. */
  at(share: number): number {
    if (this.count === 0) return 0;
    return share >= 1 ? this.#hdr.maxValue / 1000 : this.#hdr.getValueAtPercentile(share * 100) / 1000;
  }

  /** The mean, milliseconds; 0 of none. */
  get meanMs(): number {
    return this.count === 0 ? 0 : this.#hdr.mean / 1000;
  }

  /** Removes all values. */
  reset(): void {
    this.#hdr.reset();
  }
}

/** The median of some numbers; NaN of none. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  if (sorted.length % 2 === 1) return sorted[middle] as number;
  return ((sorted[middle - 1] ?? Number.NaN) + (sorted[middle] ?? Number.NaN)) / 2;
}
