// Label and field selectors: grammar and meaning (upstream's labels and fields packages), down to the texts of
// their errors. A selector is parsed once per request; matching is compiled for records by cache/select.ts.
import { quoteBad } from "./fielderror.ts";

/** One requirement of a label selector. `values` are those of the operator, sorted; gt and lt compare integers. */
export interface LabelRequirement {
  readonly key: string;
  readonly operator: "=" | "!=" | "in" | "notin" | "exists" | "!" | ">" | "<";
  readonly values: readonly string[];
}

/** One requirement of a field selector. */
export interface FieldRequirement {
  readonly field: string;
  readonly operator: "=" | "!=";
  readonly value: string;
}

/** A selector of objects: all requirements must hold. Both lists empty: everything. */
export interface Selector {
  readonly labels: readonly LabelRequirement[];
  readonly fields: readonly FieldRequirement[];
}

/** Text that is not a selector; `error` is upstream's sentence. */
export interface SelectorError {
  readonly error: string;
}

/** Parses a label selector; the text of upstream's error when it is malformed. Requirements are sorted by key. */
export function parseLabelSelector(text: string): readonly LabelRequirement[] | SelectorError {
  const tokens = tokenize(text);
  const requirements: LabelRequirement[] = [];
  let at = 0;
  for (;;) {
    const first = tokens[at] ?? end;
    if (first.kind === "end") break;
    if (!isWord(first) && first.kind !== "!") {
      const wanted = at === 0 ? "!, identifier, or 'end of string'" : "identifier after ','";
      return { error: `found '${first.text}', expected: ${wanted}` };
    }
    const parsed = parseRequirement(tokens, at);
    if ("error" in parsed) return { error: `unable to parse requirement: ${parsed.error}` };
    requirements.push(parsed.requirement);
    const after = tokens[parsed.next] ?? end;
    if (after.kind === "end") break;
    if (after.kind !== ",") return { error: `found '${after.text}', expected: ',' or 'end of string'` };
    at = parsed.next + 1;
    if ((tokens[at] ?? end).kind === "end") return { error: "found '', expected: identifier after ','" };
  }
  return requirements.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
}

/** Parses a field selector; the text of upstream's error when it is malformed. Fields keep the order given. */
export function parseFieldSelector(text: string): readonly FieldRequirement[] | SelectorError {
  const requirements: FieldRequirement[] = [];
  for (const term of splitTerms(text)) {
    if (term === "") continue;
    const operator = /!=|==|=/.exec(term);
    if (operator === null) return { error: `invalid selector: '${text}'; can't understand '${term}'` };
    const value = unescapeValue(term.slice(operator.index + operator[0].length));
    if (typeof value !== "string") return value;
    requirements.push({
      field: term.slice(0, operator.index),
      operator: operator[0] === "!=" ? "!=" : "=",
      value,
    });
  }
  return requirements;
}

/** One spelling for all label selectors that mean the same requirements; empty for none. Parses back to them. */
export function formatLabelSelector(requirements: readonly LabelRequirement[]): string {
  return requirements.map(formatLabelRequirement).sort().join(",");
}

/** One spelling for all field selectors that mean the same requirements; empty for none. Parses back to them. */
export function formatFieldSelector(requirements: readonly FieldRequirement[]): string {
  return requirements
    .map(({ field, operator, value }) => `${field}${operator}${escapeValue(value)}`)
    .sort()
    .join(",");
}

/** True when the labels satisfy every requirement: the meaning compiled selectors must agree with. */
export function matchesLabels(
  requirements: readonly LabelRequirement[],
  labels: ReadonlyMap<string, string> | undefined,
): boolean {
  return requirements.every((requirement) => labelHolds(requirement, labels?.get(requirement.key)));
}

/** True when the fields satisfy every requirement; a field that is absent is empty. */
export function matchesFields(requirements: readonly FieldRequirement[], fields: ReadonlyMap<string, string>): boolean {
  return requirements.every(
    ({ field, operator, value }) => ((fields.get(field) ?? "") === value) === (operator === "="),
  );
}

/** Whether one requirement holds for the value of its key; undefined: the label is absent. */
export function labelHolds(requirement: LabelRequirement, value: string | undefined): boolean {
  switch (requirement.operator) {
    case "=":
    case "in":
      return value !== undefined && requirement.values.includes(value);
    case "!=":
    case "notin":
      return value === undefined || !requirement.values.includes(value);
    case "exists":
      return value !== undefined;
    case "!":
      return value === undefined;
    case ">":
    case "<": {
      const mine = value === undefined ? undefined : parseInteger(value);
      const bound = parseInteger(requirement.values[0] ?? "");
      if (mine === undefined || bound === undefined) return false;
      return requirement.operator === ">" ? mine > bound : mine < bound;
    }
  }
}

