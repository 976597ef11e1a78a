// When V8 optimizes, and how much at once. In a server's first seconds a good part of the time goes into code that is not
// optimized yet, and as much into V8's optimizing compiler. With less inlining the compiler has less to do, so that it can
// begin sooner; warm code is as fast.
import { setFlagsFromString } from "node:v8";

/** The V8 that this was measured with, that of Node 22: others have other compilers. */
const measured = "12.4.";

const flags = [
  ["--max-inlined-bytecode-size", 200],
  ["--max-inlined-bytecode-size-cumulative", 400],
  ["--invocation-count-for-turbofan", 1000],
] as const;

/**
 * Sets this for all threads, except flags that the runtime was started with. To be called before the rest is loaded: V8
 * uses code that is kept between starts with the same flags only.
 */
export function tuneCompiler(): void {
  if (!process.versions.v8.startsWith(measured)) return;
  for (const [flag, value] of flags) {
    if (!process.execArgv.some((set) => set.startsWith(`${flag}=`))) setFlagsFromString(`${flag}=${value}`);
  }
}
