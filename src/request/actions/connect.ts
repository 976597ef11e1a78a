// Subresources that lead to a node: log, exec, attach, portforward and proxy. What can be said without asking the node
// is said here, as upstream says it; the server has no connections to nodes yet, so there the way ends.
import { admit } from "../../admission/table.ts";
import { type FieldError, forbiddenField, invalid, invalidObject } from "../../api/fielderror.ts";
import type { Container, Pod } from "../../api/gen/core/v1.ts";
import type { ApiObject } from "../../api/object.ts";
import { badRequest, isStatus, notFound, refuse, type Status } from "../../api/status.ts";
import type { RequestContext } from "../call/call.ts";
import { catchUp } from "../commit/attempts.ts";
import { attributesOf } from "../commit/attributes.ts";
import { readCurrent, storedObject } from "../commit/objectstore.ts";
import type { WriteServices } from "../commit/writerequest.ts";
import { unknownResource } from "../route/info.ts";
import { first, type Query } from "../route/query.ts";
import { connectOptions, integer } from "./connectoptions.ts";

/** Why there is no connection; undefined: there is nothing to be sent, as for the log of a pod without a node (204). */
export async function connect(writers: WriteServices, call: RequestContext): Promise<Status | undefined> {
  const late = await catchUp(writers, call.deadline);
  if (late !== undefined) return late;
  const refused = await askPlugins(writers, call);
  if (refused !== undefined) return refused;
  const { info } = call;
  const { resource, subresource, namespace, query } = info;
  const kind = subresource?.name ?? "";
  const name = kind === "proxy" ? targetOf(info.name) : info.name;
  if (kind === "log") {
    const wrong = checkLogOptions(query, name);
    if (wrong !== undefined) return wrong;
  }
  const current = readCurrent(writers, resource, namespace, name);
  if (current === undefined) return notFound(resource, name);
  if (resource.resource !== "pods" || kind === "proxy") return unreachable;
  const pod = storedObject(resource, current) as ApiObject & Pod;
  const container = kind === "portforward" ? undefined : checkContainer(pod, first(query, "container") ?? "");
  if (container !== undefined) return container;
  const node = pod.spec.nodeName ?? "";
  if (node === "") return kind === "log" ? undefined : badRequest(`pod ${name} does not have a host assigned`);
  const nodes = writers.scheme.find("", "v1", "nodes");
  if (nodes === undefined) return unknownResource;
  // Upstream looks for the node and tells of a pod.
  return readCurrent(writers, nodes, "", node) === undefined ? notFound(resource, node) : unreachable;
}

/** Asks the plugins about a connection, before anything else is looked at (upstream: ConnectResource). Logs are reads. */
async function askPlugins(writers: WriteServices, call: RequestContext): Promise<Status | undefined> {
  const { resource, subresource, namespace, name } = call.info;
  const through = subresource?.name ?? "";
  if (through === "log") return undefined;
  const options = connectOptions(call.info, call.exchange.path);
  if (isStatus(options)) return options;
  const { user, permit, deadline, trace, warnings: heard } = call;
  const head = { resource, subresource: through, namespace, name, user, permit, manager: "", dryRun: false, heard };
  const attributes = attributesOf({ ...head, deadline, trace }, "connect", options, undefined);
  return admit(writers.admission, attributes);
}

const unreachable = refuse("ServiceUnavailable", "the server does not connect to nodes");

/** The name in `[scheme:]name[:port]`. */
function targetOf(text: string): string {
  const parts = text.split(":");
  return (parts.length === 3 ? parts[1] : parts[0]) ?? text;
}

/** 400 unless the container is one of the pod's, or is not named and there is only one. */
function checkContainer({ metadata, spec }: Pod, container: string): Status | undefined {
  const named = (list: readonly Pick<Container, "name">[] | undefined): string[] =>
    (list ?? []).map(({ name }) => name);
  const [plain, init, debug] = [named(spec.containers), named(spec.initContainers), named(spec.ephemeralContainers)];
  const pod = metadata.name ?? "";
  if (container !== "") {
    const known = [...plain, ...init, ...debug].includes(container);
    return known ? undefined : badRequest(`container ${container} is not valid for pod ${pod}`);
  }
  if (plain.length === 1) return undefined;
  const more = init.length === 0 ? "" : ` or one of the init containers: [${init.join(" ")}]`;
  return badRequest(`a container name must be specified for pod ${pod}, choose one of: [${plain.join(" ")}]${more}`);
}

/** 422 for options of a log that mean nothing, 400 for numbers that are none. */
function checkLogOptions(query: Query, pod: string): Status | undefined {
  const errors: FieldError[] = [];
  const bounds = [
    ["tailLines", 0, "must be greater than or equal to 0"],
    ["limitBytes", 1, "must be greater than 0"],
    ["sinceSeconds", 1, "must be greater than 0"],
  ] as const;
  for (const [field, min, why] of bounds) {
    const value = integer(first(query, field));
    if (isStatus(value)) return value;
    if (value !== undefined && value < min) errors.push(invalid(field, value, why));
  }
  if (query.has("sinceSeconds") && query.has("sinceTime")) {
    errors.push(forbiddenField("", "at most one of `sinceTime` or `sinceSeconds` may be specified"));
  }
  return errors.length === 0 ? undefined : invalidObject("", "PodLogOptions", pod, errors);
}
