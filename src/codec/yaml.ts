// YAML request bodies, as the reference reads them (YAML 1.1 scalars, one document).
import type { Value } from "../api/value.ts";
import { unreachable } from "../base/assert.ts";
import type { Fault } from "./json.ts";

/** Parses one YAML document. Aliases, depth and size are bounded. */
export function parseYaml(_bytes: Uint8Array): Value | Fault {
  return unreachable("Not built yet");
}
