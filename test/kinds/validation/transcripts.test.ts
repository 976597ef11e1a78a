// Recorded answers of upstream to objects that are wrong or changed where they may not be (areas 033 to 037, and
// the refusals among the admission, status and secret scenarios), asked of the whole request path in this thread.
// Needs ../shared; without it there is nothing to compare with.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import t from "tap";
import { type Answer, type InProcess, openInProcess } from "../../support/inprocess.ts";

type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

interface Step {
  readonly title?: string;
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Record<string, Json>;
  readonly body?: Json;
  readonly bodyFrom?: string;
  readonly set?: Record<string, Json>;
  readonly capture?: Record<string, string>;
  readonly expect?: { readonly status: number; readonly json?: { readonly details?: { causes?: Cause[] } } };
}

interface Cause {
  readonly reason?: string;
  readonly message?: string;
  readonly field?: string;
}

const scenarios = "../shared/transcripts/scenarios";
const files = ["033", "034", "036", "037", "111", "163", "171"];
/** Groups whose rules are here; the other groups' come with their own kinds. */
const ours = /^(?:\/api\/v1|\/apis\/(?:apps|batch)\/v1)\//;
/** Steps that wait for something else: addresses of services, admission by limit ranges, bodies the tool expands. */
const waiting = new Set(["037#25", "037#26", "163#3", "163#4", "163#5", "163#6", "163#7", "163#8"]);

/** Replaces `${name}` in every text of a value; a text that is only that becomes the captured value. */
function substitute(value: Json, variables: ReadonlyMap<string, Json>): Json {
  if (typeof value === "string") {
    const whole = /^\$\{(\w+)\}$/.exec(value)?.[1];
    if (whole !== undefined && variables.has(whole)) return variables.get(whole) ?? null;
    return value.replace(/\$\{(\w+)\}/g, (text, name: string) => String(variables.get(name) ?? text));
  }
  if (Array.isArray(value)) return value.map((item) => substitute(item, variables));
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, substitute(item, variables)]));
}

function keysOf(path: string): string[] {
  return path
    .replaceAll("\\.", "\0")
    .split(".")
    .map((key) => key.replaceAll("\0", "."));
}

function put(target: Json, path: string, value: Json): void {
  const keys = keysOf(path);
  const last = keys.pop() ?? "";
  let at = target as { [key: string]: Json };
  for (const key of keys) at = (at[key] ??= {}) as { [key: string]: Json };
  if (value === null) delete at[last];
  else at[last] = value;
}

/** A cause without what is printed of structs, which only people read. */
function comparable({ reason, field, message }: Cause): string {
  const line = (message ?? "").split("\n")[0] ?? "";
  const text = line
    .replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "<uid>")
    .replace(/^(Invalid value: )(?:core\.|runtime\.|\{).*\}(: [^{}]*)$/, "$1<struct>$2");
  return `${reason} ${field}: ${text}`;
}

async function replay(server: InProcess, name: string, steps: readonly Step[], check: Check): Promise<void> {
  const variables = new Map<string, Json>([
    ["suffix", "abc123"],
    ["ns", "g-abc123"],
  ]);
  await server.call("POST", "/api/v1/namespaces", { metadata: { name: "g-abc123" } });
  for (const [i, step] of steps.entries()) {
    if (step.path === undefined) continue;
    const path = String(substitute(step.path, variables));
    const answer = await server.call(step.method ?? "GET", path, bodyOf(step, variables), headersOf(step));
    for (const [variable, from] of Object.entries(step.capture ?? {})) {
      if (from === ".") variables.set(variable, answer.json as Json);
    }
    const id = `${name}#${i}`;
    const expanded = /\$\{\w+\*/.test(JSON.stringify(step.body ?? ""));
    if (step.expect !== undefined && ours.test(path) && !waiting.has(id) && !expanded)
      check(id, step, answer, variables);
  }
}

function bodyOf(step: Step, variables: ReadonlyMap<string, Json>): Json | undefined {
  if (step.bodyFrom === undefined) return step.body === undefined ? undefined : substitute(step.body, variables);
  const body = structuredClone(variables.get(step.bodyFrom) ?? null);
  for (const [path, value] of Object.entries(step.set ?? {})) put(body, path, substitute(value, variables));
  return body;
}

function headersOf(step: Step): Record<string, string> {
  const headers = Object.entries(step.headers ?? {}).filter(([, value]) => typeof value === "string");
  return Object.fromEntries(headers.map(([key, value]) => [key.toLowerCase(), String(value)]));
}

type Check = (id: string, step: Step, answer: Answer, variables: ReadonlyMap<string, Json>) => void;

t.test("validation gives the causes of the recorded refusals", async (t) => {
  if (!existsSync(scenarios)) return t.comment("no recordings here");
  let compared = 0;
  for (const file of readdirSync(scenarios).filter((name) => files.includes(name.slice(0, 3)))) {
    const { steps } = JSON.parse(readFileSync(`${scenarios}/${file}`, "utf8")) as { steps: Step[] };
    const server = await openInProcess();
    await replay(server, file.slice(0, 3), steps, (id, step, answer, variables) => {
      const expected = step.expect?.status;
      if (expected !== 422) return;
      const title = `${id} ${step.title ?? step.path}`;
      t.equal(answer.code, expected, title);
      const causes = (substitute((step.expect?.json?.details?.causes ?? []) as Json, variables) ?? []) as Cause[];
      const found = ((answer.json?.details?.causes ?? []) as Cause[]).map((cause, index) =>
        // A recording may leave a message out of the comparison.
        causes[index] !== undefined && causes[index].message === undefined ? { ...cause, message: "" } : cause,
      );
      t.same(found.map(comparable), causes.map(comparable), `${title}: causes`);
      compared += 1;
    });
    server.close();
  }
  t.ok(compared > 80, `${compared} refusals compared`);
});
