// Writes what `npm start` runs to bundle/: src/ and workers/ with most libraries, as a few files. A server loads 800
// modules in each of five threads otherwise, which is half of its start (DECISIONS 121). Run after tsc, which checks types.
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
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
/** What Piscina loads by its name, and what is compiled elsewhere (wasm.mjs). */
const copied = ["src/pool/entry.cjs", "wasm/transcode.wasm"];
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
  // Each thread keeps the text of what it loads. Names and statements stay, for profiles and stack traces.
  minifyWhitespace: true,
  lineLimit: 120,
  legalComments: "external",
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
writeFileSync(join(root, "bundle/console.html"), await consolePage());
const made = new Set([
  "bundle/console.html",
  ...Object.keys(metafile.outputs),
  ...copied.map((file) => `bundle/${file}`),
]);
// What former bundles had under other names, and what was compiled of them.
const others = readdirSync(join(root, "bundle"), { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map(({ parentPath, name }) => relative(root, join(parentPath, name)).replaceAll("\\", "/"))
  .filter((path) => !made.has(path));
if (others.some((path) => !path.startsWith("bundle/.compiled/"))) {
  for (const path of others) rmSync(join(root, path));
}

/** The page of /debug/console in one file: script and style are inlined, and nothing is loaded from elsewhere. */
async function consolePage() {
  const folder = join(root, "src/observe/console/page");
  const page = { absWorkingDir: root, bundle: true, minify: true, write: false, target: "es2022", logLevel: "warning" };
  const [script, style] = await Promise.all(
    ["page.js", "page.css"].map(async (name) => {
      const { outputFiles } = await build({ ...page, format: "iife", entryPoints: [join(folder, name)] });
      // What would end the element early.
      return outputFiles[0].text.trim().replaceAll("</", "<\\/");
    }),
  );
  const html = readFileSync(join(folder, "page.html"), "utf8");
  return html.replace("/*style*/", () => style).replace("/*script*/", () => script);
}
