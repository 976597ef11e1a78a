// Writes src/api/gen from proto/: `npx tsc -p . && node dist/scripts/gen.js`. The outcome is committed; a test fails
// when it is not fresh.
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { generate } from "./generate.ts";

const outDir = "src/api/gen";
const files = generate("proto");
mkdirSync(outDir, { recursive: true });
for (const name of readdirSync(outDir)) if (!files.has(name)) rmSync(join(outDir, name));
for (const [name, text] of files) writeFileSync(join(outDir, name), text);
