// Recorded writes of custom objects, through the compiled schema of their definition, without a server: what upstream
// took is settled to what it answered, and what it refused has the recorded causes. Runs where the recordings are.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import t, { type Test } from "tap";
import type { CustomResourceDefinition } from "../../../src/api/gen/apiextensions/v1.ts";
import { messageOf } from "../../../src/api/messages.ts";
import type { Value, ValueMap } from "../../../src/api/value.ts";
import { decode, isFault, parseText } from "../../../src/codec/engine/json.ts";
import { type CompiledSchema, settle, validate } from "../../../src/kinds/custom/schema.ts";
import { canonicalText } from "../../../src/kinds/custom/texts.ts";
import { compileVersions } from "../../../src/kinds/custom/versions.ts";
import { identity } from "./build.ts";

const folder = "../shared/transcripts/scenarios";
/** Those that write objects by way of their schema alone. */
const scenarios = /^(?:255|257|259|260|253)-/;

interface Cause {
  readonly reason: string;
  readonly message?: string;
  readonly field: string;
}

interface Step {
  readonly title?: string;
  readonly method?: string;
  readonly path?: string;
  readonly body?: { readonly kind?: string; readonly metadata?: { readonly name?: string } };
  readonly expect?: { readonly status: number; readonly json?: Record<string, unknown> };
}

const definitionMessage = messageOf("apiextensions/v1.CustomResourceDefinition");

const files = existsSync(folder) ? readdirSync(folder).filter((name) => scenarios.test(name)) : [];

t.test("custom objects are answered as recorded", (t) => {
  for (const file of files) {
    const { steps } = JSON.parse(readFileSync(`${folder}/${file}`, "utf8").replaceAll("${suffix}", "abc")) as {
      steps: readonly Step[];
    };
    let schema: CompiledSchema | undefined;
    let definition: CustomResourceDefinition | undefined;
    for (const [index, step] of steps.entries()) {
      const { body, method, expect, path = "" } = step;
      // Integers that the reader of this test cannot hold are in rows of validate.test.ts.
      if (body === undefined || expect === undefined || /\d{17}/.test(JSON.stringify(body))) continue;
      const label = `${file} ${index} ${step.title ?? ""}`;
      const document = parseText(JSON.stringify(body)) as ValueMap;
      if (body.kind === "CustomResourceDefinition" && expect.status < 300 && !path.includes("dryRun")) {
        const typed = decode<CustomResourceDefinition>(definitionMessage, document);
        if (isFault(typed)) throw new Error(typed.message);
        definition = typed;
        schema = compileVersions(typed.spec, identity)[0]?.schema;
      } else if (body.kind === "Widget" && method === "POST" && schema !== undefined) {
        checkWrite(t, label, schema, document, expect);
      }
    }
    if (file.startsWith("253") && definition !== undefined) checkTables(t, file, steps, definition);
  }
  t.end();
});

function checkWrite(
  t: Pick<Test, "same" | "ok">,
  label: string,
  schema: CompiledSchema,
  document: ValueMap,
  expect: NonNullable<Step["expect"]>,
): void {
  const { misfit } = settle(schema, document);
  const causes = ((expect.json?.["details"] as { causes?: Cause[] } | undefined)?.causes ?? []).filter(
    ({ field }) => field !== "patch",
  );
  if (expect.status === 400) return;
  t.same(misfit, undefined, label);
  const { values, shapes } = validate(schema, document);
  const found = [...values, ...shapes].map(({ field, reason, text }) => `${field} FieldValue${reason} ${text}`);
  const wanted = causes.map(({ field, reason, message }) => `${field} ${reason} ${message ?? ""}`);
  t.same(found.sort(), wanted.sort(), label);
  const spec = expect.json?.["spec"] as object | undefined;
  if (expect.status < 300 && spec !== undefined && spec !== null) {
    t.same(JSON.parse(canonicalText(document.get("spec") ?? null, false)), spec, label);
  }
}

function checkTables(
  t: Pick<Test, "same" | "ok">,
  file: string,
  steps: readonly Step[],
  definition: CustomResourceDefinition,
): void {
  const [version] = compileVersions(definition.spec, identity);
  if (version === undefined) return;
  const { columns } = version.columns;
  const { schema } = version;
  const rows = new Map<string, Value>();
  for (const { body, method } of steps) {
    if (body?.kind !== "Widget" || method !== "POST") continue;
    const document = parseText(JSON.stringify(body)) as ValueMap;
    settle(schema, document);
    (document.get("metadata") as ValueMap).set("creationTimestamp", "2026-01-01T00:00:00Z");
    rows.set(body.metadata?.name ?? "", document);
  }
  let compared = 0;
  for (const step of steps) {
    const cells = (step.expect?.json?.["rows.*.cells"] as unknown[][] | undefined)?.[0];
    const name = cells?.[0] as string | undefined;
    const document = rows.get(name ?? "");
    if (cells === undefined || !(document instanceof Map)) continue;
    const shown = columns.map(({ cell }, index) => (cells[index] === "<age>" ? "<age>" : cell(document, Date.now)));
    t.same(shown, cells, `${file} ${name}`);
    compared += 1;
  }
  t.ok(compared > 3, `${compared} rows`);
}
