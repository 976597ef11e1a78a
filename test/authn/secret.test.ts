// The time of a comparison tells nothing of a secret (ATTACKS E09, E10), in two halves. The first reads the source: what
// a client shows is compared in one function, and nowhere else. The second measures that function: 10^5 comparisons
// with a wrong first or last byte, drawn at random, must not differ by Welch's t (|t| < 4.5). A leak shows in every
// measurement and a busy machine in some, so one good measurement of five is enough; that the measure sees a leak at all
// is shown with a comparison that has one.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import ts from "typescript";
import { sameSecret } from "../../src/authn/secret.ts";
import { random } from "../support/random.ts";

const root = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))));
const equality: ReadonlySet<ts.SyntaxKind> = new Set([
  ts.SyntaxKind.EqualsEqualsToken,
  ts.SyntaxKind.EqualsEqualsEqualsToken,
  ts.SyntaxKind.ExclamationEqualsToken,
  ts.SyntaxKind.ExclamationEqualsEqualsToken,
]);
const searches = /^(?:equals|compare|localeCompare|includes|indexOf|startsWith|endsWith)$/;
const secretName = /(?:^|[^A-Za-z])(?:token|secret|password|shown|kept|known)$/i;

/** Comparisons in a source file of what may be a secret, in any way but by sameSecret(). */
function comparisons(path: string, text: string): string[] {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.ES2023, true);
  const found: string[] = [];
  const note = (node: ts.Node): void => {
    const { line } = file.getLineAndCharacterOfPosition(node.getStart(file));
    found.push(`${path}:${line + 1}: ${node.getText(file)}`);
  };
  const isPlain = (node: ts.Expression): boolean =>
    ts.isLiteralExpression(node) || node.getText(file) === "undefined" || node.getText(file).startsWith("typeof ");
  const visit = (node: ts.Node): void => {
    if (ts.isBinaryExpression(node) && equality.has(node.operatorToken.kind)) {
      const { left, right } = node;
      const isSecret = secretName.test(left.getText(file)) || secretName.test(right.getText(file));
      if (isSecret && !isPlain(left) && !isPlain(right)) note(node);
    }
    if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression)) {
      const { name, expression } = node.expression;
      const others = [expression, ...node.arguments].map((one) => one.getText(file));
      const isConstant = node.arguments.every((one) => isPlain(one) || /[a-z]Prefix$|^prefix$/.test(one.getText(file)));
      if (searches.test(name.text) && !isConstant && others.some((one) => secretName.test(one))) note(node);
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

t.test("E09: what a client shows is compared with a secret in one place", (t) => {
  const sources = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts"))
    .map((name) => ({ path: join("src", name), text: readFileSync(join(root, "src", name), "utf8") }));
  // Credentials are looked at in one folder only.
  const own = sources.filter(({ path }) => path.startsWith("src/authn/"));
  t.ok(own.length > 10, "the source is there");
  t.same(
    own.flatMap(({ path, text }) => comparisons(path, text)),
    [],
    "nothing else compares",
  );
  t.same(
    sources.filter(({ text }) => text.includes("timingSafeEqual")).map(({ path }) => path),
    ["src/authn/secret.ts"],
  );
  for (const path of ["src/authn/bootstraptokens.ts", "src/authn/accounttokens.ts"]) {
    t.match(sources.find((source) => source.path === path)?.text, /\bsameSecret\(/, `${path} does by it`);
  }
  for (const bad of ["token === known", "secret !== row.secret", "kept.equals(shown)", "tokens.includes(token)"]) {
    t.equal(comparisons("bad.ts", `if (${bad}) f();`).length, 1, `${bad} would be found`);
  }
  t.end();
});

type Comparison = (kept: Uint8Array, shown: Uint8Array) => boolean;

const samples = 100_000;
const batch = 50;

/** Welch's t of the time that comparisons take whose first, or last, byte is wrong. */
function difference(compare: Comparison, seed: number): number {
  const kept = Buffer.from("0123456789abcdef");
  const shown = ["x123456789abcdef", "0123456789abcdex"].map((text) => Buffer.from(text));
  const pick = random(seed);
  const times: [number[], number[]] = [[], []];
  let same = 0;
  for (let done = -samples / 10; done < samples; done += batch) {
    const which = pick(2) as 0 | 1;
    const other = shown[which] as Buffer;
    const begun = performance.now();
    for (let index = 0; index < batch; index++) if (compare(kept, other)) same += 1;
    const took = performance.now() - begun;
    // The first ones warm it up.
    if (done >= 0) times[which].push(took);
  }
  if (same > 0) throw new Error("Different secrets are the same");
  return welch(trimmed(times[0]), trimmed(times[1]));
}

/** Without the slowest tenth, where whatever else the machine does is found. */
function trimmed(times: readonly number[]): number[] {
  return times.toSorted((a, b) => a - b).slice(0, Math.floor(times.length * 0.9));
}

function welch(a: readonly number[], b: readonly number[]): number {
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  const error = (values: readonly number[]): number => {
    const middle = mean(values);
    return values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (values.length - 1) / values.length;
  };
  return (mean(a) - mean(b)) / Math.sqrt(error(a) + error(b));
}

/** The smallest and the largest |t| of up to five measurements; stops as soon as `enough` says so. */
function measure(compare: Comparison, enough: (t: number) => boolean): number[] {
  const found: number[] = [];
  for (let seed = 1; seed <= 5; seed++) {
    found.push(Math.abs(difference(compare, seed)));
    if (enough(found.at(-1) as number)) break;
  }
  return found;
}

/** How one must not compare. */
function hasty(kept: Uint8Array, shown: Uint8Array): boolean {
  for (let index = 0; index < kept.length; index++) if (kept[index] !== shown[index]) return false;
  return true;
}

t.test("E09: sameSecret() takes as long for a wrong first byte as for a wrong last one", (t) => {
  const found = measure(sameSecret, (value) => value < 4.5);
  t.ok(Math.min(...found) < 4.5, `|t| was ${found.map((value) => value.toFixed(1)).join(", ")}`);
  const control = measure(hasty, (value) => value > 4.5);
  t.ok(
    Math.max(...control) > 4.5,
    `one that stops early shows: ${control.map((value) => value.toFixed(1)).join(", ")}`,
  );
  t.ok(sameSecret(Buffer.from("secret"), Buffer.from("secret")));
  for (const other of ["", "secre", "secrets", "Secret", "secreT"]) {
    t.notOk(sameSecret(Buffer.from("secret"), Buffer.from(other)), other);
  }
  t.end();
});
