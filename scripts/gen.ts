// Writes src/api/gen from proto/: `npx tsc -p . && node dist/scripts/gen.js`. The outcome is committed; a test fails
// when it is not fresh.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { generate } from "./generate.ts";

const outDir = "src/api/gen";
const files = generate("proto");
rmSync(outDir, { recursive: true, force: true });
for (const [name, text] of files) {
  const path = join(outDir, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
