// The program as it is run: compiled code is kept before the rest is loaded.
import { fileURLToPath } from "node:url";
import { useCompileCache } from "./boot/compilecache.ts";

useCompileCache(fileURLToPath(new URL("../.compiled", import.meta.url)));
await import("./main.ts");
