// Default classes of storage and ingresses, and claims that grow.
import t from "tap";
import { openInProcess } from "../support/inprocess.ts";

const claims = "/api/v1/namespaces/default/persistentvolumeclaims";
const ingresses = "/apis/networking.k8s.io/v1/namespaces/default/ingresses";
const storage = "/apis/storage.k8s.io/v1/storageclasses";
const merge = { "content-type": "application/merge-patch+json" };

const defaultBackend = { service: { name: "w", port: { number: 80 } } };
const claimSpec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };

for (const { plugin, path, spec, field, legacy, classes, mark, body, two } of [
  {
    plugin: "DefaultStorageClass",
    path: claims,
    spec: claimSpec,
    field: "storageClassName",
    legacy: "volume.beta.kubernetes.io/storage-class",
    classes: storage,
    mark: "storageclass.kubernetes.io/is-default-class",
    body: { provisioner: "x.example/p" },
    two: "Internal error occurred: 2 default StorageClasses were found",
  },
  {
    plugin: "DefaultIngressClass",
    path: ingresses,
    spec: { defaultBackend },
    field: "ingressClassName",
    legacy: "kubernetes.io/ingress.class",
    classes: "/apis/networking.k8s.io/v1/ingressclasses",
    mark: "ingressclass.kubernetes.io/is-default-class",
    body: { spec: { controller: "x.example/c" } },
    two: "Internal error occurred: 2 default IngressClasses were found, only 1 allowed",
  },
]) {
  t.test(`${plugin} fills in the one default there is`, async (t) => {
    const server = await openInProcess("kubernetes");
    let count = 0;
    const create = (more: object = {}, metadata: object = {}) =>
      server.call("POST", path, { metadata: { name: `o${count++}`, ...metadata }, spec: { ...spec, ...more } });
    t.equal((await create()).json.spec[field], undefined, "none");
    for (const [name, value] of [
      ["d1", "true"],
      ["other", "false"],
    ]) {
      await server.call("POST", classes, { metadata: { name, annotations: { [mark]: value } }, ...body });
    }
    t.equal((await create()).json.spec[field], "d1");
    t.equal((await create({ [field]: "mine" })).json.spec[field], "mine");
    t.equal((await create({}, { annotations: { [legacy]: "old" } })).json.spec[field], undefined, "the old annotation");
    await server.call("POST", classes, { metadata: { name: "d2", annotations: { [mark]: "true" } }, ...body });
    const refused = await create();
    t.equal(refused.code, 403);
    t.ok(refused.json.message.endsWith(`is forbidden: ${two}`), refused.json.message);
    t.equal((await create({ [field]: "mine" })).code, 201);
    await server.call("PATCH", `${classes}/d1`, { metadata: { annotations: { [mark]: null } } }, merge);
    t.equal((await create()).json.spec[field], "d2");
    server.close();
  });
}

t.test("PersistentVolumeClaimResize lets bound claims grow where their class allows it", async (t) => {
  const server = await openInProcess("kubernetes");
  for (const [name, allowVolumeExpansion] of [
    ["grows", true],
    ["stays", false],
  ]) {
    await server.call("POST", storage, { metadata: { name }, provisioner: "x.example/p", allowVolumeExpansion });
  }
  const unbound = "Only bound persistent volume claims can be expanded";
  const fixed =
    "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize";
  for (const [storageClassName, bound, size, why] of [
    ["grows", false, "2Gi", unbound],
    ["grows", true, "2Gi", undefined],
    ["stays", true, "2Gi", fixed],
    ["gone", true, "2Gi", fixed],
    ["stays", true, "1Gi", undefined],
  ] as const) {
    const name = `${storageClassName}-${bound}-${size}`.toLowerCase();
    await server.call("POST", claims, {
      metadata: { name },
      spec: { ...claimSpec, storageClassName, volumeName: "v" },
    });
    if (bound) await server.call("PATCH", `${claims}/${name}/status`, { status: { phase: "Bound" } }, merge);
    const patch = { spec: { resources: { requests: { storage: size } } } };
    const { code, json } = await server.call("PATCH", `${claims}/${name}`, patch, merge);
    if (why === undefined) t.equal(code, 200, name);
    // What is not bound may not change at all: the kind's own rules come first (upstream).
    else if (bound) t.equal(json.message, `persistentvolumeclaims "${name}" is forbidden: ${why}`);
    else t.ok(code === 403 || code === 422, name);
  }
  server.close();
});
