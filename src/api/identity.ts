// An identity is the set of names one API is spoken in: groups, label domains, namespaces, signers, media types.
// The code is written in one canonical spelling, upstream's; an identity rewrites it once, when things are
// registered, never per request. Rules and exceptions: the document's naming convention, branding table.

/** The identities a server can be started with. */
export type IdentityName = "orch" | "kubernetes";

/** One spelling of the API's names. */
export interface Identity {
  readonly identity: IdentityName;
  /** Rewrites a text in the canonical spelling: a group, key, finalizer, namespace, media type, or a message that holds one. */
  spell(canonical: string): string;
}

/** Ordered rewrites from the canonical spelling to the brand's; the first rules are the more specific ones. */
const orchRules: readonly (readonly [from: string, to: string])[] = [
  ["flowcontrol.apiserver.k8s.io", "flowcontrol.orch.io"],
  ["kubernetes.io/kube-apiserver-client-kubelet", "orch.io/apiserver-client-node-agent"],
  ["kubernetes.io/kube-apiserver-client", "orch.io/apiserver-client"],
  ["kubernetes.io/kubelet-serving", "orch.io/node-agent-serving"],
  ["KUBERNETES_EXEC_INFO", "ORCH_EXEC_INFO"],
  ["kube-root-ca.crt", "orch-root-ca.crt"],
  ["kube-api-access-", "orch-api-access-"],
  ["kube-system", "orch-system"],
  ["kube-public", "orch-public"],
  ["kube-node-lease", "orch-node-lease"],
  ["application/vnd.kubernetes.protobuf", "application/vnd.orch.protobuf"],
  ["X-Kubernetes-", "X-Orch-"],
  ["kubernetes.io", "orch.io"],
  ["k8s.io", "orch.io"],
];

/** Names that are rewritten only when they are the whole text. */
const orchWords = new Map([["kubernetes", "orch"]]);

function spellOrch(canonical: string): string {
  const word = orchWords.get(canonical);
  if (word !== undefined) return word;
  let text = canonical;
  for (const [from, to] of orchRules) text = text.replaceAll(from, to);
  return text;
}

/** The two identities, by name. */
export const identities: Readonly<Record<IdentityName, Identity>> = {
  orch: { identity: "orch", spell: spellOrch },
  kubernetes: { identity: "kubernetes", spell: (canonical) => canonical },
};

/** `make`, called once for each identity. */
export function perIdentity<T>(make: (identity: Identity) => T): (identity: Identity) => T {
  const made = new WeakMap<Identity, { readonly value: T }>();
  return (identity) => {
    let known = made.get(identity);
    if (known === undefined) {
      known = { value: make(identity) };
      made.set(identity, known);
    }
    return known.value;
  };
}
