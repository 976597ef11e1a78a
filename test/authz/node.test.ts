import t, { type Test } from "tap";
import type { Attributes } from "../../src/authz/authorizer.ts";
import { NodeAuthorizer } from "../../src/authz/node.ts";
import { type InProcess, openInProcess } from "../support/inprocess.ts";

const node = { name: "system:node:n1", uid: "", groups: ["system:nodes"], extra: new Map() };
const core = "/api/v1/namespaces/default";

/** `verb resource[/subresource][.group] [namespace/]name`, a dash for none. */
function asked(text: string, user: Attributes["user"] = node): Attributes {
  const [verb = "", what = "", where = "-"] = text.split(" ");
  const [place = "", ...group] = what.split(".");
  const [resource = "", subresource = ""] = place.split("/");
  const [namespace = "", name = ""] = where.includes("/") ? where.split("/") : ["", where === "-" ? "" : where];
  return {
    user,
    verb,
    isResource: true,
    group: group.join("."),
    version: "v1",
    resource,
    subresource,
    namespace,
    name,
    path: "",
  };
}

function pod(name: string, nodeName: string, spec: object = {}, metadata: object = {}): object {
  return { metadata: { name, ...metadata }, spec: { nodeName, containers: [{ name: "c", image: "i" }], ...spec } };
}

async function open(
  t: Test,
): Promise<{ server: InProcess; can: (text: string) => boolean; why: (text: string) => string }> {
  const server = await openInProcess();
  t.teardown(() => server.close());
  const authorizer = new NodeAuthorizer(server.scheme.identity, server.objects);
  return {
    server,
    can: (text) => authorizer.authorize(asked(text)).verdict === "allow",
    why: (text) => authorizer.authorize(asked(text)).reason,
  };
}

async function create(t: Test, server: InProcess, path: string, body: object): Promise<void> {
  const { code, text } = await server.call("POST", path, body);
  t.equal(code, 201, text);
}

t.test("a node reads what its pods name, while they are there", async (t) => {
  const { server, can, why } = await open(t);
  const container = {
    name: "c",
    image: "i",
    envFrom: [{ secretRef: { name: "s-from" } }, { configMapRef: { name: "c-from" } }],
    env: [
      { name: "A", valueFrom: { secretKeyRef: { name: "s-env", key: "k" } } },
      { name: "B", valueFrom: { configMapKeyRef: { name: "c-env", key: "k" } } },
    ],
  };
  const spec = {
    containers: [container],
    initContainers: [{ name: "i", image: "i", envFrom: [{ secretRef: { name: "s-init" } }] }],
    imagePullSecrets: [{ name: "s-pull" }],
    serviceAccountName: "bot",
    volumes: [
      { name: "a", secret: { secretName: "s-volume" } },
      { name: "b", configMap: { name: "c-volume" } },
      {
        name: "c",
        projected: { sources: [{ secret: { name: "s-projected" } }, { configMap: { name: "c-projected" } }] },
      },
      { name: "d", persistentVolumeClaim: { claimName: "claim" } },
      { name: "e", csi: { driver: "d.example", nodePublishSecretRef: { name: "s-csi" } } },
    ],
  };
  const secrets = ["s-from", "s-env", "s-init", "s-pull", "s-volume", "s-projected", "s-csi"];
  const maps = ["c-from", "c-env", "c-volume", "c-projected"];
  t.notOk(can("get secrets default/s-env"), "before there is a pod");
  await create(t, server, `${core}/pods`, pod("p", "n1", spec));
  await create(
    t,
    server,
    `${core}/pods`,
    pod("q", "n2", { volumes: [{ name: "a", secret: { secretName: "others" } }] }),
  );
  await create(
    t,
    server,
    `${core}/pods`,
    pod("r", "", { volumes: [{ name: "a", secret: { secretName: "unbound" } }] }),
  );
  const mirror = { annotations: { "kubernetes.io/config.mirror": "x" } };
  await create(t, server, `${core}/pods`, pod("m", "n1", { imagePullSecrets: [{ name: "mirrored" }] }, mirror));
  for (const name of secrets) {
    for (const verb of ["get", "list", "watch"]) t.ok(can(`${verb} secrets default/${name}`), `${verb} ${name}`);
    for (const verb of ["update", "create", "delete"])
      t.notOk(can(`${verb} secrets default/${name}`), `${verb} ${name}`);
    t.notOk(can(`get secrets kube-system/${name}`), "another namespace");
    t.notOk(can(`get configmaps default/${name}`), "another kind");
  }
  for (const name of maps) t.ok(can(`get configmaps default/${name}`), name);
  for (const name of ["others", "unbound", "mirrored", "__proto__"]) t.notOk(can(`get secrets default/${name}`), name);
  t.ok(can("get persistentvolumeclaims default/claim"));
  t.notOk(can("list persistentvolumeclaims default/claim"));
  t.ok(can("patch persistentvolumeclaims/status default/claim"));
  t.notOk(can("get persistentvolumeclaims/status default/claim"));
  t.ok(can("create serviceaccounts/token default/bot"));
  t.notOk(can("create serviceaccounts/token default/other"));
  t.notOk(can("get serviceaccounts default/bot"));
  t.equal(why("get secrets default/others"), "no relationship found between node 'n1' and this object");
  t.equal(why("list secrets default/-".replace("-", "")), "No Object name found");
  t.equal(why("list secrets -"), "can only read namespaced object of this type");
  t.equal((await server.call("DELETE", `${core}/pods/p?gracePeriodSeconds=0`)).code, 200);
  t.notOk(can("get secrets default/s-env"), "after the pod went");
});

