// The span of a request: what is said of it when it is over.
import type { RequestRecord } from "./requests.ts";
import { type SpanAttribute, spanKinds, type TraceSpans } from "./spans.ts";

/** A request is over. The name is upstream's. */
export function endRequest(spans: TraceSpans, record: RequestRecord): void {
  spans.end("KubernetesAPI", spanKinds.server, attributesOf(record), record.code >= 500);
}

/** What is said of a request: nothing of its query, headers or bodies but the client's name for itself. */
function attributesOf({ method, path, code, agent, remote, verb, group, version, resource, ...rest }: RequestRecord) {
  const { subresource, id, user } = rest;
  const all: readonly SpanAttribute[] = [
    ["http.method", method],
    ["http.target", path],
    ["http.status_code", code],
    ["http.user_agent", agent],
    ["net.peer.ip", remote],
    ["enduser.id", user],
    ["audit-id", id],
    ["k8s.verb", verb],
    ["k8s.group", group],
    ["k8s.version", version],
    ["k8s.resource", resource],
    ["k8s.subresource", subresource],
  ];
  return all.filter(([, value]) => value !== "");
}
