// The trace of a pass, as what the pass does finds it. Controllers hand none on: Node keeps it for each asynchronous step
// (AsyncLocalStorage), from when the first pass is traced, on the thread of the controllers alone.
import { AsyncLocalStorage } from "node:async_hooks";
import type { TraceSpans } from "../observe/spans.ts";

const passes = new AsyncLocalStorage<TraceSpans | undefined>();

/** Does the work of a pass; `spans` is its trace, undefined where it is not sampled. */
export function inPass<T>(spans: TraceSpans | undefined, work: () => T): T {
  return passes.run(spans, work);
}

/** The trace of the pass that asks; undefined: it is none, or not sampled. */
export function spansOfPass(): TraceSpans | undefined {
  return passes.getStore();
}
