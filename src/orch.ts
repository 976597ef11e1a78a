// The program as it is run: V8 is tuned, and compiled code is kept, before the rest is loaded.
import { fileURLToPath } from "node:url";
import { useCompileCache } from "./boot/v8/compilecache.ts";
import { tuneCompiler } from "./boot/v8/compiler.ts";

tuneCompiler();
useCompileCache(fileURLToPath(new URL("../.compiled", import.meta.url)));
await import("./main.ts");
