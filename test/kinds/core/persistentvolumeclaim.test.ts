import t from "tap";
import { created, type Json, kind } from "../written.ts";

t.test("Claims are filled from claims and snapshots only", (t) => {
  const claims = kind("", "v1", "persistentvolumeclaims");
  const source = (dataSource: object) =>
    created(claims, { spec: { dataSource, dataSourceRef: dataSource } })["spec"] as Json;
  t.ok(source({ kind: "PersistentVolumeClaim", name: "a" })["dataSource"]);
  t.ok(source({ kind: "VolumeSnapshot", apiGroup: "snapshot.storage.k8s.io", name: "a" })["dataSource"]);
  t.notOk(source({ kind: "Other", name: "a" })["dataSource"]);
  t.notOk(source({ kind: "PersistentVolumeClaim", name: "a" })["dataSourceRef"]);
  t.end();
});
