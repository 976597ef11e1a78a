// Writes what `npm start` runs to bundle/: src/ and workers/ with most libraries, as a few files. A server loads 800
// modules in each of five threads otherwise, which is half of its start (DECISIONS 121). Run after tsc, which checks types.
import { cpSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join, relative } from "node:path";
import { build } from "esbuild";
import { root } from "./install.mjs";

/** Where a file's process or thread begins. */
const entryPoints = [
  "src/orch.ts",
  "src/main.ts",
  "workers/front.ts",
  "workers/store.ts",
  "workers/audit.ts",
  "workers/pool.ts",
];
/** What Piscina loads by its name, as it is. */
const copied = ["src/pool/entry.cjs"];
/** Native code, and what looks for files of its own beside itself. */
const external = ["lmdb", "piscina", "@uwsjs/*"];

/**
 * A file finds others by `import.meta.url`: in the bundle it has the one it would have there at its own place. Every file
 * of the bundle is one folder below it.
 */
const ownPlaces = {
  name: "own-places",
  setup({ onLoad }) {
    onLoad({ filter: /\/(src|workers)\/.*\.ts$/ }, ({ path }) => {
      const text = readFileSync(path, "utf8");
      if (!text.includes("import.meta.url")) return undefined;
      const place = `../${relative(root, path).replaceAll("\\", "/").replace(/\.ts$/, ".js")}`;
      const url = `new URL(${JSON.stringify(place)}, import.meta.url).href`;
      return { contents: text.replaceAll("import.meta.url", url), loader: "ts" };
    });
  },
};

const { metafile } = await build({
  absWorkingDir: root,
  entryPoints,
  outbase: ".",
  outdir: "bundle",
  chunkNames: "chunks/[name]-[hash]",
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node20",
  sourcemap: "linked",
  external,
  plugins: [ownPlaces],
  metafile: true,
  logLevel: "warning",
  // Libraries that are CommonJS ask for Node's own modules by it.
  banner: {
    js: 'import { createRequire as requireFor } from "node:module";\nconst require = requireFor(import.meta.url);',
  },
});
for (const file of copied) cpSync(join(root, "dist", file), join(root, "bundle", file));
const made = new Set([...Object.keys(metafile.outputs), ...copied.map((file) => `bundle/${file}`)]);
// What former bundles had under other names, and what was compiled of them.
const others = readdirSync(join(root, "bundle"), { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map(({ parentPath, name }) => relative(root, join(parentPath, name)).replaceAll("\\", "/"))
  .filter((path) => !made.has(path));
if (others.some((path) => !path.startsWith("bundle/.compiled/"))) {
  for (const path of others) rmSync(join(root, path));
}
