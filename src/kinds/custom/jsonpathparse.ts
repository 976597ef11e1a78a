// The grammar of the paths of printer columns: client-go's jsonpath, of which a column's path is one action. A path is
// read once from left to right; what it can be nested is bounded by the grammar itself.
import { NumberText } from "../../api/value.ts";

/** One step of a path. */
export type Step =
  | { readonly kind: "field"; readonly name: string }
  | { readonly kind: "wildcard" | "recursive" | "unknown" }
  | {
      readonly kind: "slice";
      readonly from: number | undefined;
      readonly to: number | undefined;
      readonly single: boolean;
      readonly step: number | undefined;
    }
  | { readonly kind: "filter"; readonly left: Steps; readonly right: Steps; readonly operator: string }
  | { readonly kind: "union"; readonly parts: readonly Steps[] }
  | { readonly kind: "constant"; readonly value: string | number | boolean | NumberText };

/** Steps from a value to what is found in it. */
export type Steps = readonly Step[];

/** The steps of a path; undefined: it has no meaning. Like upstream, this reads the first action and drops the rest. */
export function parsePath(path: string): Steps | undefined {
  return new Reader(`${path}}`).action();
}

const slice = /^(-?\d*)(?::(-?\d*))?(?::(-?\d*))?$/;
const dictKey = /^'([^']*)'$/;
const terminator = /[ \t\r\n.,[\]$@{}]/;
const digit = /\p{Nd}/u;
const alphanumeric = /[_\p{L}\p{Nd}]/u;

/** An action, up to the brace that ends it. */
class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  action(): Steps | undefined {
    const steps: Step[] = [];
    for (;;) {
      const char = this.#text[this.#at];
      if (char === "}") return this.#restIsSound() ? steps : undefined;
      if (char === undefined || char === "\r" || char === "\n") return undefined;
      if (!this.#step(steps, char)) return undefined;
    }
  }

  /** Behind an action stands text, and maybe more actions, which have to have a meaning, too. */
  #restIsSound(): boolean {
    const next = this.#text.indexOf("{", this.#at + 1);
    return next < 0 || new Reader(this.#text.slice(next + 1)).action() !== undefined;
  }

