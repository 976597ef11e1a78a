// Figures of work queues, by the names and buckets dashboards of upstream's controllers read (client-go's workqueue).
// One series per queue, which its name tells apart; ages are read at a scrape and cost nothing in between.
import type { Registry } from "./metrics.ts";

/** As upstream's stand in queries: the fourth and fifth are what multiplying leaves of 1e-5 and 1e-4. */
const secondsBuckets = [1e-8, 1e-7, 1e-6, 9.999999999999999e-6, 9.999999999999999e-5, 1e-3, 0.01, 0.1, 1, 10];

/** State of a queue at a scrape. */
export interface QueueFigures {
  /** Keys that wait to be worked on now. */
  readonly depth: number;
  /** Ages of the keys in work, in seconds: of all together, and of the oldest. */
  readonly unfinishedSeconds: number;
  readonly longestSeconds: number;
}

/** Counters of one queue. */
export interface QueueCounts {
  added(): void;
  /** A key was put back, after a failure or to be looked at again. */
  retried(): void;
  /** A key waited this long until it was worked on, in seconds. */
  waited(seconds: number): void;
  /** Working on a key took this long, in seconds. */
  worked(seconds: number): void;
  /** Removes the queue's series. */
  close(): void;
}

/** Counts the queues of one thread. */
export interface WorkqueueMeter {
  /** Counts the queue `name`; a queue of the same name takes the place of one before. */
  open(name: string, read: () => QueueFigures): QueueCounts;
}

/** Counts into `registry`; once per registry. */
export function workqueueMeter(registry: Registry): WorkqueueMeter {
  const depth = registry.gauge("workqueue_depth", "Keys of a work queue that wait to be worked on.", "name");
  const adds = registry.counter("workqueue_adds_total", "Keys added to a work queue.", "name");
  const retries = registry.counter("workqueue_retries_total", "Keys put back into a work queue.", "name");
  const waits = registry.histogram(
    "workqueue_queue_duration_seconds",
    "Seconds a key waits in a work queue before it is worked on.",
    secondsBuckets,
    "name",
  );
  const works = registry.histogram(
    "workqueue_work_duration_seconds",
    "Seconds it takes to work on a key of a work queue.",
    secondsBuckets,
    "name",
  );
  const unfinished = registry.gauge(
    "workqueue_unfinished_work_seconds",
    "Seconds the keys in work have been worked on so far, added up.",
    "name",
  );
  const longest = registry.gauge(
    "workqueue_longest_running_processor_seconds",
    "Seconds the oldest key in work has been worked on so far.",
    "name",
  );
  const idle: QueueFigures = { depth: 0, unfinishedSeconds: 0, longestSeconds: 0 };
  const readers = new Map<string, () => QueueFigures>();
  registry.onCollect(() => {
    for (const [name, read] of readers) {
      const figures = read();
      depth.set(name, figures.depth);
      unfinished.set(name, figures.unfinishedSeconds);
      longest.set(name, figures.longestSeconds);
    }
  });
  return {
    open(name, read) {
      readers.set(name, read);
      // From the start on: a counter that appears with its first event has no rate for it.
      adds.add(name, 0);
      retries.add(name, 0);
      return {
        added: () => adds.add(name),
        retried: () => retries.add(name),
        waited: (seconds) => waits.observe(name, seconds),
        worked: (seconds) => works.observe(name, seconds),
        close: () => {
          if (readers.get(name) === read) readers.set(name, () => idle);
        },
      };
    },
  };
}
