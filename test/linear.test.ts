// Nothing a client sends meets a pattern that takes more time than its input is long: the lint of eslint.linear.mjs over
// what runs (`npm run check` takes the tests as well), and over patterns that modules put together while they load.
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { ESLint } from "eslint";
import t from "tap";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

function linter(): ESLint {
  return new ESLint({ cwd: root, overrideConfigFile: join(root, "eslint.linear.mjs") });
}

/** What is wrong with a text, as `line rule`. */
async function faultsOf(lint: ESLint, text: string, path: string): Promise<string[]> {
  const results = await lint.lintText(text, { filePath: join(root, path) });
  return results.flatMap(({ messages }) => messages.map(({ line, ruleId }) => `${line} ${ruleId}`));
}

/** Patterns that cost a front seconds once, each with an input of a few kilobytes. */
const knownBad = [
  String.raw`text.replace(/[ \t]+$/, "");`,
  String.raw`/^([+-]?)0*(\d*)(?:\.(\d*))?([eEinumkKMGTP]*[+-]?\d*)$/.exec(text);`,
  String.raw`/^([+-]?)((?:(?:\d+\.?\d*|\.\d+)(?:ns|us|ms|s|m|h))+)$/.exec(text);`,
  "/^(a+)+$/.test(text);",
];

t.test("no pattern of the tree takes more time than its input is long", async (t) => {
  const results = await linter().lintFiles(["src", "workers", "scripts", "perf"]);
  t.ok(results.length > 300, "all that runs is looked at");
  const found = results.flatMap(({ filePath, messages }) =>
    messages.map(({ line, message }) => `${filePath.slice(root.length + 1)}:${line}: ${message}`),
  );
  t.same(found, []);
});

t.test("the lint finds patterns that are known to be slow, and patterns made while a request is served", async (t) => {
  const lint = linter();
  for (const line of knownBad) t.not((await faultsOf(lint, line, "src/fixture.ts")).length, 0, line);
  const late = "export function f(text: string): RegExp { return new RegExp(text); }";
  t.same(await faultsOf(lint, late, "src/fixture.ts"), ["1 no-restricted-syntax"]);
  t.same(await faultsOf(lint, late, "test/fixture.ts"), [], "tests may");
  t.same(await faultsOf(lint, "/^[a-z]+(?:-[a-z]+)*$/.test(text);", "src/fixture.ts"), []);
});

t.test("patterns put together while modules load are linear, too", async (t) => {
  const made = new Set<string>();
  const Original = globalThis.RegExp;
  globalThis.RegExp = new Proxy(Original, {
    construct: (target, args: [string | RegExp, string?]) => {
      const pattern = new target(...args);
      made.add(String(pattern));
      return pattern;
    },
  });
  try {
    const folders = ["api", "authn", "authz", "codec", "config", "http", "kinds", "merge", "request"];
    for (const folder of folders) {
      for (const file of readdirSync(join(root, "dist", "src", folder), { recursive: true, encoding: "utf8" })) {
        if (file.endsWith(".js")) await import(pathToFileURL(join(root, "dist", "src", folder, file)).href);
      }
    }
  } finally {
    globalThis.RegExp = Original;
  }
  const own = [...made].filter((pattern) => pattern.length > 0);
  t.ok(
    own.some((pattern) => pattern.includes("[-._a-zA-Z0-9]+")),
    "formats of names are among them",
  );
  const lint = linter();
  for (const pattern of own) t.same(await faultsOf(lint, `${pattern}.test(text);`, "src/fixture.ts"), [], pattern);
});
