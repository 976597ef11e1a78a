// As whom webhooks are called: the users of a client configuration that the plugin's settings name, chosen by the
// webhook's host and port (upstream: WebhookAdmission and its kubeConfigFile).
import { isAbsolute } from "node:path";
import type { FileCheck } from "../../config/filecheck.ts";
import type { WebhookSettings } from "../../config/files/plugins.ts";
import { type Login, type Logins, readLogins } from "../../outbound/connection.ts";

const noLogins: Logins = { byName: new Map(), current: "" };
const anonymous: Login = {};

/** Reads the settings of a plugin, JSON text, and the file they name; a text says in one line what is wrong. */
export function readWebhookLogins(settings: string | undefined, check: FileCheck): Logins | string {
  if (settings === undefined) return noLogins;
  const { kubeConfigFile: file } = JSON.parse(settings) as WebhookSettings;
  if (!isAbsolute(file)) return `kubeConfigFile: must be an absolute path, not ${JSON.stringify(file)}`;
  const logins = readLogins(file, check);
  return typeof logins === "string" ? `kubeConfigFile: ${logins}` : logins;
}

/**
 * The login for a webhook at `host:port`: the user of that name, else of the longest `*.suffix` of it, for port 443 then
 * the same without the port, else the user `*`, else that of the current context, else none.
 */
export function loginFor({ byName, current }: Logins, host: string, port: number): Login {
  if (byName.size === 0) return anonymous;
  const targets = port === 443 ? [`${host}:443`, host] : [`${host}:${port}`];
  for (const target of targets) {
    const found = byName.get(target) ?? bySuffix(byName, target);
    if (found !== undefined) return found;
  }
  return byName.get("*") ?? byName.get(current) ?? anonymous;
}

function bySuffix(byName: ReadonlyMap<string, Login>, target: string): Login | undefined {
  for (let dot = target.indexOf("."); dot >= 0; dot = target.indexOf(".", dot + 1)) {
    const found = byName.get(`*${target.slice(dot)}`);
    if (found !== undefined) return found;
  }
  return undefined;
}
