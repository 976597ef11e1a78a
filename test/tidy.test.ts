// What linters cannot see: tables that must be complete, files without an importer, sizes, bans in hot files, unused
// bounds, and documents that name tests which must exist. Each check is a function with a test of its own.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import ts from "typescript";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** A file of the project: path from its root, and text. */
interface Source {
  readonly path: string;
  readonly text: string;
}

const lineMax = 800;
const functionLineMax = 70;

/** Paths tracked or about to be, or every file where this is no checkout. */
function projectFiles(): string[] {
  const listed = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], { cwd: root });
  return listed
    .toString()
    .split("\n")
    .filter((path) => path !== "");
}

function read(path: string): Source {
  return { path, text: readFileSync(join(root, path), "utf8") };
}

/** Files that are too long, and functions that are. */
function oversized({ path, text }: Source): string[] {
  const found: string[] = [];
  const lines = text.split("\n").length;
  if (lines > lineMax) found.push(`${path}: ${lines} lines, at most ${lineMax}`);
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.ES2023, true);
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && "body" in node && node.body !== undefined) {
      const from = file.getLineAndCharacterOfPosition(node.getStart(file)).line;
      const to = file.getLineAndCharacterOfPosition(node.end).line;
      const name = node.name?.getText(file) ?? "a function";
      if (to - from + 1 > functionLineMax)
        found.push(`${path}:${from + 1}: ${name} has ${to - from + 1} lines, at most ${functionLineMax}`);
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

/** Relative imports of a file, as paths from the root. */
function importsOf({ path, text }: Source): string[] {
  const found = [...text.matchAll(/(?:from|import)(?:\s|\()*"(\.[^"]+)"/g), ...text.matchAll(/new URL\("(\.[^"]+)"/g)];
  return found.map((match) => relative(root, resolve(root, dirname(path), (match[1] ?? "").replace(/\.js$/, ".ts"))));
}

/** Files of src/ that nothing imports and no thread starts. */
function orphans(sources: readonly Source[]): string[] {
  const imported = new Set(sources.flatMap(importsOf));
  return sources
    .map(({ path }) => path)
    .filter((path) => path.startsWith("src/") && path !== "src/orch.ts" && !imported.has(path));
}

/** Plugins beside a table that the table does not import. */
function unlisted(table: Source, siblings: readonly string[]): string[] {
  const listed = new Set(importsOf(table));
  return siblings.filter((path) => path !== table.path && dirname(path) === dirname(table.path) && !listed.has(path));
}

/** Behaviours in folders beside the table of kinds that no line of it names, or that stand in a file of another name. */
function unlistedKinds(table: Source, sources: readonly Source[]): string[] {
  const room = `${dirname(table.path)}/`;
  return sources
    .filter(({ path }) => path.startsWith(room) && path.slice(room.length).includes("/"))
    .flatMap(({ path, text }) => {
      const names = [...text.matchAll(/^export (?:function|const) (\w+)Behaviour\b/gm)].map((match) => match[1] ?? "");
      const isListed = (name: string): boolean => new RegExp(`\\b${name}Behaviour,?\\s*\\]`).test(table.text);
      const isOwn = (name: string): boolean => basename(path, ".ts") === name.toLowerCase();
      return names.filter((name) => !isListed(name) || !isOwn(name)).map((name) => `${path}: ${name}`);
    });
}

/** What hot files must not do per event. */
const bans = [
  ["JSON.parse", /\bJSON\.parse\(/],
  ["new Error", /\bnew Error\(/],
  ["structuredClone", /\bstructuredClone\(/],
] as const;

/** Banned calls in a file marked @hot. */
function banned({ path, text }: Source): string[] {
  if (!/^\/\/.*@hot/m.test(text)) return [];
  const code = text.replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, "");
  return bans.filter(([, pattern]) => pattern.test(code)).map(([name]) => `${path}: ${name} in a hot file`);
}

/**
 * Accessors in object literals: each such object gets a hidden class of its own, which keeps all that the accessor sees
 * until the next major collection.
 */
function accessors({ path, text }: Source): string[] {
  const found: string[] = [];
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.ES2023, true);
  const visit = (node: ts.Node): void => {
    if (ts.isAccessor(node) && ts.isObjectLiteralExpression(node.parent)) {
      const { line } = file.getLineAndCharacterOfPosition(node.getStart(file));
      found.push(`${path}:${line + 1}: an accessor in a literal`);
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

/** What goes round the authorization of a request, and the only files that may use it. */
const reserved = [
  [
    "a commit to the store",
    /\bstore\.commit\(/,
    [
      "src/request/commit/objectstore.ts",
      "src/request/commit/serviceallocations.ts",
      "src/request/commit/unclaimed.ts",
      "src/storage/serve.ts",
      "src/storage/encryption/sealedstore.ts",
      // By an operator, into a store that no server has open.
      "src/storage/liveobjects.ts",
    ],
  ],
  [
    "the server's own permit",
    /\bserverPermit\b/,
    [
      "src/request/exchange/permit.ts",
      "src/request/delete/delete.ts",
      "src/request/actions/eviction.ts",
      "src/request/write/services.ts",
      "src/controllers/actor.ts",
    ],
  ],
] as const;

/** Uses of what is reserved in files that may not. */
function unreserved({ path, text }: Source): string[] {
  const used = reserved.filter(
    ([, pattern, files]) => pattern.test(text) && !(files as readonly string[]).includes(path),
  );
  return used.map(([what]) => `${path}: ${what}`);
}

/** Bounds of a file of limits that no other file reads. */
function unusedLimits(limits: Source, others: readonly Source[]): string[] {
  const names = [...limits.text.matchAll(/^ {2}(\w+):/gm)].map((match) => match[1] ?? "");
  const all = others.map(({ text }) => text).join("\n");
  return names.filter((name) => !new RegExp(`\\b${name}\\b`).test(all));
}

/** Tests an architecture document names that no test file has. */
function unknownTests(document: string, tests: readonly Source[]): string[] {
  const all = tests.map(({ text }) => text).join("\n");
  const named = [...document.matchAll(/^ +Test: (.*)$/gm)].flatMap((match) => [
    ...(match[1] ?? "").matchAll(/`([^`]+)`/g),
  ]);
  return named.map((match) => match[1] ?? "").filter((name) => !all.includes(name));
}

/** Files a document names in code marks, by their path from the root or from src/, or by a part of it, that are not there. */
function unknownFiles(document: string, paths: readonly string[]): string[] {
  const named = [...document.matchAll(/`([\w./-]+(?:\.ts|\.mjs|\.md|\/))`/g)].map((match) => match[1] ?? "");
  const isThere = (name: string): boolean => paths.some((path) => `/${path}`.includes(`/${name}`));
  return named.filter((name) => !isThere(name));
}

/** Words of ours that documents and comments use as terms: each has a row in the glossary. */
const terms = [
  ...["upstream", "document", "identity", "revision", "record", "log", "segment", "view", "front", "group", "form"],
  ...["resource", "snapshot", "registry", "provider", "behaviour", "strategy", "engine", "floor", "permit", "owner"],
  ...["pass", "side-table", "controller", "key", "resync"],
];

/** Terms without a row in the glossary that a document opens with, and rows that are too many to be read. */
function undefinedTerms(document: string, wanted: readonly string[]): string[] {
  const end = document.indexOf("\n## ", document.indexOf("\n## Words") + 1);
  const rows = [...document.slice(0, end).matchAll(/^\| (?:the )?([\w-]+) \|/gm)].map((match) => match[1] ?? "");
  const missing = wanted.filter((term) => !rows.includes(term));
  return rows.length > 42 ? [...missing, `${rows.length} rows, at most 40 and the head`] : missing;
}

const folderFilesMax = 35;

/** Folders with more files than one looks through. */
function crowded(paths: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const path of paths) counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1);
  const full = [...counts].filter(([, count]) => count > folderFilesMax);
  return full.map(([folder, count]) => `${folder}: ${count} files, at most ${folderFilesMax}`);
}

/** Packages that one folder knows. */
const packageFolders: ReadonlyMap<string, string> = new Map([
  ["piscina", "src/pool/"],
  ["lmdb", "src/storage/lmdb/"],
]);

/** Imports of such a package outside its folder. */
function misplaced({ path, text }: Source): string[] {
  const names = [...text.matchAll(/(?:from|import|require)(?:\s|\()*"([^".][^"]*)"/g)].map((match) => match[1] ?? "");
  return names
    .filter((name) => !path.startsWith(packageFolders.get(name) ?? ""))
    .map((name) => `${path}: ${name} belongs to ${packageFolders.get(name)}`);
}

/** What must not stand in any file: addresses of registries, paths of a machine, unfinished work. */
function stray({ path, text }: Source): string[] {
  const found: string[] = [];
  if (path.endsWith("package-lock.json") && text.includes('"resolved"')) found.push(`${path}: download addresses`);
  if (/\.(ts|mjs|md)$/.test(path) && path !== "test/tidy.test.ts" && /\b(TODO|FIXME|XXX)\b/.test(text))
    found.push(`${path}: unfinished`);
  return found;
}

/** The list of the import order, as the linter has it. */
interface Layers {
  readonly layers: readonly (readonly string[])[];
  layerFault(from: string, to: string): string | undefined;
  unlisted(src: string): string[];
}

t.test("the tree keeps its rules", async (t) => {
  const paths = projectFiles();
  const code = paths.filter((path) => /^(src|workers|test|perf|scripts)\/.*\.ts$/.test(path)).map(read);
  const own = code.filter(({ path }) => !path.startsWith("src/api/gen/"));
  const sources = own.filter(({ path }) => /^(src|workers)\//.test(path));
  t.same(sources.flatMap(oversized), [], "sizes");
  t.same(orphans(own.filter(({ path }) => !path.startsWith("test/"))), [], "everything is imported");
  const plugins = sources.map(({ path }) => path).filter((path) => path.startsWith("src/admission/"));
  t.same(unlisted(read("src/admission/table.ts"), plugins), [], "admission plugins");
  t.same(unlistedKinds(read("src/kinds/table.ts"), sources), [], "kinds");
  t.same(sources.flatMap(banned), [], "hot files");
  t.same(sources.flatMap(accessors), [], "no accessors in literals");
  t.same(sources.flatMap(misplaced), [], "packages stay in their folder");
  t.same(sources.flatMap(unreserved), [], "nothing goes round authorization");
  const limits = ["src/config/limits.ts", "src/config/flowlimits.ts"].map(read);
  const users = code.filter(({ path }) => limits.every((file) => file.path !== path));
  t.same(
    limits.flatMap((file) => unusedLimits(file, users)),
    [],
    "limits",
  );
  const tests = code.filter(({ path }) => path.startsWith("test/"));
  const architecture = read("ARCHITECTURE.md").text;
  t.same(unknownTests(architecture, tests), [], "ARCHITECTURE.md names tests that exist");
  t.same(unknownFiles(architecture, paths), [], "ARCHITECTURE.md names files that exist");
  t.same(undefinedTerms(architecture, terms), [], "the glossary has every term");
  t.same(crowded(paths.filter((path) => /\.(ts|mjs)$/.test(path))), [], "no folder is crowded");
  const order = (await import(join(root, "eslint.layers.mjs"))) as Layers;
  t.same(order.unlisted(join(root, "src")), [], "every folder stands in the import order");
  const between = sources
    .filter(({ path }) => path.startsWith("src/"))
    .flatMap((source) => {
      const from = source.path.replace(/^src\//, "");
      const inside = importsOf(source).filter((to) => to.startsWith("src/"));
      const faults = inside.map((to) => order.layerFault(from, to.replace(/^src\//, "")));
      return faults.filter((fault) => fault !== undefined).map((fault) => `${source.path}: ${fault}`);
    });
  t.same(between, [], "imports go one way");
  t.same(
    paths
      .filter((path) => /\.(ts|mjs|md|json)$/.test(path))
      .map(read)
      .flatMap(stray),
    [],
    "nothing stray",
  );
});

t.test("each check finds what it is for", async (t) => {
  const long = `function f() {\n${"  g();\n".repeat(80)}}\n`;
  t.match(oversized({ path: "a.ts", text: long }), [/f has 82 lines/]);
  t.same(oversized({ path: "a.ts", text: "x();\n".repeat(900) }).length, 1);
  const a = { path: "src/a/a.ts", text: 'import { b } from "./b.ts";' };
  t.same(orphans([a, { path: "src/a/b.ts", text: "" }]), ["src/a/a.ts"]);
  t.same(unlisted({ path: "src/a/table.ts", text: 'import "./b.ts";' }, ["src/a/b.ts", "src/a/c.ts"]), ["src/a/c.ts"]);
  const kinds = { path: "src/a/table.ts", text: '  ["", "pods", podBehaviour],\n  ["", "nodes", nodeBehaviour],\n' };
  const kind = (path: string, name: string): Source => ({ path, text: `export function ${name}Behaviour() {}` });
  t.same(unlistedKinds(kinds, [kind("src/a/core/pod.ts", "pod"), kind("src/a/behaviour.ts", "own")]), []);
  t.same(unlistedKinds(kinds, [kind("src/a/core/event.ts", "event")]), ["src/a/core/event.ts: event"], "no line");
  t.same(unlistedKinds(kinds, [kind("src/a/core/cluster.ts", "node")]), ["src/a/core/cluster.ts: node"], "its name");
  t.same(banned({ path: "h.ts", text: "// Fast. @hot\nJSON.parse(x); // new Error(\n" }), [
    "h.ts: JSON.parse in a hot file",
  ]);
  t.same(banned({ path: "h.ts", text: "JSON.parse(x);" }), []);
  t.match(accessors({ path: "a.ts", text: "const a = { get b() { return 1; } };" }), [/a.ts:1: an accessor/]);
  t.same(accessors({ path: "a.ts", text: "class A { get b() { return 1; } }" }), []);
  t.match(misplaced({ path: "src/a.ts", text: 'import { Piscina } from "piscina";' }), [/^src\/a.ts: piscina belongs/]);
  t.same(misplaced({ path: "src/pool/a.ts", text: 'import { Piscina } from "piscina";' }), []);
  t.match(unreserved({ path: "src/a.ts", text: "await writers.store.commit({})" }), [/^src\/a.ts: a commit/]);
  t.match(unreserved({ path: "src/a.ts", text: "permit: serverPermit," }), [/^src\/a.ts: the server's own/]);
  t.same(unreserved({ path: "src/controllers/actor.ts", text: "permit: serverPermit," }), []);
  const limits = { path: "l.ts", text: "  used: 1,\n  unused: 2,\n" };
  t.same(unusedLimits(limits, [{ path: "b.ts", text: "limits.used" }]), ["unused"]);
  t.same(unknownTests("1. It holds.\n   Test: `a`; `b`.\n", [{ path: "t.ts", text: 't.test("a"' }]), ["b"]);
  t.same(stray({ path: "package-lock.json", text: '"resolved": "x"' }).length, 1);
  t.same(stray({ path: "a.md", text: `${"TO"}DO: later` }).length, 1);
  t.same(unknownFiles("`a/b.ts`, `b.ts`, `c.ts`, `a/`, `d/`", ["src/a/b.ts"]), ["c.ts", "d/"]);
  t.same(undefinedTerms("# A\n\n## Words\n\n| the log | x |\n\n## B\n| view | y |\n", ["log", "view"]), ["view"]);
  t.same(crowded(Array.from({ length: 36 }, (_, at) => `src/a/${at}.ts`)).length, 1);
  const { layerFault } = (await import(join(root, "eslint.layers.mjs"))) as Layers;
  t.match(layerFault("api/time.ts", "request/handle.ts"), /api may not import request/);
  t.match(layerFault("authn/a.ts", "authz/b.ts"), /authn may not import authz/, "folders of one row");
  t.equal(layerFault("request/read/read.ts", "api/time.ts"), undefined);
});
