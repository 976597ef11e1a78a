// Counts of durations in buckets that grow by a tenth: 1 us to about a quarter of an hour, percentiles within 5 %.

const growth = Math.log(1.1);
const bucketCount = 220;

/** A histogram of microseconds; the buckets of several threads can be added up. */
export class Histogram {
  readonly buckets: Float64Array<ArrayBuffer>;

  constructor(buckets = new Float64Array(bucketCount)) {
    this.buckets = buckets;
  }

  add(us: number): void {
    const bucket = us <= 1 ? 0 : Math.min(bucketCount - 1, Math.floor(Math.log(us) / growth));
    this.buckets[bucket] = (this.buckets[bucket] ?? 0) + 1;
  }

  /** Adds another histogram's buckets to this one. */
  merge(buckets: Float64Array): void {
    for (let index = 0; index < bucketCount; index += 1) {
      this.buckets[index] = (this.buckets[index] ?? 0) + (buckets[index] ?? 0);
    }
  }

  /** Milliseconds at a share of all values, e.g. 0.99; 0 when there are none. */
  at(share: number): number {
    let total = 0;
    for (const count of this.buckets) total += count;
    let passed = 0;
    for (let index = 0; index < bucketCount; index += 1) {
      passed += this.buckets[index] ?? 0;
      if (passed > 0 && passed >= total * share) return Math.round(Math.exp((index + 0.5) * growth) / 10) / 100;
    }
    return 0;
  }
}
