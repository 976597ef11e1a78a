// What auditing needs of files, looked at before anything is started: the policy and the webhook's configuration.
import { readFileSync } from "node:fs";
import type { Identity } from "../api/identity.ts";
import { parsePolicy } from "../audit/policy.ts";
import type { Config } from "../config/config.ts";
import { loadFileCheck } from "../config/filecheck.ts";
import type { Connection } from "../outbound/client.ts";
import { readConnection } from "../outbound/connection.ts";
import { BootFault, mending } from "./fault.ts";

/** What was found. */
export interface AuditFiles {
  /** The policy's text: every front reads it for itself, and all read the same. */
  readonly policy: Uint8Array;
  readonly connection: Connection | undefined;
}

/** Reads and checks them; undefined: nothing is audited. Throws BootFault. */
export async function checkAuditFiles({ audit }: Config, identity: Identity): Promise<AuditFiles | undefined> {
  if (audit === undefined) return undefined;
  const check = await loadFileCheck(identity.spell);
  const { policyFile, webhook } = audit;
  const policy = mending(`cannot read --audit-policy-file ${policyFile}`, () => readFileSync(policyFile));
  const parsed = parsePolicy(policy, check);
  if (typeof parsed === "string") throw new BootFault(`--audit-policy-file ${policyFile}: ${oneLine(parsed)}`);
  const connection = webhook && readConnection(webhook.configFile, check);
  if (typeof connection === "string") throw new BootFault(`--audit-webhook-config-file: ${oneLine(connection)}`);
  return { policy, connection };
}

function oneLine(text: string): string {
  return text
    .split("\n")
    .map((line) => line.trim())
    .join(" ");
}