// Label selectors. Tokens are the symbols, and everything between symbols and white space; `in` and `notin` are
// operators behind a key and words elsewhere.

interface Token {
  readonly kind: "word" | "end" | "(" | ")" | "," | "=" | "==" | "!" | "!=" | ">" | "<";
  readonly text: string;
}

const end: Token = { kind: "end", text: "" };

function isWord(token: Token): boolean {
  return token.kind === "word";
}

function tokenize(text: string): readonly Token[] {
  // A NUL ends the text, as upstream's scanner has it.
  const nul = text.indexOf("\0");
  const tokens: Token[] = [];
  for (const [found] of (nul < 0 ? text : text.slice(0, nul)).matchAll(/==|!=|[()=,!<>]|[^()=,!<> \t\r\n]+/g)) {
    const symbol = /^[()=,!<>]/.test(found);
    tokens.push({ kind: symbol ? (found as Token["kind"]) : "word", text: found });
  }
  return tokens;
}

type Parsed = { readonly requirement: LabelRequirement; readonly next: number } | SelectorError;

function parseRequirement(tokens: readonly Token[], start: number): Parsed {
  const negated = (tokens[start] ?? end).kind === "!";
  const keyAt = negated ? start + 1 : start;
  const key = tokens[keyAt] ?? end;
  if (!isWord(key)) return { error: `found '${key.text}', expected: identifier` };
  const faults = labelKeyFaults(key.text);
  if (faults.length > 0) return { error: `<nil>: Invalid value: ${quoteBad(key.text)}: ${faults.join("; ")}` };
  if (negated) return { requirement: { key: key.text, operator: "!", values: [] }, next: keyAt + 1 };
  const operator = tokens[keyAt + 1] ?? end;
  if (operator.kind === "end" || operator.kind === ",") {
    return { requirement: { key: key.text, operator: "exists", values: [] }, next: keyAt + 1 };
  }
  const read = readOperator(operator);
  if (read === undefined) {
    return { error: `found '${operator.text}', expected: in, notin, =, ==, !=, gt, lt` };
  }
  const many = read === "in" || read === "notin";
  const values = many ? parseValues(tokens, keyAt + 2) : parseValue(tokens, keyAt + 2);
  if ("error" in values) return values;
  const sorted = [...new Set(values.values)].sort();
  const error = valueFaults(key.text, read, sorted);
  return error ?? { requirement: { key: key.text, operator: read, values: sorted }, next: values.next };
}

function readOperator(token: Token): LabelRequirement["operator"] | undefined {
  switch (token.kind) {
    case "=":
    case "==":
      return "=";
    case "!=":
    case ">":
    case "<":
      return token.kind;
    case "word":
      return token.text === "in" || token.text === "notin" ? token.text : undefined;
    default:
      return undefined;
  }
}

type Values = { readonly values: readonly string[]; readonly next: number } | SelectorError;

/** The one value behind `=` and its like; nothing there means the empty value. */
function parseValue(tokens: readonly Token[], at: number): Values {
  const token = tokens[at] ?? end;
  if (token.kind === "end" || token.kind === ",") return { values: [""], next: at };
  if (!isWord(token)) return { error: `found '${token.text}', expected: identifier` };
  return { values: [token.text], next: at + 1 };
}

/** The list behind `in` and `notin`; an empty place between commas and parentheses is the empty value. */
function parseValues(tokens: readonly Token[], start: number): Values {
  const open = tokens[start] ?? end;
  if (open.kind !== "(") return { error: `found '${open.text}' expected: '('` };
  const first = tokens[start + 1] ?? end;
  if (!isWord(first) && first.kind !== "," && first.kind !== ")") {
    return { error: `found '${first.text}', expected: ',', ')' or identifier` };
  }
  const values: string[] = [];
  let filled = false;
  for (let at = start + 1; ; at += 1) {
    const token = tokens[at] ?? end;
    if (isWord(token)) {
      if (filled) return { error: `found '${token.text}', expected: ',' or ')'` };
      values.push(token.text);
      filled = true;
    } else if (token.kind === "," || token.kind === ")") {
      if (!filled) values.push("");
      if (token.kind === ")") return { values, next: at + 1 };
      filled = false;
    } else {
      return { error: `found '${token.text}', expected: ${filled ? "',' or ')'" : "',', or identifier"}` };
    }
  }
}

