// Every recorded create, through defaults, preparation and validation, without a server: what upstream took has no
// fault here, and what it refused as invalid has the recorded causes. Runs where the recordings are.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import t from "tap";
import { identities } from "../../src/api/identity.ts";
import type { ApiObject } from "../../src/api/object.ts";
import { createScheme, type Resource } from "../../src/api/scheme.ts";
import { decode, isFault, parseJson } from "../../src/codec/engine/json.ts";
import { applyDefaults } from "../../src/kinds/defaults.ts";
import { validateMeta } from "../../src/kinds/meta.ts";
import { strategyOf } from "../../src/kinds/table.ts";
import { contextOf } from "../support/context.ts";

const folder = "../shared/transcripts/scenarios";
const identity = identities.kubernetes;
const scheme = createScheme({ identity });

interface Step {
  readonly title?: string;
  readonly method?: string;
  readonly path?: string;
  readonly body?: ApiObject;
  readonly ignore?: readonly string[];
  readonly unchecked?: boolean;
  readonly expect?: {
    readonly status: number;
    readonly json?: {
      readonly details?: { readonly causes?: readonly { reason: string; message?: string; field: string }[] };
    };
  };
}

/** Steps whose recorded answer comes from somewhere else than the kind's own rules. */
const elsewhere: readonly RegExp[] = [
  // Custom resource definitions get their rules with the issue that serves them.
  /customresourcedefinitions/,
  // Allocators of addresses and ports.
  /provided (IP|port) is/,
  // Admission plugins.
  /must not be provided in pod spec/,
  /admission-pods-defaults\.json 9 /,
  // Options of the request.
  /(fieldManager|dryRun|fieldValidation): /,
];

function expand(text: string): string {
  return text
    .replaceAll(/\$\{suffix\}/g, "abc123")
    .replaceAll(/\$\{ns\}/g, "g-abc123")
    .replaceAll(/\$\{host\}/g, "server.example.com")
    .replaceAll(/\$\{(.)\*(\d+)\}/g, (_whole, letter: string, count: string) => letter.repeat(Number(count)));
}

/** The resource a create's path names; undefined for subresources and paths of custom resources. */
function resourceOf(path: string): Resource | undefined {
  const bare = path.split("?")[0] ?? "";
  const match = /^\/(?:api|apis\/([^/]+))\/([^/]+)\/(?:namespaces\/[^/]+\/)?([^/]+)$/.exec(bare);
  return match === null ? undefined : scheme.find(match[1] ?? "", match[2] ?? "", match[3] ?? "");
}

function faultsOf(resource: Resource, body: ApiObject): readonly string[] | undefined {
  const value = parseJson(Buffer.from(expand(JSON.stringify(body))));
  if (isFault(value)) return undefined;
  const object = decode<ApiObject>(resource.message, value);
  if (isFault(object)) return undefined;
  const context = contextOf(resource);
  applyDefaults(resource, object, identity);
  const strategy = strategyOf(resource, identity);
  strategy.canonicalize?.(object);
  strategy.truncate?.(object);
  const meta = object.metadata;
  if (resource.namespaced) meta.namespace = "g-abc123";
  else delete meta.namespace;
  meta.uid = "u";
  if (!meta.name && meta.generateName) meta.name = `${meta.generateName}xxxxx`;
  strategy.prepareForCreate(context, object);
  const errors = [
    ...validateMeta(meta, resource.namespaced, strategy.nameFormat, identity),
    ...strategy.validate(context, object),
  ];
  return errors.map((error) => `${error.reason} ${error.field}: ${plain(error.text)}`);
}

/** Printed structures and generated endings are not compared. */
function plain(text: string): string {
  return text
    .replace(/Invalid value: [^":{]*(?:\{.*\}|\(nil\)): /s, "Invalid value: {}: ")
    .replaceAll(/<ptr>|0xc0+/g, "p")
    .replaceAll(/<rand>|xxxxx/g, "r");
}

const files = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith(".json")) : [];

t.test("D12: Creates have the faults upstream recorded, and no others", (t) => {
  for (const file of files.sort()) {
    const { steps } = JSON.parse(readFileSync(`${folder}/${file}`, "utf8")) as { steps: Step[] };
    for (const [index, step] of steps.entries()) {
      const { expect, body, path } = step;
      const resource = resourceOf(path ?? "");
      if (step.method !== "POST" || !body?.metadata || !expect || !resource || resource.virtual || step.unchecked)
        continue;
      if (expect.status !== 201 && expect.status !== 422) continue;
      const recorded = (expect.json?.details?.causes ?? []).map(
        ({ reason, field, message }) => `${reason.replace("FieldValue", "")} ${field}: ${plain(expand(message ?? ""))}`,
      );
      // Causes the recording leaves out are not compared.
      const causes = expect.json?.details?.causes ?? [];
      const bare = expect.status === 422 && !causes.some((cause) => cause.message !== undefined);
      const text = `${file} ${index} ${path} ${recorded.join()}`;
      if (bare || elsewhere.some((pattern) => pattern.test(text))) continue;
      const found = faultsOf(resource, body);
      if (found === undefined) continue;
      t.strictSame([...found].sort(), recorded.sort(), `${file} ${index} ${step.title ?? ""}`);
    }
  }
  t.end();
});
