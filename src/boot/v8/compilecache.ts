// The code that V8 compiled is kept between starts, beside the program, where Node can do that (22.10 and later) and the
// place may be written: a start then takes a quarter less CPU. Threads find the place by the variable.
import module from "node:module";
import { limits } from "../../config/limits.ts";

const variable = "NODE_COMPILE_CACHE";

/** What Node 20 has not. */
interface CompileCache {
  readonly enableCompileCache: (directory: string) => { readonly directory?: string };
  readonly flushCompileCache: () => void;
}
const cache: Partial<CompileCache> = module as unknown as Partial<CompileCache>;

/** Has the modules that this process loads from now on compiled by way of the cache in `directory`, unless one is set. */
export function useCompileCache(directory: string): void {
  // Where it is set, Node has done it before any module was loaded.
  if (process.env[variable] !== undefined || process.env["NODE_DISABLE_COMPILE_CACHE"] !== undefined) return;
  const { directory: used } = cache.enableCompileCache?.(directory) ?? {};
  if (used !== undefined) process.env[variable] = directory;
}

/**
 * Writes what this thread compiled, once, when it has done for a while what it does: a process that is killed writes
 * nothing at its end, and what is compiled later than a module is loaded is kept as well. Costs nothing where all is kept.
 */
export function keepCompiled(): void {
  setTimeout(() => cache.flushCompileCache?.(), limits.compiledKeptMs).unref();
}
