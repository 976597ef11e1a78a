// The legacy form of an event: one line of text with the most important of it (upstream: audit.EventString).
import { quote } from "../api/gotext.ts";
import { textAt, textIn, type Value } from "../api/value.ts";
import { parseText } from "../codec/engine/json.ts";

/** The line of an event that is there as JSON. */
export function legacyLine(event: string): string {
  const value = parseText(event);
  const root = value instanceof Map ? value : new Map<string, Value>();
  const user = root.get("user");
  const acting = root.get("impersonatedUser");
  const name = textAt(user, "username");
  const groups = name === "" ? "" : groupsOf(user);
  const sources = root.get("sourceIPs");
  const [source] = Array.isArray(sources) ? sources : [];
  const status = root.get("responseStatus");
  const code = status instanceof Map ? String(status.get("code") ?? 0) : "<deferred>";
  const fields: [string, string][] = [
    ["id", textAt(root, "auditID")],
    ["stage", textAt(root, "stage")],
    ["ip", typeof source === "string" ? source : "<unknown>"],
    ["method", textAt(root, "verb")],
    ["user", name || "<none>"],
    ["groups", groups || "<none>"],
    ["as", acting === undefined ? "<self>" : textAt(acting, "username")],
    ["asgroups", acting === undefined ? "<lookup>" : groupsOf(acting) || "<lookup>"],
    ["user-agent", textAt(root, "userAgent")],
    ["namespace", textAt(root.get("objectRef"), "namespace") || "<none>"],
    ["uri", textAt(root, "requestURI")],
  ];
  const shown = fields.map(([key, value]) => `${key}=${quote(value)}`).join(" ");
  return `${textAt(root, "requestReceivedTimestamp")} AUDIT: ${shown} response="${code}"`;
}

function groupsOf(user: Value | undefined): string {
  const groups = user instanceof Map ? user.get("groups") : undefined;
  if (!Array.isArray(groups)) return "";
  return groups.map((group) => quote(textIn(group))).join(",");
}
