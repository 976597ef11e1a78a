// --admission-control-config-file: which plugin gets which settings. Read and checked once at the start, before
// anything is opened; threads get each plugin's settings as JSON text. YAML or JSON, inline or in files of their own.
import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { checkPluginSettings, pluginNames } from "../admission/table.ts";
import type { Identity } from "../api/identity.ts";
import type { Value, ValueMap } from "../api/value.ts";
import { Fault, writeValue } from "../codec/engine/json.ts";
import { parseYaml } from "../codec/yaml/yaml.ts";
import { BootFault, mending } from "./fault.ts";

const flag = "--admission-control-config-file";

/** Versions of the file that are read; their shape is one. */
const apiVersions = ["apiserver.config.k8s.io/v1", "apiserver.k8s.io/v1alpha1"];

/** Settings by plugin, as JSON text; an empty `path` has none. Throws BootFault, with one line for the operator. */
export function readAdmissionFile(path: string, identity: Identity): Map<string, string> {
  const settings = new Map<string, string>();
  const seen = new Set<string>();
  if (path === "") return settings;
  for (const entry of pluginsOf(path, readDocument(path), identity)) {
    const name = entry.get("name");
    if (typeof name !== "string" || name === "") throw new BootFault(`${flag} ${path}: a plugin without a name`);
    if (!pluginNames.includes(name)) throw new BootFault(`${flag} ${path}: there is no plugin ${JSON.stringify(name)}`);
    if (seen.has(name)) throw new BootFault(`${flag} ${path}: plugin ${name} is there twice`);
    seen.add(name);
    const found = settingsOf(path, name, entry);
    if (found === undefined || found === null) continue;
    if (!(found instanceof Map))
      throw new BootFault(`${flag} ${path}: plugin ${name}: its configuration must be an object`);
    const text = writeValue(found);
    const wrong = checkPluginSettings(name, text, identity);
    if (wrong !== undefined) throw new BootFault(`${flag} ${path}: plugin ${name}: ${wrong}`);
    settings.set(name, text);
  }
  return settings;
}

function pluginsOf(path: string, document: Value, identity: Identity): ValueMap[] {
  const fault = (why: string): BootFault => new BootFault(`${flag} ${path}: ${why}`);
  if (!(document instanceof Map)) throw fault("it is no AdmissionConfiguration");
  const [kind, apiVersion] = [document.get("kind"), document.get("apiVersion")];
  const served = apiVersions.map(identity.spell);
  if (kind !== "AdmissionConfiguration" || typeof apiVersion !== "string" || !served.includes(apiVersion)) {
    throw fault(`it must be an AdmissionConfiguration of ${served[0]}`);
  }
  const plugins = document.get("plugins") ?? [];
  if (!Array.isArray(plugins)) throw fault("plugins must be a list");
  return plugins.map((entry) => {
    if (entry instanceof Map) return entry;
    throw fault("an entry of plugins must be an object");
  });
}

/** What an entry holds: inline, or in the file it names, relative to this one. */
function settingsOf(path: string, name: string, entry: ValueMap): Value | undefined {
  const [inline, file] = [entry.get("configuration"), entry.get("path")];
  if (inline !== undefined && inline !== null) return inline;
  if (file === undefined || file === null || file === "") return undefined;
  if (typeof file !== "string") throw new BootFault(`${flag} ${path}: plugin ${name}: path must be a text`);
  return readDocument(resolve(dirname(path), file));
}

function readDocument(path: string): Value {
  const bytes = mending(`cannot read ${flag} ${path}`, () => readFileSync(path));
  const document = parseYaml(bytes);
  if (document instanceof Fault) throw new BootFault(`${flag} ${path}: ${document.message}`);
  return document;
}
