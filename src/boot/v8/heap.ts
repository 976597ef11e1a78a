// A front that nears its heap's limit ends in order, while it still can: at the limit itself the thread is stopped in the
// middle of a turn, its sockets stay open, and with them the end of its loop aborts the whole process (uws).
import { constants, type PerformanceEntry, PerformanceObserver } from "node:perf_hooks";
import { getHeapStatistics } from "node:v8";
import { resourceLimits } from "node:worker_threads";
import { limits } from "../../config/limits.ts";

/**
 * Calls `full` once, when what is left after a collection exceeds limits.heapFullPart of this thread's heap. Garbage does
 * not count: collections are only looked at while the heap is that full. Returns how to stop looking.
 */
export function watchHeap(full: (message: string) => void): () => void {
  // The heap's own limit counts the young generation too, and is not what ends the thread.
  const { maxOldGenerationSizeMb = limits.frontHeapMiBMax } = resourceLimits;
  const bytesMax = maxOldGenerationSizeMb * 1024 * 1024;
  const isFull = (): boolean => getHeapStatistics().used_heap_size > limits.heapFullPart * bytesMax;
  const observer = new PerformanceObserver((list) => {
    const collected = list.getEntries().some((entry) => kindOf(entry) === constants.NODE_PERFORMANCE_GC_MAJOR);
    if (!collected || !isFull()) return;
    stop();
    full(`its heap is full: ${getHeapStatistics().used_heap_size} of ${bytesMax} bytes`);
  });
  let observing = false;
  const timer = setInterval(() => {
    if (isFull() === observing) return;
    observing = !observing;
    if (observing) observer.observe({ entryTypes: ["gc"] });
    else observer.disconnect();
  }, limits.heapLookMs);
  timer.unref();
  const stop = (): void => {
    clearInterval(timer);
    observer.disconnect();
  };
  return stop;
}

/** The kind of a collection: missing from the types of its entry. */
function kindOf(entry: PerformanceEntry): number | undefined {
  return (entry as PerformanceEntry & { readonly detail?: { readonly kind?: number } }).detail?.kind;
}