function valueFaults(key: string, operator: LabelRequirement["operator"], values: readonly string[]) {
  const faults: string[] = [];
  if (operator === ">" || operator === "<") {
    for (const [index, value] of values.entries()) {
      if (parseInteger(value) !== undefined) continue;
      const why = "for 'Gt', 'Lt' operators, the value must be an integer";
      faults.push(`values[${index}]: Invalid value: ${quoteBad(value)}: ${why}`);
    }
  }
  for (const [index, value] of values.entries()) {
    const why = labelValueFaults(value);
    if (why.length === 0) continue;
    faults.push(`values[${index}][${key}]: Invalid value: ${quoteBad(value)}: ${why.join("; ")}`);
  }
  if (faults.length === 0) return undefined;
  return { error: faults.length === 1 ? (faults[0] as string) : `[${faults.join(", ")}]` };
}

const integer = /^[+-]?[0-9]+$/;
const integerMin = -(2n ** 63n);
const integerMax = 2n ** 63n - 1n;

/** Go's ParseInt(text, 10, 64): undefined for anything but an int64. */
/** The integer of 64 bits a text spells, as labels are compared with; undefined: it spells none. */
export function parseInteger(text: string): bigint | undefined {
  if (!integer.test(text) || text.length > 64) return undefined;
  const value = BigInt(text.startsWith("+") ? text.slice(1) : text);
  return value < integerMin || value > integerMax ? undefined : value;
}

// Rules of label keys and values, with upstream's texts (qualified names, DNS 1123 subdomains, label values).

const nameRule = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const namePattern = new RegExp(`^${nameRule}$`);
const subdomainPattern = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const nameText =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character " +
  `(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '${nameRule}')`;
const valueText =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and " +
  "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is " +
  `'(${nameRule})?')`;
const subdomainText =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and " +
  "end with an alphanumeric character (e.g. 'example.com', regex used for validation is " +
  "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

function labelKeyFaults(key: string): string[] {
  const parts = key.split("/");
  if (parts.length > 2) {
    const prefixed = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
    return [`a qualified name ${nameText} ${prefixed}`];
  }
  const faults: string[] = [];
  const name = parts[parts.length - 1] as string;
  if (parts.length === 2) {
    const prefix = parts[0] as string;
    if (prefix === "") faults.push("prefix part must be non-empty");
    else {
      if (Buffer.byteLength(prefix) > 253) faults.push("prefix part must be no more than 253 characters");
      if (!subdomainPattern.test(prefix)) faults.push(`prefix part ${subdomainText}`);
    }
  }
  if (name === "") faults.push("name part must be non-empty");
  else if (Buffer.byteLength(name) > 63) faults.push("name part must be no more than 63 characters");
  if (!namePattern.test(name)) faults.push(`name part ${nameText}`);
  return faults;
}

function labelValueFaults(value: string): string[] {
  const faults: string[] = [];
  if (Buffer.byteLength(value) > 63) faults.push("must be no more than 63 characters");
  if (value !== "" && !namePattern.test(value)) faults.push(valueText);
  return faults;
}

function formatLabelRequirement({ key, operator, values }: LabelRequirement): string {
  switch (operator) {
    case "exists":
      return key;
    case "!":
      return `!${key}`;
    case "in":
    case "notin":
      return values.length === 1
        ? `${key}${operator === "in" ? "=" : "!="}${values[0]}`
        : `${key} ${operator} (${values.join(",")})`;
    default:
      return `${key}${operator}${values[0] ?? ""}`;
  }
}

// Field selectors: terms between commas, `\` escapes `\`, `,` and `=` in values.

function splitTerms(text: string): string[] {
  const terms: string[] = [];
  let start = 0;
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === "\\") at += 1;
    else if (text[at] === ",") {
      terms.push(text.slice(start, at));
      start = at + 1;
    }
  }
  terms.push(text.slice(start));
  return terms;
}

function unescapeValue(escaped: string): string | SelectorError {
  if (!/[\\,=]/.test(escaped)) return escaped;
  let value = "";
  let slash = false;
  for (const letter of escaped) {
    const special = letter === "\\" || letter === "," || letter === "=";
    if (slash) {
      if (!special) return { error: `invalid field selector: invalid escape sequence: \\${letter}` };
      value += letter;
      slash = false;
    } else if (letter === "\\") {
      slash = true;
    } else if (special) {
      return { error: `invalid field selector: unescaped character in value: ${letter.codePointAt(0)}` };
    } else {
      value += letter;
    }
  }
  return slash ? { error: "invalid field selector: invalid escape sequence: \\" } : value;
}

function escapeValue(value: string): string {
  return value.replace(/[\\,=]/g, "\\$&");
}
