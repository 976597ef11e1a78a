// The program as it is run: compiled code is kept before the rest is loaded.
import { useCompileCache } from "./boot/compilecache.ts";

useCompileCache(new URL("../.compiled", import.meta.url).pathname);
await import("./main.ts");
