// The options of a connection as an object: what admission is shown of an exec, attach, port forwarding or proxy. Read
// from the query, as all of them are.

import { quote } from "../../api/gotext.ts";
import type { ApiObject } from "../../api/object.ts";
import { badRequest, isStatus, type Status } from "../../api/status.ts";
import type { ResourceInfo } from "../route/info.ts";
import { first, type Query } from "../route/query.ts";

/** The options object of a connection; a 400 Status when a number in it is none. */
export function connectOptions(
  { subresource, namespace, query }: Pick<ResourceInfo, "subresource" | "namespace" | "query">,
  path: string,
): ApiObject | Status {
  const kind = subresource?.kind ?? "";
  const head = { kind, apiVersion: "v1", metadata: {} };
  switch (subresource?.name) {
    case "exec": {
      const command = query.get("command");
      return { ...head, ...streams(query), ...(command === undefined ? {} : { command: [...command] }) } as ApiObject;
    }
    case "attach":
      return { ...head, ...streams(query) } as ApiObject;
    case "portforward": {
      const ports: number[] = [];
      for (const text of query.get("ports") ?? []) {
        const port = integer(text);
        if (isStatus(port)) return port;
        if (port !== undefined) ports.push(port);
      }
      return { ...head, ...(ports.length === 0 ? {} : { ports }) } as ApiObject;
    }
    default:
      return { ...head, path: restOf(path, namespace !== "") } as ApiObject;
  }
}

/** What of a raw path follows `…/proxy`. */
function restOf(path: string, namespaced: boolean): string {
  // /api/v1/namespaces/ns/pods/name/proxy, /api/v1/nodes/name/proxy
  const rest = path.split("/").slice(namespaced ? 8 : 6);
  return rest.length === 0 ? "" : `/${rest.join("/")}`;
}

/** An integer of a query; 400 for what is none. */
export function integer(text: string | undefined): number | Status | undefined {
  if (text === undefined || text === "") return undefined;
  if (/^[+-]?[0-9]{1,15}$/.test(text)) return Number(text);
  return badRequest(`strconv.ParseInt: parsing ${quote(text)}: invalid syntax`);
}

function streams(query: Query): object {
  const found: { [key: string]: boolean | string } = {};
  for (const name of ["stdin", "stdout", "stderr", "tty"] as const) {
    const text = first(query, name);
    // As for any boolean of a query: present and neither `false` nor `0`.
    if (text !== undefined && text.toLowerCase() !== "false" && text !== "0") found[name] = true;
  }
  const container = first(query, "container");
  return container === undefined || container === "" ? found : { ...found, container };
}
