// Names of upstream's programs and of a server with `--identity=orch`, both ways.
import t from "tap";
import { fromUpstream, targetFromUpstream, toUpstream } from "../../scripts/upstreamnames.ts";
import { groupVersionData } from "../../src/api/gen/kinds.ts";

/** Texts as upstream's program has them, and as the server has them. */
const pairs: readonly (readonly [upstream: string, own: string])[] = [
  ['{"apiVersion":"coordination.k8s.io/v1"}', '{"apiVersion":"coordination.orch.io/v1"}'],
  // One domain: a group before a version and by itself, and the labels, annotations and taints of that name.
  ['{"apiVersion":"node.k8s.io/v1beta1"}', '{"apiVersion":"node.orch.io/v1beta1"}'],
  ['{"group":"node.k8s.io","kind":"RuntimeClass"}', '{"group":"node.orch.io","kind":"RuntimeClass"}'],
  ['{"key":"node.kubernetes.io/not-ready"}', '{"key":"node.orch.io/not-ready"}'],
  ['runtimeclasses.node.k8s.io "x" not found', 'runtimeclasses.node.orch.io "x" not found'],
  ['{"name":"v1.storage.k8s.io"}', '{"name":"v1.storage.orch.io"}'],
  ["a-node.kubernetes.io", "a-node.orch.io"],
  ["node.kubernetes.io-x", "node.orch.io-x"],
  ["custom.metrics.k8s.io/v1beta1", "custom.metrics.orch.io/v1beta1"],
  ['{"rbac.authorization.k8s.io/aggregate-to-view":"true"}', '{"rbac.authorization.orch.io/aggregate-to-view":"true"}'],
  ['{"rbac.authorization.kubernetes.io/autoupdate":"true"}', '{"rbac.authorization.orch.io/autoupdate":"true"}'],
  ["flowcontrol.apiserver.k8s.io/v1beta2", "flowcontrol.orch.io/v1beta2"],
  ["internal.apiserver.k8s.io/v1alpha1", "internal.apiserver.orch.io/v1alpha1"],
  ["application/json;as=Table;g=meta.k8s.io;v=v1", "application/json;as=Table;g=meta.orch.io;v=v1"],
  ['"customresourcecleanup.apiextensions.k8s.io"', '"customresourcecleanup.apiextensions.orch.io"'],
  ['"endpointslice.kubernetes.io/managed-by"', '"endpointslice.orch.io/managed-by"'],
  ['"endpointslice-controller.k8s.io"', '"endpointslice-controller.orch.io"'],
  ['"endpointslicemirroring-controller.k8s.io"', '"endpointslicemirroring-controller.orch.io"'],
  ["application/yaml, application/vnd.kubernetes.protobuf", "application/yaml, application/vnd.orch.protobuf"],
  ["kubernetes.io/kube-apiserver-client-kubelet", "orch.io/apiserver-client-node-agent"],
  ["kubernetes.io/kube-apiserver-client", "orch.io/apiserver-client"],
  ["kubernetes.io/kubelet-serving", "orch.io/node-agent-serving"],
  ["kubernetes.io/legacy-unknown", "orch.io/legacy-unknown"],
  ["statefulset.kubernetes.io/pod-name", "statefulset.orch.io/pod-name"],
  ["system:serviceaccount:kube-system:job-controller", "system:serviceaccount:orch-system:job-controller"],
  ["kube-public kube-node-lease kube-root-ca.crt", "orch-public orch-node-lease orch-root-ca.crt"],
  ["kube-api-access-x2z4b", "orch-api-access-x2z4b"],
  ['{"finalizers":["kubernetes"]}', '{"finalizers":["orch"]}'],
  // What is no name of either.
  ['{"kubernetes-x":"a kubernetes word","apps/v1":9007199254740993}', "same"],
  ['{"example.com/v1":"node.io","kube-scheduler":"node-orch-io/v1"}', "same"],
];

t.test("names go to the server's spelling and come back as they were", async (t) => {
  for (const [upstream, own] of pairs) {
    t.equal(fromUpstream(upstream), own === "same" ? upstream : own);
    t.equal(toUpstream(own === "same" ? upstream : own), upstream);
  }
});

t.test("each group of the server comes back, by itself, before its version and in a path", async (t) => {
  for (const { group, version } of groupVersionData) {
    for (const text of [`"${group}"`, `"${group}/${version}"`, `/apis/${group}/${version}/namespaces`]) {
      const own = fromUpstream(text);
      t.notMatch(own, /k8s|kubernetes/);
      t.equal(toUpstream(own), text);
    }
  }
});

t.test("targetFromUpstream() rewrites paths and queries, through their escapes", async (t) => {
  const base = "/api/v1";
  const targets: readonly (readonly [upstream: string, own: string])[] = [
    ["/apis/apps/v1/deployments", "/apis/apps/v1/deployments"],
    ["/apis/storage.k8s.io/v1/csinodes?watch=true", "/apis/storage.orch.io/v1/csinodes?watch=true"],
    [`${base}/namespaces/kube-system/pods/a%20b:c`, `${base}/namespaces/orch-system/pods/a%20b:c`],
    [`${base}/namespaces/default/services/kubernetes`, `${base}/namespaces/default/services/orch`],
    [`${base}/services/kubernetes-x`, `${base}/services/kubernetes-x`],
    [`${base}/x/kubernetes.io%2Fkube-apiserver-client`, `${base}/x/orch.io%2Fapiserver-client`],
    [
      `${base}/pods?labelSelector=batch.kubernetes.io%2Fjob+in+%28a%2Cb%29&limit=1`,
      `${base}/pods?labelSelector=batch.orch.io%2Fjob+in+%28a%2Cb%29&limit=1`,
    ],
    [
      `${base}/x?fieldSelector=spec.signerName%3Dkubernetes.io%2Fkubelet-serving`,
      `${base}/x?fieldSelector=spec.signerName%3Dorch.io%2Fnode-agent-serving`,
    ],
    [
      `${base}/endpoints?fieldSelector=metadata.name%3Dkubernetes%2Cx!%3Dkubernetes`,
      `${base}/endpoints?fieldSelector=metadata.name%3Dorch%2Cx%21%3Dorch`,
    ],
    [`${base}/pods?continue=a?b`, `${base}/pods?continue=a%3Fb`],
  ];
  for (const [upstream, own] of targets) t.equal(targetFromUpstream(upstream), own);
});
