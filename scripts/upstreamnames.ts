// Names between the two identities, in texts: upstream's programs speak upstream's names alone, a server with
// `--identity=orch` the brand's. The way there is `api/identity.ts`. The way back is not told by a name itself, since
// `kubernetes.io` and `k8s.io` both became `orch.io`: API groups and a few other names have the second, the rest the
// first. Pure; used by upstreamproxy.ts.
import { groupVersionData } from "../src/api/gen/kinds.ts";
import { identities } from "../src/api/identity.ts";

const { spell } = identities.orch;
/** Names that are rewritten only when they are a whole string. */
const [word, ownWord] = ["kubernetes", spell("kubernetes")];

/** API groups that upstream's controllers speak, with those that no resource of the server is in. */
const groups = [...new Set(groupVersionData.map(({ group }) => group)), ...["meta.k8s.io", "metrics.k8s.io"]].filter(
  (group) => group.endsWith(".k8s.io"),
);

/** Names, or beginnings of names, that neither a group nor their domain tells; longer ones before their beginnings. */
const others = [
  ...["kubernetes.io/kube-apiserver-client-kubelet", "kubernetes.io/kube-apiserver-client"],
  ...["kubernetes.io/kubelet-serving", "kube-root-ca.crt", "kube-api-access-"],
  ...["kube-system", "kube-public", "kube-node-lease", "application/vnd.kubernetes.protobuf"],
  ...["rbac.authorization.k8s.io/aggregate-to-"],
  ...["endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io"],
];

const upstreamOf = new Map([...groups, ...others].map((name) => [spell(name), name]));

/**
 * A name in the brand's spelling. A group is one by itself, at the end of a longer name (`v1.apps`, a finalizer) and
 * before a version: `node.orch.io/v1` is of a group, `node.orch.io/not-ready` a taint.
 */
const ownName = new RegExp(
  `${alternatives(others)}|(?<![\\w-])${alternatives(groups)}(?![\\w-]|/(?!v\\d))|orch\\.io`,
  "g",
);

function alternatives(names: readonly string[]): string {
  return `(?:${names.map((name) => spell(name).replaceAll(".", "\\.")).join("|")})`;
}

/** A text of the server (JSON, YAML, a header) as upstream would have said it. */
export function toUpstream(text: string): string {
  return text
    .replace(ownName, (name) => upstreamOf.get(name) ?? "kubernetes.io")
    .replaceAll(`"${ownWord}"`, `"${word}"`);
}

/** A text of upstream's program (JSON, YAML, a header) in the server's names. */
export function fromUpstream(text: string): string {
  return spell(text).replaceAll(`"${word}"`, `"${ownWord}"`);
}

/** Path and query of a request of upstream's program in the server's names. */
export function targetFromUpstream(target: string): string {
  const [path = "", query] = target.split(/\?(.*)/s);
  const own = path.split("/").map(segmentFromUpstream).join("/");
  if (query === undefined) return own;
  const parameters = new URLSearchParams();
  for (const [key, value] of new URLSearchParams(query)) parameters.append(key, selectorFromUpstream(value));
  return `${own}?${parameters}`;
}

/** What names nothing of upstream's keeps its escapes. */
function segmentFromUpstream(segment: string): string {
  const name = decodeURIComponent(segment);
  const own = spell(name);
  return own === name ? segment : encodeURIComponent(own);
}

/** `metadata.name=kubernetes` names the object as well as `kubernetes` does. */
function selectorFromUpstream(value: string): string {
  return value
    .split(/([=,])/)
    .map(spell)
    .join("");
}
