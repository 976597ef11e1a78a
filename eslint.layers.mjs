// The order of imports: a folder of src/ imports from itself and from the rows above its own, and nothing else. Folders
// of one row know nothing of each other. This is the one list: lint and tidy test read it, ARCHITECTURE.md shows it.
import { readdirSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

/** Rows of folders below src/; a folder that is named with others below it stands for its own files only. */
export const layers = [
  ["base"],
  ["observe"],
  ["config"],
  ["api"],
  ["codec/json", "merge", "pki"],
  ["codec/engine"],
  ["codec/yaml", "codec/proto"],
  ["openapi"],
  ["kinds"],
  ["storage"],
  ["cache/shared"],
  ["cache/writer", "cache/view", "storage/values"],
  ["cache/fanout"],
  ["pool"],
  ["outbound"],
  ["client", "conversion", "aggregation"],
  ["authn", "authz"],
  ["admission", "audit", "flowcontrol"],
  ["request/exchange"],
  ["request/route"],
  ["request/body", "request/answer"],
  ["request/read"],
  ["request/list", "request/watch"],
  ["request/commit"],
  ["request/delete"],
  ["request/write"],
  ["request/call"],
  ["request/proxy"],
  ["request/actions", "request/pages"],
  ["request"],
  ["http", "controllers"],
  ["boot"],
];

const rows = new Map(layers.flatMap((row, at) => row.map((folder) => [folder, at])));

/** The folder of the list a file below src/ belongs to; undefined: none, as main.ts. */
export function folderOf(path) {
  for (let folder = dirname(path); folder !== "."; folder = dirname(folder)) if (rows.has(folder)) return folder;
  return undefined;
}

/** Why one file may not import another, both below src/; undefined: it may. */
export function layerFault(from, to) {
  const own = folderOf(from);
  const other = folderOf(to);
  if (own === undefined || own === other) return undefined;
  if (other !== undefined && rows.get(other) < rows.get(own)) return undefined;
  return `${own} may not import ${other ?? to}: imports go one way, as eslint.layers.mjs lists it.`;
}

/** Folders below `src` that hold files and stand in no row. */
export function unlisted(src) {
  const files = readdirSync(src, { recursive: true }).filter((path) => path.endsWith(".ts") && path.includes("/"));
  return files.filter((path) => folderOf(path) === undefined);
}

const rule = {
  meta: { type: "problem", schema: [] },
  create(context) {
    const src = join(import.meta.dirname, "src");
    const from = relative(src, context.filename);
    const check = ({ source }) => {
      if (typeof source?.value !== "string" || !source.value.startsWith(".")) return;
      const to = relative(src, resolve(dirname(context.filename), source.value));
      const message = layerFault(from, to);
      if (message !== undefined) context.report({ node: source, message });
    };
    return {
      ImportDeclaration: check,
      ImportExpression: check,
      ExportNamedDeclaration: check,
      ExportAllDeclaration: check,
    };
  },
};

/** For the linter's configuration. */
export const importOrder = {
  files: ["src/**/*.ts"],
  plugins: { layers: { rules: { order: rule } } },
  rules: { "layers/order": "error" },
};
