// Compiles wasm/ to dist/wasm/, when something of it changed. What is in AssemblyScript is code of the server whose cost
// must not depend on how warm it is (DECISIONS 183).
import { mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { fail, root } from "./install.mjs";

/** Beyond WebAssembly's first version: all engines that run here have them. */
const features = "simd,bulk-memory";
/** Addresses below are for data of the program itself. */
const memoryBase = 1024;

const folder = join(root, "wasm");
const source = join(folder, "transcode.ts");
const target = join(root, "dist/wasm/transcode.wasm");

const sources = readdirSync(folder).map((name) => join(folder, name));
if (isOlder(target, [...sources, fileURLToPath(import.meta.url), join(root, "package-lock.json")])) {
  const { default: asc } = await import("assemblyscript/asc");
  mkdirSync(join(root, "dist/wasm"), { recursive: true });
  const flags = ["--baseDir", root, "-O3", "--noAssert", "--runtime", "stub", "--enable", features];
  const { error, stderr } = await asc.main([source, ...flags, "--memoryBase", `${memoryBase}`, "--outFile", target]);
  if (error !== null) fail(`wasm/transcode.ts does not compile: ${stderr.toString() || error.message}`);
}

/** Whether a file is missing or older than one of those it is made from. */
function isOlder(made, from) {
  const madeMs = statSync(made, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return from.some((path) => statSync(path).mtimeMs > madeMs);
}
