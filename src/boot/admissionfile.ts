// --admission-control-config-file: which plugin gets which settings. Read and checked once at the start, before
// anything is opened; threads get each plugin's settings as JSON text. YAML or JSON, inline or in files of their own.
import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { checkPluginSettings, pluginNames } from "../admission/table.ts";
import type { Identity } from "../api/identity.ts";
import { plainOf } from "../api/value.ts";
import { Fault } from "../codec/engine/json.ts";
import { parseYaml } from "../codec/yaml/yaml.ts";
import { loadFileCheck } from "../config/filecheck.ts";
import type { AdmissionConfiguration } from "../config/files/admission.ts";
import { BootFault, mending } from "./fault.ts";

const flag = "--admission-control-config-file";

/** Settings by plugin, as JSON text; an empty `path` has none. Throws BootFault, with one line for the operator. */
export async function readAdmissionFile(path: string, { spell }: Identity): Promise<Map<string, string>> {
  const settings = new Map<string, string>();
  if (path === "") return settings;
  const check = await loadFileCheck(spell);
  const document = readDocument(path);
  const wrong = check("admission-configuration", document);
  if (wrong !== undefined) throw new BootFault(`${flag} ${path}: ${wrong}`);
  const { plugins = [] } = document as AdmissionConfiguration;
  const seen = new Set<string>();
  for (const [index, { name, configuration, path: file = "" }] of plugins.entries()) {
    const fault = (why: string): BootFault => new BootFault(`${flag} ${path}: plugins[${index}].${why}`);
    if (!pluginNames.includes(name)) {
      throw fault(`name: there is no plugin ${JSON.stringify(name)}; there are: ${pluginNames.join(", ")}`);
    }
    if (seen.has(name)) throw fault(`name: ${name} is there twice`);
    seen.add(name);
    if (configuration === undefined && file === "") continue;
    const from = configuration === undefined ? resolve(dirname(path), file) : path;
    const found = configuration ?? readDocument(from);
    if (found === null) continue;
    const wrong = isObject(found) ? checkPluginSettings(name, found, check) : "must be an object";
    if (wrong !== undefined) throw new BootFault(`${flag} ${from}: plugin ${name}: ${wrong}`);
    settings.set(name, JSON.stringify(found));
  }
  return settings;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && !Array.isArray(value);
}

/** A file as plain data. */
function readDocument(path: string): unknown {
  const bytes = mending(`cannot read ${flag} ${path}`, () => readFileSync(path));
  const document = parseYaml(bytes);
  if (document instanceof Fault) throw new BootFault(`${flag} ${path}: ${document.message}`);
  return plainOf(document);
}
