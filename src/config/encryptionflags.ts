// The flags of encryption at rest: names and rules are upstream's.
import type { Flag, FlagValues } from "./flag.ts";

const group = "Storage";

/** All of them, in the order of --help storage. */
export const encryptionFlags: readonly Flag[] = [
  {
    name: "encryption-provider-config",
    group,
    type: "string",
    default: "",
    brief: "which objects are stored encrypted, and how",
    help: "File with an EncryptionConfiguration: which resources are stored encrypted, by which providers and keys. Without it, objects are stored as they are.",
  },
  {
    name: "encryption-provider-config-automatic-reload",
    group,
    type: "bool",
    default: "false",
    help: "Read that file again when it changes. One that cannot be used leaves everything as it is. The health check of KMS plugins is then one for all of them, kms-providers.",
  },
];

/** Where the configuration of encryption at rest is. */
export interface EncryptionFlags {
  /** Empty: there is none. */
  readonly file: string;
  /** It is read again when it changes. */
  readonly reloads: boolean;
}

/** Reads parsed flags; returns an error message when they contradict each other. */
export function readEncryptionFlags(values: FlagValues): EncryptionFlags | string {
  const file = values.get("encryption-provider-config") ?? "";
  const reloads = values.get("encryption-provider-config-automatic-reload") === "true";
  if (reloads && file === "") return "--encryption-provider-config-automatic-reload needs --encryption-provider-config";
  return { file, reloads };
}
