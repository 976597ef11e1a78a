import t from "tap";
import type { Namespace } from "../../../src/api/gen/core/v1.ts";
import {
  validateNamespace,
  validateNamespaceFinalizeUpdate,
  validateNamespaceStatusUpdate,
  validateNamespaceUpdate,
} from "../../../src/kinds/core/namespace.ts";
import { context, type Json, lines, make, texts } from "../build.ts";
import { created, kind, updated } from "../written.ts";

t.test("Namespaces are held by the identity's finalizer, which only finalize takes away", (t) => {
  const namespaces = kind("", "v1", "namespaces");
  t.hasStrict(created(namespaces, { spec: { finalizers: ["x/y"] } }), {
    spec: { finalizers: ["x/y", "kubernetes"] },
    status: { phase: "Active" },
  });
  const old = { spec: { finalizers: ["kubernetes"] }, status: { phase: "Active" } };
  t.hasStrict(updated(namespaces, { spec: { finalizers: [] } }, old), { spec: { finalizers: ["kubernetes"] } });
  const final = updated(namespaces, { spec: { finalizers: [] }, status: { phase: "Terminating" } }, old, "finalize");
  t.strictSame(final["spec"], { finalizers: [] });
  t.strictSame(final["status"], { phase: "Active" });
  t.end();
});

t.test("validateNamespace() checks finalizers and phases", (t) => {
  const space = (finalizers: string[], status: Json = {}, metadata: Json = {}): Namespace =>
    make("Namespace", { metadata: { name: "n", ...metadata }, spec: { finalizers }, status });
  const plain = "name is neither a standard finalizer name nor is it fully qualified";
  t.same(lines(validateNamespace(space(["kubernetes", "a.b/c"]), context)), []);
  t.same(lines(validateNamespaceUpdate(space(["a b"]), space([]), context)), [
    `spec.finalizers: Invalid value: "a b": ${texts.name}`,
    `spec.finalizers: Invalid value: "a b": ${plain}`,
  ]);
  t.same(lines(validateNamespaceFinalizeUpdate(space(["kubernetes", "x"]), space([]), context)), [
    `spec.finalizers[1]: Invalid value: "x": ${plain}`,
  ]);
  const deleted = { deletionTimestamp: "2026-01-01T00:00:00Z" };
  const update = (phase: string, metadata: Json = {}): string[] =>
    lines(validateNamespaceStatusUpdate(space([], { phase }, metadata), space([]), context));
  t.same(update("Active"), []);
  t.same(update("Terminating", deleted), []);
  t.same(update("Terminating"), [
    "status.Phase: Invalid value: \"Terminating\": may only be 'Active' if `deletionTimestamp` is empty",
  ]);
  t.same(update("Active", deleted), [
    "status.Phase: Invalid value: \"Active\": may only be 'Terminating' if `deletionTimestamp` is not empty",
  ]);
  t.end();
});
