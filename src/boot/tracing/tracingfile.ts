// --tracing-config-file, read and checked once at the start, before anything is opened.
import { readFileSync } from "node:fs";
import type { Identity } from "../../api/identity.ts";
import { plainOf } from "../../api/value.ts";
import { Fault } from "../../codec/engine/json.ts";
import { parseYaml } from "../../codec/yaml/yaml.ts";
import { loadFileCheck } from "../../config/filecheck.ts";
import type { TracingConfiguration } from "../../config/files/tracing.ts";
import { type TracingConfig, tracingGate } from "../../config/tracingflags.ts";
import { BootFault, mending } from "../fault.ts";

const flag = "--tracing-config-file";

/** Where collectors listen (OTLP over gRPC). */
const usualEndpoint = "localhost:4317";

/** What the file says; undefined: there is none. Throws BootFault, with one line for the operator. */
export async function readTracingFile(
  path: string,
  { spell }: Identity,
  gates: ReadonlySet<string>,
): Promise<TracingConfig | undefined> {
  if (path === "") return undefined;
  if (!gates.has(tracingGate)) throw new BootFault(`${flag} needs --feature-gates=${tracingGate}=true`);
  const check = await loadFileCheck(spell);
  const bytes = mending(`cannot read ${flag} ${path}`, () => readFileSync(path));
  const parsed = parseYaml(bytes);
  if (parsed instanceof Fault) throw new BootFault(`${flag} ${path}: ${parsed.message}`);
  const document = plainOf(parsed);
  const wrong = check("tracing-configuration", document);
  if (wrong !== undefined) throw new BootFault(`${flag} ${path}: ${wrong}`);
  const { endpoint = usualEndpoint, samplingRatePerMillion = 0 } = document as TracingConfiguration;
  return { endpoint, ratio: samplingRatePerMillion / 1_000_000 };
}
