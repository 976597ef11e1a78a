// The files of authorization, read and checked once at the start, before anything is opened.
import { readFileSync } from "node:fs";
import type { Identity } from "../api/identity.ts";
import type { AuthorizationConfig } from "../config/config.ts";
import { loadFileCheck } from "../config/filecheck.ts";
import type { Connection } from "../outbound/client.ts";
import { readConnection } from "../outbound/connection.ts";
import { type AbacPolicy, parsePolicies } from "./abac.ts";

/** Their contents for threads: plain data. */
export interface AuthorizationFiles {
  /** Empty without the mode ABAC. */
  readonly policies: readonly AbacPolicy[];
  /** Undefined without the mode Webhook. */
  readonly webhook: Connection | undefined;
}

/** Reads them; returns an error message of one line. */
export async function readAuthorizationFiles(
  { policyFile, webhookConfigFile }: AuthorizationConfig,
  { spell }: Identity,
): Promise<AuthorizationFiles | string> {
  if (policyFile === "" && webhookConfigFile === "") return { policies: [], webhook: undefined };
  const check = await loadFileCheck(spell);
  let policies: AbacPolicy[] | string = [];
  if (policyFile !== "") {
    try {
      policies = parsePolicies(readFileSync(policyFile, "utf8"), policyFile, check);
    } catch (error) {
      policies = `cannot read ${policyFile}: ${(error as Error).message}`;
    }
  }
  if (typeof policies === "string") return `--authorization-policy-file: ${policies}`;
  if (webhookConfigFile === "") return { policies, webhook: undefined };
  const webhook = readConnection(webhookConfigFile, check);
  return typeof webhook === "string" ? `--authorization-webhook-config-file: ${webhook}` : { policies, webhook };
}