  /** False: no step begins here. */
  #step(steps: Step[], char: string): boolean {
    if (this.#text.startsWith("[?(", this.#at)) return this.#filter(steps);
    if (this.#text.startsWith("..", this.#at)) return this.#recursive(steps);
    if (char === " " || char === "@" || char === "$") this.#at += 1;
    else if (char === "[") return this.#brackets(steps);
    else if (char === '"' || char === "'") return this.#quoted(steps, char);
    else if (char === ".") this.#field(steps, 1);
    else if (char === "+" || char === "-" || digit.test(char)) return this.#number(steps);
    else if (alphanumeric.test(String.fromCodePoint(this.#text.codePointAt(this.#at) ?? 0))) this.#identifier(steps);
    else return false;
    return true;
  }

  #field(steps: Step[], skipped: number): void {
    const from = this.#at + skipped;
    this.#at = from;
    while (this.#at < this.#text.length && !terminator.test(this.#text[this.#at] as string)) {
      this.#at += this.#text[this.#at] === "\\" ? 2 : 1;
    }
    const name = this.#text.slice(from, this.#at);
    steps.push(name === "*" ? { kind: "wildcard" } : { kind: "field", name: name.replaceAll("\\", "") });
  }

  #recursive(steps: Step[]): boolean {
    if (steps[steps.length - 1]?.kind === "recursive") return false;
    this.#at += 2;
    steps.push({ kind: "recursive" });
    const next = this.#text.codePointAt(this.#at);
    if (next !== undefined && alphanumeric.test(String.fromCodePoint(next))) this.#field(steps, 0);
    return true;
  }

  #identifier(steps: Step[]): void {
    const from = this.#at;
    while (this.#at < this.#text.length && !terminator.test(this.#text[this.#at] as string)) this.#at += 1;
    const word = this.#text.slice(from, this.#at);
    if (word === "true" || word === "false") steps.push({ kind: "constant", value: word === "true" });
    else steps.push({ kind: "unknown" });
  }

  #number(steps: Step[]): boolean {
    const from = this.#at;
    if (/[+-]/.test(this.#text[from] as string)) this.#at += 1;
    while (this.#at < this.#text.length && /[.\d]/.test(this.#text[this.#at] as string)) this.#at += 1;
    const text = this.#text.slice(from, this.#at);
    if (/^[+-]?\d+$/.test(text)) steps.push({ kind: "constant", value: Number(text) });
    else if (/^[+-]?(?:\d+(?:\.\d*)?|\.\d+)$/.test(text)) steps.push({ kind: "constant", value: new NumberText(text) });
    else return false;
    return true;
  }

  #quoted(steps: Step[], mark: string): boolean {
    const from = this.#at + 1;
    for (this.#at = from; ; this.#at += 1) {
      const char = this.#text[this.#at];
      if (char === undefined || char === "\n") return false;
      if (char === mark && this.#text[this.#at - 1] !== "\\") break;
    }
    const value = unquoted(this.#text.slice(from, this.#at), mark);
    this.#at += 1;
    if (value === undefined) return false;
    steps.push({ kind: "constant", value });
    return true;
  }

  #brackets(steps: Step[]): boolean {
    const end = this.#text.indexOf("]", this.#at);
    if (end < 0) return false;
    const inner = this.#text.slice(this.#at + 1, end);
    if (inner.includes("\n")) return false;
    this.#at = end + 1;
    const text = inner === "*" ? ":" : inner;
    const parts = text.split(",");
    if (parts.length > 1) {
      const read = parts.map((part) => new Reader(`[${part.replace(/^ +/, "").trimEnd()}]}`).action());
      if (read.some((part) => part === undefined)) return false;
      steps.push({ kind: "union", parts: read as Steps[] });
      return true;
    }
    const key = dictKey.exec(text)?.[1];
    if (key !== undefined) {
      const fields = new Reader(`.${key}}`).action();
      if (fields === undefined) return false;
      for (const step of fields) steps.push(step);
      return true;
    }
    return pushSlice(steps, text);
  }

  #filter(steps: Step[]): boolean {
    const from = this.#at + 3;
    let pair: string | undefined;
    let isPaired = true;
    for (this.#at = from; ; this.#at += 1) {
      const char = this.#text[this.#at];
      if (char === undefined || char === "\n") return false;
      if (char === '"' || char === "'") {
        if (pair === undefined) {
          pair = char;
          isPaired = false;
        } else if (char === pair && this.#text[this.#at - 1] !== "\\") isPaired = true;
      } else if (char === ")" && isPaired) break;
    }
    const text = this.#text.slice(from, this.#at);
    if (this.#text[this.#at + 1] !== "]") return false;
    this.#at += 2;
    const parts = comparison(text);
    const left = new Reader(`${parts?.left ?? text}}`).action();
    const right = parts === undefined ? [] : new Reader(`${parts.right}}`).action();
    if (left === undefined || right === undefined) return false;
    steps.push({ kind: "filter", left, right, operator: parts?.operator ?? "exists" });
    return true;
  }
}

/** What stands on both sides of the first operator; undefined: there is none, or nothing on one side. */
function comparison(text: string): { left: string; operator: string; right: string } | undefined {
  const from = text.search(/[!<>=]/);
  if (from < 1) return undefined;
  let to = from + 1;
  while (to < text.length && /[!<>=]/.test(text[to] as string)) to += 1;
  if (to === text.length) to -= 1;
  if (to === from) return undefined;
  return { left: text.slice(0, from), operator: text.slice(from, to), right: text.slice(to) };
}

function pushSlice(steps: Step[], text: string): boolean {
  const parts = slice.exec(text);
  if (parts === null) return false;
  const [from, to, step] = parts.slice(1).map((part) => (part === undefined || part === "" ? undefined : Number(part)));
  if ([from, to, step].some((part) => part !== undefined && !Number.isSafeInteger(part))) return false;
  steps.push({ kind: "slice", from, to, step, single: parts[2] === undefined });
  return true;
}

const escapes: ReadonlyMap<string, string> = new Map([
  ...([
    ["a", "\u0007"],
    ["b", "\b"],
    ["f", "\f"],
    ["n", "\n"],
    ["r", "\r"],
    ["t", "\t"],
    ["v", "\v"],
  ] as const),
  ["\\", "\\"] as const,
]);

/** Go's escapes of a text between quotes; undefined: one of them is none. */
function unquoted(text: string, mark: string): string | undefined {
  if (!text.includes("\\")) return text;
  let value = "";
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at] as string;
    if (char !== "\\") {
      value += char;
      continue;
    }
    at += 1;
    const next = text[at] ?? "";
    const code = /^(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|([0-7]{3}))/.exec(text.slice(at, at + 5));
    if (code !== null) {
      value += String.fromCodePoint(
        Number.parseInt(code[1] ?? code[2] ?? code[3] ?? "0", code[3] === undefined ? 16 : 8),
      );
      at += code[0].length - 1;
    } else if (next === mark) value += mark;
    else {
      const plain = escapes.get(next);
      if (plain === undefined) return undefined;
      value += plain;
    }
  }
  return value;
}