t.test("a node reads the volumes of its claims and their secrets", async (t) => {
  const { server, can } = await open(t);
  const size = { storage: "1Gi" };
  const csi = {
    driver: "d.example",
    volumeHandle: "h",
    nodeStageSecretRef: { name: "staged", namespace: "kube-system" },
    controllerPublishSecretRef: { name: "controllers", namespace: "kube-system" },
  };
  const volume = (name: string, claim: string): object => ({
    metadata: { name },
    spec: { capacity: size, accessModes: ["ReadWriteOnce"], csi, claimRef: { namespace: "default", name: claim } },
  });
  await create(t, server, "/api/v1/persistentvolumes", volume("pv", "claim"));
  await create(t, server, "/api/v1/persistentvolumes", volume("other", "elsewhere"));
  const claim = { accessModes: ["ReadWriteOnce"], resources: { requests: size }, volumeName: "pv" };
  await create(t, server, `${core}/persistentvolumeclaims`, { metadata: { name: "claim" }, spec: claim });
  t.notOk(can("get persistentvolumes pv"));
  const volumes = [{ name: "a", persistentVolumeClaim: { claimName: "claim" } }];
  await create(t, server, `${core}/pods`, pod("p", "n1", { volumes }));
  t.ok(can("get persistentvolumes pv"));
  t.notOk(can("get persistentvolumes other"));
  t.ok(can("get secrets kube-system/staged"));
  t.notOk(can("get secrets kube-system/controllers"));
  t.notOk(can("get secrets default/staged"));
  const attachment = (name: string, nodeName: string): object => ({
    metadata: { name },
    spec: { attacher: "d.example", nodeName, source: { persistentVolumeName: "pv" } },
  });
  const attachments = "/apis/storage.k8s.io/v1/volumeattachments";
  await create(t, server, attachments, attachment("mine", "n1"));
  await create(t, server, attachments, attachment("others", "n2"));
  t.ok(can("get volumeattachments.storage.k8s.io mine"));
  t.notOk(can("get volumeattachments.storage.k8s.io others"));
});

t.test("a node has its own lease and CSI node, and the rules of its role", async (t) => {
  const { server, can, why } = await open(t);
  for (const verb of ["get", "update", "patch", "delete"]) {
    t.ok(can(`${verb} leases.coordination.k8s.io kube-node-lease/n1`));
    t.notOk(can(`${verb} leases.coordination.k8s.io kube-node-lease/n2`));
    t.notOk(can(`${verb} leases.coordination.k8s.io default/n1`));
    t.ok(can(`${verb} csinodes.storage.k8s.io n1`));
    t.notOk(can(`${verb} csinodes.storage.k8s.io n2`));
  }
  t.ok(can("create leases.coordination.k8s.io kube-node-lease/"));
  t.notOk(can("list leases.coordination.k8s.io kube-node-lease/"));
  t.equal(
    why("get leases.coordination.k8s.io default/n1"),
    'can only access leases in the "kube-node-lease" system namespace',
  );
  for (const text of [
    "list pods -",
    "create nodes -",
    "patch nodes/status n2",
    "create events default/",
    "get services -",
  ]) {
    t.ok(can(text), text);
  }
  for (const text of ["update pods default/x", "delete nodes n1", "get pods/log default/x", "impersonate users x"]) {
    t.notOk(can(text), text);
  }
  const authorizer = new NodeAuthorizer(server.scheme.identity, server.objects);
  const as = (name: string, groups: string[]): string => {
    const { verdict, reason } = authorizer.authorize(asked("list pods -", { ...node, name, groups }));
    return `${verdict} ${reason}`;
  };
  t.equal(as("system:node:n1", []), "none ");
  t.equal(as("n1", ["system:nodes"]), "none ");
  t.equal(as("system:node:", ["system:nodes"]), 'none unknown node for user "system:node:"');
});
